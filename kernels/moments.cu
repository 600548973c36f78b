#include "kernels/block.cuh"
#include "kernels/moments.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Moments)
