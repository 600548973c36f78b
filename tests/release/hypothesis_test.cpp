// Linear combinations as people write them: what they come to, and what is refused how.
#include "gibbsite/release/hypothesis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/effects.hpp"
#include "support/effects_example.hpp"

namespace gibbsite {
namespace hypothesis_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<double> parsed(const std::string& text) {
  return parse_effect(support::effects_model(), text);
}

// What the text comes to beside other places that are 0.
void expect_at(const std::string& text, const std::vector<std::pair<std::size_t, double>>& places) {
  std::vector<double> expected(10);
  for (const auto& [place, value] : places) expected[place] = value;
  const std::vector<double> c = parsed(text);
  ASSERT_EQ(c.size(), expected.size());
  for (std::size_t j = 0; j < c.size(); ++j)
    EXPECT_NEAR(c[j], expected[j], 1e-12) << text << " at " << j;
}

TEST(Hypothesis, TakesColumnsInTheirUnits) {
  expect_at("age", {{0, 1.0 / 73}});
  expect_at("age*10", {{0, 10.0 / 73}});
  expect_at("10 * age", {{0, 10.0 / 73}});
  expect_at("-age / 4", {{0, -0.25 / 73}});
  expect_at("2*(age - 3*hours-per-week)", {{0, 2.0 / 73}, {1, -6.0 / 100}});
  expect_at("age - hours-per-week", {{0, 1.0 / 73}, {1, -1.0 / 100}});
  expect_at("age-hours-per-week", {{0, 1.0 / 73}, {1, -1.0 / 100}});
  expect_at("1e1*age", {{0, 10.0 / 73}});
  expect_at("'age' + \"hours-per-week\"", {{0, 1.0 / 73}, {1, 1.0 / 100}});
}

TEST(Hypothesis, TakesLevelsAgainstTheirMeanSoDifferencesAreDifferences) {
  expect_at("sex=Male", {{2, 0.33}, {3, -0.33}});
  expect_at("sex = Male - sex = Female", {{2, 1}, {3, -1}});
  expect_at("age*10 - sex=Male", {{0, 10.0 / 73}, {2, -0.33}, {3, 0.33}});
  // The longest level that fits; quotes where a name has signs.
  expect_at("country=United-States - country=United", {{4, 1}, {5, -1}});
  expect_at("country=it's - country='it''s' + age", {{0, 1.0 / 73}});
  expect_at("country=\"it's\" - country=(other)", {{6, 1}, {8, -1}});
  expect_at("country=? - country=(other)", {{7, 1}, {8, -1}});
}

TEST(Hypothesis, AnswersAsTheTableDoes) {
  const LinearModel model = support::effects_model();
  const EffectTable table = effect_table(model);
  for (const Effect& effect : table.effects) {
    if (effect.is_constant()) continue;
    std::string text = "'" + effect.column + "'";
    if (effect.level.empty()) {
      text += "*" + std::to_string(static_cast<int>(effect.hi - effect.lo));
    } else {
      std::string quoted;
      for (const char c : effect.level) quoted += c == '\'' ? "''" : std::string(1, c);
      text += "='" + quoted + "'";
    }
    const EffectEstimate is = ask_effect(model, text);
    EXPECT_NEAR(is.estimate, effect.effect.estimate, 1e-12) << text;
    EXPECT_NEAR(is.standard_error, effect.effect.standard_error, 1e-12) << text;
    EXPECT_NEAR(is.upper, effect.effect.upper, 1e-12) << text;
    EXPECT_NEAR(is.p_value, effect.effect.p_value, 1e-12) << text;
    if (!effect.against_reference) continue;
    const EffectEstimate other =
        ask_effect(model, text + " - " + effect.column + "=" + effect.reference);
    EXPECT_NEAR(other.estimate, effect.against_reference->estimate, 1e-12) << text;
    EXPECT_NEAR(other.lower, effect.against_reference->lower, 1e-12) << text;
  }
}

void expect_refused(const std::string& text, const std::string& what) {
  try {
    static_cast<void>(parsed(text));
    ADD_FAILURE() << text;
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("`effect` '"), HasSubstr(what), HasSubstr("; "),
                                    Not(HasSubstr("\n"))))
        << text;
  }
}

// A bought schema writes false and true whatever the table had.
TEST(Hypothesis, TakesEachSpellingOfABoolean) {
  LinearModel model = support::effects_model();
  for (Column& column : model.schema.columns) {
    if (column.name != "sex") continue;
    column.is_boolean = true;
    column.levels = {"false", "true"};
  }
  for (const char* const text : {"sex=yes", "sex=Y", "sex='1'", "sex=TRUE"})
    EXPECT_EQ(parse_effect(model, text), parse_effect(model, "sex=true")) << text;
  EXPECT_EQ(parse_effect(model, "sex=no"), parse_effect(model, "sex=false"));
  EXPECT_THROW(static_cast<void>(parse_effect(model, "sex=maybe")), BadInput);
}

