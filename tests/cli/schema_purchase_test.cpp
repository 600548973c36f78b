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

// Parts of a date: bought with a fit, in a schema bought apart, and in one of a public table.
TEST_F(SchemaPurchaseCli, PartsOfADateAreColumnsOfTheirOwn) {
  const auto staff = [](int days) {
    std::string out = "hired,wage,good\n";
    for (int i = 0; i < 6000; ++i) {
      const int month = 1 + i % 12;
      out += std::to_string(2010 + i % 9) + (month < 10 ? "-0" : "-") + std::to_string(month) +
             "-1" + std::to_string(i % days) + "," + std::to_string(i % 50) + "," +
             (month < 4 ? "yes" : "no") + "\n";
    }
    return out;
  };
  folder.write("staff.csv", staff(9));
  folder.write("known.csv", staff(7));
  const Arguments label{"--label", "good", "--positive", "yes", "--date-parts", "hired=month,year"};
  const Outcome made = gibbsite(joined(
      {"fit", "--data", "staff.csv", "--epsilon", "4", "--delta", "1e-6", "--out", "model.json"},
      label));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("hired_month"));
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  EXPECT_EQ(gibbsite({"predict", "--model", "model.json", "--data", "staff.csv"}).status, 0);
  for (const Arguments& found :
       {Arguments{"--epsilon", "4", "--delta", "1e-6"}, Arguments{"--public", "known.csv"}}) {
    const Outcome bought = gibbsite(
        joined(joined({"schema", "staff.csv", "--out", "s.toml", "--force"}, found), label));
    ASSERT_EQ(bought.status, 0) << bought.err;
    EXPECT_THAT(folder.read("s.toml"),
                HasSubstr("hired_month = {type = \"month\", of = \"hired\""));
    EXPECT_THAT(folder.read("s.toml"), HasSubstr("hired_year = {type = \"year\", of = \"hired\""));
    const Outcome fitted =
        gibbsite({"fit", "--data", "staff.csv", "--schema", "s.toml", "--epsilon", "1", "--delta",
                  "1e-6", "--out", "model.json", "--force"});
    EXPECT_EQ(fitted.status, 0) << fitted.err;
    EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  }
  const auto refused_fit = [&](const Arguments& more, const char* what) {
    expect_error(gibbsite(joined({"fit", "--data", "staff.csv", "--epsilon", "1", "--delta", "1e-6",
                                  "--out", "m.json"},
                                 more)),
                 2, what);
  };
  refused_fit({"--label", "good", "--positive", "yes", "--date-parts", "hired=day"},
              "--date-parts: 'hired=day' names no parts");
  refused_fit({"--schema", "s.toml", "--date-parts", "hired=year"},
              "--date-parts: is for a schema");
  refused_fit({"--model", "network", "--date-parts", "hired=year"}, "--date-parts: are features");
  refused({"staff.csv", "--date-parts", "hired=year"}, 2, "--date-parts");
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

