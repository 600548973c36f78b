// Files of the format /3 as they were written, one of each mechanism and calibration of chains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/release/predict.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace version_3_test {

using nlohmann::json;

std::string path_of(const std::string& name) {
  return std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v3/" + name + ".json";
}

struct Kind {
  std::string name, mechanism, calibration;
  std::uint64_t draws = 1;
};
const std::vector<Kind> kinds{{"path", "path", "gdp"},
                              {"path-minami-cor8", "path", "minami-cor8", 2},
                              {"path-minami-thm7", "path", "minami-thm7"},
                              {"path-geumlek-rdp", "path", "geumlek-rdp"},
                              {"path-draws", "path", "gdp", 3},
                              {"rejection", "rejection", "gdp"},
                              {"proximal", "proximal", "gdp"},
                              {"proximal-padded", "proximal", "gdp"},
                              {"averaged", "averaged", "gdp"},
                              {"dalalyan", "dalalyan", "gdp"}};

// Every setting is the file's; what a file leaves out is 0.
void expect_settings(const Mechanism& mechanism, const json& settings) {
  struct Expect {
    const json& settings;
    void operator()(const char* name, double value, Legal /*legal*/) const {
      EXPECT_EQ(value, settings.value(name, 0.0)) << name;
    }
    void operator()(const char* name, Calibration value) const {
      EXPECT_EQ(to_string(value), settings.at(name)) << name;
    }
  };
  visit_fields(mechanism, Expect{settings});
}

void expect_certificate(const Certificate& c, const json& file) {
  const json &guarantee = file["guarantee"], &numerics = file["numerics"];
  EXPECT_EQ(c.epsilon, guarantee["epsilon"]);
  EXPECT_EQ(c.delta, guarantee["delta"]);
  EXPECT_EQ(c.claimed.mu, guarantee["mu"]);
  EXPECT_EQ(c.claimed.epsilon0, numerics["release_epsilon"]);
  EXPECT_EQ(c.claimed.delta0, 0);
  const double tv = file["mechanism"].value("tv_gap", 0.0) + numerics["noise_tv"].get<double>();
  EXPECT_GE(c.claimed.tv, tv);
  EXPECT_LE(c.claimed.tv, tv * (1 + 1e-15));
  EXPECT_EQ(to_string(c.claimed.who.adjacency), guarantee["adjacency"]);
  EXPECT_EQ(c.claimed.who.rows_per_person, guarantee["rows_per_person"]);
  EXPECT_EQ(c.noise, NoiseKind::chacha20);
  EXPECT_EQ(c.backend, file["software"]["backend"]);
  EXPECT_EQ(c.version, file["software"]["version"]);
  const json& constants = file["constants"];
  EXPECT_EQ(c.problem.rows, constants["rows"]);
  EXPECT_EQ(c.problem.features, constants["features"]);
  EXPECT_EQ(c.problem.row_norm, constants["row_norm"]);
  EXPECT_EQ(c.problem.intercept, constants["intercept"]);
  EXPECT_EQ(c.problem.loss, constants["loss"]);
  expect_settings(c.mechanism, file["mechanism"]);
}

// The probability of a row whose features are 0.25, averaged over the draws.
double probability_of(const json& draws) {
  double sum = 0;
  for (const json& draw : draws) {
    double z = 0;
    for (const json& coefficient : draw) z += 0.25 * coefficient.get<double>();
    sum += 1 / (1 + std::exp(-z));
  }
  return sum / static_cast<double>(draws.size());
}

