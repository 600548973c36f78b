#pragma once
// Exact sums of numbers and of their products.
#include <cstdint>
#include <vector>

#include "gibbsite/data/rows.hpp"

namespace gibbsite {

/// In steps of 2^-bits, over rows of numbers x in [-1, 1] that lack none.
struct MomentSums {
  double rows = 0;                       ///< what those count that lack none
  std::vector<std::int64_t> sums{};      ///< [d] of x_j
  std::vector<std::int64_t> products{};  ///< [d (d + 1)/2] of x_i x_j, the lower triangle by rows
};

/// One pass, one thread. Column j is feature feature[j] of [0, 1], moved to [-1, 1] and held to
/// whole steps, as each product is; a row lacks a number where a feature of `missing` is not 0. A
/// row counts its weight, rounded down to a multiple of 2^-20; sums of weighted rows are exact, and
/// then rounded down to a step. At most 2^27 rows, or as much weight, of 26 bits: all sums are
/// whole doubles.
MomentSums moment_sums(const Rows& x, const std::vector<std::size_t>& feature,
                       const std::vector<std::size_t>& missing, int bits);

}  // namespace gibbsite
