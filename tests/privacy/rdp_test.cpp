#include "gibbsite/privacy/rdp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "privacy/oracle.hpp"
#include "support/repeats.hpp"

using namespace gibbsite;
using gibbsite::testing::Oracle;

namespace rdp_test {

constexpr double inf = std::numeric_limits<double>::infinity();

// The conversion as printed, in 100 digits.
Oracle conversion(const Oracle& alpha, const Oracle& rho, const Oracle& delta) {
  return rho + log((alpha - 1) / alpha) - (log(delta) + log(alpha)) / (alpha - 1);
}

// log of the integral of p^alpha q^(1-alpha), over alpha - 1, for P = N(mu, 1), Q = N(0, 1).
TEST(GdpRdp, IsTheRenyiDivergenceOfTwoGaussians) {
  for (const double mu : {0.1, 0.7, 1.5}) {
    for (const double alpha : {1.1, 2.0, 5.0, 9.5}) {
      const auto integrand = [&](double x) {
        return std::exp(-alpha * (x - mu) * (x - mu) / 2 - (1 - alpha) * x * x / 2) /
               std::sqrt(2 * M_PI);
      };
      const double middle = alpha * mu;  // the integrand is Gaussian with unit variance there
      const double integral = boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
          integrand, middle - 12, middle + 12, 10, 1e-14);
      // The exponent, up to alpha (mu alpha + 12)^2, rounds to 2^-53 of itself.
      const double tolerance = alpha * (mu * alpha + 12) * (mu * alpha + 12) * 0x1p-52;
      EXPECT_NEAR(std::log(integral) / (alpha - 1), alpha * mu * mu / 2, tolerance / (alpha - 1))
          << mu << " " << alpha;
    }
  }
}

// The least epsilon over alpha, in 100 digits. Every alpha gives a bound, and at the optimum x^2
// rho + log(1 + x) = log(1/delta) with x = alpha - 1.
Oracle epsilon_of(const Oracle& rho, const Oracle& delta) {
  const Oracle ell = -log(delta);
  Oracle lo = 0, hi = sqrt(ell / rho);
  for (int i = 0; i < 400; ++i) {
    const Oracle x = (lo + hi) / 2;
    (x * x * rho + log(1 + x) < ell ? lo : hi) = x;
  }
  return conversion(1 + lo, (1 + lo) * rho, delta);
}

TEST(LinearRdp, EpsilonIsTheMinimumOverAlpha) {
  for (const double rho : {1e-12, 1e-6, 1e-3, 0.1, 1.0, 50.0, 1e4}) {
    for (const double delta : {1e-300, 1e-15, 1e-6, 0.1, 0.9}) {
      long double grid = INFINITY;
      for (long double x = 1e-6L; x < 1e15L && delta * x < 1; x *= 1.02L) {
        const long double alpha = 1 + x;
        grid = std::min(grid, alpha * rho - std::log1p(1 / x) -
                                  (std::log(static_cast<long double>(delta)) + std::log1p(x)) / x);
      }
      if (grid <= 0) continue;
      const auto epsilon = static_cast<long double>(epsilon_of(rho, delta));
      EXPECT_LE(epsilon, grid * (1 + 1e-15L)) << rho << " " << delta;
      // alpha - 1 off by a factor up to 1.01 costs at most 1e-4 of the two terms that balance
      EXPECT_GE(epsilon, grid * (1 - 2e-3L)) << rho << " " << delta;
    }
  }
}

TEST(LinearRdp, RhoIsTheLargestRoundedDown) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const double epsilon : {1e-12, 1e-3, 0.1, 1.0, 10.0, 100.0, 1e4}) {
    for (const double delta : {1e-300, 1e-15, 1e-6, 0.1, 0.9}) {
      const double rho = linear_rdp_rho_down(epsilon, delta);
      ASSERT_GT(rho, 0.0);
      EXPECT_LE(epsilon_of(rho, delta), epsilon) << epsilon << " " << delta;
      EXPECT_GT(epsilon_of(rho * (1 + 1e-12), delta), epsilon) << epsilon << " " << delta;
    }
  }
}

