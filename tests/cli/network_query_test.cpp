// A released network by the program: questions, synthetic tables, how near it is; their bad input.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace network_query_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NetworkQueryCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    folder.write("network.toml",
                 "label = \"income\"\npositive = \">50K\"\nnegative = \"<=50K\"\n"
                 "missing = \"?\"\n\n[columns]\n"
                 "age = {type = \"number\", range = [17, 90], decimals = 0}\n"
                 "work = {type = \"category\", levels = [\"Private\", \"State, "
                 "gov\"], missing = \"?\"}\n\n[network]\nincome = [\"age\", "
                 "\"work\"]\n");
    const Outcome fitted =
        gibbsite({"fit", "--model", "network", "--data", "table.csv", "--schema", "network.toml",
                  "--epsilon", "5", "--delta", "1e-6", "--seed", "1", "--out", "network.json"});
    ASSERT_EQ(fitted.status, 0) << fitted.err;
  }
  [[nodiscard]] Outcome query(const std::vector<std::string>& more) const {
    std::vector<std::string> out{"query", "--model", "network.json"};
    out.insert(out.end(), more.begin(), more.end());
    return gibbsite(out);
  }
  [[nodiscard]] Outcome synthesize(const std::vector<std::string>& more) const {
    std::vector<std::string> out{"synthesize", "--model", "network.json"};
    out.insert(out.end(), more.begin(), more.end());
    return gibbsite(out);
  }
};

