#include "engine/integer_sums.hpp"

#include <cmath>

namespace gibbsite {

IntegerSums integer_sums(const Rows& x, double scale) {
  IntegerSums out{.sums = std::vector<std::uint64_t>(x.cols)};
  for (std::size_t i = 0; i < x.rows; ++i) {
    x.for_each(i, [&](std::size_t j, float value) {
      const double scaled = scale * static_cast<double>(value), whole = std::nearbyint(scaled);
      out.sums[j] += static_cast<std::uint64_t>(whole);
      if (!out.not_whole && std::abs(scaled - whole) > 1.0 / 64) out.not_whole = i;
    });
  }
  return out;
}

}  // namespace gibbsite
