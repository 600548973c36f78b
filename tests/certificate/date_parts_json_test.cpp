// Parts of dates in model files: what is written is read, and what no program writes is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite {
namespace date_parts_json_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Schema dated() {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.row_norm = 2;
  out.intercept = true;
  Column day{.name = "d", .type = ColumnType::number, .lo = 0, .hi = 1024};
  day.date = "%d.%m.%Y";
  day.has_missing = true;
  day.missing = "NA";
  Column year = day;
  year.name = "dy";
  year.lo = 1970;
  year.hi = 1972;
  year.part = DatePart::year;
  year.of = "d";
  Column month{.name = "dm", .type = ColumnType::category, .levels = part_levels(DatePart::month)};
  month.date = day.date;
  month.has_missing = true;
  month.missing = "NA";
  month.part = DatePart::month;
  month.of = "d";
  Column weekday = month;
  weekday.name = "dw";
  weekday.levels = part_levels(DatePart::weekday);
  weekday.part = DatePart::weekday;
  out.columns = {day, year, month, weekday};
  return out;
}

TEST(DatePartsInJson, AreReadAsTheyAreWritten) {
  const Schema s = dated();
  EXPECT_EQ(schema_from_json(json::parse(schema_json(s).dump()), "m.json"), s);
  // A field of its own, which programs of before know of no column: they refuse the file.
  for (std::size_t k = 1; k < 4; ++k) EXPECT_TRUE(schema_json(s)["columns"][k].contains("part"));
  Schema days = s;
  days.columns.resize(1);
  EXPECT_THAT(schema_json(days).dump(), Not(HasSubstr("part")));
  EXPECT_THAT(schema_json(days).dump(), Not(HasSubstr("\"of\"")));
}

TEST(DatePartsInJson, ThatNoProgramWritesAreRefused) {
  const json good = schema_json(dated());
  for (std::size_t k = 1; k < 4; ++k) {
    for (const auto& [key, value] :
         {std::pair("part", json("day")), std::pair("part", json(1)), std::pair("of", json("")),
          std::pair("of", json("e")), std::pair("of", json("y")), std::pair("of", json(1)),
          std::pair("date", json("%Y-%m-%d")), std::pair("date", json("")),
          std::pair("missing", json("?")), std::pair("levels", json({"Jan"})),
          std::pair("boolean", json(true)), std::pair("decimals", json(1)),
          std::pair("range", json({1970.5, 1972})), std::pair("range", json({0, 1972}))}) {
      json bad = good;
      bad["columns"][k][key] = value;
      EXPECT_THROW((void)schema_from_json(bad, "m.json"), BadInput) << k << key << value;
    }
  }
  json bad = good;
  bad["columns"][0]["of"] = "dm";
  EXPECT_THROW((void)schema_from_json(bad, "m.json"), BadInput);
  // Without the part, months are levels that nobody can read of a day: `date` is no category's.
  bad = good;
  bad["columns"][2].erase("part");
  EXPECT_THROW((void)schema_from_json(bad, "m.json"), BadInput);
}

}  // namespace date_parts_json_test
}  // namespace gibbsite