// A purchase that nothing could follow is refused, and one whose threshold alone would take all of
// a ledger has a higher one.
TEST_F(SchemaPurchaseCli, LeavesSomethingOfALedger) {
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "8", "--delta", "1e-4"}).status, 0);
  refused({"people.csv", "--header", "yes", "--epsilon", "8", "--delta", "1e-4", "--out", "s.toml",
           "--ledger", "l"},
          5, "would fit");
  const Outcome made =
      gibbsite({"schema", "people.csv", "--label", "income", "--positive", ">50K", "--epsilon", "1",
                "--delta", "1e-5", "--out", "s.toml", "--ledger", "l"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.err, Not(HasSubstr("takes all")));
  const Outcome fitted = gibbsite({"fit", "--data", "people.csv", "--schema", "s.toml", "--epsilon",
                                   "2", "--delta", "1e-6", "--out", "m.json", "--ledger", "l"});
  EXPECT_EQ(fitted.status, 0) << fitted.err;
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
  const Outcome of_intervals = with({"--force", "--intervals"});
  EXPECT_EQ(of_intervals.status, 0) << of_intervals.err;
  EXPECT_THAT(of_intervals.out, HasSubstr("95 % interval"));
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  expect_error(with({"--force", "--mechanism", "path"}), 2, "--mechanism: has no meaning");
  expect_error(with({"--force", "--checkpoint", "c"}), 2, "--checkpoint: has no meaning");
  EXPECT_THAT(with({"--force", "--mechanism", "path"}).err, HasSubstr("buy the schema apart"));
  EXPECT_THAT(made.out, HasSubstr("none is given. --intervals estimates it."));
  expect_error(with({"--force", "--adjacency", "add-remove", "--rows-cap", "5000"}), 2,
               "more than 5000 rows");
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

// Nobody counts the rows of a person where no column says whose they are.
TEST_F(SchemaPurchaseCli, WarnsOfRowsOfAPersonThatNobodyCounts) {
  const std::string said = "warning: --rows-per-person: nothing enforces it";
  const Arguments bought{"--epsilon", "8", "--delta", "1e-6", "--rows-per-person", "2", "--out"};
  const Outcome schema =
      gibbsite(joined({"schema", "people.csv", "--label", "income", "--positive", ">50K"},
                      joined(bought, {"s.toml"})));
  EXPECT_EQ(schema.status, 0) << schema.err;
  EXPECT_THAT(schema.err, HasSubstr(said));
  EXPECT_THAT(schema.err, HasSubstr("give --person the column of ids"));
  const Outcome fitted = gibbsite(
      joined({"fit", "--data", "people.csv", "--label", "income", "--positive", ">50K", "--quiet"},
             joined(bought, {"m.json"})));
  EXPECT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_THAT(fitted.err, HasSubstr(said));
}

// A network needs no label, and is asked about every column.
TEST_F(SchemaPurchaseCli, ANetworkBuysItsSchemaAndIsOneRelease) {
  ASSERT_EQ(
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "9", "--delta", "1e-4"}).status,
      0);
  const Arguments fit{"fit",       "--data",  "people.csv", "--model",      "network",
                      "--epsilon", "4",       "--delta",    "1e-6",         "--out",
                      "net.json",  "--force", "--ledger",   "people.ledger"};
  const Outcome made = gibbsite(fit);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Whoever sees this model and schema"));
  EXPECT_THAT(made.out, HasSubstr("named like an id"));
  EXPECT_THAT(made.out, HasSubstr("category, 2 levels"));
  EXPECT_EQ(gibbsite({"verify", "net.json"}).status, 0);
  EXPECT_EQ(gibbsite({"report", "net.json", "--out", "net.html"}).status, 0);
  EXPECT_EQ(
      gibbsite({"synthesize", "--model", "net.json", "--rows", "100", "--out", "s.csv"}).status, 0);
  EXPECT_THAT(folder.read("s.csv"), ::testing::StartsWith("age,work,income\n"));
  EXPECT_EQ(gibbsite({"query", "--model", "net.json", "P(work = state)"}).status, 0);
  const Outcome shown = gibbsite({"ledger", "show", "people.ledger"});
  EXPECT_THAT(shown.out, HasSubstr("fit network-tree, with its schema"));
  const auto with = [&](const Arguments& more) { return gibbsite(joined(fit, more)); };
  const Outcome checked = with({"--check"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("nothing was released or spent"));
  expect_error(with({"--label", "income"}), 2, "--label: a network has no label");
  expect_error(with({"--mechanism", "counts"}), 2, "--mechanism: has no meaning");
  expect_error(with({"--structure", "given"}), 2, "--structure: has no meaning");
  expect_error(with({"--cells", "50"}), 2, "--cells: has no meaning");
  const Outcome plan = gibbsite({"plan", "--model", "network", "--no-schema", "--rows", "6000",
                                 "--columns", "3", "--epsilon", "4", "--delta", "1e-6"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("buys the schema of 3 columns"));
}

// Draws of a family ask about their column alone, and are one release with its range or levels.
TEST_F(SchemaPurchaseCli, AFamilyBuysTheSchemaOfItsColumn) {
  const auto fit = [this](const Arguments& more) {
    return gibbsite(joined({"fit", "--data", "people.csv", "--epsilon", "2", "--delta", "1e-6",
                            "--out", "draws.json", "--force"},
                           more));
  };
  for (const auto& [model, column] :
       {std::pair("mean", "age"), std::pair("categorical", "work"), std::pair("rate", "age")}) {
    const Outcome made = fit({"--model", model, "--column", column});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("Whoever sees this model and schema"));
    EXPECT_THAT(made.out, HasSubstr("1 column asked about"));
    // What a bought range cuts off is in no interval (docs/theory/conjugate.md).
    const bool of_range = std::string_view(model) != "categorical";
    EXPECT_EQ(made.out.find("a range found through noise") != std::string::npos, of_range);
    EXPECT_EQ(gibbsite({"verify", "draws.json"}).status, 0);
    EXPECT_EQ(gibbsite({"query", "--model", "draws.json"}).status, 0);
    EXPECT_EQ(gibbsite({"report", "draws.json", "--out", "draws.html", "--force"}).status, 0);
    const std::string page = folder.read("draws.html");
    EXPECT_EQ(page.find("a range found through noise") != std::string::npos, of_range);
  }
  EXPECT_THAT(fit({"--model", "mean", "--column", "age", "--check"}).out,
              HasSubstr("nothing was released or spent"));
  expect_error(fit({"--model", "mean"}), 2, "--column: is missing");
  expect_error(fit({"--model", "mean", "--column", "aged"}), 2, "has no column 'aged'");
  expect_error(fit({"--model", "mean", "--column", "age", "--label", "income"}), 2,
               "fitted to --column alone");
  expect_error(fit({"--model", "rate", "--column", "age", "--prior", "1,1"}), 2,
               "--prior: has no meaning");
  const Outcome plan = gibbsite({"plan", "--model", "rate", "--no-schema", "--rows", "6000",
                                 "--epsilon", "2", "--delta", "1e-6"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("draws keep"));
}

// The number of rows is bought too; a cap is public.
TEST_F(SchemaPurchaseCli, UnderAddRemoveACapIsPublic) {
  const Arguments capped{"--adjacency", "add-remove", "--rows-cap", "7000"};
  const auto with = [this](const Arguments& a, const Arguments& b) {
    return gibbsite(joined(a, b));
  };
  const Arguments buy{"schema", "people.csv", "--epsilon", "4",        "--delta", "1e-6",
                      "--out",  "s.toml",     "--force",   "--header", "yes"};
  ASSERT_EQ(with(buy, capped).status, 0);
  EXPECT_EQ(gibbsite({"verify", "s.toml.json"}).status, 0);
  EXPECT_THAT(json("s.toml.json")["certificate"].dump(), Not(HasSubstr("6000")));
  EXPECT_THAT(folder.read("s.toml"), HasSubstr("a table of about "));
  for (const auto& [given, what] :
       {std::pair(Arguments{"--adjacency", "add-remove"}, "--rows-cap: is missing"),
        std::pair(Arguments{"--rows-cap", "7000"}, "--rows-cap: has a meaning")}) {
    const Outcome refused = with(buy, given);  // behind a note on the header
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr(what));
  }
  const Arguments fit{"fit",     "--data", "people.csv", "--epsilon", "4",
                      "--delta", "1e-6",   "--out",      "m.json",    "--force"};
  for (const Arguments& what :
       {Arguments{"--label", "income", "--positive", ">50K"}, Arguments{"--model", "network"}}) {
    const Outcome made = with(joined(fit, what), capped);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("at most 7000 rows"));
    EXPECT_THAT(made.out, Not(HasSubstr("6000 rows")));  // a noisy count may be 6000
    EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
    expect_error(with(joined(fit, what), {"--adjacency", "add-remove", "--rows-cap", "5000"}), 2,
                 "more than 5000 rows");
  }
  const Outcome plan =
      gibbsite({"plan", "--no-schema", "--columns", "3", "--adjacency", "add-remove", "--rows-cap",
                "7000", "--epsilon", "4", "--delta", "1e-6"});
  EXPECT_EQ(plan.status, 0) << plan.err;
}

