#include "certificate/estimates_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace estimates_json_test {

using nlohmann::json;
using ::testing::HasSubstr;

Estimates two_features() {
  Estimates out;
  out.weights = {0.125, 0.875};
  out.means = {{1.0 / 3, -2}, {0.1, 1e-300}};
  out.covariance = {0.25, -0.1, 2};
  out.prior_deviation = {12.5, std::numeric_limits<double>::infinity()};
  out.feature_means = {-0.01, 1};
  out.feature_deviations = {0.2, 0};
  out.further_above = {0.3, 0};
  out.further_below = {0, 0};
  return out;
}

TEST(EstimatesJson, GivesBackTheSameBits) {
  Estimates e = two_features();
  const auto expect_same = [&] {
    const json written = json::parse(estimates_json(e).dump());
    const Estimates back = estimates_from_json(written, 2, 1, "m.json");
    EXPECT_EQ(back.weights, e.weights);
    EXPECT_EQ(back.means, e.means);
    EXPECT_EQ(back.covariance, e.covariance);
    EXPECT_EQ(back.prior_deviation, e.prior_deviation);
    EXPECT_EQ(back.feature_means, e.feature_means);
    EXPECT_EQ(back.feature_deviations, e.feature_deviations);
    EXPECT_EQ(back.further_above, e.further_above);
    EXPECT_EQ(back.further_below, e.further_below);
    EXPECT_EQ(estimates_json(back), estimates_json(e));
  };
  expect_same();
  e.further_above.clear();
  e.further_below.clear();
  expect_same();
}

TEST(EstimatesJson, OfSeveralClassesHoldsThemAll) {
  Estimates e = two_features();
  e.feature_means = {1};
  e.feature_deviations = {0};
  EXPECT_EQ(estimates_from_json(estimates_json(e), 1, 2, "m.json").means, e.means);
}

TEST(EstimatesJson, RefusesWhatFitDidNotWrite) {
  const json good = estimates_json(two_features());
  const auto rejected = [&](const std::function<void(json&)>& change, const std::string& why) {
    json file = good;
    change(file);
    try {
      estimates_from_json(file, 2, 1, "m.json");
      ADD_FAILURE() << "accepted, though " << why;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("m.json: estimates"));
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  rejected([](json& f) { f = 3; }, "must be an object");
  rejected([](json& f) { f["color"] = 1; }, "color: unknown field");
  rejected([](json& f) { f.erase("weights"); }, "weights: is missing");
  rejected([](json& f) { f["level"] = 0.9; }, "level: must be 0.95");
  rejected([](json& f) { f["weights"] = {0.5, 0.6}; }, "weights: must add up to 1");
  rejected([](json& f) { f["weights"] = {-0.5, 1.5}; }, "weights: must be 0 or more");
  rejected([](json& f) { f["weights"] = json::array({1}); }, "weights: must be 2 numbers");
  rejected([](json& f) { f["means"] = json::array(); }, "means: must be 1 to 64 lists");
  rejected([](json& f) { f["means"] = std::vector<json>(65, json{1, 2}); }, "1 to 64");
  rejected([](json& f) { f["means"][1] = {1, 2, 3}; }, "means: must be 2 numbers");
  rejected([](json& f) { f["means"][0][0] = nullptr; }, "means: must be finite numbers");
  rejected([](json& f) { f["covariance"] = {1, 0, 1, 0}; }, "covariance: must be 3 numbers");
  rejected([](json& f) { f["covariance"][2] = -1e-9; }, "no negative variance");
  rejected([](json& f) { f["covariance"][1] = 0.71; }, "no correlation beyond 1");
  rejected([](json& f) { f["covariance"][0] = "1"; }, "finite numbers");
  rejected([](json& f) { f["prior_deviation"][0] = 0; }, "prior_deviation: must be above 0");
  rejected([](json& f) { f["prior_deviation"][0] = "a"; }, "prior_deviation: must be a number");
  rejected([](json& f) { f["prior_deviation"] = {1}; }, "prior_deviation: must be 2 numbers");
  rejected([](json& f) { f["feature_means"] = {1}; }, "feature_means: must be 2 numbers");
  rejected([](json& f) { f["feature_deviations"][0] = -1; }, "feature_deviations: must be 0 or");
  rejected([](json& f) { f["further_above"][0] = -1; }, "further_above: must be 0 or more");
  rejected([](json& f) { f.erase("further_below"); }, "must stand beside further_below");
}

}  // namespace estimates_json_test
}  // namespace gibbsite
