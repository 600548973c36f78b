// Effects of interactions: one for each product, and questions between knots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/hypothesis.hpp"
#include "support/effects_example.hpp"

namespace gibbsite {
namespace interaction_effects_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Features: age, sex=F, sex=M, age × sex=0 × F, 0 × M, 20 × F, 20 × M, 40 × F, 40 × M, (intercept).
LinearModel interaction_model(bool with_estimates) {
  return support::illness_model({{.name = "age", .type = ColumnType::number, .lo = 0, .hi = 40},
                                 {"sex", ColumnType::category, 0, 1, {"F", "M"}}},
                                {{{{"age", {0, 20, 40}}, {"sex"}}}},
                                {1, 0.1, -0.1, 0.5, -0.5, 0, 0, -0.5, 0.5, -1},
                                {0.5, 0.5, 0.5, 0.1, 0.2, 0.3, 0.2, 0.1, 0.1, 1}, with_estimates);
}

TEST(InteractionEffects, AreAskedAtPlacesAndBetweenThem) {
  const auto expect_at = [](const std::string& text, const std::vector<double>& expected) {
    const std::vector<double> c = parse_effect(interaction_model(true), text);
    ASSERT_EQ(c.size(), expected.size());
    for (std::size_t j = 0; j < c.size(); ++j) EXPECT_NEAR(c[j], expected[j], 1e-7) << text << j;
  };
  const std::vector<double> across = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0};
  for (const char* text :
       {"age × sex=20 × F - age × sex=20 × M", "age*sex=20*F - age*sex=20*M",
        "age * sex=20 * F - age * sex = 20*M", "'age × sex'=20 × 'F' - 'age × sex'=20*M",
        "sex*age=F*20 - sex × age=M × 20", "\"age*sex\"=20*F - 'sex * age'=M*20"})
    expect_at(text, across);
  expect_at("age*sex=25*F - age*sex=0*F", {0, 0, 0, -1, 0, 0.75, 0, 0.25, 0, 0});
  expect_at("age*sex=20*F", {0, 0, 0, -0.1, -0.2, 0.7, -0.2, -0.1, -0.1, 0});
  // The whole effect of age at 30 for F: its line, and the interaction.
  expect_at("30*age - 0*sex=F + age*sex=30*F - age*sex=0*F",
            {0.75, 0, 0, -1, 0, 0.5, 0, 0.5, 0, 0});
}

TEST(InteractionEffects, ThatAreNoPlacesAreRefused) {
  for (const char* text : {"age*sex", "age*sex=", "age*sex=20", "age*sex=20*", "age*sex=20*X",
                           "age*sex=F*20", "age*sex=41*F", "age*sex=20 F", "age*sex=nan*F",
                           "sex*age=20*F", "age*age=20*20", "'age*age'=20*20", "sex*age"}) {
    try {
      (void)parse_effect(interaction_model(true), text);
      ADD_FAILURE() << text;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << text;
    }
  }
}

TEST(InteractionEffects, StandInTheTable) {
  const EffectTable table = effect_table(interaction_model(false));
  std::vector<std::string> names;
  for (const Effect& effect : table.effects) names.push_back(effect.name);
  EXPECT_THAT(names, ElementsAre("age, 0 to 40", "sex=F", "sex=M", "age × sex=0 × F",
                                 "age × sex=0 × M", "age × sex=20 × F", "age × sex=20 × M",
                                 "age × sex=40 × F", "age × sex=40 × M", "(intercept)"));
  EXPECT_EQ(table.effects[3].column, "age × sex");
  EXPECT_EQ(table.effects[3].level, "0 × F");
  EXPECT_EQ(table.effects[3].reference, "20 × F");  // where most people are
  EXPECT_NEAR(table.effects[3].against_reference->estimate, 0.5, 1e-12);
  const EffectTable other = effect_table(interaction_model(false), {{"age × sex", "40 × M"}});
  EXPECT_NEAR(other.effects[3].against_reference->estimate, 0, 1e-12);
  const LinearModel model = interaction_model(true);
  const std::vector<double>& mean = model.estimates->means[0];
  double middle = 0;
  for (std::size_t j = 3; j < 9; ++j) middle += model.feature_means[j] * mean[j];
  EXPECT_NEAR(effect_table(model).effects[8].effect.estimate, mean[8] - middle, 1e-9);
  const OriginalUnits units = original_units(model, model.draws[0]);
  ASSERT_EQ(units.slopes.size(), 9U);
  EXPECT_EQ(units.slopes[3].first, "age × sex=0 × F");
  EXPECT_NEAR(units.slopes[3].second, 0.5, 1e-12);
}

TEST(InteractionEffects, SayThatTheirIntervalsWereNotSimulated) {
  EXPECT_EQ(interval_meaning_of(interaction_model(true).schema), interval_meaning_of_interactions);
}

}  // namespace interaction_effects_test
}  // namespace gibbsite
