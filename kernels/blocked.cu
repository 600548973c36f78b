#include "kernels/block.cuh"
#include "kernels/blocked.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Derivatives)
GIBBSITE_LAUNCH(Convert)
