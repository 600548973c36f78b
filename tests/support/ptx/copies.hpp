#pragma once
// Asynchronous copies to shared memory.
#include "support/ptx/machine.hpp"

namespace gibbsite::ptx {

/// Ends a bulk copy: the bytes are there, and its mbarrier knows. Copies end in any order.
void finish_bulk_copy(Block& block, std::size_t index);

/// Whether a thread of the warp has copies that it did not wait for.
bool has_open_copies(const Warp& warp);

}  // namespace gibbsite::ptx
