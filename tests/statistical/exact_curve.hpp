#pragma once
// A curve delta(epsilon) known by quadrature, against the one that a certificate promises.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/privacy/gdp.hpp"
#include "statistical/quadrature.hpp"

namespace gibbsite {

/// delta(epsilon) by quadrature in the worse direction, and how far off it can be.
struct Exact {
  double epsilon = 0, delta = 0, error = 0;
};

/// delta(epsilon; mu) in double, within 1e-9 relative where it is above 1e-8: a sieve in front of
/// the product's 50-digit evaluation, and an independent reading of the formula.
inline double gdp_delta(double epsilon, double mu) {
  return quadrature::upper_tail(epsilon / mu - mu / 2) -
         std::exp(epsilon) * quadrature::upper_tail(epsilon / mu + mu / 2);
}

/// Where delta(epsilon; mu) runs from about 0.4 down to 1e-6: the privacy loss of a Gaussian is
/// N(mu^2/2, mu^2).
inline std::vector<double> epsilons_about(double mu) {
  std::vector<double> out{0};
  for (const double z : {0.0, 1.5, 3.0, 4.4}) out.push_back(mu * mu / 2 + z * mu);
  return out;
}

/// How close a pair comes to delta(epsilon; mu).
struct Comparison {
  bool beaten = false;   ///< delta - error > gdp_delta_up(epsilon, mu) somewhere
  double tightness = 0;  ///< max of delta / delta(epsilon; mu)
  double looseness = 1;  ///< min of it
  double error = 0;      ///< max of error / delta(epsilon; mu)
};

inline Comparison compare(const std::vector<Exact>& curve, double mu) {
  Comparison out;
  for (const Exact& exact : curve) {
    const double claimed = gdp_delta(exact.epsilon, mu);
    out.beaten = out.beaten || (!(exact.delta - exact.error < claimed * (1 - 1e-9)) &&
                                !(exact.delta - exact.error <= gdp_delta_up(exact.epsilon, mu)));
    out.tightness = std::max(out.tightness, exact.delta / claimed);
    out.looseness = std::min(out.looseness, exact.delta / claimed);
    out.error = std::max(out.error, exact.error / claimed);
  }
  return out;
}

}  // namespace gibbsite
