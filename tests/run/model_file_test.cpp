#include "gibbsite/certificate/model_file.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/predict.hpp"
#include "run/example.hpp"
#include "run/run_plan.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace model_file_test {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Release, RoundsCoefficientsToTheGridAndNoFurther) {
  const auto example = testing::examples()[1];
  const double grid = testing::certificate_of(example)["numerics"]["release_grid"].get<double>();
  ASSERT_EQ(example.release.model().draws.size(), 3U);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t j = 0; j < example.release.model().draws[c].size(); ++j) {
      const double exact = 1.0 / 3.0 - 0.1 * static_cast<double>(j) + 0.01 * static_cast<double>(c);
      const double value = example.release.model().draws[c][j];
      EXPECT_EQ(std::remainder(value, grid), 0);
      EXPECT_TRUE(std::fabs(value - exact) <= grid / 2) << j;
    }
  }
}

TEST(Release, RefusesACoefficientThatIsNotFinite) {
  const auto example = testing::examples()[0];
  LinearModel model = example.release.model();
  model.draws = {std::vector<double>(model.schema.features(), NAN)};
  EXPECT_THROW(on_release_grid(model, example.plan.candidate().mechanism, 0x1p-20), BadInput);
}

TEST(Release, ModelFileHasTheFieldsOfTheContract) {
  const json one = to_json(testing::examples()[0].release);
  EXPECT_EQ(one["format"], "gibbsite-release/3");
  const json& model = one["model"];
  EXPECT_EQ(model["loss"], "logistic");
  EXPECT_EQ(model["classes"], json::array({"<=50K", ">50K"}));
  EXPECT_EQ(model["features"], json(testing::example_schema(false).feature_names()));
  EXPECT_EQ(model["coefficients"].size(), 7U);
  EXPECT_TRUE(model["coefficients"][0].is_number());
  EXPECT_EQ(model["preprocessing"]["row_norm"], 1.5);
  EXPECT_EQ(model["preprocessing"]["columns"][0],
            json({{"name", "age"}, {"type", "number"}, {"range", {17.0, 90.0}}}));
  EXPECT_EQ(model["preprocessing"]["columns"][2], json({{"name", "fnlwgt"}, {"type", "ignore"}}));
  EXPECT_FALSE(model["original_units"]["exact"].get<bool>());

  const json three = to_json(testing::examples()[1].release);
  ASSERT_EQ(three["model"]["coefficients"].size(), 3U);
  EXPECT_EQ(three["model"]["coefficients"][0].size(), 8U);
  EXPECT_EQ(three["model"]["original_units"].size(), 3U);
}

TEST(Release, FileGivesBackTheSameBits) {
  const testing::TempDir folder;
  for (const auto& example : testing::examples()) {
    const std::string path = folder.path("model.json");
    write_release(path, example.release);
    const Release back = read_release(path);
    EXPECT_EQ(back.model().draws, example.release.model().draws) << example.name;
    EXPECT_EQ(back.model().loss, example.release.model().loss);
    EXPECT_EQ(to_toml(back.model().schema), to_toml(example.release.model().schema));
    EXPECT_EQ(to_json(back), to_json(example.release));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"model.json"});
  }
}

