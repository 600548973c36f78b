#include "kernels/block.cuh"
#include "kernels/cooperative.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Cooperative)
