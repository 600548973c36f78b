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

constexpr int unit_bits = 20;  // of a weight

// A sum of whole steps times units, exact in two parts: steps, and units below one.
struct WeighedSum {
  std::int64_t steps = 0, units = 0;
  void add(std::int64_t step, std::int64_t weight) {
    units += step * weight;  // below 2^46 + 2^20
    steps += units >> unit_bits;
    units &= (std::int64_t{1} << unit_bits) - 1;
  }
};

std::int64_t units_of(float weight) {
  return static_cast<std::int64_t>(
      std::floor(std::ldexp(std::clamp(static_cast<double>(weight), 0.0, 1.0), unit_bits)));
}

}  // namespace

MomentSums moment_sums(const Rows& x, const std::vector<std::size_t>& feature,
                       const std::vector<std::size_t>& missing, int bits) {
  const std::size_t d = feature.size();
  std::vector<WeighedSum> sums(d), products(triangle_size(d));
  std::int64_t rows = 0;
  constexpr std::int64_t whole = std::int64_t{1} << unit_bits;
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  std::vector<float> row(x.cols);
  std::vector<std::int64_t> step(d);
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::ranges::fill(row, 0.0F);  // what a sparse row leaves out
    x.for_each(i, [&](std::size_t j, float value) { row[j] = value; });
    if (std::ranges::any_of(missing, [&](std::size_t j) { return row[j] != 0; })) continue;
    const std::int64_t weight = x.weight == nullptr ? whole : units_of(x.weight[i]);
    rows += weight;
    for (std::size_t a = 0, at = 0; a < d; ++a) {
      step[a] = moment_steps(row[feature[a]], bits);
      sums[a].add(step[a], weight);
      for (std::size_t b = 0; b <= a; ++b)
        products[at++].add((step[a] * step[b] + half) >> bits, weight);
    }
  }
  MomentSums out{.rows = std::ldexp(static_cast<double>(rows), -unit_bits)};
  for (const WeighedSum& sum : sums) out.sums.push_back(sum.steps);
  for (const WeighedSum& sum : products) out.products.push_back(sum.steps);
  return out;
}

}  // namespace gibbsite
