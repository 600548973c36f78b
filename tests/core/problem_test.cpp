// The constants against exact rational arithmetic: never below, and within two doubles above.
#include "gibbsite/core/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"

using gibbsite::Adjacency;
using gibbsite::Problem;

namespace problem_test {

using Rational = boost::multiprecision::cpp_rational;

double lower(double x, int doubles) {
  for (int i = 0; i < doubles; ++i) x = std::nextafter(x, 0.0);
  return x;
}

// result >= sqrt(square) > result less two doubles
void expect_square_root_up(double result, const Rational& square) {
  EXPECT_GE(Rational(result) * Rational(result), square);
  const Rational below = Rational(lower(result, 2));
  EXPECT_LT(below * below, square);
}

struct Case {
  Problem constants;
  double beta;
  double prior_precision;
  std::uint64_t rows_per_person;
};

std::vector<Case> cases() {
  std::mt19937_64 bits(7);
  std::uniform_real_distribution<double> exponent(-12, 12);
  const auto any = [&] { return std::exp(exponent(bits)); };
  std::vector<Case> result;
  for (int i = 0; i < 300; ++i) {
    Case c;
    c.constants.rows = 1 + bits() % (i % 2 == 0 ? 1000u : std::uint64_t{1} << 62);
    c.constants.features = 3;
    c.constants.row_norm = i % 7 == 0 ? 1.0 : any();
    c.constants.intercept = i % 2 == 0;
    c.constants.max_abs_derivative = i % 3 == 0 ? 1.0 : any();
    c.constants.curvature = i % 3 == 0 ? 0.25 : any();
    c.beta = any();
    c.prior_precision = i % 5 == 0 ? 0.0 : any();
    c.rows_per_person = 1 + bits() % 9;
    result.push_back(c);
  }
  return result;
}

Rational row_norm_squared(const Problem& c) {
  const Rational r(c.row_norm);
  return r * r + (c.intercept ? 1 : 0);
}

TEST(Constants, RowNormIsRoundedUp) {
  for (const Case& c : cases()) {
    expect_square_root_up(c.constants.full_row_norm_up(), row_norm_squared(c.constants));
  }
}

TEST(Constants, LipschitzIsRoundedUp) {
  for (const Case& c : cases()) {
    const Rational derivative(c.constants.max_abs_derivative);
    expect_square_root_up(c.constants.lipschitz_up(),
                          derivative * derivative * row_norm_squared(c.constants));
  }
}

TEST(Constants, SensitivityIsRoundedUpUnderBothAdjacencies) {
  for (const Case& c : cases()) {
    for (const int gradients : {1, 2}) {
      const Adjacency adjacency = gradients == 2 ? Adjacency::replace_one : Adjacency::add_remove;
      const double s = c.constants.sensitivity_up(c.beta, adjacency, c.rows_per_person);
      const Rational scale = Rational(c.rows_per_person) * gradients * Rational(c.beta) *
                             Rational(c.constants.max_abs_derivative);
      const Rational square = scale * scale * row_norm_squared(c.constants);
      EXPECT_GE(Rational(s) * Rational(s), square);
      // two roundings: L, then k * 2 beta L; each is at most one double, and one more where a
      // power of two lies between them
      const Rational below = Rational(lower(s, 3));
      EXPECT_LT(below * below, square);
    }
  }
}

TEST(Constants, SmoothnessIsRoundedUp) {
  for (const Case& c : cases()) {
    const Rational exact = Rational(c.beta) * Rational(c.constants.rows) *
                               Rational(c.constants.curvature) * row_norm_squared(c.constants) +
                           Rational(c.prior_precision);
    const double up = c.constants.smoothness_up(c.beta, c.prior_precision);
    EXPECT_GE(Rational(up), exact);
    EXPECT_LT(Rational(lower(up, 2)), exact);
  }
}

TEST(Constants, GrowWithEachArgument) {
  for (const Case& c : cases()) {
    const auto s = [&](double beta, std::uint64_t k) {
      return c.constants.sensitivity_up(beta, Adjacency::replace_one, k);
    };
    const double more_beta = std::nextafter(c.beta, 1e300);
    EXPECT_LE(s(c.beta, 1), s(more_beta, 1));
    EXPECT_LT(s(c.beta, 1), s(c.beta * (1 + 1e-14), 1));
    EXPECT_LT(s(c.beta, 1), s(c.beta, 2));
    EXPECT_LE(c.constants.smoothness_up(c.beta, c.prior_precision),
              c.constants.smoothness_up(more_beta, c.prior_precision));
    Problem more = c.constants;
    more.row_norm *= 1 + 1e-14;
    EXPECT_LE(c.constants.lipschitz_up(), more.lipschitz_up());
    EXPECT_LE(c.constants.smoothness_up(c.beta, c.prior_precision),
              more.smoothness_up(c.beta, c.prior_precision));
    more = c.constants;
    more.rows *= 2;
    EXPECT_LT(c.constants.smoothness_up(c.beta, 0), more.smoothness_up(c.beta, 0));
  }
}

TEST(Constants, LogisticWithoutInterceptIsExact) {
  Problem c;
  c.rows = 10;
  c.features = 2;
  EXPECT_EQ(c.full_row_norm_up(), 1.0);
  EXPECT_EQ(c.lipschitz_up(), 1.0);
}

TEST(Constants, ValidateNamesTheField) {
  const auto message = [](auto change) {
    Problem c;
    c.rows = 10;
    c.features = 2;
    c.validate();  // fine before the change
    change(c);
    try {
      c.validate();
    } catch (const gibbsite::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using testing::StartsWith;
  EXPECT_THAT(message([](auto& c) { c.rows = 0; }), StartsWith("rows: "));
  EXPECT_THAT(message([](auto& c) { c.features = 0; }), StartsWith("features: "));
  EXPECT_THAT(message([](auto& c) { c.row_norm = 0; }), StartsWith("row_norm: "));
  EXPECT_THAT(message([&](auto& c) { c.row_norm = nan; }), StartsWith("row_norm: "));
  EXPECT_THAT(message([](auto& c) { c.max_abs_derivative = -1; }),
              StartsWith("max_abs_residual: "));
  EXPECT_THAT(message([&](auto& c) { c.curvature = nan; }), StartsWith("curvature: "));
  EXPECT_THAT(message([](auto& c) { c.prior_precision = -1.0; }),
              StartsWith("`prior_precision`: "));
  EXPECT_THAT(message([](auto& c) { c.center_norm = -1; }), StartsWith("center_norm: "));
}

}  // namespace problem_test