// No more is allowed than the exact curve of a Gaussian release with that rho.
TEST(LinearRdp, NeverUndercutsTheExactGaussianCurve) {
  for (double epsilon = 1e-3; epsilon < 300; epsilon *= 2.3) {
    for (const double delta : {1e-15, 1e-9, 1e-6, 1e-3, 0.1}) {
      const double mu = std::sqrt(2 * linear_rdp_rho_down(epsilon, delta));
      EXPECT_GE(epsilon, gdp_epsilon_up(mu, delta)) << epsilon << " " << delta;
    }
  }
}

TEST(RdpArguments, AreNamedWhenOutOfRange) {
  const auto message = [](auto call) {
    try {
      call();
    } catch (const BadInput& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  using ::testing::StartsWith;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, nan, inf}) {
    EXPECT_THAT(message([&] { linear_rdp_rho_down(bad, 0.1); }), StartsWith("epsilon: "));
  }
  for (const double bad : {0.0, 1.0, nan}) {
    EXPECT_THAT(message([&] { linear_rdp_rho_down(1, bad); }), StartsWith("delta: "));
  }
}

// Two laws on the same cells.
struct Pair {
  std::vector<double> p, q;
};

double renyi(const Pair& laws, double order) {
  double sum = 0;
  for (std::size_t i = 0; i < laws.p.size(); ++i)
    if (laws.p[i] > 0)
      sum += laws.q[i] * std::exp(order * (std::log(laws.p[i]) - std::log(laws.q[i])));
  return std::log(sum) / (order - 1);
}

TEST(Renyi, OfRandomizedResponseIsExactAndTight) {
  for (const double p : {1e-6, 0.1, 1.0, 5.0, 300.0}) {
    for (const double order : {1.01, 2.0, 8.0, 100.0}) {
      const double claimed = renyi_up({.epsilon0 = p}, order);
      EXPECT_LE(claimed, p);
      EXPECT_LE(claimed, order * p * p / 2 * (1 + 1e-12));
      if (p > 20) continue;  // its cells are beyond double
      const double heads = 1 / (1 + std::exp(-p)), tails = 1 / (1 + std::exp(p));
      const double found = renyi({{heads, tails}, {tails, heads}}, order);
      EXPECT_NEAR(claimed, found, 1e-12 + 1e-12 / (order - 1)) << p << " " << order;
    }
  }
  EXPECT_GE(renyi_up({.epsilon0 = 300}, 1e6), 299.99);
}

// Terms of about 1 cancel down to order p^2/2, which 50 digits do not hold where p is small.
TEST(Renyi, OfSmallPureCostsIsRoundedUp) {
  for (const double p : {1e-300, 1e-40, 1e-25, 1e-23, 1e-12}) {
    for (const double order : {1 + 1e-12, 2.0, 8.0, 1e6}) {
      const double claimed = renyi_up({.epsilon0 = p}, order);
      // ln(1 + (e^(order p) - 1)(1 - e^((1-order) p)) / (1 + e^p)): no difference of like terms.
      const Oracle a = order, P = p;
      const Oracle more = -boost::math::expm1(a * P) * boost::math::expm1((1 - a) * P);
      const Oracle exact = boost::math::log1p(more / (1 + exp(P))) / (a - 1);
      EXPECT_GE(Oracle(claimed), exact) << p << " " << order;
      EXPECT_LE(claimed, p);
    }
  }
}

TEST(Renyi, OfAGaussianIsLinear) {
  for (const double mu : {1e-3, 0.2, 2.0}) {
    for (const double order : {1.5, 2.0, 64.0}) {
      const double claimed = renyi_up({.mu = mu}, order);
      EXPECT_GE(Wide(claimed), Wide(order) * Wide(mu) * Wide(mu) / 2);
      EXPECT_NEAR(claimed, order * mu * mu / 2, 1e-15 * claimed * 8);
    }
    // What rounding costs moves the Gaussian to the one that covers both.
    EXPECT_GT(renyi_up({.mu = mu, .epsilon0 = 1e-9}, 2), renyi_up({.mu = mu}, 2));
  }
  EXPECT_EQ(renyi_up({.mu = 61, .epsilon0 = 1e-9}, 2), inf);
  EXPECT_EQ(renyi_up({}, 2), 0);
}

