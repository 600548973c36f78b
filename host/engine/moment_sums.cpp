#include "engine/moment_sums.hpp"

#include <algorithm>
#include <cmath>

#include "engine/symmetric.hpp"

namespace gibbsite {
namespace {

std::int64_t moment_steps(float stored, int bits) {
  // What is no number is the middle, so that no cell is out of the range, whoever read the rows.
  const double x = std::isnan(stored) ? 0 : 2 * static_cast<double>(stored) - 1;
  return std::llround(std::ldexp(std::clamp(x, -1.0, 1.0), bits));
}

}  // namespace

MomentSums moment_sums(const Rows& x, const std::vector<std::size_t>& feature,
                       const std::vector<std::size_t>& missing, int bits) {
  const std::size_t d = feature.size();
  MomentSums out{.sums = std::vector<std::int64_t>(d),
                 .products = std::vector<std::int64_t>(triangle_size(d))};
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  std::vector<float> row(x.cols);
  std::vector<std::int64_t> step(d);
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::ranges::fill(row, 0.0F);  // what a sparse row leaves out
    x.for_each(i, [&](std::size_t j, float value) { row[j] = value; });
    if (std::ranges::any_of(missing, [&](std::size_t j) { return row[j] != 0; })) continue;
    ++out.rows;
    for (std::size_t a = 0, at = 0; a < d; ++a) {
      step[a] = moment_steps(row[feature[a]], bits);
      out.sums[a] += step[a];
      for (std::size_t b = 0; b <= a; ++b) out.products[at++] += (step[a] * step[b] + half) >> bits;
    }
  }
  return out;
}

}  // namespace gibbsite
