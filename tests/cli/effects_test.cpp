// Effects by the program: the table, CSV, reference levels, hypotheses, and their bad input.
#include "gibbsite/release/effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "certificate/model_json.hpp"
#include "cli/cli.hpp"
#include "gibbsite/release/joint_test.hpp"
#include "support/effects_example.hpp"

namespace gibbsite::testing {
namespace effects_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A model file with estimates, of another's certificate: effects are read from the model alone.
class EffectsCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    std::ifstream golden(std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v3/path.json",
                         std::ios::binary);
    file_ = nlohmann::json::parse(golden);
    write("model.json", support::effects_model());
    LinearModel without = support::effects_model();
    without.estimates.reset();
    write("without.json", without);
  }
  void write(const std::string& name, const LinearModel& model) {
    file_["model"] = model_json(model);
    file_["certificate"]["digest"] = file_digest(file_);
    folder.write(name, file_.dump());
  }
  [[nodiscard]] Outcome effect(const std::vector<std::string>& more,
                               const std::string& model = "model.json") const {
    std::vector<std::string> out{"query", "--model", model};
    out.insert(out.end(), more.begin(), more.end());
    return gibbsite(out);
  }

  nlohmann::json file_;
};

TEST_F(EffectsCli, ShowsTheSurestFirstAndMarksWhatNoiseHides) {
  const Outcome out = gibbsite({"coefficients", "model.json", "--all"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out,
              AllOf(HasSubstr("odds ratio"), HasSubstr("p-value"), HasSubstr("95 % interval"),
                    HasSubstr("reference level"), HasSubstr("reference sex=Male"),
                    HasSubstr("docs/theory/intervals.md"), HasSubstr("are hidden by noise"),
                    HasSubstr("per unit"), Not(HasSubstr("--all"))));
  std::istringstream lines(out.out);
  bool hidden = false;
  std::size_t rows = 0;
  std::string line;
  std::getline(lines, line);  // what effects are
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line) && !line.starts_with("Whole columns")) {
    ++rows;
    // What noise hides has no numbers, and nothing but the constant follows it.
    const bool is_hidden = line.find("  hidden  ") != line.npos;
    if (is_hidden) {
      EXPECT_EQ(line.find("±"), line.npos) << line;
    }
    if (hidden && line.find("(baseline)") == line.npos) {
      EXPECT_TRUE(is_hidden) << line;
    }
    hidden = hidden || is_hidden;
  }
  EXPECT_TRUE(hidden);
  EXPECT_EQ(rows, 10U);
  std::istringstream all(out.out);
  while (std::getline(all, line)) {
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }), 100) << line;
  }
}