// A law whose ratio is e^p at most and whose Gaussian part is mu: an additive mix of both ends of
// H(epsilon - p; mu), on a grid, has no larger divergence than is claimed.
TEST(Renyi, CoversAPureShiftOfAGaussian) {
  const double mu = 0.7, p = 0.3;
  Pair laws;
  const int n = 40'000;
  for (int i = 0; i < n; ++i) {
    const double x = -9 + 18.0 * (i + 0.5) / n, cell = 18.0 / n / std::sqrt(2 * M_PI);
    // One bit of randomized response beside the Gaussian: both at once.
    for (const bool heads : {true, false}) {
      const double up = 1 / (1 + std::exp(-p)), down = 1 - up;
      laws.p.push_back((heads ? up : down) * cell * std::exp(-(x - mu) * (x - mu) / 2));
      laws.q.push_back((heads ? down : up) * cell * std::exp(-x * x / 2));
    }
  }
  for (const double order : {1.2, 2.0, 8.0}) {
    const double found = renyi(laws, order);
    EXPECT_LE(found, renyi_up({.mu = mu, .epsilon0 = p}, order));
    EXPECT_GT(found,
              renyi_up({.mu = mu}, order));  // it has power: the Gaussian alone is too little
  }
}

// The worst that total variation does: of Q everything is taken away where P is largest beside it.
// The events of docs/theory/rdp.md have the divergences and the probabilities that are claimed.
TEST(ZeroConcentrated, HoldsWhereTotalVariationTakesATailAway) {
  const double mu = 0.5;
  for (const double tv : {1e-3, 1e-6}) {
    const ZeroConcentrated claim = zero_concentrated_up({.mu = mu, .tv = tv});
    Pair ideal, events;
    const int n = 200'000;
    double kept_p = 0, kept_q = 0, gone = 0;
    for (int i = n; i-- > 0;) {  // from the top, where P/Q is largest
      const double x = -9 + 18.5 * (i + 0.5) / n, cell = 18.5 / n / std::sqrt(2 * M_PI);
      const double p = cell * std::exp(-(x - mu) * (x - mu) / 2), q = cell * std::exp(-x * x / 2);
      const double taken = std::min(q, tv - gone);
      gone += taken;
      const double c = 1 - taken / q;
      ideal.p.push_back(p);
      ideal.q.push_back(q);
      events.p.push_back(c * p);
      events.q.push_back(c * q);
      kept_p += c * p;
      kept_q += c * q;
    }
    EXPECT_GE(kept_p, 1 - claim.failure);
    EXPECT_GE(kept_q, 1 - claim.failure);
    // No event of P of probability 1 - tv would do: Q has nothing left of what P has more of.
    EXPECT_LT(kept_p, 1 - 1.5 * tv);
    EXPECT_LT(claim.failure, 10 * tv + 1e-3 * mu);
    for (double& one : events.p) one /= kept_p;
    for (double& one : events.q) one /= kept_q;
    for (const double order : {1.001, 1.1, 2.0, 8.0}) {
      EXPECT_LE(renyi(events, order), claim.xi + claim.rho * order) << tv << " " << order;
      EXPECT_LE(renyi({events.q, events.p}, order), claim.xi + claim.rho * order);
    }
  }
}

