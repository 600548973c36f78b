#pragma once
// Instruction sets that the kernels are compiled for: the same in every source, since they call
// each other. Before Highway. Register tiles are arrays of vectors, which sizeless vectors (SVE,
// RVV) do not allow.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
