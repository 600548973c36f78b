#include "kernels/block.cuh"
#include "kernels/double_matrix.hpp"
#include "kernels/double_unit.cuh"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(DoubleMatrix)
