#include "gibbsite/privacy/rdp.hpp"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

// What the conversion adds to rho, with x = alpha - 1:
//   log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1)
Wide conversion_cost(const Wide& x, double delta) {
  return -log(1 + 1 / x) - (log(Wide(delta)) + log(1 + x)) / x;
}

// The alpha - 1 at which `slope` turns from negative to positive, to double precision. Every alpha
// gives a valid bound and the optimum is flat: an error of 1e-14 here costs 1e-28 there.
template <class F>
double best_order_minus_one(F slope, double delta) {
  const double lo = std::log(1e-150);
  const double hi = std::log(std::min(1 / delta, 1e300));  // at alpha >= 1/delta the cost is < 0
  const auto f = [&](double log_x) { return slope(std::exp(log_x)); };
  if (!(f(lo) < 0)) return std::exp(lo);
  if (!(f(hi) > 0)) return std::exp(hi);
  const auto [a, b] =
      boost::math::tools::bisect(f, lo, hi, boost::math::tools::eps_tolerance<double>(52));
  return std::exp(a);
}

}  // namespace

double linear_rdp_rho_down(double epsilon, double delta) {
  require_finite_positive(epsilon, "epsilon");
  require_between(delta, 0, 1, "delta");
  // rho = max over alpha of (epsilon - cost(alpha)) / alpha; d/d alpha = 0:
  //   (epsilon + log(1 + 1/x)) x^2 = (log(1/delta) - log(1 + x)) (1 + 2x)
  const double log_inverse_delta = -std::log(delta);
  const Wide x = best_order_minus_one(
      [&](double t) {
        return (epsilon + std::log1p(1 / t)) * t * t -
               (log_inverse_delta - std::log1p(t)) * (1 + 2 * t);
      },
      delta);
  return round_down((Wide(epsilon) - conversion_cost(x, delta)) / (1 + x));
}

}  // namespace gibbsite
