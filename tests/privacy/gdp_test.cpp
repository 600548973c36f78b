#include "gibbsite/privacy/gdp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "privacy/oracle.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

using namespace gibbsite;
using gibbsite::testing::Oracle;
using gibbsite::testing::oracle_delta;

namespace gdp_test {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
// Half a unit of the 17th digit of a reference value, relative.
constexpr double reference_rounding = 5e-17;
constexpr double half_ulp = 0x1p-53;

double up(double x) { return std::nextafter(x, inf); }
double down(double x) { return std::nextafter(x, -inf); }

/// |d log f / d log x|: how much of the rounding of a decimal input shows in the result.
template <class F>
double condition(F f, double x) {
  return std::abs(std::log(f(x * (1 + 1e-6)) / f(x * (1 - 1e-6)))) / 2e-6;
}

// --- the reference vectors --------------------------------------------------------------------

class GdpVectors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::reference_cases("gdp_delta").empty()) GTEST_SKIP() << support::no_reference_values;
  }
  static double number(const nlohmann::json& c, const char* key) {
    return support::number(c.at(key));
  }
  /// result within 1e-12 of the reference, and on the safe side of it but for the rounding of the
  /// decimal inputs (amplified by `cond`) and of the reference itself.
  static void expect_close(double result, const nlohmann::json& reference, double cond,
                           bool is_up) {
    const Oracle exact(reference.get<std::string>());
    const Oracle relative = Oracle(result) / exact - 1;
    const double allowance = cond * half_ulp + reference_rounding;
    EXPECT_LE(abs(relative), 1e-12) << reference;
    EXPECT_GE(is_up ? relative : Oracle(-relative), -allowance) << reference;
  }
};

TEST_F(GdpVectors, Delta) {
  for (const auto& c : support::reference_cases("gdp_delta")) {
    const double mu = number(c, "mu");
    const double epsilon = number(c, "epsilon");
    const double cond = condition([&](double x) { return gdp_delta_up(epsilon, x); }, mu) +
                        condition([&](double x) { return gdp_delta_up(x, mu); }, epsilon);
    expect_close(gdp_delta_up(epsilon, mu), c.at("delta"), cond, true);
  }
}

TEST_F(GdpVectors, Epsilon) {
  for (const auto& c : support::reference_cases("gdp_epsilon")) {
    const double mu = number(c, "mu");
    const double delta = number(c, "delta");
    const double cond = condition([&](double x) { return gdp_epsilon_up(x, delta); }, mu) +
                        condition([&](double x) { return gdp_epsilon_up(mu, x); }, delta);
    expect_close(gdp_epsilon_up(mu, delta), c.at("epsilon"), cond, true);
  }
}

TEST_F(GdpVectors, Mu) {
  for (const auto& c : support::reference_cases("gdp_mu")) {
    const double epsilon = number(c, "epsilon");
    const double delta = number(c, "delta");
    const double cond = condition([&](double x) { return gdp_mu_down(x, delta); }, epsilon) +
                        condition([&](double x) { return gdp_mu_down(epsilon, x); }, delta);
    expect_close(gdp_mu_down(epsilon, delta), c.at("mu"), cond, false);
  }
}

// --- the value ----------------------------------------------------------------------------------

// 30 digits from an independent arbitrary-precision package (400 digits), far beyond the supported
// range on every side; both sides of every change of method (x, y around 8) are among them.
TEST(GdpDelta, IsTheSmallestDoubleAboveTheExactValueFarOutToo) {
  struct Reference {
    double epsilon, mu;
    const char* delta;
  };
  const std::vector<Reference> references = {
      {0.001, 0.00015416656796858928, "9.99999994167412140106296931492e-16"},
      {0.001, 2.72743611839268e-05, "9.99999999999834451395536342627e-301"},
      {0.0, 1e-12, "3.98942280401432669915879382009e-13"},
      {0.001, 0.0001, "7.47829846001956424070999872412e-29"},
      {1.0, 0.03, "9.40786785613985821622823465367e-247"},
      {100.0, 8.321116606365733, "9.99999999999999886703848676799e-16"},
      {100.0, 2.6123411344893266, "9.99999999999860411730006081458e-301"},
      {10000.0, 109.15, "9.00312871415035781321731511471e-301"},
      {10000.0, 140.0, "0.0755470237697628551320503734888"},
      {537046.0, 1000.0, "1.00424945286027375533035056174e-300"},
      {500000.0, 1000.0, "0.499601058118539650902635619899"},
      {30.0, 7.0, "0.178977887605786960049384366759"},
      {31.0, 8.0, "0.500247284499936049899031821175"},
      {33.0, 8.0, "0.402250040287826318254362179061"},
      {0.0, 3.0, "0.86638559746228386799101191804"},
      {1e-20, 1e-10, "3.9894228035143269247811313661e-11"},
      {2.0, 0.1, "3.71945072680472364546357054764e-91"},
      {1e-08, 0.05, "0.01994503149020164295766297228"},
  };
  for (const auto& r : references) {
    const double delta = gdp_delta_up(r.epsilon, r.mu);
    EXPECT_GE(Oracle(delta), Oracle(r.delta)) << r.epsilon << " " << r.mu;
    EXPECT_LT(Oracle(down(delta)), Oracle(r.delta)) << r.epsilon << " " << r.mu;
  }
}

