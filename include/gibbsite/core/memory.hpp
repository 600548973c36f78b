#pragma once
// What this machine has room for.
#include <cstdint>

namespace gibbsite {

/// Bytes of memory that this process may still use, or 0 when unknown.
std::uint64_t available_memory();

}  // namespace gibbsite
