// Interactions in model files: what is written is read, and files that no program writes are
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/interaction.hpp"

namespace gibbsite {
namespace interaction_json_test {

using nlohmann::json;
using ::testing::HasSubstr;

Schema schema_with_interaction() {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.row_norm = 2;
  out.intercept = true;
  out.columns = {{.name = "x", .type = ColumnType::number, .lo = 0, .hi = 4},
                 {.name = "sex", .type = ColumnType::category, .levels = {"F", "M"}}};
  out.interactions = {{{{"x", {0, 4}}, {"sex"}}}};
  return out;
}

TEST(InteractionsInJson, AreReadAsTheyAreWritten) {
  Schema s = schema_with_interaction();
  EXPECT_EQ(schema_json(s)["interactions"],
            json::parse(R"([{"columns": ["x", "sex"], "knots": {"x": [0.0, 4.0]}}])"));
  EXPECT_EQ(schema_from_json(json::parse(schema_json(s).dump()), "m.json"), s);
  s.interactions[0].parts[0].knots = {0, 1e-3, 4};
  EXPECT_EQ(schema_from_json(json::parse(schema_json(s).dump()), "m.json"), s);
  s.interactions.clear();
  EXPECT_FALSE(schema_json(s).contains("interactions"));
}

TEST(InteractionsInJson, ThatNoProgramWritesAreRefused) {
  const json good = schema_json(schema_with_interaction());
  const auto refused = [&](const json& interactions) {
    json bad = good;
    bad["interactions"] = interactions;
    try {
      (void)schema_from_json(bad, "m.json");
      ADD_FAILURE() << interactions.dump();
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("m.json"));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  for (const char* text :
       {"1", "[]", "{}", "[1]", "[{}]", R"([{"columns": ["x", "sex"]}])",
        R"([{"columns": "x", "knots": {}}])", R"([{"columns": ["x", "sex"], "knots": {}}])",
        R"([{"columns": ["x", "sex"], "knots": {"x": 3}}])",
        R"([{"columns": ["x", "sex"], "knots": {"x": [0]}}])",
        R"([{"columns": ["x", "sex"], "knots": {"x": [0, "a"]}}])",
        R"([{"columns": ["x", "sex"], "knots": {"x": [0, 3]}}])",
        R"([{"columns": ["x", "sex"], "knots": {"x": [0, 4], "sex": [0, 1]}}])",
        R"([{"columns": ["x", "z"], "knots": {"x": [0, 4]}}])",
        R"([{"columns": ["x"], "knots": {"x": [0, 4]}}])",
        R"([{"columns": ["x", "x"], "knots": {"x": [0, 4]}}])",
        R"([{"columns": ["x", "sex"], "knots": {"x": [0, 4]}, "curve": 2}])"})
    refused(json::parse(text));
}

}  // namespace interaction_json_test
}  // namespace gibbsite
