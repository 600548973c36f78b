#include "kernels/block.cuh"
#include "kernels/one_pass.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(OnePass)
