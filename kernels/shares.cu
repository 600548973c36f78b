#include "kernels/block.cuh"
#include "kernels/launch.cuh"
#include "kernels/shares.hpp"

GIBBSITE_LAUNCH(MarkTheta)
GIBBSITE_LAUNCH(AddShares)