// A schema that is bought apart is a network's too.
TEST_F(SchemaPurchaseCli, ANetworkIsFittedByASchemaBoughtApart) {
  ASSERT_EQ(bought({"--out", "people.toml", "--header", "yes"}).status, 0);
  const Outcome made =
      gibbsite({"fit", "--data", "people.csv", "--model", "network", "--schema", "people.toml",
                "--epsilon", "4", "--delta", "1e-6", "--out", "net.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("The schema was bought with (ε, δ) = (4, 1e-06) of its own"));
  EXPECT_EQ(gibbsite({"verify", "net.json"}).status, 0);
}

// Any label that a schema may have is bought beside, by the names of its keys.
TEST_F(SchemaPurchaseCli, AFitBuysTheSchemaOfAnyLabel) {
  std::string text = "age,work,band,wage,visits\n";
  for (int i = 0; i < 6000; ++i) {
    const int age = 18 + (i * 37) % 60;
    text += std::to_string(age) + "," + (i % 3 == 0 ? "private" : "state") + "," +
            (age < 35   ? "young"
             : age < 60 ? "middle"
                        : "old") +
            "," + std::to_string(100 * age) + "," + std::to_string(age / 20) + "\n";
  }
  folder.write("p.csv", text);
  const auto fitted = [&](const Arguments& label) {
    return gibbsite(joined({"fit", "--data", "p.csv", "--epsilon", "4", "--delta", "1e-6", "--out",
                            "m.json", "--force"},
                           label));
  };
  const std::vector<std::pair<Arguments, std::string>> all{
      {{"--label", "band", "--classes", "young,middle,old"}, "softmax-3"},
      {{"--label", "wage", "--range", "0,10000"}, "huber"},
      {{"--label", "wage", "--range", "0,10000", "--tolerance", "500", "--model", "pseudo-huber"},
       "pseudo-huber"},
      {{"--label", "visits", "--range", "0,5", "--counts"}, "poisson"}};
  for (const auto& [label, loss] : all) {
    const Outcome made = fitted(label);
    ASSERT_EQ(made.status, 0) << loss << made.err;
    EXPECT_EQ(json("m.json")["model"]["loss"], loss);
    EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
    EXPECT_EQ(gibbsite({"predict", "--model", "m.json", "--data", "p.csv"}).status, 0);
  }
  const auto refused_fit = [&](const Arguments& label, const std::string& what) {
    expect_error(fitted(label), 2, what);
  };
  refused_fit({"--label", "band", "--classes", "a,b,c", "--positive", "a"},
              "leave one of them out");
  refused_fit({"--label", "band", "--classes", "a,a,b"}, "classes");
  refused_fit({"--label", "wage", "--range", "0"}, "two numbers");
  refused_fit({"--label", "wage", "--range", "5,1"}, "range");
  refused_fit({"--label", "wage", "--positive", "a", "--counts"}, "goes with --range");
  refused_fit({"--label", "wage", "--range", "0,9", "--counts", "--tolerance", "1"}, "--tolerance");
  refused_fit({"--label", "wage", "--range", "0,9", "--model", "squared"}, "buy the schema apart");
  refused_fit({"--label", "wage", "--range", "0,9", "--model", "network"},
              "a network has no label");
  refused_fit({"--positive", "a"}, "--schema: is missing");
}

// It looks, and says so; nothing is spent and nothing written.
TEST_F(SchemaPurchaseCli, ACheckSpendsNothing) {
  ASSERT_EQ(
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "9", "--delta", "1e-4"}).status,
      0);
  const std::string before = gibbsite({"ledger", "show", "people.ledger"}).out;
  const Outcome checked =
      gibbsite({"fit", "--data", "people.csv", "--label", "income", "--positive", ">50K",
                "--epsilon", "4", "--delta", "1e-6", "--check", "--ledger", "people.ledger"});
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("nothing was released or spent"));
  EXPECT_THAT(checked.out, HasSubstr("10 % of mu^2 buys the schema of 2 columns"));
  EXPECT_THAT(checked.err, HasSubstr("private: 6000 rows"));
  EXPECT_THAT(checked.err, HasSubstr("  >50K: 1200"));
  EXPECT_EQ(gibbsite({"ledger", "show", "people.ledger"}).out, before);
}

