// Networks by the program: fit, plan, verify, the ledger, and their bad input.
#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace fit_network_test {

using ::testing::HasSubstr;
using ::testing::Not;

class FitNetworkCli : public Cli {
 protected:
  void SetUp() override {
    std::string table = "id,sex,age,work,income\n";
    for (int i = 0; i < 400; ++i) {
      const int age = 18 + i * 37 % 60;
      table += std::to_string(i) + (i % 3 == 0 ? ",F," : ",M,") + std::to_string(age) + "," +
               "ABC"[(i / 3 + age / 30) % 3] + "," + (age + i % 7 > 50 ? ">50K" : "<=50K") + "\n";
    }
    folder.write("table.csv", table);
    folder.write("table.toml", schema_of("work = [\"age\"]\nincome = [\"age\", \"sex\"]\n"));
  }
  static std::string schema_of(const std::string& network) {
    return "label = \"income\"\npositive = \">50K\"\nnegative = \"<=50K\"\n[columns]\nid = {type = "
           "\"ignore\"}\nsex = {type = \"category\", levels = [\"F\", \"M\"]}\nage = {type = "
           "\"number\", range = [18, 78], bins = 3, decimals = 0}\nwork = {type = \"category\", "
           "levels = [\"A\", \"B\", \"C\"]}\n" +
           (network.empty() ? "" : "[network]\n" + network);
  }
  [[nodiscard]] Outcome fit_of(const Arguments& more = {}) const {
    return gibbsite(fit(joined({"--model", "network", "--out", "net.json"}, more)));
  }
  [[nodiscard]] Outcome plan_of(const Arguments& more) const {
    return gibbsite(
        joined({"plan", "--model", "network", "--epsilon", "1", "--delta", "1e-6"}, more));
  }
};

// Every third age is missing: a level of its own, which synthetic rows have as empty cells.
TEST_F(FitNetworkCli, MissingNumbersAreALevelOfTheirOwn) {
  std::string table = "age,job\n";
  for (int i = 0; i < 3000; ++i)
    table +=
        (i % 3 == 0 ? "" : std::to_string(20 + i % 60)) + (i % 2 == 0 ? ",clerk\n" : ",nurse\n");
  folder.write("table.csv", table);
  const auto schema = [](const std::string& of_table, const std::string& of_age) {
    return of_table +
           "[columns]\nage = {type = \"number\", range = [20, 80], bins = 6, decimals = 0" +
           of_age +
           "}\njob = {type = \"category\", levels = [\"clerk\", \"nurse\"], missing = \"\"}\n"
           "[network]\nage = [\"job\"]\n";
  };
  const auto share = [&](const std::string& event) {
    const Outcome out = gibbsite({"query", "--model", "net.json", "--json", "P(" + event + ")"});
    EXPECT_EQ(out.status, 0) << out.err;
    return nlohmann::json::parse(out.out).at(0).at("probability").get<double>();
  };
  const Arguments big{"fit",      "--model",    "network",   "--data", "table.csv",
                      "--schema", "table.toml", "--epsilon", "20",     "--delta",
                      "1e-6",     "--out",      "net.json",  "--force"};
  // Without a level they fill the middle bin, and that is said.
  folder.write("table.toml", schema("missing = \"\"\n", ""));
  Outcome out = gibbsite(big);
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.err, HasSubstr("give it missing_level = true"));
  EXPECT_GT(share("age = [50, 60)"), 0.4);
  for (const auto& [of_table, of_age] :
       {std::pair{"", ", missing = \"\""}, {"missing = \"\"\n", ", missing_level = true"}}) {
    folder.write("table.toml", schema(of_table, of_age));
    out = gibbsite(big);
    ASSERT_EQ(out.status, 0) << out.err;
    EXPECT_THAT(out.err, Not(HasSubstr("middle of the range")));
    EXPECT_EQ(gibbsite({"verify", "net.json"}).status, 0);
    EXPECT_EQ(json("net.json")["model"]["preprocessing"]["columns"][0]["missing_level"], true);
    // 1000 of 3000, and noise of some five people.
    EXPECT_NEAR(share("age = (missing)"), 1.0 / 3, 0.03);
    EXPECT_NEAR(share("age = [50, 60)"), 1.0 / 9, 0.03);
    EXPECT_NEAR(share("age < 50") + share("age >= 50") + share("age = (missing)"), 1, 1e-9);
    ASSERT_EQ(gibbsite({"synthesize", "--model", "net.json", "--rows", "3000", "--seed", "1",
                        "--out", "people.csv", "--force"})
                  .status,
              0);
    std::istringstream people(folder.read("people.csv"));
    int empty = 0, fifties = 0, rows = 0;
    std::string line;
    for (std::getline(people, line); std::getline(people, line); ++rows) {
      empty += line.starts_with(",") ? 1 : 0;
      fifties += line.starts_with("5") ? 1 : 0;
    }
    EXPECT_EQ(rows, 3000);
    EXPECT_NEAR(empty, 1000, 200);
    EXPECT_NEAR(fifties, 333, 150);
    // What was written is read as it was drawn.
    out = gibbsite({"evaluate", "--model", "net.json", "--data", "people.csv", "--json"});
    ASSERT_EQ(out.status, 0) << out.err;
    EXPECT_LT(nlohmann::json::parse(out.out)["one_column"]["mean"].get<double>(), 0.05);
    ASSERT_EQ(gibbsite({"report", "net.json", "--out", "r.html", "--force"}).status, 0);
    EXPECT_THAT(folder.read("r.html"), HasSubstr("an empty cell is a level of its own"));
  }
}

