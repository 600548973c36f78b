// Tests of whole columns: their law, their hypotheses, and how they are asked for.
#include "gibbsite/release/joint_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/effects.hpp"
#include "support/effects_example.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace joint_test_test {

using ::testing::HasSubstr;

using Combinations = std::vector<std::vector<double>>;

// Two coefficients of variances 4 and 9 and covariance 3, at 1 and 2.
Estimates two_estimates() {
  Estimates out;
  out.weights = {1};
  out.means = {{1, 2}};
  out.covariance = {4, 3, 9};
  out.prior_deviation = {100, 100};
  return out;
}

TEST(JointTest, IsWaldsStatistic) {
  const Combinations both = {{1, 0}, {0, 1}};
  const JointTest is = joint_test(two_estimates(), both);
  // (1, 2) V^-1 (1, 2)' = (9 - 12 + 16)/27.
  EXPECT_NEAR(is.statistic, 13.0 / 27, 1e-12);
  EXPECT_EQ(is.degrees, 2U);
  EXPECT_NEAR(is.p_value, std::exp(-6.5 / 27), 1e-12);
  const JointTest one = joint_test(two_estimates(), Combinations{{1, 1}});
  EXPECT_NEAR(one.statistic, 9.0 / 19, 1e-12);
  EXPECT_EQ(one.degrees, 1U);
  EXPECT_NEAR(one.p_value, std::erfc(std::sqrt(9.0 / 38)), 1e-12);
}

TEST(JointTest, CountsCombinationsThatFollowFromOthersOnce) {
  const JointTest is = joint_test(two_estimates(), Combinations{{1, 0}, {0, 1}, {2, -3}, {-1, 0}});
  EXPECT_EQ(is.degrees, 2U);
  EXPECT_NEAR(is.statistic, 13.0 / 27, 1e-9);
}

TEST(JointTest, TakesWhatIntervalsHaveFurtherAndMixturesSpread) {
  Estimates of = two_estimates();
  of.further_above = {0, 1.959963984540054};
  of.further_below = {0, 0};
  EXPECT_NEAR(joint_test(of, Combinations{{0, 1}}).statistic, 4.0 / 10, 1e-12);
  of.further_above = {0, 1e9};  // no further than the prior's deviation
  EXPECT_NEAR(joint_test(of, Combinations{{0, 1}}).statistic, 4.0 / 10'009, 1e-12);
  Estimates mixed = two_estimates();
  mixed.weights = {0.25, 0.75};
  mixed.means = {{1, -1}, {1, 3}};  // mean 2, variance 3
  EXPECT_NEAR(joint_test(mixed, Combinations{{0, 1}}).statistic, 4.0 / 12, 1e-12);
}

TEST(JointTest, RefusesOtherLengths) {
  EXPECT_THROW((void)joint_test(two_estimates(), Combinations{}), BadInput);
  EXPECT_THROW((void)joint_test(two_estimates(), Combinations{{1, 0}, {1}}), BadInput);
}

// p is uniform where estimates are normal about levels that are alike. Of 20,000 the p-values below
// 0.05 are 1,000 with a deviation of 31; beyond 5 deviations less than once in a million.
TEST(JointTest, IsUniformWhereLevelsAreAlike) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  LinearModel model = support::effects_model();
  Estimates& of = *model.estimates;
  const std::size_t n = of.prior_deviation.size();
  // Lower triangle of a matrix whose square is the covariance: neighbors lean on each other.
  std::mt19937_64 bits(20261130);
  std::normal_distribution<double> normal;
  std::vector<double> deviation(n);
  for (std::size_t j = 0; j < n; ++j) deviation[j] = 0.1 + 0.3 * static_cast<double>(j % 4);
  of.covariance.clear();
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b <= a; ++b)
      of.covariance.push_back(a == b       ? deviation[a] * deviation[a] * (a == 0 ? 1.0 : 1.25)
                              : a == b + 1 ? 0.5 * deviation[a] * deviation[b]
                                           : 0.0);
  int below = 0;
  const int all = 20'000;
  for (int i = 0; i < all; ++i) {
    double before = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double z = normal(bits);
      of.means[0][j] = 0.7 + deviation[j] * (z + (j == 0 ? 0.0 : 0.5 * before));
      before = z;
    }
    below += ask_column(model, "country")->p_value < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(below, all / 20, 154);
}