TEST_F(EffectsCli, ShowsTenAndSaysWhereTheOthersAre) {
  LinearModel model = support::effects_model();
  for (int k = 0; k < 20; ++k) {
    model.schema.columns.push_back({.name = "x" + std::to_string(k), .type = ColumnType::number});
    model.draws[0].insert(model.draws[0].end() - 1, 0.1);
  }
  model.estimates = support::effects_estimates(model.schema);
  model.feature_means = model.estimates->feature_means;
  write("large.json", model);
  const Outcome out = gibbsite({"coefficients", "large.json"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out,
              AllOf(HasSubstr("(the 10 surest of 29)"),
                    HasSubstr("All 29: gibbsite coefficients large.json --all\n"),
                    HasSubstr("effects are hidden by noise"), Not(HasSubstr("(baseline)"))));
  const Outcome all = gibbsite({"coefficients", "large.json", "--all"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("(baseline)"), HasSubstr("x19, 0 to 1")));
  // Without estimates a level that few have does not lead by its size.
  model.estimates.reset();
  model.draws[0][7] = 2;
  write("large.json", model);
  const Outcome without = gibbsite({"coefficients", "large.json"});
  EXPECT_THAT(without.out, HasSubstr("(the 10 that spread the scores most of 30)"));
  EXPECT_THAT(without.out.substr(without.out.find('\n')), StartsWith("\n  age, 17 to 90"));
}

TEST_F(EffectsCli, WritesCsvAndTakesReferences) {
  const Outcome out = gibbsite({"coefficients", "model.json", "--csv", "--reference", "sex=Female",
                                "--reference", "country=it's"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, AllOf(StartsWith("term,column,level,unit,estimate,std_err,"),
                             HasSubstr("\nsex=Male,sex,Male,log-odds,"), HasSubstr(",Female,"),
                             HasSubstr(",it's,")));
  EXPECT_EQ(std::count(out.out.begin(), out.out.end(), '\n'), 11);
  expect_error(gibbsite({"coefficients", "model.json", "--reference", "sex=Femal"}), 2,
               "--reference: column 'sex' has no level 'Femal', did you mean Female?");
  expect_error(gibbsite({"coefficients", "table.csv"}), 2, "table.csv: ");
}

TEST_F(EffectsCli, WithoutEstimatesPromisesNoInterval) {
  const Outcome out = gibbsite({"coefficients", "without.json"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, AllOf(HasSubstr("age, 17 to 90"), HasSubstr("against Male"),
                             Not(HasSubstr("p-value")), Not(HasSubstr("95 % interval"))));
  const Outcome csv = gibbsite({"coefficients", "without.json", "--csv"});
  EXPECT_THAT(csv.out, HasSubstr("\n\"age, 17 to 90\",age,,log-odds,0.9,,,,,"));
}

TEST_F(EffectsCli, AnswersHypotheses) {
  const Outcome out = effect({"--effect", "age*10 - sex=Male", "--effect", "hours-per-week*100"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out,
              AllOf(StartsWith("age*10 - sex=Male: "), HasSubstr("standard error"),
                    HasSubstr("95 % interval"), HasSubstr("p-value"), HasSubstr("odds ratio"),
                    HasSubstr("docs/theory/intervals.md"), HasSubstr("\nhours-per-week*100: "),
                    HasSubstr(", hidden by noise\n")));
  const auto json = nlohmann::json::parse(
      effect({"--json", "--effect", "sex=Female - sex=Male", "--effect", "age*10"}).out);
  ASSERT_EQ(json.size(), 2U);
  const Estimates estimates = *support::effects_model().estimates;
  EXPECT_NEAR(json[0]["estimate"], estimates.means[0][3] - estimates.means[0][2], 1e-12);
  EXPECT_NEAR(json[0]["odds_ratio"], std::exp(json[0]["estimate"].get<double>()), 1e-12);
  EXPECT_NEAR(json[1]["estimate"], estimates.means[0][0] * 10 / 73, 1e-12);
  EXPECT_NEAR(json[1]["std_err"], 1.0 / 73, 1e-12);
  EXPECT_EQ(json[1]["hidden"], false);
}

TEST_F(EffectsCli, TestsWholeColumns) {
  const Outcome out = effect({"--effect", "country", "--effect", "age*10"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, AllOf(StartsWith("country, all levels alike: chi squared "),
                             HasSubstr(" on 4 degrees of freedom, p-value "),
                             HasSubstr("\nage*10: "), HasSubstr("A test of a whole column")));
  const auto json = nlohmann::json::parse(effect({"--json", "--effect", "'country'"}).out);
  const JointTest test = tests_of_levels(support::effects_model()).front().test;
  EXPECT_DOUBLE_EQ(json[0]["chi_squared"], test.statistic);
  EXPECT_EQ(json[0]["degrees_of_freedom"], 4);
  EXPECT_DOUBLE_EQ(json[0]["p_value"], test.p_value);
  EXPECT_EQ(json[0]["effect"], "'country'");
  EXPECT_THAT(gibbsite({"coefficients", "model.json"}).out,
              HasSubstr("Whole columns, p-value that their levels or knots are alike: country " +
                        p_value_text(test.p_value) + "."));
  EXPECT_THAT(gibbsite({"coefficients", "without.json"}).out, Not(HasSubstr("Whole columns")));
}

// A fit says what its intervals take rows of a person for, that rows are scaled, and which numbers
// count as lines over wide ranges; all of it by the schema and the options alone.
TEST_F(EffectsCli, AFitSaysWhatItsIntervalsAreOf) {
  std::string table = "income,x,y\n";
  for (int i = 0; i < 400; ++i)
    table += fmt::format("{},0.{},{}\n", i * 37 % 4000, i * 7 % 10, i * 13 % 5 < 2 ? 1 : 0);
  folder.write("rows.csv", table);
  const auto fitted = [&](const std::string& head, const char* curve,
                          const std::vector<std::string>& more) {
    folder.write("rows.toml", head +
                                  "label = \"y\"\npositive = \"1\"\n[columns]\nincome = {type = "
                                  "\"number\", range = [0, 4000]" +
                                  curve + "}\nx = {type = \"number\", range = [0, 1]}\n");
    std::vector<std::string> command{"fit",     "--data",      "rows.csv",  "--schema", "rows.toml",
                                     "--delta", "1e-6",        "--epsilon", "8",        "--out",
                                     "m.json",  "--intervals", "--force"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome out = gibbsite(command);
    EXPECT_EQ(out.status, 0) << out.err;
    std::string words = out.out;  // unwrapped
    std::ranges::replace(words, '\n', ' ');
    return words;
  };
  const std::string alike = "The 3 rows of a person are taken for alike",
                    scaled = "effects are those of the scaled rows",
                    line = "'income' counts as a straight line over a wide range",
                    bends = "unusual rows count less in it than in a fit without privacy";
  EXPECT_THAT(fitted("", "", {}),
              AllOf(HasSubstr("On simulated tables"), HasSubstr(line), HasSubstr(bends),
                    Not(HasSubstr(alike)), Not(HasSubstr(scaled))));
  EXPECT_THAT(fitted("row_norm = 1\n", ", curve = 3", {}),
              AllOf(HasSubstr(scaled), Not(HasSubstr("On simulated")), Not(HasSubstr(line))));
  EXPECT_THAT(fitted("", "", {"--rows-per-person", "3"}), HasSubstr(alike));
  const Outcome asked = effect({"--effect", "x"}, "m.json");
  EXPECT_THAT(asked.out, HasSubstr("rows of a person are taken for alike"));
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
  // `plan` says the same before.
  std::vector<std::string> plan{
      "plan", "--data",    "rows.csv", "--schema",    "rows.toml",         "--delta",
      "1e-6", "--epsilon", "8",        "--intervals", "--rows-per-person", "3"};
  const Outcome planned = gibbsite(plan);
  EXPECT_THAT(planned.out, HasSubstr("The 3 rows of a person are taken for alike in it."));
}

TEST_F(EffectsCli, RefusesHypothesesInOneLine) {
  expect_error(effect({"--effect", "agee*10"}), 2,
               "--effect 'agee*10': no column is called 'agee', did you mean age?");
  expect_error(effect({"--effect", "age"}, "without.json"), 2,
               "without.json: has no estimates, so --effect has nothing to tell; fit with "
               "--intervals");
  expect_error(effect({"--effect", "age", "P(a)"}), 2, "ask one kind");
  expect_error(effect({"--class", "x"}), 2, "--class: goes with --effect");
  expect_error(effect({"--effect", "age", "--class", "x"}), 2, "not of several classes");
}

}  // namespace effects_test
}  // namespace gibbsite::testing