TEST_F(FitNetworkCli, FitsAndVerifies) {
  for (const Arguments& more : {Arguments{},
                                {"--structure", "given", "--mechanism", "counts"},
                                {"--structure", "private", "--mechanism", "counts"},
                                {"--structure", "private", "--mechanism", "counts", "--parents",
                                 "1", "--cells", "12", "--structure-share", "0.5"},
                                {"--mechanism", "trimmed", "--trim", "0.05", "--draws", "3"},
                                {"--adjacency", "add-remove", "--rows-cap", "1000",
                                 "--rows-per-person", "2", "--mechanism", "counts"}}) {
    const Outcome fitted = fit_of(joined(more, {"--force"}));
    ASSERT_EQ(fitted.status, 0) << fitted.err;
    EXPECT_THAT(fitted.out, HasSubstr("income"));
    EXPECT_THAT(fitted.out, HasSubstr("gibbsite synthesize --model net.json"));
    const Outcome verified = gibbsite({"verify", "net.json"});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    const auto file = json("net.json");
    EXPECT_EQ(file["model"]["kind"], "network");
    EXPECT_EQ(file["model"]["nodes"].size(), 4U);
    EXPECT_THAT(file.dump(), Not(HasSubstr("\"id\"")));
  }
  // What the schema says is what was fitted.
  ASSERT_EQ(fit_of({"--force", "--mechanism", "counts"}).status, 0);
  const auto nodes = json("net.json")["model"]["nodes"];
  EXPECT_EQ(nodes[2]["parents"], nlohmann::json({"age"}));
  EXPECT_EQ(nodes[3]["parents"], nlohmann::json({"sex", "age"}));
  const Outcome seeded = fit_of({"--seed", "3", "--force", "--mechanism", "counts"});
  EXPECT_EQ(seeded.status, 0);
  EXPECT_THAT(seeded.err, HasSubstr("no guarantee"));
  EXPECT_EQ(gibbsite({"verify", "net.json"}).status, 4);
}

