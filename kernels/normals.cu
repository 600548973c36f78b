#include "kernels/block.cuh"
#include "kernels/normals.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Normals)
