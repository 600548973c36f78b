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

std::uint64_t integer_sum(const Rows& x, double scale, const std::function<double(double)>& f) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    double value = 0;  // what a sparse row leaves out
    x.for_each(i, [&](std::size_t, float stored) { value = static_cast<double>(stored); });
    out += static_cast<std::uint64_t>(std::nearbyint(scale * f(value)));
  }
  return out;
}

}  // namespace gibbsite
