// Means, standard deviations and correlations by the program.
#include "gibbsite/mechanism/covariance.hpp"

#include <fmt/format.h>

#include <string>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace covariance_test {

using ::testing::HasSubstr;
using ::testing::Not;

class CovarianceCli : public Cli {
 protected:
  void SetUp() override {
    std::string table = "id,height,\"weight, kg\",sex\n";
    for (int i = 0; i < 2000; ++i) {
      const int height = 150 + (i * 37) % 41, weight = height - 100 + (i * 11) % 21 - 10;
      table += std::to_string(i) + "," + std::to_string(height) + "," + std::to_string(weight) +
               (i % 2 == 0 ? ",F\n" : ",M\n");
    }
    folder.write("table.csv", table);
    folder.write("table.toml",
                 "[columns]\nid = {type = \"ignore\"}\nheight = {type = \"number\", range = [140, "
                 "200]}\n\"weight, kg\" = {type = \"number\", range = [30, 130]}\nsex = {type = "
                 "\"category\", levels = [\"F\", \"M\"]}\n");
  }
  [[nodiscard]] Outcome moments(const Arguments& more) const {
    return gibbsite(fit(joined({"--model", "covariance", "--out", "moments.json"}, more)));
  }
};

TEST_F(CovarianceCli, FitsVerifiesPrintsAndIsEntered) {
  ASSERT_EQ(
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "3", "--delta", "1e-5"}).status,
      0);
  const Outcome made = moments({"--columns", "height,\"weight, kg\"", "--ledger", "people.ledger"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("height and weight, kg"));
  EXPECT_THAT(made.out, HasSubstr("standard deviation"));
  EXPECT_THAT(made.out, HasSubstr("Gaussian noise in the sums of 2 columns"));
  EXPECT_EQ(gibbsite({"verify", "moments.json"}).status, 0);
  EXPECT_THAT(gibbsite({"ledger", "show", "people.ledger"}).out, HasSubstr("fit moments"));
  const Outcome again = gibbsite({"coefficients", "moments.json"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(made.out, HasSubstr(again.out));
  const Outcome csv = gibbsite({"coefficients", "moments.json", "--csv"});
  EXPECT_THAT(csv.out,
              ::testing::StartsWith("what,column,other,estimate,lower,upper\nmean,height,,1"));
  EXPECT_THAT(csv.out, HasSubstr("\ncorrelation,\"weight, kg\",height,"));
  EXPECT_THAT(gibbsite({"query", "--model", "moments.json", "--probability", "a > 1"}).err,
              HasSubstr("print it with coefficients"));
  expect_error(gibbsite({"report", "moments.json", "--out", "page.html"}), 2,
               "holds means and a covariance, of which there is no page; print it with");
}

TEST_F(CovarianceCli, ChecksAndKeepsRho) {
  const Outcome check = moments({"--columns", "height,\"weight, kg\"", "--check"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("mechanism moments: moments of 2 columns"));
  EXPECT_THAT(folder.names(), Not(::testing::Contains("moments.json")));
  const Outcome made =
      gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--rho", "0.02", "--delta",
                "1e-6", "--model", "covariance", "--columns", "height", "--out", "moments.json"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("zCDP ρ = 0.02"));
  EXPECT_EQ(gibbsite({"verify", "moments.json"}).status, 0);
}

// What rows count is answered with noise, and said; a ledger of rows takes weights, not people.
TEST_F(CovarianceCli, CountsByWeightsAndPeople) {
  std::string table = "who,w,height\n";
  for (int i = 0; i < 6000; ++i)
    table += "p" + std::to_string(i % 2500) + "," + std::to_string(1 + i % 4) + "," +
             std::to_string(150 + (i % 4) * 10) + "\n";
  folder.write("survey.csv", table);
  const auto by = [&](const std::string& counting, const Arguments& more) {
    folder.write("survey.toml",
                 "[columns]\nheight = {type = \"number\", range = [140, 200]}\n" + counting);
    return gibbsite(joined(
        {"fit", "--data", "survey.csv", "--schema", "survey.toml", "--model", "covariance",
         "--columns", "height", "--epsilon", "2", "--delta", "1e-6", "--out", "m.json", "--force"},
        more));
  };
  const Outcome weighed = by("w = {type = \"weight\", range = [0, 4]}\n", {});
  ASSERT_EQ(weighed.status, 0) << weighed.err;
  EXPECT_THAT(weighed.out,
              HasSubstr("rows of the largest weight are a sample of, each as it counts"));
  EXPECT_THAT(weighed.out, HasSubstr("a row counts by its weight"));
  const std::string csv = gibbsite({"coefficients", "m.json", "--csv"}).out;
  const std::string line = "mean,height,,";
  // 165 if rows counted the same; 0.5 is 10 deviations of the noise.
  EXPECT_NEAR(std::stod(csv.substr(csv.find(line) + line.size())), 170, 0.5);
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
  const Outcome held = by("who = {type = \"person\"}\n", {"--rows-per-person", "2"});
  ASSERT_EQ(held.status, 0) << held.err;
  EXPECT_THAT(held.out, HasSubstr("any number of rows per person, counted as at most 2"));
  EXPECT_THAT(held.out, HasSubstr("number of people, 2500"));
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
  EXPECT_EQ(gibbsite({"verify", "m.json", "--column", "height"}).status, 0);
  expect_error(by("who = {type = \"person\"}\n", {"--columns", "who"}), 2, "--columns");
}

TEST_F(CovarianceCli, RefusesWhatMakesNoSense) {
  expect_error(moments({}), 2, "--columns: is missing");
  expect_error(moments({"--columns", "height,sex"}), 2, "--columns: 'sex' is a category");
  expect_error(moments({"--columns", "height,height"}), 2, "--columns: ");
  expect_error(moments({"--columns", "height", "--draws", "2"}), 2, "--draws: ");
  expect_error(moments({"--columns", "height", "--prior", "2"}), 2, "--prior: ");
  expect_error(moments({"--columns", "height", "--adjacency", "add-remove"}), 2, "rows-cap");
  expect_error(gibbsite(fit({"--columns", "height", "--out", "m.json"})), 2, "--columns: ");
  const Arguments plan{"plan",      "--model", "covariance", "--rows", "1000",
                       "--epsilon", "1",       "--delta",    "1e-6"};
  expect_error(gibbsite(plan), 2, "--schema: is missing");
  expect_error(gibbsite(joined(plan, {"--schema", "table.toml"})), 2, "--columns: is missing");
  expect_error(gibbsite(joined(plan, {"--schema", "table.toml", "--columns", "sex"})), 2,
               "'sex' is a category");
}

// Beforehand: the noise in a mean, which is what fits have; of one column a fraction of what a draw
// of its mean has.
TEST_F(CovarianceCli, IsPlanned) {
  const Outcome planned =
      gibbsite({"plan", "--model", "covariance", "--schema", "table.toml", "--columns", "height",
                "--rows", "1000", "--epsilon", "0.5,1", "--delta", "1e-6"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("1,000 rows, 1 column, δ = 1e-06"));
  EXPECT_THAT(planned.out, HasSubstr("ε = 0.5: mean ±  ε = 1: mean ±"));
  EXPECT_THAT(planned.out, HasSubstr("height      140 to 200"));
  const CovarianceProblem problem{.rows = 1000, .columns = 1};
  const CovariancePlan made = plan_covariance(problem, {.epsilon = 1, .delta = 1e-6});
  const double noise = moment_deviations(made.mechanism, 1, Adjacency::replace_one).sum / 1000 * 30;
  EXPECT_THAT(planned.out, HasSubstr(fmt::format("{:.2g}\n", 1.959964 * noise)));
  const Outcome drawn =
      gibbsite({"plan", "--model", "bounded-mean", "--schema", "table.toml", "--column", "height",
                "--rows", "1000", "--epsilon", "1", "--delta", "1e-6"});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr(fmt::format("--model covariance --columns NAME: privacy adds "
                                               "±{:.2g} to",
                                               1.959964 * noise)));
}

}  // namespace covariance_test
}  // namespace gibbsite::testing