TEST(ColumnTests, AreOfAllColumns) {
  const LinearModel model = support::effects_model();
  const std::vector<ColumnTest> all = column_tests(model);
  ASSERT_EQ(all.size(), 4U);  // age, hours-per-week, sex, country
  const EffectEstimate age = ask_effect(model, "age");
  EXPECT_EQ(all[0].column, "age");
  EXPECT_NEAR(all[0].test.statistic, std::pow(age.estimate / age.standard_error, 2), 1e-9);
  EXPECT_EQ(all[2].test.degrees, 1U);
  const std::vector<ColumnTest> tests = tests_of_levels(model);
  ASSERT_EQ(tests.size(), 1U);
  EXPECT_EQ(tests[0].column, "country");
  EXPECT_EQ(tests[0].test.degrees, 4U);
  EXPECT_THAT(column_tests_csv(model), HasSubstr("\nhours-per-week,"));
  for (const char* text : {"country", " country ", "'country'", "\"country\""})
    EXPECT_EQ(ask_column(model, text)->statistic, tests[0].test.statistic) << text;
  EXPECT_EQ(ask_column(model, "sex")->degrees, 1U);
  for (const char* text : {"age", "country=United", "countr", "", "'country", "id", "-country"})
    EXPECT_FALSE(ask_column(model, text)) << text;
  EXPECT_EQ(hypothesis_of(model.schema, "'country'"), "all levels alike");
  EXPECT_EQ(hypothesis_of(model.schema, "age"), "");
  EXPECT_TRUE(column_tests([] {
                LinearModel none = support::effects_model();
                none.estimates.reset();
                return none;
              }())
                  .empty());
}

TEST(ColumnTests, OfTwoLevelsAreTheTestOfTheirDifference) {
  LinearModel model = support::effects_model();
  const EffectEstimate is = ask_effect(model, "sex=Male - sex=Female");
  const JointTest test = *ask_column(model, "sex");
  EXPECT_NEAR(test.statistic, std::pow(is.estimate / is.standard_error, 2), 1e-9);
  EXPECT_NEAR(test.p_value, is.p_value, 1e-9);
  model.schema.label = Amount{{.lo = 0, .hi = 100}, 20};  // whatever the unit is
  EXPECT_NEAR(ask_column(model, "sex")->p_value, test.p_value, 1e-12);
}

TEST(ColumnTests, OfAnInteractionLeaveItsMainEffectsOut) {
  const auto model_of = [](std::vector<double> of_products) {
    LinearModel model = support::illness_model({{"a", ColumnType::category, 0, 1, {"x", "y"}},
                                                {"b", ColumnType::category, 0, 1, {"u", "v", "w"}}},
                                               {{{{"a", {}}, {"b", {}}}}}, std::vector<double>(12),
                                               std::vector<double>(12, 0.5), true);
    std::ranges::copy(of_products, model.estimates->means[0].begin() + 5);
    return model;
  };
  // Sums of rows and columns of 2 x 3 levels are no interaction.
  const JointTest sums = *ask_column(model_of({1.5, 2.5, 0.5, 2, 3, 1}), "a*b");
  EXPECT_EQ(sums.degrees, 2U);
  EXPECT_NEAR(sums.statistic, 0, 1e-9);
  EXPECT_NEAR(sums.p_value, 1, 1e-9);
  const JointTest crossed = *ask_column(model_of({1.5, 2.5, 0.5, 2, 3, 2}), "a × b");
  EXPECT_GT(crossed.statistic, 0.1);
  EXPECT_EQ(hypothesis_of(model_of({}).schema, "a * b"), "no interaction");
}

