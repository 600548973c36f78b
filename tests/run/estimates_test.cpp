// Estimates from noisy answers: against the NumPy prototype's numbers, and answers that say little.
#include "run/estimates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace estimates_test {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Schema schema_of(std::size_t numbers, const std::vector<std::size_t>& levels) {
  Schema out;
  out.label = "y";
  out.positive = "1";
  out.intercept = true;
  for (std::size_t j = 0; j < numbers; ++j)
    out.columns.push_back({.name = "x" + std::to_string(j), .type = ColumnType::number});
  for (std::size_t g = 0; g < levels.size(); ++g) {
    Column column{.name = "c" + std::to_string(g), .type = ColumnType::category};
    for (std::size_t l = 0; l < levels[g]; ++l) column.levels.push_back(std::to_string(l));
    out.columns.push_back(column);
  }
  return out;
}

VectorXd vector_of(const json& list) {
  const auto values = list.get<std::vector<double>>();
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}

// A run of the prototype, and what it makes of its answers.
struct Case {
  explicit Case(const json& object)
      : file(object),
        schema(schema_of(object["numbers"], object["levels"].get<std::vector<std::size_t>>())) {
    answers.lambda = vector_of(file["lambda"]);
    answers.rows = file["rows"];
    answers.prior = vector_of(file["prior"]);
    answers.prior_scale = file["prior_scale"];
    answers.variances = file["variances"].get<std::vector<double>>();
    for (const json& point : file["points"]) answers.points.push_back(vector_of(point));
    for (const json& gradient : file["gradients"]) answers.gradients.push_back(vector_of(gradient));
    const Index k = answers.lambda.size(), d = static_cast<Index>(schema.features());
    answers.metric.resize(d, k);
    for (Index j = 0; j < d; ++j)
      answers.metric.row(j) = vector_of(file["metric"][static_cast<std::size_t>(j)]).transpose();
    answers.information.resize(k, k);
    std::size_t at = 0;
    for (Index a = 0; a < k; ++a)
      for (Index b = 0; b <= a; ++b)
        answers.information(a, b) = answers.information(b, a) = file["information"][at++];
    answers.information_deviation = file["information_deviation"];
  }

  json file;
  Schema schema;
  AnsweredScores answers;
};

std::vector<Case> cases() {
  std::ifstream file(GIBBSITE_SOURCE_DIR "/tests/run/estimates.json");
  std::vector<Case> out;
  for (const json& object : json::parse(file)) out.emplace_back(object);
  return out;
}

// Everything that may be printed is finite, in order, and an interval holds its estimate.
void expect_sound(const Estimates& e, const Schema& schema) {
  double total = 0;
  for (const double weight : e.weights) {
    EXPECT_GE(weight, 0);
    total += weight;
  }
  EXPECT_NEAR(total, 1, 1e-12);
  for (std::size_t j = 0; j < schema.features(); ++j) {
    const EffectEstimate effect = feature_effect(e, schema, j);
    EXPECT_TRUE(std::isfinite(effect.estimate) && std::isfinite(effect.standard_error)) << j;
    EXPECT_TRUE(effect.lower <= effect.estimate && effect.estimate <= effect.upper) << j;
    EXPECT_TRUE(effect.p_value >= 0 && effect.p_value <= 1) << j;
    EXPECT_GE(e.feature_deviations[j], 0);
  }
}

// Both evaluate the same formulas; the prototype's numbers have ten digits, its answers nine. What
// Newton's method leaves is alike, since both take the same steps.
TEST(EstimatesOfAnswers, AreThoseOfThePrototype) {
  constexpr double relative = 1e-6;
  int several = 0, wider = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.file["table"].get<std::string>());
    const auto found = estimate(c.answers, c.schema);
    ASSERT_TRUE(found);
    expect_sound(*found, c.schema);
    EXPECT_EQ(found->weights.size(), c.file["components"].get<std::size_t>());
    several += found->weights.size() > 1 ? 1 : 0;
    const std::size_t effects = c.file["estimate"].size();
    ASSERT_EQ(effects, c.schema.features() - 1);
    for (std::size_t j = 0; j < effects; ++j) {
      const EffectEstimate effect = feature_effect(*found, c.schema, j);
      const double deviation = c.file["standard_error"][j];
      const double tolerance = relative * (deviation + std::fabs(effect.estimate));
      EXPECT_NEAR(effect.standard_error, deviation, relative * deviation) << j;
      EXPECT_NEAR(effect.estimate, c.file["estimate"][j].get<double>(), tolerance) << j;
      EXPECT_NEAR(effect.lower, c.file["lower"][j].get<double>(), 3 * tolerance) << j;
      EXPECT_NEAR(effect.upper, c.file["upper"][j].get<double>(), 3 * tolerance) << j;
      EXPECT_NEAR(found->feature_means[j], c.file["feature_means"][j].get<double>(), 1e-8) << j;
      wider += effect.upper - effect.lower > 3.95 * deviation ? 1 : 0;
    }
  }
  EXPECT_GE(several, 2);  // else the quadrature over the length is not held
  EXPECT_GE(wider, 10);   // else rows that saturate together are not
}

}  // namespace estimates_test
}  // namespace gibbsite