// Where no edges are given: tables are chosen, counted, drawn from and asked.
TEST_F(FitNetworkCli, ChoosesTablesWhereNoEdgesAreGiven) {
  for (const Arguments& more :
       {Arguments{"--structure", "private"},
        {"--mechanism", "tree", "--parents", "1", "--cells", "100", "--structure-share", "0.5"},
        {"--structure", "private", "--adjacency", "add-remove", "--rows-cap", "1000",
         "--rows-per-person", "2"}}) {
    const Outcome fitted = fit_of(joined(more, {"--force"}));
    ASSERT_EQ(fitted.status, 0) << fitted.err;
    EXPECT_THAT(fitted.out, HasSubstr("noise in a count, rows"));
    const Outcome verified = gibbsite({"verify", "net.json"});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    EXPECT_EQ(json("net.json")["certificate"]["mechanism"]["name"], "network-tree");
  }
  folder.write("table.toml", schema_of(""));
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "9", "--delta", "1e-6"}).status, 0);
  const Outcome fitted = gibbsite({"fit", "--model", "network", "--data", "table.csv", "--schema",
                                   "table.toml", "--epsilon", "8", "--delta", "1e-6", "--ledger",
                                   "l", "--out", "net.json", "--force"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_THAT(fitted.out, HasSubstr("counted together"));
  EXPECT_THAT(fitted.out, HasSubstr("Gaussian noise in the counts of each of 4 columns"));
  EXPECT_THAT(gibbsite({"ledger", "show", "l"}).out, HasSubstr("fit network-tree"));
  const Outcome asked = gibbsite({"query", "--model", "net.json", "P(sex = F)"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr(" ± "));
  const Outcome told = gibbsite({"query", "--model", "net.json"});
  EXPECT_THAT(told.out, HasSubstr("noise in a count, rows"));
  ASSERT_EQ(
      gibbsite({"synthesize", "--model", "net.json", "--rows", "300", "--out", "s.csv"}).status, 0);
  EXPECT_EQ(gibbsite({"evaluate", "--model", "net.json", "--data", "table.csv"}).status, 0);
  EXPECT_EQ(gibbsite({"report", "net.json", "--out", "r.html", "--force"}).status, 0);
}

TEST_F(FitNetworkCli, ABrokenFileIsNamedOnce) {
  ASSERT_EQ(fit_of({"--mechanism", "counts"}).status, 0);
  auto file = json("net.json");
  file["model"]["nodes"][0]["column"] = "town";
  folder.write("net.json", file.dump());
  const Outcome broken = gibbsite({"verify", "net.json"});
  EXPECT_EQ(broken.status, 4);
  EXPECT_THAT(broken.out, HasSubstr("FAIL  model: nodes[0].column: must be 'sex'"));
  EXPECT_THAT(broken.out, Not(HasSubstr("model: model:")));
}

TEST_F(FitNetworkCli, IsEnteredInTheLedger) {
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "1.2", "--delta", "1e-6"}).status, 0);
  const Outcome fitted =
      fit_of({"--ledger", "l", "--structure", "private", "--mechanism", "counts"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_THAT(fitted.out, HasSubstr("Entered: in l"));
  EXPECT_THAT(gibbsite({"ledger", "show", "l"}).out, HasSubstr("fit network-"));
  const Outcome again = fit_of({"--ledger", "l", "--force", "--mechanism", "counts"});
  EXPECT_EQ(again.status, 5);
  EXPECT_THAT(again.err, HasSubstr("--epsilon"));
  expect_error(fit_of({"--ledger", "l", "--seed", "1", "--force"}), 2, "--ledger");
}

TEST_F(FitNetworkCli, PlansWithoutATable) {
  const Outcome given =
      plan_of({"--schema", "table.toml", "--rows", "400", "--mechanism", "counts"});
  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr("network-counts"));
  EXPECT_THAT(given.out, HasSubstr("rows expected in a cell"));
  EXPECT_THAT(given.out, Not(HasSubstr("more noise than rows")));
  EXPECT_THAT(given.out, HasSubstr("sex, age"));
  const Outcome of_table =
      plan_of({"--schema", "table.toml", "--data", "table.csv", "--mechanism", "counts"});
  EXPECT_EQ(of_table.out, given.out) << of_table.err;
  // Nobody asked for draws that are cut: what they take is no error.
  const Outcome all = plan_of({"--schema", "table.toml", "--rows", "400"});
  EXPECT_THAT(all.out, Not(HasSubstr("is missing")));
  EXPECT_THAT(all.out, HasSubstr("cut to a least one; to have them give --trim"));
  // Too rich for fewer.
  const Outcome few = plan_of({"--schema", "table.toml", "--rows", "60", "--mechanism", "counts"});
  EXPECT_THAT(few.out, HasSubstr("more noise than rows"));
  EXPECT_THAT(few.out, HasSubstr("tables are too rich for so few rows"));
  const Outcome chosen =
      plan_of({"--schema", "table.toml", "--rows", "400", "--structure", "private"});
  EXPECT_THAT(chosen.out, HasSubstr("6 pairs are scored"));
  EXPECT_THAT(chosen.out, HasSubstr("network-tree"));
  EXPECT_THAT(chosen.out, HasSubstr("Scores take 10 % of what is spent"));
  const Outcome several = gibbsite({"plan", "--model", "network", "--epsilon", "0.5,1", "--delta",
                                    "1e-6", "--schema", "table.toml", "--rows", "400", "--json"});
  EXPECT_EQ(several.status, 0) << several.err;
  EXPECT_EQ(nlohmann::json::parse(several.out).size(), 2U);
}

