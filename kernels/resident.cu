#include "kernels/block.cuh"
#include "kernels/resident.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Resident)
