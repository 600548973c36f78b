// Effects of curves: one for each knot, questions between knots, a line's level of missing cells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/hypothesis.hpp"
#include "support/effects_example.hpp"

namespace gibbsite {
namespace curve_effects_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Features: age=0, age=10, age=40, w, w=(missing), sex=Male, sex=Female, (intercept).
LinearModel curve_model(bool with_estimates) {
  Column age{.name = "age", .type = ColumnType::number, .lo = 0, .hi = 40};
  age.knots = {0, 10, 40};
  Column w{.name = "w", .type = ColumnType::number, .lo = 100, .hi = 200};
  w.has_missing = true;
  w.missing_level = true;
  return support::illness_model({age, w, {"sex", ColumnType::category, 0, 1, {"Male", "Female"}}},
                                {}, {-0.5, 0.75, 0.25, 1.5, 0.4, 0.1, -0.1, -1},
                                {0.3, 0.5, 0.2, 0.4, 0.1, 0.6, 0.4, 1}, with_estimates);
}

void expect_at(const std::string& text, std::vector<double> expected) {
  const std::vector<double> c = parse_effect(curve_model(true), text);
  ASSERT_EQ(c.size(), expected.size());
  for (std::size_t j = 0; j < c.size(); ++j) EXPECT_NEAR(c[j], expected[j], 1e-7) << text << j;
}

TEST(CurveEffects, AreAskedAtKnotsAndBetweenThem) {
  expect_at("age=10 - age=0", {-1, 1, 0, 0, 0, 0, 0, 0});
  expect_at("age=25 - age=0", {-1, 0.5, 0.5, 0, 0, 0, 0, 0});
  expect_at("2*(age=4 - age=40)", {1.2, 0.8, -2, 0, 0, 0, 0, 0});
  expect_at("age=10", {-0.3, 0.5, -0.2, 0, 0, 0, 0, 0});  // against the column's mean
  expect_at("age=25 - sex=Male", {-0.3, 0, 0.3, 0, 0, -0.4, 0.4, 0});
}

TEST(CurveEffects, BeyondTheRangeAreRefused) {
  for (const char* text : {"age=41", "age=10 - age=-1", "age=1e300"}) {
    try {
      parse_effect(curve_model(true), text);
      ADD_FAILURE() << text;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("is outside of its range, 0 to 40")) << text;
    }
  }
  for (const char* text : {"age", "age*10", "age=old", "age=", "age=nan", "age=10x"}) {
    EXPECT_THROW(parse_effect(curve_model(true), text), BadInput) << text;
  }
}

TEST(CurveEffects, StandInTheTableAtEachKnot) {
  const EffectTable table = effect_table(curve_model(false));
  std::vector<std::string> names;
  for (const Effect& effect : table.effects) names.push_back(effect.name);
  EXPECT_THAT(names, ElementsAre("age=0", "age=10", "age=40", "w, 100 to 200", "w=(missing)",
                                 "sex=Male", "sex=Female", "(intercept)"));
  // Against the knot that most people are near.
  EXPECT_EQ(table.effects[0].reference, "10");
  EXPECT_NEAR(table.effects[0].against_reference->estimate, -1.25, 1e-12);
  EXPECT_TRUE(table.effects[1].is_reference());
  EXPECT_FALSE(table.effects[0].per_unit);
  EXPECT_NEAR(table.effects[3].per_unit->estimate, 0.015, 1e-12);
  EXPECT_NEAR(table.effects[4].effect.estimate, 0.4, 1e-12);
  EXPECT_NEAR(
      effect_table(curve_model(false), {{"age", "40"}}).effects[0].against_reference->estimate,
      -0.75, 1e-12);
  // With estimates a knot stands against the mean of all, by the hats' means.
  const LinearModel model = curve_model(true);
  const std::vector<double>& mean = model.estimates->means[0];
  const double middle = 0.3 * mean[0] + 0.5 * mean[1] + 0.2 * mean[2];
  EXPECT_NEAR(effect_table(model).effects[2].effect.estimate, mean[2] - middle, 1e-9);
}

TEST(CurveEffects, HaveNoSlopeInTheUnitsOfTheirColumns) {
  const LinearModel model = curve_model(false);
  const OriginalUnits units = original_units(model, model.draws[0]);
  EXPECT_NEAR(units.intercept, -1 - 1.5, 1e-12);  // of w, which begins at 100 and is 100 wide
  ASSERT_EQ(units.slopes.size(), 7U);
  EXPECT_EQ(units.slopes[1].first, "age=10");
  EXPECT_NEAR(units.slopes[1].second, 0.75, 1e-12);
  EXPECT_NEAR(units.slopes[3].second, 0.015, 1e-12);
  EXPECT_NEAR(units.slopes[4].second, 0.4 + 1.5, 1e-12);
  EXPECT_THAT(coefficient_line_names(model.schema),
              ElementsAre("age=0", "age=10", "age=40", "w, 100 to 200", "w=(missing)", "sex=Male",
                          "sex=Female", "(intercept)"));
}

TEST(CurveEffects, SayHowOftenTheirIntervalsHeldAndOfClassesThatNobodyKnows) {
  Schema schema = curve_model(true).schema;
  EXPECT_EQ(interval_meaning_of(schema), interval_meaning_of_curves);
  schema.label = Classes{{"a", "b", "c"}};
  EXPECT_EQ(interval_meaning_of(schema), interval_meaning_of_class_curves);
  schema.columns = {{.name = "w", .type = ColumnType::weight, .lo = 0, .hi = 2}};
  EXPECT_EQ(interval_meaning_of(schema), interval_meaning_of_people_classes);
  EXPECT_EQ(interval_meaning_of(support::effects_model().schema), interval_meaning);
}

}  // namespace curve_effects_test
}  // namespace gibbsite
