#include "kernels/matrix_unit.cuh"
#include "kernels/warp_group.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(WarpGroupPair)
