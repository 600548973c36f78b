#include "kernels/block.cuh"
#include "kernels/cooperative.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Cooperative)
GIBBSITE_BLOCKS_AT_ONCE(Cooperative)
