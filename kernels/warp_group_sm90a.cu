#include "kernels/matrix_unit.cuh"
#include "kernels/warp_group.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(PackRows)
GIBBSITE_LAUNCH(CenterReference)
GIBBSITE_LAUNCH(ReferenceLogits)
GIBBSITE_LAUNCH(WarpGroup)
