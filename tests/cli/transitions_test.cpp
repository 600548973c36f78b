// Transitions of a chain by the program.
#include <fmt/format.h>

#include <string>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace transitions_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TransitionsCli : public Cli {
 protected:
  void SetUp() override {
    std::string table = "id,before,after,\"next, other\"\n";
    const char* const states[] = {"well", "ill", "dead"};
    for (int i = 0; i < 3000; ++i) {
      const int before = i % 10 < 7 ? 0 : i % 10 < 9 ? 1 : 2;
      const int after = before == 2 || i % 20 == 11 ? 2 : i % 7 == 3 ? 1 - before : before;
      table += std::to_string(i / 2) + "," + states[before] + "," + states[after] + ",up\n";
    }
    folder.write("table.csv", table);
    const std::string levels = " = {type = \"category\", levels = [\"well\", \"ill\", \"dead\"]}\n";
    folder.write("table.toml", "[columns]\nid = {type = \"person\"}\nbefore" + levels + "after" +
                                   levels +
                                   "\"next, other\" = {type = \"category\", levels = [\"up\", "
                                   "\"down\"]}\n");
  }
  [[nodiscard]] Outcome released(const Arguments& more) const {
    return gibbsite(fit(
        joined({"--model", "transitions", "--rows-per-person", "2", "--out", "steps.json"}, more)));
  }
};

TEST_F(TransitionsCli, FitsVerifiesPrintsAndIsEntered) {
  ASSERT_EQ(gibbsite({"ledger", "create", "people.ledger", "--epsilon", "1.2", "--delta", "1e-5",
                      "--people"})
                .status,
            0);
  const Outcome made = released({"--columns", "before,after", "--ledger", "people.ledger"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("before \\ after"));
  EXPECT_THAT(made.out, HasSubstr("share in the long run"));
  EXPECT_THAT(made.out, HasSubstr("The 2 rows of a person are taken for alike."));
  EXPECT_THAT(made.out, HasSubstr("counted as at most 2"));
  EXPECT_EQ(gibbsite({"verify", "steps.json"}).status, 0);
  const Outcome again = gibbsite({"coefficients", "steps.json"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(made.out, HasSubstr(again.out));
  const Outcome csv = gibbsite({"coefficients", "steps.json", "--csv"});
  EXPECT_THAT(csv.out,
              StartsWith("what,previous,next,estimate,lower,upper\ntransition,well,well,"));
  EXPECT_THAT(csv.out, HasSubstr("\nlong-run,,dead,"));
  EXPECT_EQ(gibbsite({"query", "--model", "steps.json", "P(after = dead | before = ill)"}).status,
            0);
  EXPECT_EQ(gibbsite({"table", "--model", "steps.json"}).status, 0);
  EXPECT_EQ(released({"--columns", "before,after", "--ledger", "people.ledger", "--force"}).status,
            5);
}

// Its page and its entry in a registry are of transitions, and hold their probabilities.
TEST_F(TransitionsCli, ArePrintedInTheReportAndRegistered) {
  ASSERT_EQ(released({"--columns", "before,after", "--quiet"}).status, 0);
  folder.write("about.toml",
               "name = \"Steps\"\ndata_curators = [\"An Office\"]\nintended_use = \"teaching\"\n"
               "data_product_region = \"Here\"\npublication_date = 2026-11-26\nregistry_authors = "
               "[\"A. Person\"]\n");
  const Outcome made = gibbsite(
      {"report", "steps.json", "--out", "r.html", "--registry", "r.yaml", "--about", "about.toml"});
  ASSERT_EQ(made.status, 0) << made.err;
  const std::string page = folder.read("r.html");
  const std::string csv = gibbsite({"coefficients", "steps.json", "--csv"}).out;
  const std::string line = csv.substr(csv.find("transition,well,ill,") + 20);
  const std::string share = fmt::format("<td>{:.3g} (", std::stod(line));
  EXPECT_THAT(page, HasSubstr("Probability of each after given before, with 95 % intervals"));
  EXPECT_THAT(page, HasSubstr(share));
  EXPECT_THAT(page, HasSubstr("Share of time in the long run"));
  EXPECT_THAT(page, HasSubstr("The 2 rows of a person are taken for alike."));
  const std::string entry = folder.read("r.yaml");
  EXPECT_THAT(entry, HasSubstr("data_product_type: \"Summary statistics\""));
  EXPECT_THAT(entry, HasSubstr("Noisy counts by before × after (of rows, at most 2 of a person)"));
  EXPECT_THAT(entry, HasSubstr("probabilities of transitions from before to after"));
  EXPECT_THAT(entry, Not(HasSubstr("graphical model")));
  // What is said in place of an about file that is not there is of that file.
  const Outcome none =
      gibbsite({"report", "steps.json", "--registry", "s.yaml", "--about", "no.toml"});
  expect_error(none, 2, "no.toml: there is no such file; give a TOML file with what the curator");
  EXPECT_THAT(none.err, Not(HasSubstr("model file")));
}

TEST_F(TransitionsCli, AreTheCountsOfTheirCrossTable) {
  EXPECT_EQ(released({"--columns", "before,after", "--seed", "1", "--quiet"}).status, 0);
  EXPECT_EQ(gibbsite({"table", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                      "--delta", "1e-6", "--rows-per-person", "2", "--columns", "before,after",
                      "--seed", "1", "--quiet", "--out", "table.json"})
                .status,
            0);
  EXPECT_EQ(folder.read("steps.json"), folder.read("table.json"));
}

TEST_F(TransitionsCli, ChecksAndPlans) {
  const Outcome check = released({"--columns", "before,after", "--check"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("mechanism network-counts: 9 cells"));
  EXPECT_THAT(folder.names(), ::testing::Not(::testing::Contains("steps.json")));
  const Arguments planned{"plan", "--model",   "transitions", "--schema", "table.toml", "--rows",
                          "1500", "--epsilon", "1",           "--delta",  "1e-6"};
  const Outcome plan = gibbsite(joined(planned, {"--columns", "before,after"}));
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("before (3) × after (3): 9 cells"));
  expect_error(gibbsite(planned), 2, "--columns: is missing");
}

TEST_F(TransitionsCli, RefusesWhatMakesNoSense) {
  const Arguments both{"--columns", "before,after"};
  expect_error(released({}), 2, "--columns: is missing");
  expect_error(released({"--columns", "before"}), 2, "transitions are of two columns");
  expect_error(released({"--columns", "before,before"}), 2, "--columns: ");
  expect_error(released({"--columns", "before,\"next, other\""}), 2, "the same levels");
  expect_error(released(joined(both, {"--mechanism", "trimmed"})), 2, "--mechanism: ");
  expect_error(released(joined(both, {"--prior", "2"})), 2, "--prior: ");
  expect_error(released(joined(both, {"--draws", "2"})), 2, "--draws: ");
  expect_error(released(joined(both, {"--structure", "private"})), 2, "--structure: ");
  expect_error(gibbsite({"fit", "--data", "table.csv", "--epsilon", "1", "--delta", "1e-6",
                         "--model", "transitions", "--columns", "before,after", "--out", "s.json"}),
               2, "--schema: is missing");
}

}  // namespace transitions_test
}  // namespace gibbsite::testing