TEST(Version3, IsReadAsItStandsVerifiesAndPredicts) {
  for (const auto& [name, mechanism, calibration, count] : kinds) {
    SCOPED_TRACE(name);
    const json file = read_release_json(path_of(name));
    ASSERT_EQ(file["format"], "gibbsite-release/3");
    const json& settings = file["certificate"]["mechanism"];
    EXPECT_EQ(settings["name"], mechanism);
    EXPECT_EQ(settings["calibration"], calibration);
    EXPECT_EQ(settings["draws"], count);
    const Verification result = verify(file);
    EXPECT_TRUE(result.valid) << ::testing::PrintToString(result.failures);

    const Release release = read_release(path_of(name));
    EXPECT_EQ(name_of(release.certificate().mechanism), mechanism);
    EXPECT_EQ(release.certificate().draws, count);
    expect_certificate(release.certificate(), file["certificate"]);
    json draws = file["model"]["coefficients"];
    if (count == 1) draws = json::array({draws});
    EXPECT_EQ(json(release.model().draws), draws);
    const std::vector<float> x(release.model().schema.features(), 0.25F);
    const auto probabilities = predict_probabilities(release.model(), Rows(x.data(), 1, x.size()));
    ASSERT_EQ(probabilities.size(), 1U);
    EXPECT_NEAR(probabilities[0], probability_of(draws), 1e-12);
  }
}

TEST(Version3, IsWrittenAgainAsItStands) {
  for (const Kind& kind : kinds) {
    EXPECT_EQ(to_json(read_release(path_of(kind.name))), read_release_json(path_of(kind.name)))
        << kind.name;
  }
}

// No released program wrote that format.
TEST(Version3, AFileOfFormat1IsRefusedInOneLine) {
  const testing::TempDir folder;
  json file = read_release_json(path_of("path"));
  file["format"] = "gibbsite-release/1";
  const std::string path = folder.write("old.json", file.dump());
  const std::string expected = path +
                               ": is a gibbsite-release/1 file, of before the first release; "
                               "gibbsite-release/2 and gibbsite-release/3 are read: fit the model "
                               "again";
  EXPECT_THAT([&] { read_release_json(path); }, ::testing::ThrowsMessage<BadInput>(expected));
  EXPECT_THAT([&] { static_cast<void>(read_release(path)); },
              ::testing::ThrowsMessage<BadInput>(expected));
  EXPECT_FALSE(verify(file).valid);
}

TEST(Version3, ASeededRunStaysVoid) {
  const json file = read_release_json(path_of("seeded"));
  const Verification seeded = verify(file);
  EXPECT_TRUE(seeded.void_run && !seeded.valid);
  EXPECT_EQ(seeded.failures.size(), 1U) << ::testing::PrintToString(seeded.failures);
  const Certificate c = read_release(path_of("seeded")).certificate();
  EXPECT_TRUE(c.is_void());
  EXPECT_EQ(c.epsilon, 0);
  EXPECT_EQ(c.claimed.mu, 0);
}

// Stronger claims, resealed, and fields that nobody asked for.
TEST(Version3, RejectsWhatStrengthensTheClaim) {
  for (const auto& [name, mechanism, calibration, draws] : kinds) {
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
    EXPECT_TRUE(valid("/guarantee/mu", 2 * number("/guarantee/mu"))) << name;
    for (const char* at :
         {"/guarantee/epsilon", "/guarantee/delta", "/guarantee/mu", "/numerics/noise_tv",
          "/numerics/release_epsilon", "/constants/sensitivity", "/mechanism/prior_precision"}) {
      const double changed = number(at) == 0 ? 1.0 : 0.5 * number(at);
      EXPECT_FALSE(valid(at, changed)) << name << ' ' << at;
    }
    EXPECT_FALSE(valid("/mechanism/beta", 2 * number("/mechanism/beta"))) << name;
    EXPECT_FALSE(valid("/mechanism/tv_gap", name.starts_with("path") ? 0.1 : 1e-300)) << name;
    EXPECT_FALSE(valid("/guarantee/note", "audited")) << name;
    EXPECT_FALSE(valid("/mechanism/note", "audited")) << name;
    for (const char* at : {"/guarantee", "/mechanism", "/numerics", "/mechanism/name"}) {
      EXPECT_FALSE(valid(at, json::array())) << name << ' ' << at;
    }
  }
}

}  // namespace version_3_test
}  // namespace gibbsite
