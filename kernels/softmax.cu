#include "kernels/block.cuh"
#include "kernels/softmax.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(SoftmaxDerivatives)
GIBBSITE_LAUNCH(SoftmaxValues)
