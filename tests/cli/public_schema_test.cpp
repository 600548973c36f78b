// fit --public and schema --public on the command line.
#include <cstdlib>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace public_schema_cli_test {

using ::testing::HasSubstr;
using ::testing::Not;

class PublicSchemaCli : public Cli {
 protected:
  PublicSchemaCli() { setenv("XDG_STATE_HOME", state.path().c_str(), 1); }
  ~PublicSchemaCli() override { unsetenv("XDG_STATE_HOME"); }

  static std::string people(int rows, int first) {
    std::string out = "id,age,work,income\n";
    for (int i = first; i < first + rows; ++i)
      out += std::to_string(i) + "," + std::to_string(18 + (i * 37) % 60) + "," +
             (i % 3 == 0 ? "private" : "state") + "," + (i % 5 == 0 ? ">50K" : "<=50K") + "\n";
    return out;
  }
  void SetUp() override {
    folder.write("people.csv", people(3000, 0));
    folder.write("lastyear.csv", people(1000, 7));
  }
  [[nodiscard]] Outcome fit(const Arguments& more) const {
    return gibbsite(joined({"fit", "--data", "people.csv", "--epsilon", "1", "--delta", "1e-6",
                            "--out", "model.json", "--force"},
                           more));
  }

  const Arguments label{"--label", "income", "--positive", ">50K"};
  const Arguments known{"--label", "income", "--positive", ">50K", "--public", "lastyear.csv"};
  TempDir state;
};

// What protects people is no less there where a public table says the ranges.
TEST_F(PublicSchemaCli, PeopleAreCountedByTheirIds) {
  const Outcome plain = fit(known);
  ASSERT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.err, HasSubstr("'id' is named like an id"));
  EXPECT_THAT(plain.err, HasSubstr("--person 'id'"));
  const Outcome made = fit(joined(known, {"--person", "id", "--rows-per-person", "2"}));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("any number of rows per person, counted as at most 2"));
  EXPECT_THAT(made.err, Not(HasSubstr("named like an id")));
  EXPECT_EQ(json("model.json")["certificate"]["constants"]["people"], 3000);
  const Outcome verified = gibbsite({"verify", "model.json"});
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  // A budget so small that the prior's center is taken from the public rows.
  const Outcome small =
      gibbsite(joined({"fit", "--data", "people.csv", "--epsilon", "0.05", "--delta", "1e-6",
                       "--out", "small.json", "--person", "id"},
                      known));
  ASSERT_EQ(small.status, 0) << small.err;
  EXPECT_THAT(small.out, HasSubstr("the prior's center"));
}

TEST_F(PublicSchemaCli, AFitSpendsItsBudgetOnTheFitAlone) {
  const Outcome ledger =
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "5", "--delta", "1e-4"});
  ASSERT_EQ(ledger.status, 0) << ledger.err;
  const Outcome made = fit(joined(known, {"--ledger", "people.ledger"}));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("lastyear.csv (1000 rows), which you say is public"));
  EXPECT_THAT(made.out, HasSubstr("come from lastyear.csv (SHA-256"));
  EXPECT_THAT(made.out, HasSubstr("the guarantee does not cover people in it"));
  const nlohmann::json file = json("model.json");
  EXPECT_FALSE(file["model"].contains("bought"));
  EXPECT_FALSE(file["certificate"]["constants"].contains("bought_schema"));
  EXPECT_EQ(file["certificate"]["schema_public"], file["model"]["preprocessing"]["public"]);
  EXPECT_EQ(file["certificate"]["schema_public"]["rows"], 1000);
  EXPECT_EQ(file["certificate"]["guarantee"]["epsilon"], 1);
  EXPECT_THAT(gibbsite({"ledger", "show", "people.ledger"}).out, HasSubstr("fit whitened"));
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  EXPECT_EQ(gibbsite({"predict", "--model", "model.json", "--data", "people.csv"}).status, 0);
  ASSERT_EQ(gibbsite({"report", "model.json", "--out", "model.html"}).status, 0);
  EXPECT_THAT(folder.read("model.html"), HasSubstr("the guarantee does not cover people in it"));
  // Neither of the two places may be changed alone, and no digest is another.
  for (const char* const place : {"/certificate/schema_public", "/model/preprocessing/public"}) {
    nlohmann::json changed = file;
    const nlohmann::json::json_pointer at(place);
    changed.at(at.parent_pointer()).erase(at.back());
    folder.write("changed.json", changed.dump());
    EXPECT_EQ(gibbsite({"verify", "changed.json"}).status, 4) << place;
    changed = file;
    changed.at(at)["sha256"] = std::string(64, '0');
    folder.write("changed.json", changed.dump());
    EXPECT_EQ(gibbsite({"verify", "changed.json"}).status, 4) << place;
  }
}

