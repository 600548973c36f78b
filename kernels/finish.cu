#include "kernels/block.cuh"
#include "kernels/finish.hpp"
#include "kernels/launch.cuh"

GIBBSITE_LAUNCH(Finish)
GIBBSITE_LAUNCH(Tick)
