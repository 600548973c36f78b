#pragma once
// The order in which every engine adds, and so how far its sums can be off.
#include <algorithm>
#include <bit>
#include <cstdint>

namespace gibbsite {

/// The largest number of rows that a certified backend may add in any order. Its sums are X.theta
/// over d terms in any order, and X^T r over such blocks, combined in a tree. Depth is the number
/// of roundings on the longest path from a term to the result.
inline constexpr std::uint64_t row_block = 1024;

/// Longest path of additions for n rows: min(n, 1024) + ceil(log2(blocks)) + 64 (room for partial
/// sums of a backend's own).
inline std::uint64_t accumulation_depth(std::uint64_t rows) {
  const std::uint64_t blocks = std::max<std::uint64_t>(1, (rows + row_block - 1) / row_block);
  const auto tree = static_cast<std::uint64_t>(std::bit_width(blocks - 1));
  return std::min(rows, row_block) + tree + 64;
}

}  // namespace gibbsite