TEST(Release, UnreadableFilesAreOneLine) {
  const json good = to_json(testing::examples()[0].release);
  const auto rejected = [&](const std::function<void(json&)>& change, const std::string& why) {
    json file = good;
    change(file);
    try {
      release_from_json(file, "m.json");
      ADD_FAILURE() << "accepted, though " << why;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("m.json: "));
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  rejected([](json& f) { f["format"] = "gibbsite-release/9"; }, "gibbsite-release/3");
  rejected([](json& f) { f.erase("model"); }, "model: is missing");
  rejected([](json& f) { f["model"].erase("coefficients"); }, "coefficients: is missing");
  rejected([](json& f) { f["model"]["coefficients"].push_back(1); }, "7 numbers");
  rejected([](json& f) { f["model"]["coefficients"][3] = "1"; }, "finite numbers");
  rejected([](json& f) { f["model"]["coefficients"][3] = nullptr; }, "finite numbers");
  rejected(
      [](json& f) {
        f["model"]["coefficients"] = json::array({1, json::array()});
      },
      "numbers");
  rejected([](json& f) { f["model"]["preprocessing"]["row_norm"] = "1"; }, "must be a number");
  rejected([](json& f) { f["model"]["preprocessing"]["row_norm"] = 0; }, "row_norm");
  rejected([](json& f) { f["model"]["preprocessing"]["columns"][0]["type"] = "date"; }, "type");
  rejected([](json& f) { f["model"]["preprocessing"]["columns"][0]["range"] = {1}; }, "range");
  rejected([](json& f) { f["model"]["preprocessing"]["columns"][1]["levels"] = {1}; }, "levels");
  rejected([](json& f) { f["model"]["preprocessing"]["color"] = 1; }, "unknown field");
}

TEST(OriginalUnits, PredictAsTheScaledOnes) {
  Schema schema = testing::example_schema(true);
  schema.row_norm = 3;  // three columns in use: no row is clipped
  const std::vector<double> theta{0.7, -0.2, 0.5, 0.1, 0.3, -1.1, 2.0, 0.25};
  ASSERT_EQ(theta.size(), schema.features());  // age, 3 levels, missing, other, hours, intercept
  const OriginalUnits units =
      original_units({.loss = "logistic", .schema = schema, .draws = {}}, theta);
  EXPECT_TRUE(units.exact);
  ASSERT_EQ(units.slopes.size(), 7U);
  EXPECT_EQ(units.slopes[0].first, "age");
  EXPECT_EQ(units.slopes[1].first, "work=Private");
  for (const double age : {17.0, 35.5, 90.0}) {
    for (const double hours : {-4.0, 1.0, 4.0}) {
      // Row: age, work = "State, gov", hours.
      const double scaled =
          theta[0] * (age - 17) / 73 + theta[2] + theta[6] * (hours + 4) / 8 + theta[7];
      const double original = units.intercept + units.slopes[0].second * age +
                              units.slopes[2].second + units.slopes[6].second * hours;
      EXPECT_NEAR(original, scaled, 1e-14);
    }
  }
  EXPECT_THROW(
      original_units({.loss = "logistic", .schema = schema, .draws = {}}, std::vector<double>(3)),
      BadInput);
}

TEST(OriginalUnits, AreExactOnlyWhenNoRowCanBeClipped) {
  Schema schema = testing::example_schema(false);
  const std::vector<double> theta(schema.features(), 1.0);
  schema.row_norm = std::sqrt(3.0) * 0.999;
  EXPECT_FALSE(original_units({.loss = "logistic", .schema = schema, .draws = {}}, theta).exact);
  schema.row_norm = std::sqrt(3.0) * 1.001;
  EXPECT_TRUE(original_units({.loss = "logistic", .schema = schema, .draws = {}}, theta).exact);
  // Without an intercept in the schema the shift of the ranges is still a constant.
  EXPECT_NEAR(original_units({.loss = "logistic", .schema = schema, .draws = {}}, theta).intercept,
              -17.0 / 73 + 4.0 / 8, 1e-15);
}

TEST(Predict, IsTheMeanOverTheDraws) {
  const LinearModel model{"logistic", {}, {{1.0, 0.0}, {-2.0, 1.0}}};
  const std::vector<float> x{1.0F, 0.0F, 0.0F, 3.0F, 1000.0F, 0.0F};
  const auto p = predict_probabilities(model, {x.data(), 3, 2});
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  EXPECT_DOUBLE_EQ(p[0], (sigmoid(1) + sigmoid(-2)) / 2);
  EXPECT_DOUBLE_EQ(p[1], (sigmoid(0) + sigmoid(3)) / 2);
  EXPECT_DOUBLE_EQ(p[2], 0.5);  // exp never overflows
  EXPECT_THROW(predict_probabilities(model, {x.data(), 2, 3}), BadInput);
  EXPECT_TRUE(predict_probabilities(model, {x.data(), 0, 2}).empty());
}

TEST(Evaluate, AgreesWithPairCounting) {
  std::mt19937 random(3);
  std::vector<double> p;
  std::vector<float> y;
  for (int i = 0; i < 200; ++i) {
    p.push_back(static_cast<double>(random() % 17) / 17);  // many ties
    y.push_back(random() % 3 == 0 ? 1.0F : -1.0F);
  }
  double won = 0, pairs = 0, right = 0, loss = 0, positives = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    right += (p[i] >= 0.5) == (y[i] > 0) ? 1 : 0;
    loss -= std::log(std::max(y[i] > 0 ? p[i] : 1 - p[i], 0x1p-53));
    positives += y[i] > 0 ? 1 : 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      if (!(y[i] > 0 && y[j] < 0)) continue;
      won += p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0;
      ++pairs;
    }
  }
  const Evaluation e = evaluate(p, y);
  EXPECT_EQ(e.rows, 200U);
  EXPECT_NEAR(e.auc, won / pairs, 1e-12);
  EXPECT_DOUBLE_EQ(e.accuracy, right / 200);
  EXPECT_NEAR(e.log_loss, loss / 200, 1e-12);
  EXPECT_DOUBLE_EQ(e.majority, std::max(positives, 200 - positives) / 200);
}

TEST(Evaluate, OneClassHasNoAuc) {
  const std::vector<double> p{0.1, 0.9, 1.0};
  const std::vector<float> y{1, 1, 1};
  const Evaluation e = evaluate(p, y);
  EXPECT_TRUE(std::isnan(e.auc));
  EXPECT_EQ(e.majority, 1);
  EXPECT_NEAR(e.accuracy, 2.0 / 3, 1e-15);
  EXPECT_THROW(evaluate(p, std::vector<float>{1}), BadInput);
  EXPECT_THROW(evaluate({}, {}), BadInput);
}

}  // namespace model_file_test
}  // namespace gibbsite