// At a small budget the prior's center follows from the public labels too, and from no private row:
// it is the same of a neighboring table, and of one whose label is another everywhere.
TEST_F(PublicSchemaCli, ASmallBudgetBeginsAtThePublicCenter) {
  const auto small = [&](const Arguments& more) {
    return gibbsite(joined(joined({"fit", "--data", "people.csv", "--epsilon", "0.1", "--delta",
                                   "1e-6", "--out", "model.json", "--force"},
                                  known),
                           more));
  };
  const auto center_norm = [&](const Arguments& more) {
    const Outcome made = small(more);
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
    EXPECT_THAT(made.out, HasSubstr("the prior's center, and where the path begins, follow from"));
    const nlohmann::json constants = json("model.json")["certificate"]["constants"];
    EXPECT_TRUE(constants.contains("center_norm"));
    return constants.value("center_norm", 0.0);
  };
  const double center = center_norm({});
  EXPECT_GT(center, 0.1);
  EXPECT_THAT(json("model.json")["certificate"]["assumptions"].dump(),
              HasSubstr("the coefficients that the prior is about"));
  folder.write("people.csv", people(2999, 0) + "x,1e9,only one,nobody\n");
  EXPECT_EQ(center_norm({}), center);
  EXPECT_EQ(center_norm({"--release-moments"}), center);
  std::string other = people(3000, 0);
  for (std::size_t at = 0; (at = other.find(">50K", at)) != other.npos; at += 5)
    other.replace(at, 4, "<=50K");
  folder.write("people.csv", other);
  EXPECT_EQ(center_norm({}), center);
  // Not with intervals, nor without the labels.
  EXPECT_THAT(small({"--intervals"}).out, Not(HasSubstr("the prior's center")));
  EXPECT_FALSE(json("model.json")["certificate"]["constants"].contains("center_norm"));
  std::string bare = people(1000, 7);
  bare.replace(bare.find("income"), 6, "wealth");
  folder.write("lastyear.csv", bare);
  const Outcome without = small({});
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("has no column 'income', so the prior's center is 0"));
  // Labels of one kind say nothing.
  std::string alike = people(1000, 7);
  for (std::size_t at = 0; (at = alike.find(">50K", at)) != alike.npos; at += 5)
    alike.replace(at, 4, "<=50K");
  folder.write("lastyear.csv", alike);
  EXPECT_THAT(small({}).out,
              HasSubstr("of one kind or cannot be read, so the prior's center is 0"));
  EXPECT_FALSE(json("model.json")["certificate"]["constants"].contains("center_norm"));
}

// In two steps it is the same model, whatever one person's row holds.
TEST_F(PublicSchemaCli, ASchemaApartIsTheSame) {
  const Arguments seed{"--seed", "5", "--quiet"};
  ASSERT_EQ(fit(joined(known, seed)).status, 0);
  const nlohmann::json at_once = json("model.json");
  const Outcome made = gibbsite(joined({"schema", "people.csv", "--out", "s.toml"}, known));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Written: s.toml"));
  ASSERT_EQ(fit(joined({"--schema", "s.toml"}, seed)).status, 0);
  EXPECT_EQ(json("model.json"), at_once);
  const Outcome printed = gibbsite(joined({"schema", "people.csv"}, known));
  EXPECT_EQ(printed.out, folder.read("s.toml"));
  folder.write("people.csv", people(2999, 0) + "x,1e9,only one,nobody\n");
  EXPECT_EQ(gibbsite(joined({"schema", "people.csv"}, known)).out, folder.read("s.toml"));
  expect_error(
      gibbsite(joined({"schema", "people.csv", "--header", "yes", "--out", "s.toml"}, known)), 2,
      "--force");
}

