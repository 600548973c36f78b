#include "kernels/block.cuh"
#include "kernels/projected_rows.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(ProjectedRows)