TEST_F(FitNetworkCli, BadInputIsOneLine) {
  struct Case {
    std::string what;
    Arguments options;
    int status = 2;
  };
  for (const Case& one : std::vector<Case>{
           {"--structure: 'learned' is neither given nor private", {"--structure", "learned"}},
           {"--parents: has a meaning with --structure private", {"--parents", "2"}},
           {"--cells: has a meaning with --structure private", {"--cells", "20"}},
           {"--structure-share: has a meaning with --structure private",
            {"--structure-share", "0.3"}},
           {"--structure-share", {"--structure", "private", "--structure-share", "1"}},
           {"--parents: a private structure", {"--structure", "private", "--parents", "11"}},
           {"--cells: tables of a private structure", {"--structure", "private", "--cells", "2"}},
           {"--column: has no meaning with --model network", {"--column", "sex"}},
           {"--diffused: has no meaning", {"--diffused"}},
           {"--variance: has no meaning", {"--variance", "1"}},
           {"--prior-precision: has no meaning", {"--prior-precision", "1"}},
           {"--tv: has no meaning", {"--tv", "0.1"}},
           {"--step-size: has no meaning", {"--step-size", "0.1"}},
           {"--iterations: has no meaning", {"--iterations", "9"}},
           {"--ball: has no meaning", {"--ball", "9"}},
           {"--padded: has no meaning", {"--padded"}},
           {"--calibration: has no meaning", {"--calibration", "exact"}},
           {"--checkpoint: has no meaning", {"--checkpoint", "c"}},
           {"--intervals: has no meaning", {"--intervals"}},
           {"--backend: has no meaning", {"--backend", "cpu"}},
           {"--design: has no meaning", {"--design", "blocked"}},
           {"--mechanism: 'whitened' is none of --model network's", {"--mechanism", "whitened"}},
           {"--mechanism trimmed: needs --trim", {"--mechanism", "trimmed"}},
           {"--trim: is of --mechanism trimmed", {"--mechanism", "conjugate", "--trim", "0.1"}},
           {"--prior: is of drawn tables", {"--mechanism", "counts", "--prior", "1"}},
           {"--draws: noisy counts are released once", {"--mechanism", "counts", "--draws", "2"}},
           {"--trim: is of drawn tables", {"--structure", "private", "--trim", "0.01"}},
           {"--draws: is of drawn tables", {"--mechanism", "tree", "--draws", "2"}},
           {"--mechanism tree: chooses", {"--mechanism", "tree", "--structure", "given"}},
           {"needs a structure that is given",
            {"--mechanism", "conjugate", "--structure", "private"}},
           {"--trim", {"--mechanism", "trimmed", "--trim", "0.5"}},
           {"--prior", {"--mechanism", "conjugate", "--prior", "0"}},
           {"--rows-cap", {"--adjacency", "add-remove"}},
           {"--rows-cap: the table has more than 300 rows",
            {"--adjacency", "add-remove", "--rows-cap", "300"}},
       }) {
    expect_error(fit_of(one.options), one.status, one.what);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/net.json")) << one.what;
  }
  expect_error(gibbsite(fit({"--out", "net.json", "--structure", "given"})), 2,
               "--structure: has a meaning with --model network");
  for (const auto& [network, what] :
       {std::pair{"work = [\"age\"]\nage = [\"work\"]\n",
                  "[network]: age <- work <- age is a cycle"},
        {"work = [\"town\"]\n", "table.toml:10: [network]: 'work': parent 'town' is no column"},
        {"work = [\"id\"]\n", "table.toml:10: [network]: 'work': parent 'id' is ignored"}}) {
    folder.write("table.toml", schema_of(network));
    expect_error(fit_of(), 2, what);
    expect_error(plan_of({"--schema", "table.toml", "--rows", "400"}), 2, what);
  }
  folder.write("table.toml", schema_of(""));
  expect_error(fit_of({"--structure", "given"}), 2, "--structure: the schema has no [network]");
  expect_error(fit_of({"--mechanism", "counts"}), 2, "--structure: the schema has no [network]");
  // A million configurations.
  std::string many = schema_of("");
  std::string parents;
  for (int k = 0; k < 7; ++k) {
    many += "n" + std::to_string(k) + " = {type = \"number\", range = [0, 1], bins = 9}\n";
    parents += std::string(k == 0 ? "" : ", ") + "\"n" + std::to_string(k) + "\"";
  }
  folder.write("table.toml", many + "[network]\nwork = [" + parents + "]\n");
  expect_error(plan_of({"--schema", "table.toml", "--rows", "400"}), 2,
               "table.toml:17: [network]: parents: the table of 'work' would have 14348907 cells");
  // More pairs than can be chosen from.
  std::string wide = schema_of("");
  for (int k = 0; k < 150; ++k)
    wide += "n" + std::to_string(k) + " = {type = \"number\", range = [0, 1], bins = 2}\n";
  folder.write("table.toml", wide);
  expect_error(plan_of({"--schema", "table.toml", "--rows", "400", "--structure", "private",
                        "--mechanism", "counts", "--parents", "5"}),
               2, "--parents: with up to 5 of 154 columns");
  // A level for every cell.
  folder.write("table.toml", "invalid = \"middle\"\n" + schema_of("work = [\"age\"]\n"));
  expect_error(fit_of(), 2, "column 'sex' has no level for cells that cannot be read");
  // No rows.
  folder.write("table.toml", schema_of("work = [\"age\"]\n"));
  folder.write("table.csv", "id,sex,age,work,income\n");
  expect_error(fit_of(), 2, "table.csv");
  expect_error(plan_of({"--schema", "table.toml"}), 2,
               "--rows: give the number of rows, or --data");
  expect_error(plan_of({"--rows", "10"}), 2, "--schema: is missing");
  expect_error(plan_of({"--schema", "table.toml", "--rows", "10", "--all"}), 2, "--all: has no");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/net.json"));
}

