#include "gibbsite/privacy/rdp.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>

#include "core/special.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"

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

namespace {

constexpr double no_promise = std::numeric_limits<double>::infinity();

void require_order(double order) {
  if (order > 1 && std::isfinite(order)) return;
  throw BadInput(Field{"rdp"}, "must be a finite order above 1", "give for example 10");
}

// Phi(z + mu) of Phi(z) = p, from above: the most that an event of probability p under one table
// has under the other. The quantile in double is checked, and moved until it is one of p or more.
Wide reached_up(double p, double mu) {
  if (!(p > 0)) return 0;
  if (!(p < 0.5)) return 1;
  double z = boost::math::quantile(boost::math::normal{}, p);
  while (!(normal_cdf(Wide(z)) >= Wide(p))) z += 1e-12;
  return normal_cdf(Wide(z) + Wide(mu));
}

}  // namespace

// Why (docs/theory/rdp.md has the formulas). The ideal laws are P* = (1-δ₀)P₁ + δ₀P₂ and Q*
// likewise, P₁ and Q₁ μ-GDP; the computed P and Q are within γ of them. Let c be the lesser of
// min(P, P*)/P* and min(Q, Q*)/Q*. Then (1-δ₀)cP₁ ≤ P is P's law on an event, and (1-δ₀)cQ₁ that of
// Q on one. ∫(1-c)P₁ ≤ g + Φ(μ+Φ⁻¹(g)) = a, g = γ/(1-δ₀): what the second ratio lacks has mass g
// under Q₁ at most, so Φ(μ+Φ⁻¹(g)) under P₁. The events have at least 1-δ₀-(1-δ₀)a, and of the two
// normalized laws, whose masses are from 1-a to 1, D_α ≤ αρ + l α/(α-1), l = -log(1-a), for
// c P₁^α Q₁^(1-α) ≤ P₁^α Q₁^(1-α). D_α rises in α: up to 1+s it is at most that of 1+s, so for all
// α it is at most αρ + sρ + l + l/s, least at s = sqrt(l/ρ).
ZeroConcentrated zero_concentrated_up(const Guarantee& g) {
  const double cover = g.delta0 < 1 ? gdp_cover_up(g).mu : no_promise;
  Wide rho = Wide(cover) * Wide(cover) / 2;
  if (g.mu == 0) rho = std::min(rho, Wide(g.epsilon0) * Wide(g.epsilon0) / 2);
  if (!std::isfinite(cover)) return {no_promise, 1, no_promise};
  if (!(g.tv > 0)) return {round_up(rho), g.delta0, 0};
  const Wide rest = 1 - Wide(g.delta0);
  const double each = round_up(Wide(g.tv) / rest);
  const Wide lost = Wide(each) + reached_up(each, cover);
  if (!(lost < 1)) return {round_up(rho), 1, no_promise};
  const Wide l = -log1p(-lost);
  return {round_up(rho), std::min(1.0, round_up(Wide(g.delta0) + rest * lost)),
          round_up(l + 2 * sqrt(l * rho))};
}

double renyi_up(const Guarantee& g, double order) {
  require_order(order);
  const double rho = zero_concentrated_up(g).rho;
  if (!std::isfinite(rho)) return no_promise;
  const double linear = round_up(Wide(order) * Wide(rho));
  if (g.mu != 0 || g.epsilon0 == 0) return linear;
  const Wide p = g.epsilon0, a = order;           // e^(order p) taken out, that nothing overflows
  const Wide lost = Wide("1e-48") * (1 + a * p);  // these terms cancel: what 50 digits lose of them
  const Wide exact = (a * p + log1p(exp((1 - 2 * a) * p)) - log1p(exp(-p)) - p + lost) / (a - 1);
  return std::min({linear, round_up(exact), g.epsilon0});
}

double rho_mu_down(double rho) {
  require_finite_positive(rho, Field{"rho"});
  return round_down(sqrt(2 * Wide(rho)));
}

double renyi_mu_down(double epsilon, double order) {
  require_order(order);
  require_finite_positive(epsilon, Field{"epsilon"});
  return round_down(sqrt(2 * Wide(epsilon) / Wide(order)));
}

double budget_epsilon_down(double mu, double delta) {
  double epsilon = gdp_epsilon_up(mu, delta);
  while (epsilon > 0 && !(gdp_mu_down(epsilon, delta) <= mu)) {
    epsilon = epsilon > 1e-12 ? epsilon * (1 - 1e-13) : 0;
  }
  return epsilon;
}

}  // namespace gibbsite
