// What a person does with files of the format /2.
#include <fstream>
#include <sstream>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace version_2_test {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v2/" + name + ".json")
              .rdbuf();
  return text.str();
}

class Version2Cli : public Cli {
 protected:
  void SetUp() override {
    for (const char* name : {"whitened", "path", "bernoulli", "network", "evaluation"})
      folder.write(std::string(name) + ".json", text_of(name));
    const auto all = nlohmann::json::parse(text_of("predictions"));
    folder.write("people.csv", all["tables"]["people"]);
  }
};

TEST_F(Version2Cli, VerifiesPredictsAsksAndReports) {
  for (const char* name : {"whitened", "path", "bernoulli", "network", "evaluation"}) {
    const std::string file = std::string(name) + ".json";
    const Outcome verified = gibbsite({"verify", file});
    EXPECT_EQ(verified.status, 0) << name << verified.err;
    EXPECT_THAT(verified.out, ::testing::StartsWith("VALID: every number")) << name;
  }
  const auto was = nlohmann::json::parse(text_of("predictions"))["models"]["whitened"];
  const Outcome predicted =
      gibbsite({"predict", "--model", "whitened.json", "--data", "people.csv", "--probabilities"});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  for (const auto& probability : was["predictions"]) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_NEAR(std::stod(line.substr(line.find(',') + 1)), probability.get<double>(), 1e-6);
  }
  EXPECT_EQ(gibbsite({"query", "--model", "bernoulli.json", "--expectation", "yes"}).status, 0);
  EXPECT_EQ(gibbsite({"query", "--model", "network.json", "P(town = north)"}).status, 0);
  EXPECT_EQ(gibbsite({"report", "whitened.json", "--out", "report.html"}).status, 0);
  EXPECT_THAT(folder.read("report.html"), HasSubstr("scores and no log-odds"));
  folder.write("labeled.csv", "age,size,town,y\n18,-1,north,no\n36,0,?,yes\n");
  EXPECT_EQ(gibbsite({"evaluate", "--model", "whitened.json", "--data", "labeled.csv"}).status, 0);
}

TEST_F(Version2Cli, ACappedLinkIsNotExported) {
  expect_error(gibbsite({"export", "--model", "whitened.json", "--onnx", "m.onnx"}), 2,
               "whitened.json: model.link: capped-logistic, of a file of gibbsite-release/2, has "
               "no graph; fit the model again");
  // Another model of that format is refused by the writer that is not there alone.
  expect_error(gibbsite({"export", "--model", "path.json", "--onnx", "m.onnx"}), 2,
               "this program writes none by itself");
}

// The whole journey of today: no link in the file, and odds beside log-odds alone.
TEST_F(Version2Cli, OddsStandBesideLogOddsAlone) {
  Cli::SetUp();
  const Outcome whitened = gibbsite(fit({"--out", "a.json"}));
  ASSERT_EQ(whitened.status, 0) << whitened.err;
  EXPECT_EQ(json("a.json")["format"], "gibbsite-release/3");
  EXPECT_FALSE(json("a.json")["model"].contains("link"));
  EXPECT_THAT(whitened.out, HasSubstr("what they multiply the odds by"));
  EXPECT_THAT(whitened.out, Not(HasSubstr("no log-odds")));
  const Outcome path = gibbsite(fit({"--out", "b.json", "--mechanism", "path"}));
  ASSERT_EQ(path.status, 0) << path.err;
  EXPECT_EQ(json("b.json")["model"]["link"]["kind"], "logistic-capped");
  EXPECT_THAT(path.out, Not(HasSubstr("what they multiply the odds by")));
  EXPECT_THAT(path.out, HasSubstr("scores and no log-odds"));
  EXPECT_THAT(path.out, HasSubstr("--loss-cap 1"));
  const Outcome whole =
      gibbsite(fit({"--out", "c.json", "--mechanism", "path", "--loss-cap", "1"}));
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("what they multiply the odds by"));
  EXPECT_THAT(whole.out, Not(HasSubstr("no log-odds")));
}

}  // namespace version_2_test
}  // namespace gibbsite::testing
