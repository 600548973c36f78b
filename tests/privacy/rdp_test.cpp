#include "gibbsite/privacy/rdp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "privacy/oracle.hpp"

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

}  // namespace rdp_test
