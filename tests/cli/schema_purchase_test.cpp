// schema --epsilon on the command line.
#include <cstdlib>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace schema_purchase_test {

using ::testing::HasSubstr;
using ::testing::Not;

class SchemaPurchaseCli : public Cli {
 protected:
  SchemaPurchaseCli() { setenv("XDG_STATE_HOME", state.path().c_str(), 1); }
  ~SchemaPurchaseCli() override { unsetenv("XDG_STATE_HOME"); }

  void SetUp() override {
    std::string out = "id,age,work,income\n";
    for (int i = 0; i < 6000; ++i)
      out += std::to_string(i) + "," + std::to_string(18 + (i * 37) % 60) + "," +
             (i % 3 == 0 ? "private" : "state") + "," + (i % 5 == 0 ? ">50K" : "<=50K") + "\n";
    folder.write("people.csv", out);
  }
  [[nodiscard]] Outcome bought(const Arguments& more) const {
    return gibbsite(joined({"schema", "people.csv", "--epsilon", "4", "--delta", "1e-6"}, more));
  }

  // One line beside the note of what was taken for names, and warnings.
  void refused(const Arguments& arguments, int status, const std::string& what) const {
    Outcome outcome = gibbsite(joined({"schema"}, arguments));
    while (outcome.err.starts_with("gibbsite: note: ") ||
           outcome.err.starts_with("gibbsite: warning: "))
      outcome.err.erase(0, outcome.err.find('\n') + 1);
    expect_error(outcome, status, what);
  }

  TempDir state;
};

