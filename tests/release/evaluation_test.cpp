// One function predicts, one scores, whatever the label is.
#include "gibbsite/release/evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace evaluation_test {

using nlohmann::json;
using ::testing::HasSubstr;

Schema schema_of(Label label) {
  Schema schema;
  schema.label_name = "y";
  schema.label = std::move(label);
  return schema;
}

TEST(ModelEvaluation, IsThatOfTheLabel) {
  const std::vector<double> p{0.9, 0.5, 0.2};
  const std::vector<float> y{1, -1, -1};
  const Schema two = schema_of(TwoClasses{.positive = "yes", .negative = "no"});
  const json of = to_json(evaluate_predictions(two, p, y, {}), two);
  EXPECT_EQ(of.at("rows"), 3);
  EXPECT_EQ(of.at("classes"), json({"no", "yes"}));
  EXPECT_EQ(of.at("confusion"), json({{1, 1}, {0, 1}}));
  // The least probability for which the positive class is predicted.
  EXPECT_EQ(to_json(evaluate_predictions(two, p, y, {}, 0.51), two).at("confusion"),
            json({{2, 0}, {0, 1}}));
  EXPECT_EQ(of.at("calibration").size(), 10U);

  const Schema three = schema_of(Classes{.names = {"a", "b", "c"}});
  const json several =
      to_json(evaluate_predictions(three, std::vector<double>{0.7, 0.2, 0.1, 0.1, 0.1, 0.8},
                                   std::vector<float>{0, 2}, {}),
              three);
  EXPECT_EQ(several.at("accuracy"), 1);
  EXPECT_EQ(several.at("auc_by_class").size(), 3U);
  EXPECT_TRUE(std::isnan(several.at("recall").at(1).get<double>()));

  Amount label;
  label.lo = -5;
  label.hi = 5;
  label.tolerance = 1;
  const Schema amount = schema_of(label);
  const json amounts = to_json(evaluate_predictions(amount, p, y, {}), amount);
  EXPECT_TRUE(amounts.contains("rmse"));
  EXPECT_FALSE(amounts.contains("deviance"));
}

TEST(ModelEvaluation, ReadsATableAsTheModelSays) {
  Schema schema;
  schema.invalid = Invalid::refuse;
  EXPECT_EQ(reading_to_evaluate(schema).unreadable, ReadOptions::Unreadable::refused);
  schema.invalid = Invalid::middle;
  EXPECT_EQ(reading_to_evaluate(schema).unreadable, ReadOptions::Unreadable::by_schema);
  EXPECT_EQ(reading_to_evaluate(schema).labels, ReadOptions::Labels::required);
  EXPECT_EQ(reading_to_predict().unreadable, ReadOptions::Unreadable::marked);
  EXPECT_EQ(reading_to_predict().labels, ReadOptions::Labels::optional);
}

}  // namespace evaluation_test
}  // namespace gibbsite
