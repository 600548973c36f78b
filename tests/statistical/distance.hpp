#pragma once
// A sample against a law, by distribution functions.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gibbsite {

inline double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Largest distance between the empirical distribution function and the law's. Dvoretzky, Kiefer,
// Wolfowitz with Massart's constant: above `chance_distance` with probability 1e-7.
template <class Law>
double distance_to_law(std::vector<double> sample, Law law) {
  std::ranges::sort(sample);
  const auto n = static_cast<double>(sample.size());
  double worst = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double at = law(sample[i]), below = static_cast<double>(i) / n;
    worst = std::max({worst, std::fabs(at - below), std::fabs(at - below - 1 / n)});
  }
  return worst;
}
inline double chance_distance(std::size_t n) {
  return std::sqrt(std::log(2e7) / (2 * static_cast<double>(n)));
}

}  // namespace gibbsite