TEST_F(SchemaPurchaseCli, WritesASchemaAndItsCertificate) {
  const Outcome made = bought({"--out", "people.toml", "--label", "income", "--positive", ">50K"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Whoever sees this schema"));
  EXPECT_THAT(made.out, HasSubstr("named like an id"));
  EXPECT_THAT(made.out, HasSubstr("number, "));
  EXPECT_THAT(made.err, HasSubstr("first line is taken for the names"));
  const Outcome checked = gibbsite({"verify", "people.toml.json"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("guarantee.tv"));
  const std::string toml = folder.read("people.toml");
  EXPECT_THAT(toml, HasSubstr("# id: named like an id"));
  EXPECT_THAT(toml, HasSubstr("\"private\""));
  // What was bought is what a fit reads.
  const Outcome fitted =
      gibbsite({"fit", "--data", "people.csv", "--schema", "people.toml", "--epsilon", "1",
                "--delta", "1e-6", "--out", "model.json", "--quiet"});
  EXPECT_EQ(fitted.status, 0) << fitted.err;
  const Outcome page = gibbsite({"report", "people.toml.json", "--out", "page.html"});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(folder.read("page.html"), HasSubstr("What was found"));
  expect_error(gibbsite({"predict", "--model", "people.toml.json", "--data", "people.csv"}), 2,
               "holds a bought schema");
  refused({"people.csv", "--epsilon", "4", "--out", "people.toml"}, 2, "--force");
  folder.write("edited.json", [&] {
    nlohmann::json file = json("people.toml.json");
    file["model"]["columns"][1]["empty"] = 1e6;
    return file.dump();
  }());
  EXPECT_EQ(gibbsite({"verify", "edited.json"}).status, 4);
}

TEST_F(SchemaPurchaseCli, IsEnteredInTheLedger) {
  const Outcome ledger =
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "5", "--delta", "1e-4"});
  ASSERT_EQ(ledger.status, 0) << ledger.err;
  const Outcome made =
      gibbsite({"schema", "people.csv", "--header", "yes", "--epsilon", "2", "--delta", "1e-6",
                "--out", "s.toml", "--ledger", "people.ledger"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Entered: in people.ledger"));
  EXPECT_THAT(gibbsite({"ledger", "show", "people.ledger"}).out, HasSubstr("schema bought-schema"));
  refused({"people.csv", "--header", "yes", "--epsilon", "20", "--delta", "1e-6", "--out",
           "more.toml", "--ledger", "people.ledger"},
          5, "would fit");
  EXPECT_FALSE(std::filesystem::exists(folder.path("more.toml.json")));
}

TEST_F(SchemaPurchaseCli, AFitBuysItsSchemaAndIsOneRelease) {
  const Arguments fit{"fit",        "--data", "people.csv", "--label", "income",
                      "--positive", ">50K",   "--epsilon",  "4",       "--delta",
                      "1e-6",       "--out",  "model.json"};
  const Outcome made = gibbsite(fit);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("10 % of mu^2; the rest fits"));
  EXPECT_THAT(made.out, HasSubstr("Whoever sees this model and schema"));
  EXPECT_THAT(made.out, HasSubstr("category, 2 levels"));
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  EXPECT_EQ(gibbsite({"report", "model.json", "--out", "model.html"}).status, 0);
  EXPECT_EQ(gibbsite({"predict", "--model", "model.json", "--data", "people.csv"}).status, 0);
  // A class that nobody has is said on screen, and the fit is made.
  const Outcome typo =
      gibbsite({"fit", "--data", "people.csv", "--label", "income", "--positive", ">50k",
                "--epsilon", "4", "--delta", "1e-6", "--out", "typo.json", "--quiet"});
  EXPECT_EQ(typo.status, 0) << typo.err;
  EXPECT_THAT(typo.err, HasSubstr("private"));
  EXPECT_THAT(typo.err, HasSubstr(">50k"));
  const nlohmann::json file = json("model.json");
  EXPECT_EQ(file["certificate"]["guarantee"]["epsilon"], 4);
  EXPECT_EQ(file["certificate"]["constants"]["bought_schema"]["columns"], 2);
  const auto with = [&](const Arguments& more) { return gibbsite(joined(fit, more)); };
  expect_error(with({"--force", "--intervals"}), 2, "--intervals: has no meaning where the schema");
  expect_error(with({"--force", "--mechanism", "path"}), 2, "--mechanism: has no meaning");
  expect_error(with({"--force", "--checkpoint", "c"}), 2, "--checkpoint: has no meaning");
  expect_error(with({"--force", "--check"}), 2, "--check: has no meaning");
  expect_error(with({"--force", "--adjacency", "add-remove", "--rows-cap", "9000"}), 2,
               "--adjacency: has no meaning");
  expect_error(with({"--force", "--schema", "s.toml"}), 2, "--label: is for a schema");
  expect_error(with({"--force", "--schema-share", "1"}), 2, "--schema-share");
  expect_error(gibbsite({"fit", "--data", "people.csv", "--epsilon", "1", "--delta", "1e-6",
                         "--out", "m.json"}),
               2, "--schema: is missing");
  expect_error(gibbsite({"fit", "--data", "people.csv", "--label", "income", "--epsilon", "1",
                         "--delta", "1e-6", "--out", "m.json"}),
               2, "--positive: is missing");
  expect_error(gibbsite({"fit", "--data", "people.csv", "--label", "income", "--positive", ">50K",
                         "--epsilon", "0.02", "--delta", "1e-6", "--out", "m.json"}),
               4, "a level is seen from");
}

TEST_F(SchemaPurchaseCli, APlanSaysWhatWillBeSeen) {
  const auto planned = [&](const std::string& count) {
    return gibbsite({"plan", "--no-schema", "--rows", count, "--columns", "14", "--epsilon", "1",
                     "--delta", "1e-6"});
  };
  EXPECT_THAT(planned("1000000").out, HasSubstr("10 % of mu^2 buys the schema of 14 columns"));
  EXPECT_THAT(planned("15000").out, HasSubstr("fit warns"));
  EXPECT_THAT(planned("2000").out, HasSubstr("fit refuses"));
  expect_error(
      gibbsite({"plan", "--no-schema", "--rows", "9", "--epsilon", "1", "--delta", "1e-6"}), 2,
      "give --rows and --columns");
}

TEST_F(SchemaPurchaseCli, WithoutABudgetItIsTheFormOfBefore) {
  const Outcome form = gibbsite({"schema", "people.csv"});
  ASSERT_EQ(form.status, 0) << form.err;
  EXPECT_THAT(form.out, HasSubstr("age = {type = \"\"}"));
  EXPECT_THAT(form.out, Not(HasSubstr("private")));
}

TEST_F(SchemaPurchaseCli, RefusesInOneLine) {
  refused({"people.csv", "--out", "s.toml"}, 2, "give --epsilon too");
  refused({"people.csv", "--epsilon", "1"}, 2, "--out: is missing");
  refused({"people.csv", "--epsilon", "1", "--out", "s.toml", "--label", "income"}, 2,
          "--positive: is missing");
  refused(
      {"people.csv", "--epsilon", "1", "--out", "s.toml", "--label", "incom", "--positive", "x"}, 2,
      "did you mean");
  refused({"people.csv", "--epsilon", "0", "--out", "s.toml"}, 2, "epsilon");
  refused({"-", "--epsilon", "1", "--out", "s.toml"}, 2, "read up to three times");
  refused({"people.csv", "--epsilon", "1", "--out", "-"}, 2, "two files");
  refused({"people.csv", "--epsilon", "1", "--out", "people.csv"}, 2, "people.csv");
  refused({"people.csv", "--header", "yes", "--epsilon", "0.05", "--out", "s.toml"}, 4,
          "a level is seen from");
  folder.write("empty.csv", "a,b\n");
  refused({"empty.csv", "--header", "yes", "--epsilon", "1", "--out", "s.toml"}, 2, "has no rows");
  folder.write("one.csv", "a,b\n1,2\n");
  refused({"one.csv", "--header", "yes", "--epsilon", "1", "--out", "s.toml"}, 4,
          "a level is seen from");
  // A first line that nothing confirms may be a person's.
  folder.write("words.csv", "jane,doe,berlin\nmax,roe,rome\n");
  refused({"words.csv", "--epsilon", "4", "--out", "s.toml"}, 2,
          "nothing says that they are names");
  folder.write("rows.csv", "1,2\n3,4\n");
  refused({"rows.csv", "--epsilon", "1", "--out", "s.toml"}, 2, "looks like a row");
  folder.write("ragged.csv", "a,b\n1,2\n3\n");
  refused({"ragged.csv", "--header", "yes", "--epsilon", "1", "--out", "s.toml"}, 2,
          "ragged.csv:3");
  EXPECT_FALSE(std::filesystem::exists(folder.path("s.toml")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("s.toml.json")));
}

}  // namespace schema_purchase_test
}  // namespace gibbsite::testing