TEST(Hypothesis, RefusesInOneLineWithTheNearestSpelling) {
  expect_refused("agee*10", "no column is called 'agee', did you mean age?");
  expect_refused("hours-per-wek",
                 "no column is called 'hours-per-wek', did you mean hours-per-week?");
  expect_refused("'Age'", "no column is called 'Age', did you mean age?");
  expect_refused("sex=Mle", "column 'sex' has no level 'Mle', did you mean Male?");
  expect_refused("country=Unitd-States - age",
                 "no level 'Unitd-States', did you mean United-States?");
  expect_refused("sex='Mle'", "has no level 'Mle', did you mean Male?");
  expect_refused("sex", "column 'sex' has levels; name one, as in sex=Male");
  expect_refused("id", "column 'id' has no coefficient");
  expect_refused("income", "no column is called 'income'");
  expect_refused("age=3", "'=' after what is neither a category nor a curve");
  expect_refused("age*age", "multiplies two columns");
  expect_refused("age*sex=Male", "multiplies two columns");
  expect_refused("1/age", "divides by a column");
  expect_refused("age/0", "divides by 0");
  expect_refused("age + 1", "adds a number to an effect");
  expect_refused("3", "names no column");
  expect_refused("", "ends too early");
  expect_refused("age -", "ends too early");
  expect_refused("(age", "lacks a )");
  expect_refused("age)", "cannot be read from ')' on");
  expect_refused("age age", "cannot be read from 'age' on");
  expect_refused("'age", "a quote that nothing closes");
  expect_refused("age - age", "is 0 whatever the coefficients are");
  expect_refused("1e999*age", "no column is called '1e999'");
  expect_refused("1e300*1e300*age", "too large");
  expect_refused(std::string(200, '(') + "age", "nested too deeply");
  expect_refused(std::string(200, '-') + "age", "nested too deeply");
  expect_refused(std::string(20'000, ' ') + "age", "too long");
  expect_refused("age\x1b[31m", "no column is called 'age\\x1b[31m'");
}

TEST(Hypothesis, ReadsAnythingWithoutHarm) {
  const LinearModel model = support::effects_model();
  std::mt19937 bits(20261125);
  const std::string signs = "+-*/()='\"0123.e agesx M\xc3\xa9\x01";
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t i = bits() % 12; i > 0; --i) {
      switch (bits() % 4) {
        case 0:
          text += "age";
          break;
        case 1:
          text += "sex=Male";
          break;
        default:
          text += signs[bits() % signs.size()];
      }
    }
    try {
      for (const double c : parse_effect(model, text)) EXPECT_TRUE(std::isfinite(c)) << text;
      ++read;
    } catch (const BadInput&) {
    }
  }
  EXPECT_GT(read, 500U);
}

TEST(Hypothesis, OfSeveralClassesIsAboutOneAgainstAnother) {
  LinearModel model = support::effects_model();
  model.schema.label = Classes{{"a", "b", "c"}};
  model.loss = "softmax-3";
  std::vector<double> c = parse_effect(model, "age", {"b", "c"});
  ASSERT_EQ(c.size(), 30U);
  EXPECT_EQ(c[0], 0);
  EXPECT_DOUBLE_EQ(c[10], 1.0 / 73);
  EXPECT_DOUBLE_EQ(c[20], -1.0 / 73);
  c = parse_effect(model, "age", {"b", ""});
  EXPECT_NEAR(c[0], -1.0 / 3 / 73, 1e-15);
  EXPECT_NEAR(c[10], 2.0 / 3 / 73, 1e-15);
  EXPECT_THROW(static_cast<void>(parse_effect(model, "age")), BadInput);
  EXPECT_THROW(static_cast<void>(parse_effect(model, "age", {"x", ""})), BadInput);
  EXPECT_THROW(static_cast<void>(parse_effect(model, "age", {"a", "a"})), BadInput);
  EXPECT_THROW(static_cast<void>(parse_effect(support::effects_model(), "age", {"a", ""})),
               BadInput);
}

TEST(Hypothesis, IsRefusedWithoutEstimatesAndIsInTheLabelsUnit) {
  LinearModel model = support::effects_of_amounts();
  const EffectEstimate age = ask_effect(model, "age*73");
  EXPECT_NEAR(age.estimate, 20 * model.estimates->means[0][0], 1e-12);
  EXPECT_NEAR(age.standard_error, 2, 1e-12);
  EXPECT_NEAR(age.upper - age.lower, 4 * 1.959963984540054, 1e-9);
  model.estimates.reset();
  EXPECT_THROW(static_cast<void>(ask_effect(model, "age")), BadInput);
}

}  // namespace hypothesis_test
}  // namespace gibbsite