TEST(ZeroConcentrated, IsPlainWithoutGaps) {
  const ZeroConcentrated gaussian = zero_concentrated_up({.mu = 0.2});
  EXPECT_NEAR(gaussian.rho, 0.02, 1e-16);
  EXPECT_EQ(gaussian.failure, 0);
  EXPECT_EQ(gaussian.xi, 0);
  const ZeroConcentrated pure = zero_concentrated_up({.epsilon0 = 1, .delta0 = 1e-6});
  EXPECT_NEAR(pure.rho, 0.5, 1e-15);
  EXPECT_EQ(pure.failure, 1e-6);
  EXPECT_EQ(pure.xi, 0);
  const ZeroConcentrated both = zero_concentrated_up({.mu = 0.2, .delta0 = 1e-6, .tv = 1e-12});
  EXPECT_GT(both.failure, 1e-6 + 2e-12);
  EXPECT_LT(both.failure, 1e-6 + 1e-11);
  EXPECT_GT(both.xi, 0);
  EXPECT_LT(both.xi, 2e-6);
  EXPECT_EQ(zero_concentrated_up({.mu = 0.2, .tv = 0.6}).failure, 1);
  EXPECT_EQ(zero_concentrated_up({.delta0 = 1}).rho, inf);
}

TEST(RenyiBudget, MuIsTheLargestRoundedDown) {
  for (const double rho : {1e-12, 0.02, 0.5, 3.0}) {
    const double mu = rho_mu_down(rho), next = mu * (1 + 1e-15);
    EXPECT_LE(Wide(mu) * Wide(mu) / 2, Wide(rho));
    EXPECT_GT(Wide(next) * Wide(next) / 2, Wide(rho));
    for (const double order : {1.5, 10.0}) {
      const double of_order = renyi_mu_down(rho, order), above = of_order * (1 + 1e-15);
      EXPECT_LE(Wide(order) * Wide(of_order) * Wide(of_order) / 2, Wide(rho));
      EXPECT_GT(Wide(order) * Wide(above) * Wide(above) / 2, Wide(rho));
    }
  }
  for (const double mu : {0.01, 0.2, 3.0}) {
    for (const double delta : {1e-12, 1e-6}) {
      const double epsilon = budget_epsilon_down(mu, delta);
      EXPECT_LE(gdp_mu_down(epsilon, delta), mu);
      EXPECT_GT(gdp_mu_down(epsilon * (1 + 1e-11), delta), mu);
    }
  }
  EXPECT_EQ(budget_epsilon_down(1e-9, 1e-6), 0);
  EXPECT_THROW(rho_mu_down(0), BadInput);
  EXPECT_THROW(renyi_mu_down(1, 1), BadInput);
  EXPECT_THROW(renyi_up({.mu = 1}, 1), BadInput);
}

// By quadrature of two laws on a fine grid of log x, both directions; and that shifts and ratios
// below the largest have no larger divergence.
TEST(Renyi, OfGammaPairsIsTheIntegral) {
  const auto law = [](double shape, double rate, double x) {
    return std::exp(shape * std::log(rate * x) - rate * x - std::lgamma(shape));  // of log x
  };
  const auto found = [&](double a, double s, double b, double t, double order) {
    double sum = 0;
    const double step = 1e-3;
    for (double y = -30; y < 6; y += step) {
      const double p = law(a, s, std::exp(y)), q = law(b, t, std::exp(y));
      if (p > 0 && q > 0) sum += step * std::exp(order * std::log(p) + (1 - order) * std::log(q));
    }
    return std::log(sum) / (order - 1);
  };
  for (const double order : {1.5, 3.0}) {
    const double shifted = gamma_renyi(2, 0.4, order);
    EXPECT_NEAR(shifted, std::max(found(2, 1, 2.4, 1, order), found(2.4, 1, 2, 1, order)), 1e-6);
    EXPECT_LT(gamma_renyi(2, 0.3, order), shifted);
    EXPECT_LT(gamma_renyi(2.5, 0.4, order), shifted);
    const double scaled = scale_renyi(3, 0.2, order);
    EXPECT_NEAR(scaled, std::max(found(3, 1, 3, 1.2, order), found(3, 1.2, 3, 1, order)), 1e-6);
    EXPECT_LT(scale_renyi(3, 0.1, order), scaled);
  }
  EXPECT_EQ(gamma_renyi(2, 0.4, 6), inf);
  EXPECT_EQ(scale_renyi(3, 0.2, 6), inf);
}

}  // namespace rdp_test
