#pragma once
// Exact privacy of whole runs in one dimension, by quadrature over what they release.
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <vector>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite::support {

/// Rows of one number, without an intercept.
struct Line {
  std::vector<float> x, y;
};

/// Neighboring tables of such rows.
struct LinePair {
  const char* name;
  Line here, there;
  Neighbors who;
  std::uint64_t rows;
};

inline std::vector<LinePair> line_pairs() {
  const Neighbors replace{}, add{Adjacency::add_remove, 1};
  return {
      {"opposite classes", {{1, 0.5F, 1}, {1, -1, 1}}, {{1, 0.5F, 1}, {1, -1, -1}}, replace, 3},
      {"a row against none of it", {{1, 1}, {1, 1}}, {{1, 0}, {1, 1}}, replace, 2},
      {"one person alone", {{1}, {1}}, {{0.3F}, {-1}}, replace, 1},
      {"all rows zero but one", {{0, 0, 3}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}}, replace, 3},
      {"a row more", {{1, 1, 1}, {1, 1, -1}}, {{1, 1}, {1, 1}}, add, 3},
      {"two rows of one person",
       {{1, 1, 0.2F}, {1, 1, 1}},
       {{1, 1, 0.2F}, {-1, -1, 1}},
       {Adjacency::replace_one, 2},
       3},
  };
}

/// H(epsilon; mu) of a pair whose log odds were already `log_odds` when the last, Gaussian part
/// came: the hockey stick of N(mu, 1) e^log_odds against N(0, 1).
inline double last_part(double epsilon, double log_odds, double mu) {
  const auto phi = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  const double e = epsilon - log_odds;  // p/p' >= e^epsilon there
  if (mu < 1e-12) return std::max(0.0, 1 - std::exp(e));
  return phi(mu / 2 - e / mu) - std::exp(e) * phi(-mu / 2 - e / mu);
}

/// Integral of f(answer, log odds of it) under N(mean of the first table, sigma).
template <class F>
double over_normal(const double (&mean)[2], double sigma, int panels, const F& f) {
  const double shift = (mean[0] - mean[1]) / sigma;
  double sum = 0;
  for (int p = 0; p < panels; ++p) {
    const double lo = -8 + 16.0 * p / panels, hi = lo + 16.0 / panels;
    sum += boost::math::quadrature::gauss<double, 7>::integrate(
        [&](double z) {
          const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
          // log N(z; 0) - log N(z + shift; 0)
          return density * f(mean[0] + sigma * z, shift * (z + shift / 2));
        },
        lo, hi);
  }
  return sum;
}

}  // namespace gibbsite::support
