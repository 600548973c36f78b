#include "gibbsite/privacy/rdp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "privacy/oracle.hpp"

using namespace gibbsite;
using gibbsite::testing::Oracle;

namespace rdp_test {

constexpr double inf = std::numeric_limits<double>::infinity();

double down(double x) { return std::nextafter(x, -inf); }

// The conversion as printed, in 100 digits.
Oracle conversion(const Oracle& alpha, const Oracle& rho, const Oracle& delta) {
  return rho + log((alpha - 1) / alpha) - (log(delta) + log(alpha)) / (alpha - 1);
}

TEST(GdpRdp, IsAlphaMuSquaredOverTwoRoundedUp) {
  using Rational = boost::multiprecision::cpp_rational;
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int i = 0; i < 200; ++i) {
    const double mu = std::exp(exponent(bits));
    const double alpha = 1 + std::exp(exponent(bits));
    const Rational exact = Rational(alpha) * Rational(mu) * Rational(mu) / 2;
    const double rho = gdp_rdp_up(mu, alpha);
    EXPECT_GE(Rational(rho), exact);
    EXPECT_LT(Rational(down(down(rho))), exact);
  }
  EXPECT_EQ(gdp_rdp_up(0, 2), 0.0);
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
      EXPECT_NEAR(std::log(integral) / (alpha - 1), gdp_rdp_up(mu, alpha), tolerance / (alpha - 1))
          << mu << " " << alpha;
    }
  }
}

TEST(RdpEpsilon, IsTheConversionRoundedUp) {
  for (const double alpha : {1 + 1e-9, 1.01, 1.5, 2.0, 10.0, 1000.0}) {
    for (const double rho : {0.0, 1e-6, 0.3, 20.0}) {
      for (const double delta : {1e-300, 1e-15, 1e-6, 0.1}) {
        const Oracle exact = conversion(alpha, rho, delta);
        const double epsilon = rdp_epsilon_up(alpha, rho, delta);
        EXPECT_GE(epsilon, exact) << alpha << " " << rho << " " << delta;
        if (exact < 0) {
          EXPECT_EQ(epsilon, 0.0);
        } else {
          EXPECT_LT(down(epsilon), exact) << alpha << " " << rho << " " << delta;
        }
      }
    }
  }
}

TEST(LinearRdp, IsTheMinimumOverAlpha) {
  for (const double rho : {1e-12, 1e-6, 1e-3, 0.1, 1.0, 50.0, 1e4}) {
    for (const double delta : {1e-300, 1e-15, 1e-6, 0.1, 0.9}) {
      long double grid = INFINITY;
      for (long double x = 1e-6L; x < 1e15L && delta * x < 1; x *= 1.02L) {
        const long double alpha = 1 + x;
        grid = std::min(grid, alpha * rho - std::log1p(1 / x) -
                                  (std::log(static_cast<long double>(delta)) + std::log1p(x)) / x);
      }
      const double epsilon = linear_rdp_epsilon_up(rho, delta);
      EXPECT_LE(epsilon, std::max(grid, 0.0L) * (1 + 1e-15L)) << rho << " " << delta;
      // alpha - 1 off by a factor up to 1.01 costs at most 1e-4 of the two terms that balance
      EXPECT_GE(epsilon, grid * (1 - 2e-3L)) << rho << " " << delta;
    }
  }
}

// At the optimum the derivative vanishes: every alpha near it gives a value no smaller.
TEST(LinearRdp, IsTightToADouble) {
  for (const double rho : {1e-8, 1e-3, 0.1, 5.0, 1e3}) {
    for (const double delta : {1e-15, 1e-6, 0.01}) {
      const Oracle ell = -log(Oracle(delta));
      Oracle lo = 0;
      Oracle hi = sqrt(ell / rho);  // x^2 rho + log(1 + x) = ell, by bisection in 100 digits
      for (int i = 0; i < 200; ++i) {
        const Oracle x = (lo + hi) / 2;
        (x * x * rho + log(1 + x) < ell ? lo : hi) = x;
      }
      const Oracle exact = conversion(1 + lo, (1 + lo) * rho, delta);
      if (exact <= 0) continue;
      const double epsilon = linear_rdp_epsilon_up(rho, delta);
      EXPECT_GE(epsilon, exact) << rho << " " << delta;
      EXPECT_LE(down(epsilon), exact) << rho << " " << delta;
    }
  }
}

TEST(LinearRdp, NeverUndercutsTheExactGaussianCurve) {
  for (double mu = 1e-4; mu < 30; mu *= 2.3) {
    for (const double delta : {1e-15, 1e-9, 1e-6, 1e-3, 0.1}) {
      EXPECT_GE(linear_rdp_epsilon_up(gdp_rdp_up(mu, 2) / 2, delta), gdp_epsilon_up(mu, delta))
          << mu << " " << delta;
    }
  }
}

TEST(LinearRdp, RhoInvertsEpsilon) {
  for (const double epsilon : {1e-12, 1e-3, 0.1, 1.0, 10.0, 100.0, 1e4}) {
    for (const double delta : {1e-300, 1e-15, 1e-6, 0.1, 0.9}) {
      const double rho = linear_rdp_rho_down(epsilon, delta);
      ASSERT_GT(rho, 0.0);
      EXPECT_LE(linear_rdp_epsilon_up(rho, delta), epsilon) << epsilon << " " << delta;
      EXPECT_GT(linear_rdp_epsilon_up(rho * (1 + 1e-12), delta), epsilon)
          << epsilon << " " << delta;
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
  for (const double bad : {1.0, 0.5, nan, inf}) {
    EXPECT_THAT(message([&] { gdp_rdp_up(1, bad); }), StartsWith("alpha: "));
    EXPECT_THAT(message([&] { rdp_epsilon_up(bad, 1, 0.1); }), StartsWith("alpha: "));
  }
  for (const double bad : {-1.0, nan, inf}) {
    EXPECT_THAT(message([&] { gdp_rdp_up(bad, 2); }), StartsWith("mu: "));
    EXPECT_THAT(message([&] { rdp_epsilon_up(2, bad, 0.1); }), StartsWith("rho: "));
    EXPECT_THAT(message([&] { linear_rdp_epsilon_up(bad, 0.1); }), StartsWith("rho_per_alpha: "));
    EXPECT_THAT(message([&] { linear_rdp_rho_down(bad, 0.1); }), StartsWith("epsilon: "));
  }
  for (const double bad : {0.0, 1.0, nan}) {
    EXPECT_THAT(message([&] { rdp_epsilon_up(2, 1, bad); }), StartsWith("delta: "));
    EXPECT_THAT(message([&] { linear_rdp_epsilon_up(1, bad); }), StartsWith("delta: "));
    EXPECT_THAT(message([&] { linear_rdp_rho_down(1, bad); }), StartsWith("delta: "));
  }
}

}  // namespace rdp_test