TEST(GdpDelta, LimitsAreSafe) {
  EXPECT_EQ(gdp_delta_up(1, 0), 0.0);
  EXPECT_EQ(gdp_delta_up(0, 0), 0.0);
  // smaller than any double, yet never 0
  EXPECT_EQ(gdp_delta_up(1, 1e-3), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(gdp_delta_up(1, 1e-300), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(gdp_delta_up(1e4, 1e-3), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(gdp_delta_up(1, 1e3), 1.0);
  EXPECT_EQ(gdp_delta_up(0, 1e300), 1.0);
  // total cancellation: delta(0; mu) = mu / sqrt(2 pi)
  EXPECT_NEAR(gdp_delta_up(0, 1e-300) / 3.989422804014327e-301, 1, 1e-15);
}

// The formula in long double with the C library's erfc. Each erfc is good to a few units of 2^-64,
// and the rounding of its argument x is amplified by x^2, that of eps in e^eps by eps.
TEST(GdpDelta, AgreesWithLongDouble) {
  const auto tail = [](long double x) { return std::erfc(x / std::sqrt(2.0L)) / 2; };
  int compared = 0;
  for (const double epsilon : {1e-3, 0.1, 0.7, 1.0, 3.0, 10.0, 50.0, 100.0}) {
    for (double mu = 1e-4; mu < 30; mu *= 1.37) {
      const long double x = epsilon / static_cast<long double>(mu) - mu / 2.0L;
      const long double y = x + mu;
      if (x > 100) continue;  // below the range of long double
      const long double first = tail(x);
      const long double second = std::exp(static_cast<long double>(epsilon)) * tail(y);
      const long double bound =
          0x1p-64L * (first * (8 + 4 * x * x) + second * (16 + 4 * y * y + epsilon));
      const long double difference = gdp_delta_up(epsilon, mu) - (first - second);
      // gdp_delta_up adds one rounding of its own, and denorm_min at the bottom
      EXPECT_LE(std::abs(difference), bound + (first - second) * 0x1p-52L + 5e-324L)
          << epsilon << " " << mu;
      EXPECT_GE(difference, -bound) << epsilon << " " << mu;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

// The definition: sup over events of P(E) - e^eps Q(E) = integral of (p - e^eps q)+ for
// P = N(mu, 1), Q = N(0, 1). The integrand is positive beyond x0 = eps/mu + mu/2.
TEST(GdpDelta, IsTheHockeyStickDivergenceOfTwoGaussians) {
  for (const double epsilon : {0.0, 0.01, 0.5, 1.0, 4.0, 20.0}) {
    for (const double mu : {0.05, 0.3, 1.0, 2.5, 6.0}) {
      const double x0 = epsilon / mu + mu / 2;
      if (x0 - mu > 30) continue;
      // p - e^eps q = p (1 - e^{-mu (x - x0)})
      const auto integrand = [&](double x) {
        return -std::expm1(-mu * (x - x0)) * std::exp(-(x - mu) * (x - mu) / 2) /
               std::sqrt(2 * M_PI);
      };
      double error = 0;
      const double end = std::max(x0, mu) + 12;  // the rest is below e^-72 of it
      const double integral = boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
          integrand, x0, end, 12, 1e-14, &error);
      // The double rounding of (x - mu)^2/2 <= 450 + 12^2 costs 600 * 2^-52.
      EXPECT_NEAR(gdp_delta_up(epsilon, mu) / integral, 1, 3e-13) << epsilon << " " << mu;
    }
  }
}

TEST(GdpDelta, GrowsWithMuAndFallsWithEpsilon) {
  for (double epsilon = 1e-3; epsilon < 150; epsilon *= 3) {
    double last = 0;
    for (double mu = 1e-4; mu < 40; mu *= 1.5) {
      const double delta = gdp_delta_up(epsilon, mu);
      EXPECT_GE(delta, last);
      EXPECT_LE(gdp_delta_up(epsilon, mu), gdp_delta_up(epsilon, up(mu)));
      EXPECT_GE(gdp_delta_up(epsilon, mu), gdp_delta_up(up(epsilon), mu));
      EXPECT_GE(delta, gdp_delta_up(epsilon * 1.5, mu));
      last = delta;
    }
  }
}

// --- outward rounding, at random over the whole supported range
// -------------------------------------

struct Point {
  double epsilon, delta, mu;
};

// Log-uniform: eps in [1e-3, 100], delta in [1e-15, 0.1], mu in [1e-4, 20].
std::vector<Point> random_points(int count) {
  std::mt19937_64 bits(20160703);
  const auto log_uniform = [&](double lo, double hi) {
    return std::exp(std::uniform_real_distribution<double>(std::log(lo), std::log(hi))(bits));
  };
  std::vector<Point> points{{1e-3, 1e-15, 1e-4}, {1e-3, 0.1, 20}, {100, 1e-15, 1}, {100, 0.1, 7}};
  while (static_cast<int>(points.size()) < count) {
    points.push_back({log_uniform(1e-3, 100), log_uniform(1e-15, 0.1), log_uniform(1e-4, 20)});
  }
  return points;
}

// However often and in whatever order budgets are asked for.
TEST(GdpMu, OfABudgetIsTheSameAgain) {
  std::vector<double> first;
  for (int pass = 0; pass < 3; ++pass) {
    std::size_t at = 0;
    for (const double epsilon : {0.0, 0.5, 1.0, 8.0}) {
      for (const double delta : {1e-9, 1e-6, 0.1}) {
        const double mu = gdp_mu_down(epsilon, delta);
        EXPECT_LE(gdp_delta_up(epsilon, mu), delta);
        EXPECT_GT(gdp_delta_up(epsilon, std::nextafter(mu, 1e9)), delta);
        if (pass == 0) first.push_back(mu);
        EXPECT_EQ(mu, first[at++]);
        EXPECT_EQ(mu, gdp_mu_down(epsilon, delta));
      }
    }
  }
}

TEST(GdpRounding, DeltaIsTheNextDoubleUp) {
  for (const Point& p : random_points(60)) {
    const double mu = gdp_mu_down(p.epsilon, std::sqrt(p.delta));  // anywhere, not at the root
    const Oracle exact = oracle_delta(p.epsilon, mu);
    const double delta = gdp_delta_up(p.epsilon, mu);
    EXPECT_GE(delta, exact) << p.epsilon << " " << mu;
    EXPECT_LT(down(delta), exact) << p.epsilon << " " << mu;
  }
}

TEST(GdpRounding, MuIsTheLargestDoubleThatKeepsTheGuarantee) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const Point& p : random_points(200)) {
    const double mu = gdp_mu_down(p.epsilon, p.delta);
    EXPECT_LE(oracle_delta(p.epsilon, mu), p.delta) << p.epsilon << " " << p.delta;
    EXPECT_LE(gdp_delta_up(p.epsilon, mu), p.delta);
    EXPECT_GT(gdp_delta_up(p.epsilon, up(mu)), p.delta);
  }
  for (const Point& p : random_points(20)) {  // tight by the oracle too, which is slow
    const double mu = gdp_mu_down(p.epsilon, p.delta);
    EXPECT_GT(oracle_delta(p.epsilon, mu * (1 + 1e-12)), p.delta) << p.epsilon << " " << p.delta;
  }
}

TEST(GdpRounding, EpsilonIsTheSmallestDoubleThatKeepsTheGuarantee) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  int positive = 0;
  for (const Point& p : random_points(200)) {
    const double epsilon = gdp_epsilon_up(p.mu, p.delta);
    EXPECT_LE(oracle_delta(epsilon, p.mu), p.delta) << p.mu << " " << p.delta;
    EXPECT_LE(gdp_delta_up(epsilon, p.mu), p.delta);
    if (epsilon == 0) continue;
    ++positive;
    EXPECT_GT(gdp_delta_up(down(epsilon), p.mu), p.delta);
    if (positive % 10 == 0) {  // tight by the oracle too, which is slow
      EXPECT_GT(oracle_delta(epsilon * (1 - 1e-12), p.mu), p.delta) << p.mu << " " << p.delta;
    }
  }
  EXPECT_GT(positive, 100);
}

TEST(GdpRounding, InversesHoldFarBeyondTheSupportedRange) {
  for (const double delta : {1e-300, 1e-60, 1e-15, 0.1, 0.5, 0.999}) {
    for (const double epsilon : {0.0, 1e-12, 1e-3, 1.0, 1e4}) {
      const double mu = gdp_mu_down(epsilon, delta);
      EXPECT_GT(mu, 0.0);
      EXPECT_LE(gdp_delta_up(epsilon, mu), delta) << epsilon << " " << delta;
      EXPECT_GT(gdp_delta_up(epsilon, up(mu)), delta) << epsilon << " " << delta;
    }
    for (const double mu : {1e-30, 1e-6, 1.0, 1e3, 1e6}) {
      const double epsilon = gdp_epsilon_up(mu, delta);
      EXPECT_LE(gdp_delta_up(epsilon, mu), delta) << mu << " " << delta;
      if (epsilon > 0) {
        EXPECT_GT(gdp_delta_up(down(epsilon), mu), delta) << mu << " " << delta;
      }
    }
  }
}

// A continued fraction that ends when a term changes nothing takes 1e9 of them and more here.
TEST(GdpRounding, AnswersAtOnceWhereverItIsAsked) {
  for (const double delta : {5e-324, 1e-300, 1e-10, 0.3}) {
    for (const double epsilon : {1e56, 1e60, 1e100, 1e300, 1.7e308}) {
      const double mu = gdp_mu_down(epsilon, delta);
      EXPECT_LE(gdp_delta_up(epsilon, mu), delta) << epsilon << " " << delta;
      EXPECT_GT(gdp_delta_up(epsilon, up(mu)), delta) << epsilon << " " << delta;
    }
  }
  const double mu = std::ldexp(75, 100);  // delta of mu^2/2 is just below 1/2
  EXPECT_NEAR(gdp_delta_up(mu * mu / 2, mu), 0.5, 1e-15);
}

TEST(GdpInverse, MuOfZeroEpsilonIsTotalVariation) {
  // delta(0; mu) = erf(mu / sqrt 8)
  EXPECT_NEAR(gdp_mu_down(0, std::erf(0.25 / std::sqrt(8.0))), 0.25, 1e-15);
  EXPECT_EQ(gdp_epsilon_up(0, 1e-9), 0.0);
  EXPECT_EQ(gdp_epsilon_up(0.25, std::erf(0.26 / std::sqrt(8.0))), 0.0);
}

// --- composition
// ------------------------------------------------------------------------------------

using Rational = boost::multiprecision::cpp_rational;

Rational square(double x) { return Rational(x) * Rational(x); }

TEST(GdpCompose, IsTheRoundedUpRootOfTheSumOfSquares) {
  std::mt19937_64 bits(3);
  std::uniform_real_distribution<double> exponent(-30, 10);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> mus(1 + bits() % 9);
    Rational sum = 0;
    for (double& mu : mus) {
      mu = std::exp(exponent(bits));
      sum += square(mu);
    }
    const double total = gdp_compose_up(mus);
    EXPECT_GE(square(total), sum);
    EXPECT_LT(square(down(down(total))), sum);
  }
  EXPECT_EQ(gdp_compose_up({}), 0.0);
  const std::vector<double> tiny = {1e-200, 1e-200};
  EXPECT_NEAR(gdp_compose_up(tiny) / 1e-200, std::sqrt(2), 1e-15);  // no underflow on the way
}

TEST(GdpSplit, NeverComposesToMoreThanTheTotal) {
  for (const double total : {1e-10, 0.2367, 1.0, 3.0, 1e5}) {
    for (const unsigned long long draws : {1ull, 2ull, 3ull, 4ull, 1000ull, ~0ull}) {
      const double mu = gdp_split_down(total, draws);
      EXPECT_LE(square(mu) * Rational(draws), square(total));
      EXPECT_GT(square(up(up(mu))) * Rational(draws), square(total));
    }
  }
}

// --- bad arguments
// ---------------------------------------------------------------------------------

TEST(GdpArguments, AreNamedWhenOutOfRange) {
  const auto message = [](auto call) {
    try {
      call();
    } catch (const BadInput& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  using ::testing::StartsWith;
  for (const double bad : {-1e-300, nan, inf}) {
    EXPECT_THAT(message([&] { gdp_delta_up(bad, 1); }), StartsWith("epsilon: "));
    EXPECT_THAT(message([&] { gdp_delta_up(1, bad); }), StartsWith("mu: "));
    EXPECT_THAT(message([&] { gdp_epsilon_up(bad, 0.1); }), StartsWith("mu: "));
    EXPECT_THAT(message([&] { gdp_mu_down(bad, 0.1); }), StartsWith("epsilon: "));
    EXPECT_THAT(message([&] { gdp_split_down(bad, 1); }), StartsWith("mu: "));
    const std::vector<double> mus = {1.0, bad};
    EXPECT_THAT(message([&] { gdp_compose_up(mus); }), StartsWith("mu: "));
  }
  for (const double bad : {0.0, 1.0, -0.1, 1.1, nan}) {
    EXPECT_THAT(message([&] { gdp_epsilon_up(1, bad); }), StartsWith("delta: "));
    EXPECT_THAT(message([&] { gdp_mu_down(1, bad); }), StartsWith("delta: "));
  }
  EXPECT_THAT(message([] { gdp_split_down(1, 0); }), StartsWith("draws: "));
}

}  // namespace gdp_test
