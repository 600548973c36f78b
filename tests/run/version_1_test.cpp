// Files that versions before the format /2 wrote, one of each mechanism there was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {
namespace version_1_test {

using nlohmann::json;

std::string path_of(const std::string& name) {
  return std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v1/" + name + ".json";
}

const std::vector<std::string> names{"path",     "path-minami-cor8", "rejection",      "proximal",
                                     "averaged", "dalalyan",         "proximal-padded"};

TEST(Version1, VerifiesPredictsAndIsWrittenAnew) {
  std::set<std::string_view> mechanisms;
  for (const std::string& name : names) {
    const json file = read_release_json(path_of(name));
    ASSERT_EQ(file["format"], "gibbsite-release/1");
    const Verification result = verify(file);
    EXPECT_TRUE(result.valid) << name << ": " << ::testing::PrintToString(result.failures);
    EXPECT_GT(result.checks.size(), 40U);
    const Release release = read_release(path_of(name));
    mechanisms.insert(name_of(release.certificate().mechanism));
    EXPECT_EQ(release.model().draws[0][0], file["model"]["coefficients"].flatten().begin().value());
    const std::vector<float> x(release.model().schema.features(), 0.25F);
    EXPECT_EQ(predict_probabilities(release.model(), Rows(x.data(), 1, x.size())).size(), 1U);
    EXPECT_TRUE(verify(release).valid) << name << ", written as this version does";
    EXPECT_EQ(to_json(release)["format"], "gibbsite-release/2");
  }
  EXPECT_EQ(mechanisms.size(), 5U);
  const Verification seeded = verify(read_release_json(path_of("seeded")));
  EXPECT_TRUE(seeded.void_run && !seeded.valid);
}

// Stronger claims, resealed, and fields that nobody asked for.
TEST(Version1, RejectsWhatStrengthensTheClaim) {
  for (const std::string& name : names) {
    const json file = read_release_json(path_of(name));
    const auto valid = [&](const char* at, const json& value) {
      json changed = file;
      changed["certificate"][json::json_pointer(at)] = value;
      changed["certificate"]["digest"] = file_digest(changed);
      return verify(changed).valid;
    };
    const auto number = [&](const char* at) {
      return file["certificate"][json::json_pointer(at)].get<double>();
    };
    EXPECT_TRUE(valid("/guarantee/epsilon", number("/guarantee/epsilon"))) << name;
    EXPECT_TRUE(valid("/guarantee/gdp_mu", 2 * number("/guarantee/gdp_mu"))) << name;
    for (const char* at :
         {"/guarantee/epsilon", "/guarantee/delta", "/guarantee/gdp_mu", "/numerics/noise_tv",
          "/numerics/release_epsilon", "/constants/sensitivity", "/mechanism/prior_precision"}) {
      const double changed = number(at) == 0 ? 1.0 : 0.5 * number(at);
      EXPECT_FALSE(valid(at, changed)) << name << ' ' << at;
    }
    EXPECT_FALSE(valid("/mechanism/beta", 2 * number("/mechanism/beta"))) << name;
    EXPECT_FALSE(valid("/mechanism/tv_gap", name.starts_with("path") ? 0.1 : 1e-300)) << name;
    EXPECT_FALSE(valid("/guarantee/note", "audited")) << name;
    EXPECT_FALSE(valid("/mechanism/note", "audited")) << name;
    for (const char* at : {"/guarantee", "/mechanism", "/numerics", "/mechanism/certificate"}) {
      EXPECT_FALSE(valid(at, json::array())) << name << ' ' << at;
    }
  }
}

}  // namespace version_1_test
}  // namespace gibbsite