// The schema says by which release it was bought, and so does every model by it.
TEST_F(SchemaPurchaseCli, AModelSaysThatItsSchemaWasBought) {
  ASSERT_EQ(bought({"--out", "people.toml", "--label", "income", "--positive", ">50K"}).status, 0);
  const std::string digest = json("people.toml.json")["certificate"]["digest"];
  EXPECT_THAT(folder.read("people.toml"), HasSubstr("bought = {certificate = \"" + digest));
  const Outcome made = gibbsite({"fit", "--data", "people.csv", "--schema", "people.toml",
                                 "--epsilon", "1", "--delta", "1e-6", "--out", "model.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("The schema was bought with (ε, δ) = (4, 1e-06) of its own"));
  const nlohmann::json file = json("model.json");
  EXPECT_EQ(file["certificate"]["schema_bought"]["certificate"], digest);
  EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("composes with this one"));
  EXPECT_THAT(file["certificate"]["assumptions"].dump(),
              Not(HasSubstr("(columns, ranges, levels")));
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  // Neither of the two places may be changed alone.
  for (const char* const place : {"/certificate/schema_bought", "/model/preprocessing/bought"}) {
    nlohmann::json changed = file;
    const nlohmann::json::json_pointer at(place);
    changed.at(at.parent_pointer()).erase(at.back());
    folder.write("changed.json", changed.dump());
    EXPECT_EQ(gibbsite({"verify", "changed.json"}).status, 4) << place;
  }
  std::string edited = folder.read("people.toml");
  edited.replace(edited.find(digest), digest.size(), "blake2b-256:12");
  folder.write("edited.toml", edited);
  expect_error(gibbsite({"fit", "--data", "people.csv", "--schema", "edited.toml", "--epsilon", "1",
                         "--delta", "1e-6", "--out", "edited.json"}),
               2, "is no digest of a file");
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