// Rows without the number may differ from all others, and the curve be flat.
TEST(ColumnTests, OfACurveLeaveItsMissingCellsOut) {
  LinearModel model;
  model.schema.label_name = "y";
  model.schema.label = TwoClasses{.positive = "1"};
  model.schema.intercept = true;
  Column column{.name = "age", .type = ColumnType::number};
  column.knots = {0, 0.5, 1};
  column.has_missing = true;
  column.missing_level = true;
  model.schema.columns.push_back(column);
  ASSERT_EQ(model.schema.features(), 5U);
  Estimates& e = model.estimates.emplace();
  e.weights = {1};
  e.means = {{0.1, 0.1, 0.1, 2, 0}};
  e.covariance = {0.01, 0, 0.01, 0, 0, 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0, 0.01};
  e.prior_deviation = std::vector<double>(5, 100);
  const JointTest flat = *ask_column(model, "age");
  EXPECT_EQ(flat.degrees, 2U);
  EXPECT_NEAR(flat.statistic, 0, 1e-9);
  EXPECT_EQ(hypothesis_of(model.schema, "age"), "flat");
  e.means[0][1] = 1;
  EXPECT_GT(ask_column(model, "age")->statistic, 10);
}

TEST(ColumnTests, AreNoneWhereNothingCanDiffer) {
  const LinearModel model = support::illness_model(
      {{"one", ColumnType::category, 0, 1, {"x"}},
       {"b", ColumnType::category, 0, 1, {"u", "v", "w"}}},
      {{{{"one", {}}, {"b", {}}}}}, std::vector<double>(8), std::vector<double>(8, 0.5), true);
  for (const ColumnTest& of : column_tests(model)) EXPECT_GT(of.test.degrees, 0U) << of.column;
  EXPECT_EQ(tests_of_levels(model).size(), 1U);
  for (const char* text : {"one", "one*b"}) {
    try {
      (void)ask_column(model, text);
      ADD_FAILURE() << text;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("has one level")) << text;
    }
  }
}

TEST(ColumnTests, OfSeveralClassesAreOfOneOrOfAll) {
  LinearModel model = support::effects_model();
  model.schema.label = Classes{.names = {"low", "middle", "high"}};
  model.estimates = support::effects_estimates(model.schema, 3);
  EXPECT_EQ(ask_column(model, "country")->degrees, 8U);
  EXPECT_EQ(tests_of_levels(model).front().test.degrees, 8U);
  EXPECT_EQ(column_tests(model).front().test.degrees, 2U);
  EXPECT_EQ(ask_column(model, "country", {.of = "high", .against = {}})->degrees, 4U);
  // A straight number's slope is one effect of a class, and a test of all of them.
  EXPECT_EQ(ask_column(model, "age")->statistic, column_tests(model).front().test.statistic);
  EXPECT_EQ(hypothesis_of(model.schema, "age"), "flat");
  EXPECT_FALSE(ask_column(model, "age", {.of = "high", .against = {}}));
  EXPECT_EQ(hypothesis_of(model.schema, "age", {.of = "high", .against = {}}), "");
  const JointTest one = *ask_column(model, "country", {.of = "high", .against = "low"});
  const JointTest other = *ask_column(model, "country", {.of = "low", .against = "high"});
  EXPECT_NEAR(one.statistic, other.statistic, 1e-9);
  // Effects that all classes share are of none.
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t j = 4; j < 9; ++j)
      model.estimates->means[0][k * 10 + j] = 0.1 * static_cast<double>(j);
  EXPECT_NEAR(ask_column(model, "country")->statistic, 0, 1e-9);
  EXPECT_THROW((void)ask_column(model, "country", {.of = "hihg", .against = {}}), BadInput);
  EXPECT_THROW((void)ask_column(model, "country", {.of = {}, .against = "low"}), BadInput);
}

TEST(ColumnTests, AreWrittenInALine) {
  EXPECT_EQ(joint_test_text({12.34, 4, 0.0150}),
            "chi squared 12.3 on 4 degrees of freedom, p-value 0.015");
  EXPECT_EQ(joint_test_text({1, 1, 1e-9}), "chi squared 1 on 1 degree of freedom, p-value <0.001");
}

}  // namespace joint_test_test
}  // namespace gibbsite
