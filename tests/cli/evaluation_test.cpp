// evaluate --epsilon on the command line.
#include <cstdlib>
#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace evaluation_test {

using ::testing::HasSubstr;
using ::testing::Not;

class ReleasedEvaluationCli : public Cli {
 protected:
  ReleasedEvaluationCli() { setenv("XDG_STATE_HOME", state.path().c_str(), 1); }
  ~ReleasedEvaluationCli() override { unsetenv("XDG_STATE_HOME"); }

  void SetUp() override {
    Cli::SetUp();
    const Outcome fitted = gibbsite(fit({"--out", "model.json", "--quiet"}));
    ASSERT_EQ(fitted.status, 0) << fitted.err;
  }
  [[nodiscard]] Outcome evaluated(std::vector<std::string> more,
                                  const std::string& data = "table.csv") const {
    more.insert(more.begin(), {"evaluate", "--model", "model.json", "--data", data});
    return gibbsite(more);
  }

  TempDir state;
};

TEST_F(ReleasedEvaluationCli, WritesAFileThatVerifies) {
  const Outcome made = evaluated({"--epsilon", "1", "--delta", "1e-5", "--out", "e.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.err, "");
  EXPECT_THAT(made.out, HasSubstr("95 % interval"));
  EXPECT_THAT(made.out, HasSubstr("AUC"));
  EXPECT_THAT(made.out, HasSubstr("Whoever sees this evaluation"));
  EXPECT_THAT(made.out, Not(HasSubstr("private:")));
  EXPECT_EQ(gibbsite({"verify", "e.json"}).status, 0);
  const nlohmann::json file = json("e.json");
  EXPECT_EQ(file["model"]["of"], json("model.json")["certificate"]["digest"]);
  EXPECT_EQ(file["model"]["rows"], rows);
  EXPECT_EQ(file["model"]["counts"].size(), 20U);
  // Other commands say what it is, in one line.
  expect_error(gibbsite({"report", "e.json", "--out", "e.html"}), 2, "evaluation of a model");
  expect_error(gibbsite({"predict", "--model", "e.json", "--data", "table.csv"}), 2,
               "evaluation of a model");
  expect_error(gibbsite({"query", "--model", "e.json"}), 2, "evaluation of a model");
  expect_error(gibbsite({"evaluate", "--model", "e.json", "--data", "table.csv"}), 2,
               "evaluation of a model");
}

TEST_F(ReleasedEvaluationCli, IsFreshNoiseEachTime) {
  ASSERT_EQ(evaluated({"--epsilon", "1", "--out", "1.json"}).status, 0);
  ASSERT_EQ(evaluated({"--epsilon", "1", "--out", "2.json"}).status, 0);
  EXPECT_NE(json("1.json")["model"]["counts"], json("2.json")["model"]["counts"]);
}

TEST_F(ReleasedEvaluationCli, UnderAddRemoveTheNumberOfRowsIsNowhere) {
  const std::vector<std::string> options{"--epsilon",  "1",          "--adjacency",
                                         "add-remove", "--rows-cap", "1000",
                                         "--json",     "--out",      "e.json"};
  const Outcome made = evaluated(options);
  ASSERT_EQ(made.status, 0) << made.err;
  const nlohmann::json file = json("e.json");
  EXPECT_FALSE(file["model"].contains("rows"));
  EXPECT_EQ(file["certificate"]["constants"]["rows"], 1000);
  EXPECT_EQ(gibbsite({"verify", "e.json"}).status, 0);
  EXPECT_EQ(nlohmann::json::parse(made.out)["figures"], file["model"]["figures"]);
  // It is refused by the cap alone, and marked as private.
  expect_error(evaluated({"--epsilon", "1", "--adjacency", "add-remove", "--rows-cap", "100",
                          "--out", "f.json"}),
               2, "--rows-cap: the table has more than 100 rows");
}

TEST_F(ReleasedEvaluationCli, OfOneRowOfOneClassAndAtAnyThreshold) {
  folder.write("one.csv", "age,work,income\n40,Private,>50K\n");
  folder.write("class.csv", "age,work,income\n40,Private,>50K\n41,?,>50K\n19,Private,>50K\n");
  for (const char* table : {"one.csv", "class.csv"}) {
    for (const char* threshold : {"0", "0.3", "1"}) {
      const Outcome made = evaluated(
          {"--epsilon", "1", "--threshold", threshold, "--out", "e.json", "--force"}, table);
      ASSERT_EQ(made.status, 0) << made.err;
      EXPECT_EQ(gibbsite({"verify", "e.json"}).status, 0);
    }
  }
  folder.write("none.csv", "age,work,income\n");
  EXPECT_EQ(evaluated({"--epsilon", "1", "--out", "n.json"}, "none.csv").status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path("n.json")));
}

TEST_F(ReleasedEvaluationCli, OfSeveralRowsAPerson) {
  const Outcome made = evaluated({"--epsilon", "1", "--rows-per-person", "3", "--out", "e.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("rows, between any counts"));
  EXPECT_EQ(gibbsite({"verify", "e.json"}).status, 0);
  EXPECT_EQ(json("e.json")["model"]["rows_per_person"], 3);
}

TEST_F(ReleasedEvaluationCli, EntersTheLedgerOrIsRefused) {
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "1.5", "--delta", "1e-6"}).status, 0);
  const Outcome made = evaluated({"--epsilon", "1", "--out", "e.json", "--ledger", "l"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Entered: in l, "));
  const Outcome refused = evaluated({"--epsilon", "1.4", "--out", "f.json", "--ledger", "l"});
  EXPECT_EQ(refused.status, 5) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("f.json")));
  const auto shown = nlohmann::json::parse(gibbsite({"ledger", "show", "l", "--json"}).out);
  ASSERT_EQ(shown["releases"].size(), 1U);
  EXPECT_EQ(shown["releases"][0]["command"], "evaluate histogram");
  EXPECT_EQ(shown["releases"][0]["digest"], json("e.json")["certificate"]["digest"]);
}

