#include "kernels/block.cuh"
#include "kernels/blocked.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Residuals)
GIBBSITE_LAUNCH(Convert)
