// What a mixture of normals says of combinations of coefficients.
#include "gibbsite/model/estimates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace estimates_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double quantile_95 = 1.959963984540054;
constexpr double infinite = std::numeric_limits<double>::infinity();

// A number, three levels and the constant.
Schema schema() {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.intercept = true;
  out.columns = {{.name = "age", .type = ColumnType::number},
                 {.name = "id", .type = ColumnType::ignore},
                 {.name = "job", .type = ColumnType::category, .levels = {"a", "b", "c"}}};
  return out;
}

Estimates estimates() {
  Estimates out;
  out.weights = {1};
  out.means = {{2, 0.5, -1, 0.25, 0.1}};
  out.covariance = {0.16,                    //
                    0.01, 0.04,              //
                    0.02, 0.01, 0.09,        //
                    0,    0,    0,    0.25,  //
                    0.03, 0,    0.01, 0,    0.5};
  out.prior_deviation = {10, 2.5, 2.5, 2.5, infinite};
  out.feature_means = {0.4, 0.5, 0.3, 0.2, 1};
  out.feature_deviations = {0.2, 0.5, 0.46, 0.4, 0};
  return out;
}

double normal(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

TEST(Estimates, OfOneNormalAreItsMeanAndQuantiles) {
  const Estimates e = estimates();
  // By hand: 2 - 2 * 0.5 = 1; 0.16 + 4 * 0.04 - 4 * 0.01 = 0.28.
  const EffectEstimate found = e.combination(std::vector<double>{1, -2, 0, 0, 0});
  EXPECT_NEAR(found.estimate, 1, 1e-15);
  EXPECT_NEAR(found.standard_error, std::sqrt(0.28), 1e-15);
  EXPECT_NEAR(found.upper - 1, quantile_95 * std::sqrt(0.28), 1e-14);
  EXPECT_NEAR(1 - found.lower, quantile_95 * std::sqrt(0.28), 1e-14);
  EXPECT_NEAR(found.p_value, 2 * normal(-1 / std::sqrt(0.28)), 1e-15);
  EXPECT_FALSE(found.hidden);
  // Far from 0 on either side: 1 - P would be 0 on one of them.
  Estimates far = estimates();
  for (const double side : {-30.0, 30.0}) {
    far.means[0][0] = side * 0.4;
    const double p = far.combination(std::vector<double>{1, 0, 0, 0, 0}).p_value;
    EXPECT_GT(p, 0) << side;
    EXPECT_LT(p, 1e-190) << side;
  }
}

TEST(Estimates, OfNothingAreNothing) {
  const EffectEstimate found = estimates().combination(std::vector<double>(5, 0.0));
  EXPECT_EQ(found.estimate, 0);
  EXPECT_EQ(found.lower, 0);
  EXPECT_EQ(found.upper, 0);
  EXPECT_EQ(found.p_value, 1);
}

TEST(Estimates, OfAMixtureAreItsQuantiles) {
  Estimates e = estimates();
  e.weights = {0.25, 0.75};
  e.means = {{2, 0, 0, 0, 0}, {6, 0, 0, 0, 0}};
  const EffectEstimate found = e.combination(std::vector<double>{1, 0, 0, 0, 0});
  EXPECT_NEAR(found.estimate, 5, 1e-15);
  EXPECT_NEAR(found.standard_error, std::sqrt(0.16 + 0.25 * 9 + 0.75), 1e-14);
  const auto below = [](double x) {
    return 0.25 * normal((x - 2) / 0.4) + 0.75 * normal((x - 6) / 0.4);
  };
  EXPECT_NEAR(below(found.lower), 0.025, 1e-12);
  EXPECT_NEAR(below(found.upper), 0.975, 1e-12);
  EXPECT_NEAR(found.p_value, 2 * below(0), 1e-9);
}

TEST(Estimates, HideWhatLeavesHalfOfThePriorsVariance) {
  Estimates e = estimates();
  e.prior_deviation[0] = 0.4 * std::sqrt(2.0) + 1e-9;
  const std::vector<double> age{1, 0, 0, 0, 0};
  EXPECT_FALSE(e.combination(age).hidden);
  e.prior_deviation[0] = 0.4 * std::sqrt(2.0) - 1e-9;
  EXPECT_TRUE(e.combination(age).hidden);
  EXPECT_FALSE(e.combination(std::vector<double>{0, 0, 0, 0, 1}).hidden);  // it has no prior
}

// Two numbers a and b, one more, and the constant. By hand: Var(a) = (Var(a + b) + Var(a - b))/4,
// the prior's variance of a - b is 128, and a is known to Var(a + b) Var(a - b)/(4 Var(a)) given b.
Estimates of_two_numbers(double sum, double difference) {
  Estimates e;
  e.weights = {1};
  e.means = {{1, 1, 1, 0}};
  const double own = (sum + difference) / 4, between = (sum - difference) / 4;
  e.covariance = {own, between, own, 0, 0, 60, 0, 0, 0, 0.01};
  e.prior_deviation = {8, 8, 8, std::numeric_limits<double>::infinity()};
  e.feature_means = {0.5, 0.5, 0.5, 1};
  return e;
}

TEST(Collinearity, HoldsWhereOtherColumnsMakeUpForAnEffect) {
  const std::vector<double> a{1, 0, 0, 0}, b{0, 1, 0, 0}, sum{1, 1, 0, 0}, c{0, 0, 1, 0};
  const Collinearity by_prior(of_two_numbers(0.02, 100));
  EXPECT_TRUE(by_prior.holds(a));
  EXPECT_TRUE(by_prior.holds(b));
  EXPECT_FALSE(by_prior.holds(sum));
  EXPECT_FALSE(by_prior.holds(c));  // hidden, and no other column has to do with it
  // At least 0.4 of the prior's variance of a - b must be left.
  EXPECT_TRUE(Collinearity(of_two_numbers(0.02, 0.41 * 128)).holds(a));
  EXPECT_FALSE(Collinearity(of_two_numbers(0.02, 0.39 * 128)).holds(a));
  // And b must be what makes a uncertain: 12 = (1 + x)^2/(4 x) of x = Var(a + b)/Var(a - b).
  EXPECT_TRUE(Collinearity(of_two_numbers(0.021 * 100, 100)).holds(a));
  EXPECT_FALSE(Collinearity(of_two_numbers(0.023 * 100, 100)).holds(a));
}

// Classes' coefficients add up to 0, so each follows from the others; that is not collinear
// (planted: with the other classes' coefficients given it would be).
TEST(Collinearity, IsNotBetweenClasses) {
  Estimates e;
  e.weights = {1};
  e.means = {{1, 0, -1, 0}};
  e.covariance = {5, 0, 0.01, -5, 0, 5, 0, -0.01, 0, 0.01};
  e.prior_deviation = {2.5, std::numeric_limits<double>::infinity(), 2.5,
                       std::numeric_limits<double>::infinity()};
  e.feature_means = {0.5, 1};
  EXPECT_FALSE(Collinearity(e).holds(std::vector<double>{1, 0, 0, 0}));
}

// The interval and the p-value agree on whether 0 is excluded, wherever 0 lies.
TEST(Estimates, ReachFurtherWhereRowsSaturateAndNotBeyondThePrior) {
  Estimates e = estimates();
  e.further_above = {0, 0, 0, 0, 0};
  e.further_below = {0.3, 0, 0, 6, 0};
  const EffectEstimate age = e.combination(std::vector<double>{1, 0, 0, 0, 0});
  const double half = quantile_95 * 0.4;
  EXPECT_NEAR(age.upper, 2 + half, 1e-14);
  EXPECT_NEAR(age.lower, 2 - std::hypot(half, 0.3), 1e-14);
  // For the negated effect the extension lies above the estimate, and doubling the effect doubles
  // it.
  const EffectEstimate opposite = e.combination(std::vector<double>{-2, 0, 0, 0, 0});
  EXPECT_NEAR(opposite.upper, -4 + 2 * std::hypot(half, 0.3), 1e-14);
  EXPECT_NEAR(opposite.lower, -4 - 2 * half, 1e-14);
  const EffectEstimate level = e.combination(std::vector<double>{0, 0, 0, 1, 0});
  EXPECT_NEAR(level.lower, -quantile_95 * 2.5, 1e-14);  // the end of the prior's, around 0
  for (double at = -3; at <= 3; at += 0.01) {
    e.means[0][0] = at;
    const EffectEstimate found = e.combination(std::vector<double>{1, 0, 0, 0, 0});
    EXPECT_EQ(found.p_value <= 0.05, found.lower >= 0 || found.upper <= 0) << at;
    EXPECT_TRUE(found.p_value >= 0 && found.p_value <= 1) << at;
  }
}

TEST(Estimates, LevelsStandAgainstTheWeightedMeanOfTheirColumn) {
  const Estimates e = estimates();
  const Schema s = schema();
  // Weighted mean of 0.5, -1, 0.25: 0.25 - 0.3 + 0.05 = 0.
  EXPECT_NEAR(feature_effect(e, s, 1).estimate, 0.5, 1e-15);
  EXPECT_NEAR(feature_effect(e, s, 2).estimate, -1, 1e-15);
  const EffectEstimate same = e.combination(std::vector<double>{0, 0.5, -0.3, -0.2, 0});
  EXPECT_NEAR(feature_effect(e, s, 1).standard_error, same.standard_error, 1e-15);
  EXPECT_NEAR(feature_effect(e, s, 0).estimate, 2, 1e-15);
  EXPECT_NEAR(feature_effect(e, s, 4).estimate, 0.1, 1e-15);
  // What all levels have in common is the constant's.
  Estimates moved = e;
  for (const std::size_t j : {1U, 2U, 3U}) moved.means[0][j] += 7;
  moved.means[0][4] -= 7;
  for (std::size_t j = 0; j < 5; ++j)
    EXPECT_NEAR(feature_effect(moved, s, j).estimate, feature_effect(e, s, j).estimate, 1e-14) << j;
  // Shares that noise took below 0 count as none.
  moved.feature_means = {0.4, -0.1, 0.6, 0.2, 1};
  EXPECT_NEAR(feature_effect(moved, s, 1).estimate, 0.5 + 0.75 - 0.0625, 1e-14);
}

TEST(Estimates, ALevelAgainstAnother) {
  const EffectEstimate found =
      estimates().combination(level_combination(estimates(), schema(), 1, 2));
  EXPECT_NEAR(found.estimate, 1.5, 1e-15);
  EXPECT_NEAR(found.standard_error, std::sqrt(0.04 + 0.09 - 0.02), 1e-15);
}

TEST(Estimates, OfSeveralClassesAreThoseOfTheClass) {
  Estimates e;
  e.weights = {1};
  e.means = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  e.covariance.assign(55, 0.0);
  e.prior_deviation.assign(10, 2.5);
  e.feature_means = {0.4, 0.5, 0.3, 0.2, 1};
  e.feature_deviations.assign(5, 0.1);
  EXPECT_EQ(feature_effect(e, schema(), 0, 1).estimate, 6);
  EXPECT_NEAR(feature_effect(e, schema(), 1, 1).estimate, 7 - (3.5 + 2.4 + 1.8), 1e-14);
}

TEST(Estimates, RefuseOtherLengths) {
  const Estimates e = estimates();
  EXPECT_THAT([&] { (void)e.combination(std::vector<double>(4, 1.0)); },
              ThrowsMessage<BadInput>(HasSubstr("combination: must be 5 numbers, got 4")));
  EXPECT_THAT([&] { feature_effect(e, schema(), 5); },
              ThrowsMessage<BadInput>(HasSubstr("feature 5 of class 0")));
  EXPECT_THAT([&] { feature_effect(e, schema(), 0, 1); },
              ThrowsMessage<BadInput>(HasSubstr("feature 0 of class 1")));
  Schema other = schema();
  other.intercept = false;
  EXPECT_THAT([&] { feature_effect(e, other, 0); },
              ThrowsMessage<BadInput>(HasSubstr("feature_means: must be 4 numbers")));
}

}  // namespace estimates_test
}  // namespace gibbsite
