#pragma once
// Matrix instructions: mma of doubles, wgmma of BF16.
#include "support/ptx/machine.hpp"

namespace gibbsite::ptx {

/// Holds a plain instruction to the rules of registers that a wgmma uses; call it before execution.
void track_matrix_registers(Warp& warp, const Instruction& in);

}  // namespace gibbsite::ptx
