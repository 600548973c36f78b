// How cells are written, in JSON: what a model file says of dates, booleans and numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite {
namespace cells_json_test {

using nlohmann::json;

Schema schema() {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.text.thousands = {"'", " "};
  Column day{.name = "d", .type = ColumnType::number, .lo = 0, .hi = 1024, .knots = {0, 512, 1024}};
  day.date = "%d.%m.%Y";
  Column flag{.name = "b", .type = ColumnType::category, .levels = {"false", "true"}};
  flag.is_boolean = true;
  Column amount{.name = "a", .type = ColumnType::number};
  amount.numbers = NumberText{',', {"."}};
  Column plain{.name = "p", .type = ColumnType::number};
  plain.numbers = NumberText{};
  out.columns = {day, flag, amount, plain};
  return out;
}

TEST(CellsJson, ReadBackAsTheyWere) {
  const Schema s = schema();
  s.validate("s");
  const json file = schema_json(s);
  EXPECT_EQ(schema_from_json(json::parse(file.dump()), "m.json"), s);
  EXPECT_EQ(file["columns"][0]["date"], "%d.%m.%Y");
  EXPECT_EQ(file["columns"][1]["boolean"], true);
  EXPECT_EQ(file["columns"][2]["decimal"], ",");
  EXPECT_EQ(file["columns"][2]["thousands"], ".");
  EXPECT_EQ(file["thousands"], json({"'", " "}));
}

TEST(CellsJson, RefuseWhatNobodyWrote) {
  const auto refused = [](const char* at, const json& value) {
    json file = schema_json(schema());
    file[json::json_pointer(at)] = value;
    EXPECT_THROW((void)schema_from_json(file, "m.json"), BadInput) << at << value;
  };
  refused("/columns/0/date", "");
  refused("/columns/0/date", "%y");
  refused("/columns/0/date", 3);
  refused("/columns/0/range", json{0.5, 1024});
  refused("/columns/0/decimal", ",");
  refused("/columns/1/boolean", "yes");
  refused("/columns/1/levels", json{"no", "yes"});
  refused("/columns/1/date", "%Y-%m-%d");
  refused("/columns/2/decimal", ";");
  refused("/columns/2/thousands", json{"."});
  refused("/columns/2/thousands", json{".", "."});
  refused("/columns/2/thousands", json{".", ""});
  refused("/thousands", json{"'", "'"});
  json file = schema_json(schema());
  file["columns"][2].erase("decimal");
  EXPECT_THROW((void)schema_from_json(file, "m.json"), BadInput);
}

}  // namespace cells_json_test
}  // namespace gibbsite
