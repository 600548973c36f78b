// fit --public of a family: rows of a public table in the prior.
#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace public_prior_cli_test {

using ::testing::HasSubstr;
using ::testing::Not;

class PublicPriorCli : public Cli {
 protected:
  static std::string people(int rows, int first) {
    std::string out = "id,answer,visits,wait\n";
    for (int i = first; i < first + rows; ++i)
      out += std::to_string(i) + (i % 4 == 0 ? ",yes," : ",no,") + std::to_string(i % 6) + "," +
             std::to_string(1 + i % 9) + ".5\n";
    return out;
  }
  void SetUp() override {
    folder.write("table.csv", people(200, 0));
    folder.write("lastyear.csv", people(400, 1));
    folder.write("table.toml",
                 "[columns]\nid = {type = \"\"}\nanswer = {type = \"category\", levels = "
                 "[\"yes\", \"no\"]}\nvisits = {type = \"number\", range = [0, 8]}\nwait = {type = "
                 "\"number\", range = [0.5, 20]}\n");
  }
  [[nodiscard]] Outcome fit_of(const char* model, const char* column, const Arguments& more) const {
    return gibbsite(fit(
        joined({"--model", model, "--column", column, "--out", "draws.json", "--force"}, more)));
  }
  [[nodiscard]] nlohmann::json counts() const {
    return json("draws.json")["certificate"]["constants"]["public_counts"];
  }
};

TEST_F(PublicPriorCli, RowsOfAPublicTableCountInThePrior) {
  const Arguments known{"--public", "lastyear.csv"};
  ASSERT_EQ(
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "5", "--delta", "1e-4"}).status,
      0);
  const Outcome made = fit_of("bernoulli", "answer", joined(known, {"--ledger", "people.ledger"}));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("The prior counts 400 rows of lastyear.csv (SHA-256 "));
  EXPECT_THAT(made.out, HasSubstr("the guarantee does not cover people in them"));
  EXPECT_THAT(made.out, HasSubstr("of the people of the private table alone"));
  // 400 rows for 200 private ones: each counts a half.
  EXPECT_EQ(counts()["counts"], (std::vector<double>{50, 150}));
  EXPECT_EQ(counts()["weight"], 0.5);
  EXPECT_EQ(counts()["rows"], 400);
  EXPECT_EQ(counts()["file"], "lastyear.csv");
  EXPECT_EQ(gibbsite({"verify", "draws.json"}).status, 0);
  ASSERT_EQ(gibbsite({"report", "draws.json", "--out", "draws.html"}).status, 0);
  EXPECT_THAT(folder.read("draws.html"), HasSubstr("and toward those of the public table"));
  const auto assumptions = json("draws.json")["certificate"]["assumptions"].dump();
  EXPECT_THAT(assumptions, HasSubstr("whose counts are part of the prior, is public"));
  EXPECT_EQ(gibbsite({"query", "--model", "draws.json", "--probability", "yes > 0.5"}).status, 0);
}

TEST_F(PublicPriorCli, EveryFamilyCountsInItsOwnUnits) {
  struct Case {
    const char *model, *column;
    std::vector<double> counts;
    Arguments more;
  };
  double visits = 0, wait = 0, squares = 0;
  for (int i = 1; i <= 400; ++i) {
    visits += i % 6, wait += 1.5 + i % 9;
    const double off = std::max(std::abs(i % 9 - 4.0), 0.145);  // a hundredth of 20 - 5.5 at least
    squares += off * off;
  }
  const std::vector<Case> cases{
      {"categorical", "answer", {20, 60}, {}},
      {"rate", "visits", {0.2 * visits, 80}, {}},
      {"waiting", "wait", {80, 0.2 * wait}, {}},
      {"mean", "wait", {0.2 * 400 / 9, wait / 400}, {"--variance", "9"}},
      {"bounded-mean", "wait", {0.2 * (wait - 200) / 19.5, 80 - 0.2 * (wait - 200) / 19.5}, {}},
      {"variance", "wait", {40, 0.1 * squares}, {"--center", "5.5"}},
      {"bernoulli", "answer", {20, 60}, {"--trim", "0.05", "--draws", "3"}},
      {"bernoulli", "answer", {20, 60}, {"--diffused"}},
  };
  for (const Case& one : cases) {
    const Outcome made =
        fit_of(one.model, one.column,
               joined(one.more, {"--public", "lastyear.csv", "--public-weight", "0.2"}));
    ASSERT_EQ(made.status, 0) << one.model << made.err;
    const auto found = counts()["counts"].get<std::vector<double>>();
    ASSERT_EQ(found.size(), one.counts.size()) << one.model;
    for (std::size_t k = 0; k < found.size(); ++k)
      EXPECT_NEAR(found[k], one.counts[k], 1e-4 * one.counts[k]) << one.model << k;
    EXPECT_EQ(gibbsite({"verify", "draws.json"}).status, 0) << one.model;
  }
}

// The guarantee follows from the counts: others are another price, and none of them is free.
TEST_F(PublicPriorCli, ChangedCountsDoNotVerify) {
  ASSERT_EQ(fit_of("bernoulli", "answer", {"--public", "lastyear.csv"}).status, 0);
  const nlohmann::json file = json("draws.json");
  const auto verified = [&](const nlohmann::json& changed) {
    folder.write("changed.json", changed.dump());
    return gibbsite({"verify", "changed.json"}).status;
  };
  nlohmann::json less = file;
  auto& counts = less["certificate"]["constants"]["public_counts"];
  counts["counts"] = {5, 15}, counts["rows"] = 40;
  EXPECT_NE(verified(less), 0);
  nlohmann::json none = file;
  none["certificate"]["constants"].erase("public_counts");
  EXPECT_NE(verified(none), 0);
  nlohmann::json other = file;
  other["certificate"]["constants"]["public_counts"]["counts"] = {60, 150};
  EXPECT_NE(verified(other), 0);
}

TEST_F(PublicPriorCli, WhatMeansNothingIsRefused) {
  const Arguments known{"--public", "lastyear.csv"};
  folder.write("copy.csv", people(200, 0));
  expect_error(fit_of("bernoulli", "answer", {"--public", "copy.csv"}), 2,
               "copy.csv: is the private table itself");
  expect_error(fit_of("bernoulli", "answer", {"--public-weight", "0.5"}), 2,
               "--public-weight: is of the rows of --public");
  expect_error(fit_of("bernoulli", "answer", joined(known, {"--public-weight", "1.5"})), 2,
               "--public-weight: must be above 0 and at most 1, got 1.5");
  expect_error(fit_of("bernoulli", "answer", joined(known, {"--public-weight", "0"})), 2,
               "--public-weight: must be above 0");
  expect_error(fit_of("bernoulli", "answer", {"--public", "nowhere.csv"}), 2, "nowhere.csv");
  folder.write("short.csv", "id,visits\n1,2\n");
  expect_error(fit_of("bernoulli", "answer", {"--public", "short.csv"}), 2, "answer");
  expect_error(
      gibbsite({"fit", "--data", "table.csv", "--model", "rate", "--column", "visits", "--public",
                "lastyear.csv", "--epsilon", "1", "--delta", "1e-6", "--out", "draws.json"}),
      2,
      "--public: is of the prior where --schema says what the column holds, and --model is rate; "
      "write its schema");
}

}  // namespace public_prior_cli_test
}  // namespace gibbsite::testing
