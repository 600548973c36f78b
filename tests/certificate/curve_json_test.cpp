// Curves in model files: what is written is read, and files that no program writes are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/curve.hpp"

namespace gibbsite {
namespace curve_json_test {

using nlohmann::json;
using ::testing::HasSubstr;

Schema schema_of(Column column) {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.row_norm = 2;
  out.intercept = true;
  out.columns = {std::move(column)};
  return out;
}

Column curve(double lo, double hi, std::size_t knots) {
  Column out{.name = "x", .type = ColumnType::number, .lo = lo, .hi = hi};
  if (knots > 2) out.knots = placed_knots(lo, hi, knots, KnotScale::automatic);
  return out;
}

TEST(CurvesInJson, AreReadAsTheyAreWritten) {
  for (const std::size_t knots : {2U, 3U, 12U, 1000U}) {
    for (const auto& [lo, hi] :
         {std::pair{17.0, 90.0}, {0.0, 1e-90}, {-1e300, 1e300}, {0.0, 1e5}}) {
      Schema s = schema_of(curve(lo, hi, knots));
      const auto back = [&] {
        const std::string text = schema_json(s).dump();
        EXPECT_EQ(schema_from_json(json::parse(text), "m.json"), s) << text.substr(0, 400);
      };
      back();
      s.columns[0].has_missing = true;
      s.columns[0].missing = "?";
      back();
      for (const bool level : {false, true}) {
        s.columns[0].missing_level = level;
        back();
        EXPECT_EQ(schema_from_json(schema_json(s), "m.json").features(),
                  (knots > 2 ? knots : 1) + (level ? 1 : 0) + 1);
      }
    }
  }
}

// Programs of before read the file of a straight line.
TEST(CurvesInJson, AddNoFieldToStraightLines) {
  EXPECT_EQ(schema_json(schema_of(curve(17, 90, 2)))["columns"][0],
            json({{"name", "x"}, {"type", "number"}, {"range", {17.0, 90.0}}}));
}

TEST(TypicalInJson, IsReadAsItIsWritten) {
  Schema s = schema_of(curve(17, 90, 2));
  s.columns[0].typical = {40, 13.5};
  EXPECT_EQ(schema_from_json(schema_json(s), "m.json"), s);
  json bad = schema_json(s);
  for (const json& typical : {json(3), json({40}), json({40, 13, 1}), json({40, 0}), json({91, 13}),
                              json({40, 74}), json({40, nullptr}), json({40, 1e-3})}) {
    bad["columns"][0]["typical"] = typical;
    EXPECT_THROW((void)schema_from_json(bad, "m.json"), BadInput) << typical;
  }
}

TEST(CurvesInJson, ThatNoProgramWritesAreRefused) {
  const json good = schema_json(schema_of(curve(0, 1, 3)));
  const auto refused = [&](const char* field, const json& value) {
    json bad = good;
    bad["columns"][0][field] = value;
    try {
      (void)schema_from_json(bad, "m.json");
      ADD_FAILURE() << bad["columns"][0].dump();
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("m.json"));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  for (const json& knots : {json(3), json("auto"), json::array(), json({0, 1}),
                            json({0, 0.5, 0.5, 1}), json({0, 0.5, 2}), json({0.5, 0.6, 1}),
                            json({0, nullptr, 1}), json({0, "a", 1}), json({0, 0.6, 0.5, 1}),
                            json({0, 0.5, 0.5000000001, 1}), json(std::vector<double>(1001, 0.0))})
    refused("knots", knots);
  refused("missing_level", 1);
  refused("missing_level", true);  // nothing says how a missing cell reads
  refused("curve", 8);
  refused("scale", "log");
  json category = good;
  category["columns"][0] = {{"name", "x"},
                            {"type", "category"},
                            {"levels", {"a"}},
                            {"other", false},
                            {"knots", {0, 1, 2}}};
  EXPECT_THROW((void)schema_from_json(category, "m.json"), BadInput);
}

}  // namespace curve_json_test
}  // namespace gibbsite
