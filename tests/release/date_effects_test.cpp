// A date's ends are written as days wherever effects are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gibbsite/model/date.hpp"
#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/terms.hpp"
#include "support/effects_example.hpp"

namespace gibbsite {
namespace date_effects_test {

using ::testing::HasSubstr;

// The example whose first column is days in place of ages.
LinearModel dated(const char* from, const char* to) {
  LinearModel out = support::effects_model();
  Column& column = out.schema.columns[0];
  column.date = iso_date;
  column.lo = *parse_date(from);
  column.hi = *parse_date(to);
  return out;
}

TEST(DateEffects, AreFromDayToDay) {
  const LinearModel model = dated("1990-01-01", "2024-12-31");
  const EffectTable table = effect_table(model);
  EXPECT_EQ(table.effects.front().column, "age");
  EXPECT_THAT(effects_csv(table), HasSubstr("1990-01-01 to 2024-12-31"));
  const Term term = terms_of(model).front();
  EXPECT_TRUE(term.is_date);
  EXPECT_EQ(term.outputs.front().points.front().name, "1990-01-01");
  EXPECT_EQ(term.outputs.front().points.back().name, "2024-12-31");
}

// A day moves little: a ratio of it has no digits left.
TEST(DateEffects, AreOfAYearWhereTheyAreShown) {
  const LinearModel model = dated("1990-01-01", "2024-12-31");
  const Effect effect = effect_table(model).effects.front();
  const auto [of, unit] = shown_per_unit(effect);
  EXPECT_EQ(unit, "year");
  EXPECT_DOUBLE_EQ(of.estimate, 365.25 * effect.per_unit->estimate);
  EXPECT_DOUBLE_EQ(of.upper, 365.25 * effect.per_unit->upper);
  const Effect other = effect_table(support::effects_model()).effects.front();
  EXPECT_EQ(shown_per_unit(other).second, "unit");
  EXPECT_EQ(shown_per_unit(other).first.estimate, other.per_unit->estimate);
}

TEST(DateEffects, ArePicturesOverYears) {
  const TermPicture years = term_pictures(dated("1990-01-01", "2024-12-31")).front();
  for (const char* const year : {">1990<", ">2000<", ">2010<", ">2020<"})
    EXPECT_THAT(years.drawing, HasSubstr(year));
  EXPECT_THAT(years.caption, HasSubstr("2024-12-31"));
  const TermPicture days = term_pictures(dated("2024-02-03", "2024-05-06")).front();
  EXPECT_THAT(days.drawing, HasSubstr(">2024-02-03<"));
  EXPECT_THAT(days.drawing, HasSubstr(">2024-05-06<"));
}

}  // namespace date_effects_test
}  // namespace gibbsite