// Weights and people reach the plan, the fit, its words, and all that is done with it.
TEST_F(FitNetworkCli, RowsCountByWeightAndPeopleTogether) {
  std::string table = "id,sex,age,work,income,w\n";
  for (int i = 0; i < 400; ++i) {
    table += std::to_string(i % 100) + (i % 3 == 0 ? ",F," : ",M,") + std::to_string(18 + i % 60) +
             "," + "ABC"[i % 3] + (i % 2 == 0 ? ",>50K," : ",<=50K,") + (i % 2 == 0 ? "4" : "1") +
             "\n";
  }
  folder.write("table.csv", table);
  for (const std::string network : {"", "work = [\"age\"]\n"}) {
    std::string schema = schema_of(network);
    schema.replace(schema.find("id = {type = \"ignore\"}"), 22,
                   "id = {type = \"person\"}\nw = {type = \"weight\", range = [0, 4]}");
    folder.write("table.toml", schema);
    const Arguments with{"--data", "table.csv", "--schema", "table.toml", "--rows-per-person", "2"};
    const Outcome planned = plan_of(with);
    ASSERT_EQ(planned.status, 0) << planned.err;
    EXPECT_THAT(planned.out, HasSubstr("100 people"));
    EXPECT_THAT(planned.out, HasSubstr("count as at most 2 together"));
    const Outcome checked = fit_of({"--rows-per-person", "2", "--check"});
    ASSERT_EQ(checked.status, 0) << checked.err;
    EXPECT_THAT(checked.err, HasSubstr("private:   100 people count as"));
    EXPECT_THAT(checked.err, HasSubstr("effective sample size"));
    EXPECT_THAT(checked.out, Not(HasSubstr("effective")));
    const Outcome fitted = fit_of({"--rows-per-person", "2", "--force"});
    ASSERT_EQ(fitted.status, 0) << fitted.err;
    EXPECT_THAT(fitted.out, HasSubstr("row counts by w over 4"));
    EXPECT_THAT(fitted.out, HasSubstr("any number of rows per person, counted as at most 2"));
    EXPECT_THAT(fitted.err, Not(HasSubstr("nothing enforces it")));
    const Outcome verified = gibbsite({"verify", "net.json"});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    EXPECT_EQ(json("net.json")["certificate"]["constants"]["people"], 100);
    const Outcome asked = gibbsite({"query", "--model", "net.json", "P(income = >50K)"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    EXPECT_THAT(asked.out, HasSubstr("row counts by w over 4"));
    EXPECT_EQ(gibbsite({"query", "--model", "net.json", "P(w = 1)"}).status, 2);
    const Outcome drawn = gibbsite({"synthesize", "--model", "net.json", "--rows", "9"});
    EXPECT_EQ(drawn.status, 0) << drawn.err;
    EXPECT_TRUE(drawn.out.starts_with("sex,age,work,income\n")) << drawn.out;
    const Outcome near = gibbsite({"evaluate", "--model", "net.json", "--data", "table.csv"});
    EXPECT_EQ(near.status, 0) << near.err;
    EXPECT_EQ(gibbsite({"report", "net.json", "--out", "r.html", "--force"}).status, 0);
    EXPECT_THAT(folder.read("r.html"), HasSubstr("100 people"));
  }
  const Outcome counted =
      gibbsite({"table", "--data", "table.csv", "--schema", "table.toml", "--columns", "sex,work",
                "--epsilon", "1", "--delta", "1e-6", "--out", "t.json", "--csv", "t.csv"});
  ASSERT_EQ(counted.status, 0) << counted.err;
  EXPECT_THAT(counted.out, HasSubstr("Multiply by 4 for the population"));
  EXPECT_THAT(counted.out, Not(HasSubstr("the total is public")));
  EXPECT_EQ(gibbsite({"verify", "t.json"}).status, 0);
  const Outcome family =
      gibbsite({"fit", "--model", "categorical", "--column", "work", "--data", "table.csv",
                "--schema", "table.toml", "--epsilon", "1", "--delta", "1e-6", "--out", "f.json"});
  EXPECT_EQ(family.status, 2);
  EXPECT_THAT(family.err, HasSubstr("records that count as one each"));
}

}  // namespace fit_network_test
}  // namespace gibbsite::testing
