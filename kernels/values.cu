#include "kernels/block.cuh"
#include "kernels/values.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Values)
