#include "kernels/block.cuh"
#include "kernels/tiled.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Tiled)
