// What a person does with a model file that an earlier program wrote.
#include <cmath>
#include <fstream>
#include <sstream>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace golden_file_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A released file of format version 1 with two draws.
std::string golden() {
  std::ostringstream text;
  text << std::ifstream(std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v3/path-minami-cor8.json")
              .rdbuf();
  return text.str();
}

class GoldenFileCli : public Cli {};

TEST_F(GoldenFileCli, VerifiesAndPredicts) {
  folder.write("m.json", golden());
  const Outcome verified = gibbsite({"verify", "m.json"});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out,
              AllOf(HasSubstr("ok    guarantee.mu: claimed 0.20232903930885446, recomputed 0.2"),
                    StartsWith("VALID: every number"),
                    HasSubstr("(ε, δ) = (1, 1e-05), add-remove, one row per person")));

  // Encoded, none is longer than the row norm of 1.5: age, size, four levels of town, the
  // intercept.
  folder.write("new.csv", "age,size,town\n18,-1,north\n36,0,?\n54,0.5,elsewhere\n");
  const std::vector<std::vector<double>> encoded{
      {0, 0, 1, 0, 0, 0, 1}, {0.25, 0.5, 0, 0, 1, 0, 1}, {0.5, 0.75, 0, 0, 0, 1, 1}};
  const Outcome predicted =
      gibbsite({"predict", "--model", "m.json", "--data", "new.csv", "--probabilities"});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "prediction,probability");
  const auto draws =
      json("m.json")["model"]["coefficients"].get<std::vector<std::vector<double>>>();
  ASSERT_EQ(draws.size(), 2U);
  for (const auto& row : encoded) {
    double p = 0;
    for (const auto& theta : draws) {
      double z = 0;
      for (std::size_t j = 0; j < row.size(); ++j) z += row[j] * theta[j];
      p += 0.5 / (1 + std::exp(-z));
    }
    ASSERT_TRUE(std::getline(lines, line));
    const std::size_t comma = line.find(',');
    EXPECT_EQ(line.substr(0, comma), p >= 0.5 ? "yes" : "not yes") << line;
    EXPECT_NEAR(std::stod(line.substr(comma + 1)), p, 1e-6) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(GoldenFileCli, WhatWasChangedIsRefused) {
  auto file = nlohmann::json::parse(golden());
  file["certificate"]["guarantee"]["epsilon"] = 0.5;
  folder.write("claim.json", file.dump());
  expect_error(gibbsite({"verify", "claim.json"}), 4, "claim.json: NOT VALID: guarantee.delta");
  file = nlohmann::json::parse(golden());
  file["model"]["coefficients"][1][0] = 1.5;
  folder.write("changed.json", file.dump());
  folder.write("new.csv", "age,size,town\n18,-1,north\n");
  expect_error(gibbsite({"verify", "changed.json"}), 4, "changed.json: NOT VALID");
  expect_error(gibbsite({"predict", "--model", "changed.json", "--data", "new.csv"}), 2,
               "changed.json: was changed after fit wrote it");
}

}  // namespace golden_file_test
}  // namespace gibbsite::testing