TEST_F(ReleasedEvaluationCli, OfAVoidModelIsAsGoodAsOfAnother) {
  ASSERT_EQ(gibbsite(fit({"--out", "void.json", "--seed", "1", "--quiet"})).status, 0);
  const Outcome made = gibbsite({"evaluate", "--model", "void.json", "--data", "table.csv",
                                 "--epsilon", "1", "--out", "e.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(gibbsite({"verify", "e.json"}).status, 0);
  // It is said, on the screen and in the file.
  EXPECT_THAT(made.err, HasSubstr("warning: --model: void.json is void"));
  EXPECT_THAT(made.out, HasSubstr("The model evaluated is void"));
  EXPECT_THAT(gibbsite({"verify", "e.json"}).out, HasSubstr("The model evaluated is void"));
  EXPECT_EQ(json("e.json")["model"]["of_void"], true);
}

// What no table could make right is said before one is read: here there is none.
TEST_F(ReleasedEvaluationCli, RefusesPublicNumbersBeforeTheTable) {
  const auto refused = [&](std::vector<std::string> more, int status, const char* why) {
    more.insert(more.end(), {"--out", "e.json"});
    const Outcome made = evaluated(more, "absent.csv");
    expect_error(made, status, why);
    EXPECT_THAT(made.err, Not(HasSubstr("network")));
    EXPECT_THAT(made.err, Not(HasSubstr("structure")));
    EXPECT_THAT(made.err, Not(HasSubstr("absent.csv")));
  };
  refused({"--epsilon", "1e-320"}, 4, "--epsilon 1e-320, --delta 1e-06: no noise");
  refused({"--epsilon", "1e-9", "--delta", "1e-300"}, 4, "--delta 1e-300: no noise");
  refused({"--epsilon", "1", "--adjacency", "add-remove", "--rows-cap", "1000000000000000"}, 2,
          "--rows-cap");
  refused({"--epsilon", "1", "--bins", "9"}, 2, "--bins");
  refused({"--epsilon", "1", "--threshold", "5e-324"}, 2, "--threshold");
  refused({"--epsilon", "1", "--threshold", "0.9999999999999999"}, 2, "--threshold");
}

TEST_F(ReleasedEvaluationCli, ShowsNoMinusZeroAndNothingOfEmptyBins) {
  const Outcome made =
      evaluated({"--epsilon", "1", "--bins", "100", "--threshold", "-0", "--out", "e.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, Not(HasSubstr(" -0 ")));
  EXPECT_THAT(made.out, HasSubstr("bins hide about"));
  const nlohmann::json model = json("e.json")["model"];
  EXPECT_EQ(model["threshold"].dump().front(), '0');
  // Most of a hundred bins are empty, as there are so few rows.
  int none = 0;
  for (const auto& bin : model["figures"]["calibration"]) none += bin["found"]["value"].is_null();
  EXPECT_GE(none, 30);
}

TEST_F(ReleasedEvaluationCli, SaysWhatIsWrongInOneLineAndWritesNothing) {
  const auto refused = [&](const std::vector<std::string>& more, const char* why) {
    expect_error(evaluated(more), 2, why);
    EXPECT_FALSE(std::filesystem::exists(folder.path("e.json"))) << why;
  };
  for (const char* epsilon : {"0", "-1", "nan", "inf", "701", "x"}) {
    refused({"--epsilon", epsilon, "--out", "e.json"}, "--epsilon");
  }
  refused({"--epsilon", "1", "--delta", "0", "--out", "e.json"}, "--delta");
  refused({"--epsilon", "1"}, "--out: is missing");
  refused({"--out", "e.json"}, "--out: is of a release");
  refused({"--bins", "10"}, "--bins: is of a release");
  refused({"--epsilon", "1", "--bins", "101", "--out", "e.json"}, "--bins");
  refused({"--epsilon", "1", "--threshold", "1.5", "--out", "e.json"}, "--threshold");
  refused({"--epsilon", "1", "--adjacency", "add-remove", "--out", "e.json"}, "--rows-cap");
  refused({"--epsilon", "1", "--rows-cap", "10", "--out", "e.json"}, "--rows-cap");
  refused({"--epsilon", "1", "--beside-non-private", "--out", "e.json"}, "--beside-non-private");
  refused({"--epsilon", "1", "--rows-per-person", "121", "--out", "e.json"}, "--rows-per-person");
  refused({"--epsilon", "1", "--out", "no/e.json"}, "--out");
  folder.write("there.json", "x");
  refused({"--epsilon", "1", "--out", "there.json"}, "there.json is there already");
  EXPECT_EQ(folder.read("there.json"), "x");
  refused({"--epsilon", "1", "--out", "model.json", "--force"}, "--out");
  nlohmann::json file = json("model.json");
  file["certificate"]["guarantee"]["mu"] = 1e-9;  // the digest leaves claims out
  folder.write("model.json", file.dump());
  refused({"--epsilon", "1", "--out", "e.json"}, "its certificate does not hold");
  file["format"] = "gibbsite-release/9";
  folder.write("model.json", file.dump());
  refused({"--epsilon", "1", "--out", "e.json"}, "is JSON, but no gibbsite-release/3 file");
}

}  // namespace evaluation_test
}  // namespace gibbsite::testing
