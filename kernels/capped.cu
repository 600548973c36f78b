#include "kernels/block.cuh"
#include "kernels/capped.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Capped)