TEST_F(NetworkQueryCli, AnswersQuestions) {
  const Outcome report = query({});
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("parents"));
  const Outcome out = query({"P(income = >50K | work = State, gov)", "--probability",
                             "P(income != >50K | work = State, gov)"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("P(income = >50K | work = State, gov) = "));
  EXPECT_THAT(out.out, HasSubstr("P(income != >50K | work = State, gov) = "));
  const auto json =
      nlohmann::json::parse(query({"--json", "P(income = >50K)", "P(income in {<=50K})"}).out);
  ASSERT_EQ(json.size(), 2U);
  double sum = 0;
  for (const auto& one : json) sum += one["probability"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
  const auto shape = nlohmann::json::parse(query({"--json"}).out);
  ASSERT_EQ(shape.size(), 3U);
  EXPECT_EQ(shape[2]["column"], "income");
  EXPECT_EQ(shape[2]["parents"].size(), 2U);
}

TEST_F(NetworkQueryCli, SaysWhatTheStructureAndTheNoiseDecide) {
  const auto shape = nlohmann::json::parse(query({"--json"}).out);
  const std::string young = "age = " + shape[0]["levels"][0].get<std::string>();
  const Outcome out =
      query({"P(work = Private | " + young + ")", "P(income = >50K | " + young + ")"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.err,
              HasSubstr("warning: P(work = Private | " + young + "): no edges join 'age' to "));
  EXPECT_THAT(out.err, Not(HasSubstr("P(income")));
  const auto json = nlohmann::json::parse(query({"--json", "P(work = Private)"}).out);
  EXPECT_GT(json[0]["noise_deviation"].get<double>(), 0);
}

// A missing number has no bin of its own.
TEST_F(NetworkQueryCli, MissingNumbersAreSaidBeforeTheyFillTheMiddleBin) {
  std::string table = csv();
  for (int i = 0; i < 9; ++i) table += "?,Private,>50K\n";
  folder.write("missing.csv", table);
  const Outcome check = gibbsite({"fit", "--check", "--model", "network", "--data", "missing.csv",
                                  "--schema", "network.toml", "--epsilon", "5", "--delta", "1e-6"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.err, HasSubstr("warning: private: column 'age': 9 of 129 cells are missing"));
  EXPECT_THAT(check.err, HasSubstr("the middle of the range, 53.5"));
  const Outcome near = gibbsite({"evaluate", "--model", "network.json", "--data", "missing.csv"});
  EXPECT_THAT(near.err, HasSubstr("column 'age': 9 of 129 cells are missing"));
}

TEST_F(NetworkQueryCli, DrawsPeople) {
  const Outcome out = synthesize({"--rows", "3000", "--seed", "4", "--out", "people.csv"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.err, HasSubstr("3,000 people written to people.csv"));
  const std::string people = folder.read("people.csv");
  EXPECT_THAT(people, StartsWith("age,work,income\n"));
  EXPECT_EQ(std::count(people.begin(), people.end(), '\n'), 3001);
  // Standard output gets the same rows as a file, for any number of threads.
  EXPECT_EQ(synthesize({"--rows", "3000", "--seed", "4", "--threads", "2"}).out, people);
  EXPECT_EQ(synthesize({"--rows", "3000", "--seed", "4", "--out", "-"}).out, people);
  EXPECT_NE(synthesize({"--rows", "3000", "--seed", "5"}).out, people);
  const std::string of_table = synthesize({}).out;
  EXPECT_EQ(std::count(of_table.begin(), of_table.end(), '\n'), rows + 1);
  // Read like the table that the network is of.
  const Outcome near = gibbsite({"evaluate", "--model", "network.json", "--data", "people.csv",
                                 "--target", "income", "--json"});
  ASSERT_EQ(near.status, 0) << near.err;
  const auto json = nlohmann::json::parse(near.out);
  EXPECT_EQ(json["rows"], 3000);
  EXPECT_EQ(json["impossible_rows"], 0);
  // As far as 3,000 draws of so many cells are from their law.
  EXPECT_LT(json["two_columns"]["mean"].get<double>(), 0.08);
  EXPECT_EQ(json["two_columns"]["each"].size(), 3U);
  EXPECT_EQ(json["classifier"]["target"], "income");
}

TEST_F(NetworkQueryCli, ShowsTheCuratorHowNearItIs) {
  const Outcome out = gibbsite({"evaluate", "--model", "network.json", "--data", "table.csv",
                                "--target", "income", "--plot", "near.svg"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.err, HasSubstr("private: "));
  for (const char* what : {"120 rows", "total variation of two columns", "log-likelihood a row",
                           "farthest pairs", "NOT PRIVATE", "independent columns"})
    EXPECT_THAT(out.out, HasSubstr(what));
  EXPECT_THAT(folder.read("near.svg"), HasSubstr("PRIVATE: computed from the table"));
  const std::vector<std::string> evaluate{"evaluate", "--model", "network.json", "--data",
                                          "table.csv"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), evaluate.begin(), evaluate.end());
    return gibbsite(more);
  };
  expect_error(with({"--plot", "near.svg"}), 2, "--plot: near.svg is there already");
  expect_error(with({"--plot", "table.csv", "--force"}), 2, "--plot");
  expect_error(with({"--threshold", "0.3"}), 2, "--threshold: has no meaning");
  const Outcome number = with({"--target", "age"});
  EXPECT_EQ(number.status, 2);
  EXPECT_THAT(number.err, HasSubstr("gibbsite: --target: 'age' is no category"));
  EXPECT_THAT(with({"--target", "nope"}).err, HasSubstr("gibbsite: --target: 'nope' is no"));
}

TEST_F(NetworkQueryCli, BadInputIsOneLine) {
  struct Case {
    const char *question, *what;
  };
  for (const auto& [question, what] : std::vector<Case>{
           {"P(salary = 1)", "no column 'salary'"},
           {"P(income = >60K)", "its levels are <=50K, >50K"},
           {"P(age >= 33)", "cuts a bin"},
           {"income > 3", "does not begin with P("},
           {"P(income = >50K | age > 90)", "probability 0"},
       })
    expect_error(query({question}), 2, what);
  // Among several, which one it is.
  expect_error(
      query({"P(income = >50K)", "P(income = >50K | age > 90, work = Private)"}), 2,
      "question 'P(income = >50K | age > 90, work = Private)': its evidence has probability 0");
  for (const char* option : {"--rows", "--seed", "--threads"}) {
    for (const char* number : {"1e30", "9007199254740994"})
      expect_error(synthesize({option, number}), 2,
                   std::string(option) + ": must be at most 9007199254740992 (2^53)");
  }
  expect_error(query({"--expectation", "income"}), 2, "--expectation: has no meaning");
  expect_error(query({"--utilities", "u.csv"}), 2, "--utilities: of a network needs the column");
  expect_error(synthesize({"--rows", "0"}), 2, "--rows");
  expect_error(synthesize({"--rows", "some"}), 2, "--rows");
  expect_error(synthesize({"--out", "table.csv"}), 2, "is there already");
  expect_error(synthesize({"--out", "network.json", "--force"}), 2, "--out");
  expect_error(synthesize({"--out", "absent/people.csv"}), 2, "--out");
  expect_error(gibbsite({"synthesize", "--model", "absent.json"}), 2, "absent.json");
  expect_error(
      gibbsite({"predict", "--model", "network.json", "--data", "table.csv"}), 2,
      "holds a network, not a model of rows; query it as a network, or draw people from it");
  expect_error(synthesize({"--rows", "1e6", "--out", "/dev/full"}), 2, "cannot write");
  nlohmann::json file = json("network.json");
  file["model"]["nodes"][0]["tables"][0][0] = 0.5;
  folder.write("edited.json", file.dump());
  expect_error(gibbsite({"synthesize", "--model", "edited.json", "--rows", "1"}), 2, "edited.json");
  // A model of rows is told apart.
  ASSERT_EQ(gibbsite(fit({"--out", "model.json"})).status, 0);
  expect_error(gibbsite({"synthesize", "--model", "model.json", "--rows", "1"}), 2, "predict");
  expect_error(gibbsite({"query", "--model", "model.json"}), 2, "--effect: is missing");
  expect_error(
      gibbsite({"evaluate", "--model", "model.json", "--data", "table.csv", "--target", "income"}),
      2, "--target: is for a network");
}

TEST_F(NetworkQueryCli, CtrlCLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process({GIBBSITE_CLI, "synthesize", "--model", "network.json", "--rows", "1e12",
                     "--out", "people.csv"},
                    folder.path());
    ASSERT_TRUE(process.wait_until([&] {  // half a table is there, under another name
      const std::vector<std::string> names = folder.names();
      return std::ranges::any_of(names, [&](const std::string& name) {
        std::error_code gone;  // its size: to read it all takes as long as it grows
        const auto bytes = std::filesystem::file_size(folder.path(name), gone);
        return name.starts_with("people.csv.tmp-") && !gone && bytes > 0;
      });
    })) << process.err_so_far();
    process.send(signal);
    const Outcome out = process.wait();
    EXPECT_EQ(out.status, 130);
    EXPECT_THAT(out.err, HasSubstr("interrupted; nothing was written"));
    const std::vector<std::string> names = folder.names();
    EXPECT_TRUE(std::ranges::none_of(
        names, [](const std::string& name) { return name.starts_with("people.csv"); }));
  }
}

}  // namespace network_query_test
}  // namespace gibbsite::testing
