// Draws of families by the program: fit, query, verify, plan; their bad input.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace family_test {

using ::testing::HasSubstr;
using ::testing::Not;

using Options = std::vector<std::string>;

Options operator+(Options first, const Options& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class FamilyCli : public Cli {
 protected:
  // No label: of one column none is needed; and nothing is said of the others.
  void SetUp() override {
    std::string table = "id,answer,party,visits,wait\n";
    for (int i = 0; i < 200; ++i) {
      table += std::to_string(i) + (i % 4 == 0 ? ",yes," : ",no,") + "ABCD"[i * i % 7 % 4] + "," +
               std::to_string(i % 6) + "," + std::to_string(1 + i % 9) + ".5\n";
    }
    folder.write("table.csv", table);
    folder.write("table.toml",
                 "[columns]\nid = {type = \"\"}\nanswer = {type = \"category\", levels = "
                 "[\"yes\", \"no\"]}\nparty = {type = \"category\", levels = [\"A\", \"B\", \"C\", "
                 "\"D\"]}\nvisits = {type = \"number\", range = [0, 8]}\nwait = {type = "
                 "\"number\", range = [0.5, 20]}\n");
  }
  [[nodiscard]] Outcome fit_of(const char* model, const char* column,
                               const Options& more = {}) const {
    return gibbsite(
        fit(Options{"--model", model, "--column", column, "--out", "draws.json"} + more));
  }
  // Runs `plan` with the budget of the tests.
  [[nodiscard]] Outcome plan_of(const Options& more) const {
    return gibbsite(Options{"plan", "--epsilon", "1", "--delta", "1e-6"} + more);
  }
};

TEST_F(FamilyCli, FitsVerifiesAndAnswers) {
  struct Case {
    const char *model, *column, *parameter, *estimate;
    Options more;
  };
  const std::vector<Case> cases{
      {"bernoulli", "answer", "yes", "yes", {}},
      {"bernoulli", "answer", "no", "no", {"--prior", "6,18", "--diffused"}},
      {"categorical", "party", "C", "C", {}},
      {"categorical", "party", "D", "D", {"--trim", "0.05", "--draws", "20"}},
      {"rate", "visits", "rate", "visits", {"--rows-per-person", "2"}},
      {"rate", "visits", "rate", "visits", {"--calibration", "geumlek-rdp"}},
      {"waiting", "wait", "time", "wait", {}},
      {"waiting", "wait", "time", "wait", {"--trim", "0.1,0.5", "--draws", "10"}},
      {"mean", "wait", "mean", "wait", {"--variance", "9"}},
      {"mean", "wait", "mean", "wait", {"--trim", "1,9", "--draws", "3"}},
      {"bounded-mean", "wait", "mean", "wait", {}},
      {"bounded-mean", "wait", "mean", "wait", {"--rows-per-person", "2", "--draws", "4"}},
      {"bounded-mean", "wait", "mean", "wait", {"--trim", "1,9", "--draws", "3"}},
      {"variance", "wait", "variance", "wait", {"--center", "5.5"}},
      {"variance", "wait", "variance", "wait", {"--center", "5", "--trim", "0.01,1"}},
      {"laplace", "wait", "scale", "wait", {"--center", "5.5", "--draws", "2"}},
  };
  for (const Case& one : cases) {
    const Outcome fitted = fit_of(one.model, one.column, one.more + Options{"--force"});
    ASSERT_EQ(fitted.status, 0) << one.model << fitted.err;
    EXPECT_THAT(fitted.out, HasSubstr("(ε, δ) = (1, 1e-06)"));
    EXPECT_EQ(fitted.err.find("--rows-per-person: nothing enforces it") != std::string::npos,
              std::ranges::find(one.more, "--rows-per-person") != one.more.end());
    EXPECT_THAT(fitted.out, HasSubstr(std::string("  ") + one.estimate + " "));
    const bool takes_any_law =
        std::set<std::string>{"bernoulli", "categorical", "bounded-mean"}.contains(one.model);
    const bool trimmed = std::ranges::find(one.more, "--trim") != one.more.end();
    EXPECT_EQ((fitted.out.find("if their numbers are of that law") != std::string::npos),
              !takes_any_law)
        << one.model;
    EXPECT_EQ((fitted.out.find("at the bounds of --trim") != std::string::npos), trimmed);
    // The command that it ends with runs as it stands.
    const auto next = fitted.out.find("gibbsite query");
    ASSERT_NE(next, std::string::npos) << fitted.out;
    const std::string event = fitted.out.substr(fitted.out.find('\'', next) + 1);
    const Outcome asked = gibbsite(
        {"query", "--model", "draws.json", "--probability", event.substr(0, event.find('\''))});
    EXPECT_EQ(asked.status, 0) << asked.err;
    EXPECT_THAT(asked.out, HasSubstr("probability of "));

    const Outcome verified = gibbsite({"verify", "draws.json"});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    EXPECT_THAT(verified.out, HasSubstr("VALID"));
    const Outcome mean =
        gibbsite({"query", "--model", "draws.json", "--expectation", one.parameter});
    EXPECT_EQ(mean.status, 0) << mean.err;
    EXPECT_THAT(mean.out, HasSubstr(std::string("expectation of ") + one.parameter + ": "));
    EXPECT_EQ(mean.out.find("cut to the bounds of --trim; ± is for") != std::string::npos, trimmed);
    // What fit said is what the file says.
    const Outcome again = gibbsite({"query", "--model", "draws.json"});
    EXPECT_THAT(fitted.out, HasSubstr(again.out)) << again.out;
    EXPECT_FALSE(json("draws.json")["certificate"]["mechanism"]["name"].empty());
  }
}

TEST_F(FamilyCli, ChoosesAResponse) {
  ASSERT_EQ(fit_of("bernoulli", "answer", {"--trim", "0.05", "--draws", "200"}).status, 0);
  folder.write("u.csv", "response,yes,no\nask,0.3,0.2\nleave,0.1,0.9\nwait, 0.1 ,0.1\n");
  const Outcome out = gibbsite({"query", "--model", "draws.json", "--utilities", "u.csv"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("→  leave"));
  EXPECT_LT(out.out.find("leave"), out.out.find("ask"));
  EXPECT_THAT(out.out, HasSubstr("95 % of the time"));
  for (const auto& [table, what] : {std::pair{"response,yes\nask,1\n", "u.csv"},
                                    {"response,yes,yes\nask,1,1\n", "u.csv:1"},
                                    {"response,yes,no\n", "u.csv"},
                                    {"response,yes,no\nask,1\n", "u.csv:2"},
                                    {"response,yes,no\nask,1,much\n", "u.csv:2"},
                                    {"response,yes,maybe\nask,1,0\n", "maybe"},
                                    {"", "u.csv"}}) {
    folder.write("u.csv", table);
    expect_error(gibbsite({"query", "--model", "draws.json", "--utilities", "u.csv"}), 2, what);
  }
}

TEST_F(FamilyCli, PlansWithoutATable) {
  for (const Options& shape : {Options{"--model", "bernoulli", "--levels", "2"},
                               {"--model", "rate", "--range", "0,20"},
                               {"--model", "waiting", "--range", "0.5,9"},
                               {"--model", "mean", "--range", "-3,5"},
                               {"--model", "bounded-mean", "--range", "-3,5"},
                               {"--model", "variance", "--range", "-3,5", "--center", "1"},
                               {"--model", "laplace", "--range", "-3,5", "--center", "1"}}) {
    const Outcome out = plan_of(shape + Options{"--rows", "1000"});
    EXPECT_EQ(out.status, 0) << out.err;
    EXPECT_THAT(out.out, HasSubstr("conjugate"));
  }
  const Outcome trimmed = plan_of({"--model", "categorical", "--levels", "5", "--rows", "1000",
                                   "--trim", "0.02", "--draws", "50"});
  EXPECT_THAT(trimmed.out, HasSubstr("regret"));
  // A Rényi budget is planned as it is fitted.
  const Outcome renyi = plan_of({"--model", "bernoulli", "--rows", "100", "--rdp", "2"});
  EXPECT_EQ(renyi.status, 0) << renyi.err;
  EXPECT_THAT(renyi.out, HasSubstr("conjugate"));
  const Outcome several = gibbsite({"plan", "--epsilon", "0.1,1", "--delta", "1e-6", "--model",
                                    "bernoulli", "--rows", "1000", "--json"});
  EXPECT_EQ(several.status, 0) << several.err;
  EXPECT_TRUE(nlohmann::json::accept(several.out)) << several.out;
  // The plan of a table depends only on how many rows it has.
  const Outcome of_table = plan_of({"--model", "bernoulli", "--column", "answer", "--data",
                                    "table.csv", "--schema", "table.toml"});
  const Outcome of_shape = plan_of({"--model", "bernoulli", "--rows", "200"});
  EXPECT_EQ(of_table.out, of_shape.out) << of_table.err;
}

// A third of the cells are empty: what they would count as moves the estimate out of its interval.
TEST_F(FamilyCli, MissingNumbersAreRefusedOrSaid) {
  std::string table = "visits\n";
  for (int i = 0; i < 3000; ++i) table += i % 3 == 0 ? "\"\"\n" : std::to_string(i % 2) + "\n";
  folder.write("gaps.csv", table);
  folder.write("gaps.toml",
               "[columns]\nvisits = {type = \"number\", range = [0, 20], missing = \"\"}\n");
  const Options asked{"fit",   "--model", "rate",      "--column", "visits",  "--data", "gaps.csv",
                      "--out", "r.json",  "--epsilon", "1",        "--delta", "1e-6"};
  const Outcome refused = gibbsite(asked + Options{"--schema", "gaps.toml"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("cells of 'visits' may be missing by the schema"));
  EXPECT_THAT(refused.err, HasSubstr("--model covariance with --adjacency add-remove"));
  const Outcome bought = gibbsite(asked);
  ASSERT_EQ(bought.status, 0) << bought.err;
  EXPECT_THAT(bought.out, HasSubstr("A cell that is missing or cannot be read counts as"));
  EXPECT_THAT(gibbsite({"query", "--model", "r.json", "--probability", "rate > 1"}).out,
              HasSubstr("A cell that is missing or cannot be read counts as"));
}

TEST_F(FamilyCli, BadInputIsOneLine) {
  struct Case {
    const char* what;
    Options options;
    int status = 2;
    const char *epsilon = "1", *delta = "1e-6";
  };
  const Options answer{"--model", "bernoulli", "--column", "answer"};
  const Options party{"--model", "categorical", "--column", "party"};
  const Options visits{"--model", "rate", "--column", "visits"};
  const Options wait{"--model", "waiting", "--column", "wait"};
  for (const Case& one : std::vector<Case>{
           {"--column: is missing", {"--model", "bernoulli"}},
           {"'nothing' is not in the schema", {"--model", "bernoulli", "--column", "nothing"}},
           {"'id' is not filled in", {"--model", "rate", "--column", "id"}},
           {"bernoulli: takes a column of two", {"--model", "bernoulli", "--column", "party"}},
           {"takes a number column", {"--model", "rate", "--column", "party"}},
           {"takes a category column", {"--model", "categorical", "--column", "wait"}},
           {"rate takes whole counts", {"--model", "rate", "--column", "wait"}},
           {"waiting needs a lowest time above 0", {"--model", "waiting", "--column", "visits"}},
           {"--prior: must be numbers, the first from 1e-06", answer + Options{"--prior", "0,1"}},
           {"--prior: must be numbers, the first from 1e-06", answer + Options{"--prior", "-1,1"}},
           {"--prior: bernoulli takes 2 numbers, got 1", answer + Options{"--prior", "1"}},
           {"--prior", answer + Options{"--prior", "1,x"}},
           {"--trim", party + Options{"--trim", "0.25"}},
           {"--trim", party + Options{"--trim", "0"}},
           {"--trim", visits + Options{"--trim", "5,2"}},
           {"--trim", visits + Options{"--trim", "2"}},
           {"--trim", visits + Options{"--trim", "0,5"}},
           {"--variance", {"--model", "mean", "--column", "wait", "--variance", "0"}},
           {"--center: is missing", {"--model", "variance", "--column", "wait"}},
           {"--center: must be within the range",
            {"--model", "laplace", "--column", "wait", "--center", "21"}},
           {"--center: has no meaning with --model rate", visits + Options{"--center", "2"}},
           {"takes a number column", {"--model", "bounded-mean", "--column", "party"}},
           {"--variance: has no meaning", answer + Options{"--variance", "1"}},
           {"--iterations: has no meaning with --model", answer + Options{"--iterations", "9"}},
           {"--mechanism: has no meaning", answer + Options{"--mechanism", "whitened"}},
           {"--mechanism trimmed: needs --trim", answer + Options{"--mechanism", "trimmed"}},
           {"--adjacency", answer + Options{"--adjacency", "add-remove", "--rows-cap", "999"}},
           {"--rows-per-person", party + Options{"--rows-per-person", "2"}},
           {"--rows-per-person", answer + Options{"--rows-per-person", "500"}},
           {"--calibration", wait + Options{"--calibration", "geumlek-rdp"}},
           {"--checkpoint: has no meaning", answer + Options{"--checkpoint", "c"}},
           {"--column: has no meaning", {"--column", "answer"}},
           {"--backend: has no meaning", answer + Options{"--backend", "cpu"}},
           {"--design: has no meaning", answer + Options{"--design", "blocked"}},
           {"--diffused: has no meaning", party + Options{"--trim", "0.1", "--diffused"}},
           {"--calibration: has no", party + Options{"--trim", "0.1", "--calibration", "exact"}},
           {"fewer --draws", wait + Options{"--draws", "1000000", "--diffused"}, 4},
           {"--delta: is less than", party, 4, "1", "1e-19"},
           {"stronger --prior", answer + Options{"--prior", "1e-6,1e-6"}, 4, "0.01"},
       }) {
    const Outcome out =
        gibbsite(Options{"fit", "--data", "table.csv", "--schema", "table.toml", "--out",
                         "draws.json", "--epsilon", one.epsilon, "--delta", one.delta} +
                 one.options);
    expect_error(out, one.status, one.what);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/draws.json")) << one.what;
  }
}

// A cell that cannot be read, or a count that is not whole: refused with the line, or with invalid
// = "middle" no business of the exit status.
TEST_F(FamilyCli, OneCellDecidesNothing) {
  const std::string table = folder.read("table.csv"), schema = folder.read("table.toml");
  for (const auto& [model, column, cell] : {std::tuple{"rate", "visits", "2.5"},
                                            {"rate", "visits", "some"},
                                            {"bernoulli", "answer", ""},
                                            {"bernoulli", "answer", "maybe"},
                                            {"waiting", "wait", "-3"},
                                            {"waiting", "wait", "soon"}}) {
    const bool first = std::string(column) == "answer";
    folder.write("table.csv", table + "200," + (first ? cell : "no") + ",A," +
                                  (std::string(column) == "visits" ? cell : "1") + "," +
                                  (std::string(column) == "wait" ? cell : "2") + "\n");
    folder.write("table.toml", schema);
    const bool legal = std::string(cell) == "-3";  // clamped
    const Outcome refused = fit_of(model, column, {"--force"});
    EXPECT_EQ(refused.status == 0, legal) << column << cell << refused.err;
    if (!legal && *cell != 0) {  // it quotes the cell
      EXPECT_THAT(refused.err, HasSubstr("private"));
    }
    folder.write("table.toml", "invalid = \"middle\"\n" + schema);
    if (first) {  // two levels, and no third for what cannot be read: none is silently the first
      expect_error(fit_of(model, column, {"--force"}), 2, "other = true");
      const auto at = schema.find(", \"no\"]");
      ASSERT_NE(at, std::string::npos);
      std::string other = schema;
      folder.write("table.toml",
                   "invalid = \"middle\"\n" + other.replace(at, 7, "], other = true"));
    }
    const Outcome taken = fit_of(model, column, {"--force"});
    EXPECT_EQ(taken.status, 0) << column << cell << taken.err;
    EXPECT_EQ(gibbsite({"verify", "draws.json"}).status, 0);
  }
}

TEST_F(FamilyCli, FilesAreToldApart) {
  ASSERT_EQ(fit_of("bernoulli", "answer").status, 0);
  // About the people, not about the draw, which the prior pulls to a half.
  const Outcome share = gibbsite({"query", "--model", "draws.json", "--expectation", "yes",
                                  "--probability", "yes > 0.02", "--probability", "yes > no"});
  EXPECT_THAT(share.out, HasSubstr(" ± "));
  EXPECT_THAT(share.out, HasSubstr("probability of yes > no: "));
  ASSERT_EQ(fit_of("categorical", "party", {"--force"}).status, 0);
  expect_error(gibbsite({"query", "--model", "draws.json", "--probability", "A > B"}), 2, "--trim");
  ASSERT_EQ(fit_of("bernoulli", "answer", {"--force"}).status, 0);
  expect_error(gibbsite({"predict", "--model", "draws.json", "--data", "table.csv"}), 2, "query");
  expect_error(fit_of("bernoulli", "answer"), 2, "draws.json");  // it exists
  expect_error(gibbsite({"query", "--model", "absent.json"}), 2, "absent.json");
  for (const char* event : {"yes", "yes >", "> 0.3", "perhaps > 0.3", "yes > much", "yes = 0.3"}) {
    expect_error(gibbsite({"query", "--model", "draws.json", "--probability", event}), 2, "");
  }
  nlohmann::json file = json("draws.json");
  file["model"]["draws"][0][0] = 0.5;
  folder.write("edited.json", file.dump());
  expect_error(gibbsite({"query", "--model", "edited.json"}), 2, "edited.json");
  EXPECT_EQ(gibbsite({"verify", "edited.json"}).status, 4);
  const Outcome seeded = fit_of("bernoulli", "answer", {"--seed", "3", "--force"});
  EXPECT_EQ(seeded.status, 0);
  EXPECT_THAT(seeded.err, HasSubstr("no guarantee"));
  EXPECT_EQ(gibbsite({"verify", "draws.json"}).status, 4);
  EXPECT_THAT(seeded.out, Not(HasSubstr("best possible")));
}

}  // namespace family_test
}  // namespace gibbsite::testing
