#pragma once
#include <cstdint>

namespace gibbsite {

/// Bytes of a piece of a table that a rank looks at, at least; returns what it was. For tests,
/// whose tables are short.
std::uint64_t set_least_piece_bytes(std::uint64_t bytes);

}  // namespace gibbsite
