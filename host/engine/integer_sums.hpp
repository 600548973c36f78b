#pragma once
// Exact sums of columns, for what only asks how often and how much.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gibbsite/data/rows.hpp"

namespace gibbsite {

struct IntegerSums {
  std::vector<std::uint64_t> sums;  ///< [d] of round(scale x_ij), exact
  std::optional<std::uint64_t>
      not_whole{};  ///< first row with scale x_ij off a whole number by 1/64
};

/// One pass, one thread. x in [0, 1], scale from 1 to 2^24, at most 2^38 rows: no sum overflows.
IntegerSums integer_sums(const Rows& x, double scale);
/// The sum of round(scale f(x_i)) over the rows of one column, exact. f: [0, 1] to [0, 1].
std::uint64_t integer_sum(const Rows& x, double scale, const std::function<double(double)>& f);

}  // namespace gibbsite