TEST_F(PublicSchemaCli, SaysInOneLineWhatItRefuses) {
  folder.write("copy.csv", people(3000, 0));
  expect_error(fit(joined(label, {"--public", "copy.csv"})), 2, "is the private table itself");
  expect_error(fit(joined(label, {"--public", "people.csv"})), 2, "is the private table itself");
  // In another form, and by a schema that was written before.
  std::string lines = people(3000, 0);
  for (std::size_t at = 0; (at = lines.find('\n', at)) != lines.npos; at += 2)
    lines.insert(at, "\r");
  folder.write("lines.csv", lines);
  expect_error(fit(joined(label, {"--public", "lines.csv"})), 2, "is the private table itself");
  folder.write("head.csv", lines.substr(0, lines.find('\r')) + "\n");
  ASSERT_EQ(
      gibbsite(joined({"schema", "head.csv", "--public", "copy.csv", "--out", "two.toml"}, label))
          .status,
      0);
  expect_error(fit({"--schema", "two.toml"}), 2, "copy.csv: is the private table itself");
  expect_error(fit(joined(label, {"--public", "absent.csv"})), 2, "absent.csv");
  folder.write("new\nline.csv", people(3000, 1));
  expect_error(fit(joined(label, {"--public", "new\nline.csv"})), 2, "rename it");
  folder.write("less.csv", "age\n1\n");
  expect_error(fit(joined(label, {"--public", "less.csv"})), 2, "has no column 'work'");
  folder.write("names.csv", "age,work\n");
  expect_error(fit(joined(label, {"--public", "names.csv"})), 2, "has no rows");
  expect_error(fit({"--public", "lastyear.csv"}), 2, "--label");
  folder.write("s.toml", "");
  expect_error(fit({"--schema", "s.toml", "--public", "lastyear.csv"}), 2, "--public: ");
  expect_error(fit(joined(known, {"--schema-share", "0.1"})), 2, "--schema-share: ");
  expect_error(fit(joined(known, {"--model", "network"})), 2, "gibbsite schema --public");
  expect_error(gibbsite(joined({"fit", "--data", "people.csv", "--epsilon", "1", "--delta", "1e-6",
                                "--force", "--out", "lastyear.csv"},
                               known)),
               2, "--public");
  const auto refused = [&](const Arguments& more, const std::string& what) {
    expect_error(
        gibbsite(
            joined({"schema", "people.csv", "--header", "yes", "--public", "lastyear.csv"}, more)),
        2, what);
  };
  refused({"--epsilon", "1", "--out", "s.toml"}, "--public: costs nothing");
  refused({"--delta", "1e-6"}, "--delta: ");
  refused({"--ledger", "l"}, "--ledger: ");
  refused({"--positive", ">50K"}, "--label");
  EXPECT_EQ(folder.read("lastyear.csv"), people(1000, 7));
}

// A plan by the public table is that of the schema which it says, whatever the private cells are.
TEST_F(PublicSchemaCli, APlanIsThatOfItsSchema) {
  const auto plan = [&](const Arguments& more) {
    return gibbsite(
        joined({"plan", "--data", "people.csv", "--epsilon", "1", "--delta", "1e-6"}, more));
  };
  const auto offers = [&](const Arguments& more) {
    const Outcome made = plan(joined(more, {"--json"}));
    EXPECT_EQ(made.status, 0) << made.err;
    nlohmann::json out = nlohmann::json::parse(made.out);
    for (nlohmann::json& offer : out["offers"]) offer.erase("seconds");  // measured
    return out;
  };
  ASSERT_EQ(gibbsite(joined({"schema", "people.csv", "--out", "s.toml"}, known)).status, 0);
  const nlohmann::json by_schema = offers({"--schema", "s.toml"});
  EXPECT_EQ(offers(known), by_schema);
  EXPECT_THAT(plan(known).out, HasSubstr("lastyear.csv (1000 rows), which you say is public"));
  folder.write("people.csv", people(2999, 0) + "x,1e9,only one,nobody\n");
  EXPECT_EQ(offers(known), by_schema);
  const Arguments amount{"--label", "age", "--range", "0,100", "--counts"};
  ASSERT_EQ(gibbsite(joined(joined({"schema", "people.csv", "--out", "s.toml", "--force"}, amount),
                            {"--public", "lastyear.csv"}))
                .status,
            0);
  folder.write("people.csv", people(3000, 0));
  EXPECT_EQ(offers(joined(amount, {"--public", "lastyear.csv"})), offers({"--schema", "s.toml"}));
  expect_error(plan(joined(known, {"--schema", "s.toml"})), 2, "--public: ");
  expect_error(plan(joined(known, {"--rows", "5"})), 2, "--data: ");
  expect_error(plan(joined(known, {"--model", "network"})), 2, "gibbsite schema --public");
  expect_error(plan({"--public", "lastyear.csv"}), 2, "--label");
  expect_error(plan({"--public", "lastyear.csv", "--label", "income"}), 2, "--positive");
  expect_error(plan(joined(label, {"--schema", "s.toml"})), 2, "--label: ");
  expect_error(plan(joined(label, {"--public", "people.csv"})), 2, "is the private table itself");
  expect_error(gibbsite(joined({"plan", "--no-schema", "--rows", "5", "--columns", "2", "--epsilon",
                                "1", "--delta", "1e-6"},
                               known)),
               2, "--public: ");
}

TEST_F(PublicSchemaCli, EveryLabel) {
  for (const Arguments& of : {Arguments{"--label", "work", "--classes", "private,state,none"},
                              Arguments{"--label", "age", "--range", "0,100"},
                              Arguments{"--label", "age", "--range", "0,100", "--counts"}}) {
    const Outcome made = fit(joined(of, {"--public", "lastyear.csv", "--quiet"}));
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0) << of.at(1);
  }
}

TEST_F(PublicSchemaCli, ACheckSpendsNothing) {
  const Outcome checked = fit(joined(known, {"--check"}));
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("model.json")));
}

}  // namespace public_schema_cli_test
}  // namespace gibbsite::testing
