// Cross tables by the program: release, check, plan, print again, the ledger, and bad input.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace table_test {

using ::testing::HasSubstr;
using ::testing::Not;

class TableCli : public Cli {
 protected:
  void SetUp() override {
    std::string table = "id,sex,age,\"work, kind\",kids\n";
    for (int i = 0; i < 400; ++i) {
      const int age = 18 + i * 37 % 60;
      table += std::to_string(i) + (i % 3 == 0 ? ",F," : ",M,") + std::to_string(age) + "," +
               "ABC"[(i / 3 + age / 30) % 3] + "," + std::to_string(i % 7 % 3) + "\n";
    }
    folder.write("table.csv", table);
    // No label, no [network], and a column without bins that nobody asks for.
    folder.write(
        "table.toml",
        "[columns]\nid = {type = \"ignore\"}\nsex = {type = \"category\", levels = [\"F\", "
        "\"M\"]}\nage = {type = \"number\", range = [18, 78], bins = 3, decimals = "
        "0}\n\"work, kind\" = {type = \"category\", levels = [\"A\", \"B\", \"C\", "
        "\"D\"]}\nkids = {type = \"number\", range = [0, 2], decimals = 0}\nheight = {type "
        "= \"number\", range = [0, 2]}\n");
  }
  [[nodiscard]] Outcome table_of(const std::string& columns, const Arguments& more = {}) const {
    return gibbsite(joined({"table", "--data", "table.csv", "--schema", "table.toml", "--columns",
                            columns, "--epsilon", "1", "--delta", "1e-6"},
                           more));
  }
  // Rows of a CSV without quotes.
  static std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
    std::vector<std::vector<std::string>> out;
    std::istringstream lines(csv);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      out.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');) out.back().push_back(cell);
    }
    return out;
  }
};

// Numbers of a weighted table are not those of the population until they are multiplied.
TEST_F(TableCli, AWeightedTableSaysItsUnit) {
  folder.write("w.toml",
               folder.read("table.toml") + "w = {type = \"weight\", range = [0, 2000]}\n");
  std::string table = "sex,age,w\n";
  for (int i = 0; i < 400; ++i)
    table += (i % 3 == 0 ? "F," : "M,") + std::to_string(18 + i * 37 % 60) + "," +
             std::to_string(500 + i % 4 * 500) + "\n";
  folder.write("table.csv", table);
  std::string toml = folder.read("w.toml");
  for (const char* const name : {"id = ", "\"work, kind\"", "kids = ", "height = "})
    toml.insert(toml.find(name), "# ");
  folder.write("w.toml", toml);
  ASSERT_EQ(gibbsite({"ledger", "create", "w.ledger", "--epsilon", "3", "--delta", "1e-5"}).status,
            0);
  const Arguments input{"--data",  "table.csv", "--schema", "w.toml",  "--columns",
                        "sex,age", "--epsilon", "1",        "--delta", "1e-6"};
  const Outcome made = gibbsite(joined(
      joined({"table"}, input), {"--out", "w.json", "--csv", "w.csv", "--ledger", "w.ledger"}));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("95 % intervals, in rows of w = 2000"));
  EXPECT_THAT(made.out, HasSubstr("Multiply by 2000"));
  const auto cells = cells_of(folder.read("w.csv"));
  ASSERT_EQ(cells.front().size(), 12U);
  EXPECT_EQ(cells.front()[8], "weighted");
  EXPECT_EQ(cells.front()[9], "unit");
  const double total = std::stod(cells.back()[2]);
  EXPECT_DOUBLE_EQ(std::stod(cells.back()[8]), 2000 * total);
  EXPECT_NEAR(2000 * total, 400 * 1250, 2000 * 60);
  EXPECT_EQ(cells.back()[9], "2000");
  EXPECT_DOUBLE_EQ(std::stod(cells.back()[10]), 2000 * std::stod(cells.back()[4]));
  EXPECT_DOUBLE_EQ(std::stod(cells.back()[11]), 2000 * std::stod(cells.back()[5]));
  const Outcome printed = gibbsite({"table", "--model", "w.json", "--json"});
  const auto json = nlohmann::json::parse(printed.out);
  EXPECT_EQ(json["weight"], nlohmann::json({{"column", "w"}, {"unit", 2000}}));
  EXPECT_DOUBLE_EQ(json["numbers"].back()["weighted"], 2000 * total);
  const Outcome planned = gibbsite({"plan", "--columns", "sex,age", "--schema", "w.toml", "--rows",
                                    "400", "--epsilon", "1", "--delta", "1e-6"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("in rows of w = 2000"));
  EXPECT_THAT(planned.out, HasSubstr("by number, not by weight"));
  // The page is of the table: its counts, as the program prints them.
  ASSERT_EQ(gibbsite({"report", "w.json", "--out", "w.html"}).status, 0);
  const std::string page = folder.read("w.html");
  EXPECT_THAT(page, HasSubstr("Privacy report: a table of sex × age"));
  EXPECT_THAT(page, HasSubstr("rows of w = 2000"));
  EXPECT_THAT(page, HasSubstr("Counts are of rows of w = 2000."));
  EXPECT_THAT(page, HasSubstr("95 % interval × 2000"));
  EXPECT_THAT(page, Not(HasSubstr("e+0")));  // numbers of people have no powers of ten
  EXPECT_THAT(page, Not(HasSubstr("network over")));
  EXPECT_THAT(page, Not(HasSubstr("Shares of")));
  EXPECT_THAT(page, HasSubstr("<td>" + std::to_string(std::lround(total)) + "</td>"));
  EXPECT_THAT(gibbsite({"ledger", "show", "w.ledger"}).out, HasSubstr("network-counts"));
  // Without weights there is nothing to multiply.
  ASSERT_EQ(gibbsite(joined({"table"}, {"--model", "w.json"})).status, 0);
}

// A count is of people, of rows of people, or of weights of people: each place where it is printed
// says of what.
TEST_F(TableCli, ATableOfPeopleSaysWhatACountIs) {
  std::string table = "pid,sex,w\n";
  for (int i = 0; i < 600; ++i)
    table +=
        std::to_string(i % 200) + (i % 2 == 0 ? ",F," : ",M,") + std::to_string(i % 3 * 240) + "\n";
  folder.write("table.csv", table);
  const std::string schema =
      "[columns]\npid = {type = \"person\"}\nsex = {type = \"category\", levels = [\"F\", "
      "\"M\"]}\n";
  folder.write("table.toml", schema + "w = {type = \"ignore\"}\n");
  for (const bool several : {false, true}) {
    const std::string unit = several ? "rows, at most 2 of a person" : "people";
    const std::string how = several ? "All rows with one pid count as at most 2 together"
                                    : "All rows with one pid count as one together";
    const Arguments k{"--rows-per-person", several ? "2" : "1"};
    const Outcome made =
        table_of("sex", joined(k, {"--out", "t.json", "--csv", "t.csv", "--force"}));
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("  sex    " + unit + "  "));
    EXPECT_THAT(made.out, HasSubstr("95 % intervals, in " + unit + ": a cell"));
    EXPECT_THAT(made.out, HasSubstr(how));
    EXPECT_THAT(folder.read("t.csv"), HasSubstr("hidden,count_of\n"));
    EXPECT_THAT(folder.read("t.csv"), HasSubstr(several ? ",\"" + unit + "\"\n" : ",people\n"));
    const auto json = nlohmann::json::parse(gibbsite({"table", "--model", "t.json", "--json"}).out);
    EXPECT_EQ(json["count_of"], unit);
    EXPECT_EQ(json["rows_of_person"], several ? 2 : 1);
    // 200 people of 3 rows each.
    EXPECT_NEAR(json["numbers"].back()["estimate"], several ? 400 : 200, 200);
    ASSERT_EQ(gibbsite({"report", "t.json", "--out", "t.html", "--force"}).status, 0);
    const std::string page = folder.read("t.html");
    EXPECT_THAT(page, HasSubstr("Counts are of " + unit + "."));
    EXPECT_THAT(page, HasSubstr("<caption>Counts of " + unit + "</caption>"));
    EXPECT_THAT(page, HasSubstr(how));
    EXPECT_THAT(page, Not(HasSubstr("by weight")));
    EXPECT_THAT(table_of("sex", joined(k, {"--check"})).out, HasSubstr(" " + unit + " a cell"));
  }
  folder.write("table.toml", schema + "w = {type = \"weight\", range = [0, 480]}\n");
  const Outcome weighed = table_of("sex", {"--out", "w.json"});
  ASSERT_EQ(weighed.status, 0) << weighed.err;
  EXPECT_THAT(weighed.out, HasSubstr("people of w = 480"));
  EXPECT_THAT(weighed.out, HasSubstr("× 480"));
  EXPECT_THAT(weighed.out, Not(HasSubstr("a count is a sum of w")));
  EXPECT_THAT(weighed.out, HasSubstr("a sum over people of the mean w of"));
  EXPECT_THAT(weighed.out, HasSubstr("Multiply by 480"));
}

// A weight that is cut makes every weighted total too low: no check may call that right.
TEST_F(TableCli, WeightsBeyondTheirRangeAreWarnedOf) {
  std::string table = "sex,w\n";
  for (int i = 0; i < 400; ++i)
    table += std::string(i % 2 == 0 ? "F" : "M") + "," + (i < 5 ? "900" : "100") + "\n";
  folder.write("table.csv", table);
  const auto schema = [&](const std::string& most) {
    folder.write("table.toml",
                 "[columns]\nsex = {type = \"category\", levels = [\"F\", \"M\"]}\nw = {type = "
                 "\"weight\", range = [0, " +
                     most + "]}\n");
  };
  const std::string warning =
      "gibbsite: warning: private: column 'w': 5 of 400 weights are beyond the range [0, 200]";
  schema("200");
  const Outcome checked = table_of("sex", {"--check"});
  EXPECT_THAT(checked.err, HasSubstr(warning));
  EXPECT_THAT(checked.out, Not(HasSubstr("reads as the schema says")));
  EXPECT_THAT(checked.out, HasSubstr("Look at the warnings"));
  EXPECT_THAT(table_of("sex", {"--out", "t.json"}).err, HasSubstr(warning));
  schema("900");
  const Outcome right = table_of("sex", {"--check"});
  EXPECT_THAT(right.err, Not(HasSubstr("warning")));
  EXPECT_THAT(right.out, HasSubstr("reads as the schema says"));
}

TEST_F(TableCli, ReleasesATable) {
  const Outcome made = table_of("sex,age", {"--out", "t.json", "--csv", "t.csv"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.err, "");
  for (const char* const words :
       {"sex \\ age", "[18, 38)", "(all)", "the total is public", "table's own count", "400",
        "Written: t.json and t.csv", "gibbsite table --model t.json"})
    EXPECT_THAT(made.out, HasSubstr(words));
  EXPECT_EQ(gibbsite({"verify", "t.json"}).status, 0);
  // It is a network: the first column has no parents, the second one that.
  const auto nodes = json("t.json")["model"]["nodes"];
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0]["column"], "sex");
  EXPECT_EQ(nodes[1]["parents"], nlohmann::json({"sex"}));
  const auto certificate = json("t.json")["certificate"];
  EXPECT_EQ(certificate["mechanism"]["name"], "network-counts");
  // One row goes from one cell to another in each table: sqrt(2), in units of the noise.
  EXPECT_NEAR(certificate["guarantee"]["mu"].get<double>() *
                  certificate["mechanism"]["noise"].get<double>(),
              std::sqrt(2.0), 1e-9);
  EXPECT_EQ(gibbsite({"query", "--model", "t.json", "P(sex = F)"}).status, 0);
  EXPECT_EQ(gibbsite({"synthesize", "--model", "t.json", "--rows", "10"}).status, 0);
  EXPECT_EQ(gibbsite({"report", "t.json", "--out", "r.html"}).status, 0);

  // The file says all of it again, to the last bit, and no row is read.
  std::filesystem::remove(folder.path("table.csv"));
  const std::string csv = folder.read("t.csv");
  EXPECT_EQ(gibbsite({"table", "--model", "t.json", "--csv"}).out, csv);
  EXPECT_EQ(gibbsite({"table", "--model", "t.json", "--csv", "-"}).out, csv);
  const auto lines = cells_of(csv);
  ASSERT_EQ(lines.size(), 1U + 6 + 2 + 3 + 1);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "sex,age,estimate,std_err,lower,upper,count,hidden");
}

TEST_F(TableCli, MarginsOfTheCsvAreItsSums) {
  ASSERT_EQ(table_of("kids,sex", {"--out", "t.json", "--csv", "t.csv", "--quiet"}).status, 0);
  const auto lines = cells_of(folder.read("t.csv"));
  std::map<std::string, double> estimates, counts;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i][0] == "(all)" || lines[i][1] == "(all)") continue;
    for (const std::string& of :
         {lines[i][0] + "/(all)", "(all)/" + lines[i][1], std::string("(all)/(all)")}) {
      estimates[of] += std::strtod(lines[i][2].c_str(), nullptr);
      counts[of] += std::strtod(lines[i][6].c_str(), nullptr);
    }
  }
  std::size_t margins = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string of = lines[i][0] + "/" + lines[i][1];
    if (!estimates.contains(of)) continue;
    ++margins;
    EXPECT_EQ(estimates[of], std::strtod(lines[i][2].c_str(), nullptr)) << of;
    EXPECT_EQ(counts[of], std::strtod(lines[i][6].c_str(), nullptr)) << of;
  }
  EXPECT_EQ(margins, 6U);
  EXPECT_EQ(estimates["(all)/(all)"], 400);
  EXPECT_TRUE(estimates.contains("2/(all)"));  // whole numbers are called what they are
}

TEST_F(TableCli, OneColumnAndThree) {
  const Outcome one = table_of("\"work, kind\"", {"--out", "t.json"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("95 % interval"));
  EXPECT_THAT(one.out, HasSubstr("D "));  // a level that nobody has
  EXPECT_EQ(json("t.json")["model"]["nodes"].size(), 1U);
  const Outcome three =
      table_of("age,\"work, kind\",sex", {"--out", "t.json", "--force", "--json"});
  ASSERT_EQ(three.status, 0) << three.err;
  const auto object = nlohmann::json::parse(three.out);
  EXPECT_EQ(object["columns"], nlohmann::json({"age", "work, kind", "sex"}));
  EXPECT_EQ(object["rows"], 400);
  EXPECT_EQ(object["numbers"].size(), 24U + 3 + 4 + 2 + 1);
  EXPECT_EQ(object["numbers"][0]["levels"], nlohmann::json({"[18, 38)", "A", "F"}));
  EXPECT_EQ(object["numbers"].back()["estimate"], 400);
  // A part of it, by the same file.
  const Outcome part = gibbsite({"table", "--model", "t.json", "--columns", "sex,age", "--json"});
  ASSERT_EQ(part.status, 0) << part.err;
  const auto of_part = nlohmann::json::parse(part.out);
  EXPECT_EQ(of_part["numbers"].size(), 6U + 2 + 3 + 1);
  double sum = 0;  // F, [18, 38), of every work
  for (std::size_t work = 0; work < 4; ++work)
    sum += object["numbers"][2 * work]["estimate"].get<double>();
  EXPECT_NEAR(of_part["numbers"][0]["estimate"].get<double>(), sum, 0.5);
}

TEST_F(TableCli, KeepsTheNumberOfRowsToItself) {
  const Outcome made = table_of("sex,age", {"--out", "t.json", "--adjacency", "add-remove",
                                            "--rows-cap", "5000", "--rows-per-person", "2"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("the total ±"));
  EXPECT_THAT(made.out, Not(HasSubstr("public")));
  EXPECT_EQ(gibbsite({"verify", "t.json"}).status, 0);
  const auto object = nlohmann::json::parse(gibbsite({"table", "--model", "t.json", "--json"}).out);
  EXPECT_TRUE(object["rows"].is_null());
  EXPECT_GT(object["numbers"].back()["std_err"], 0);
  // Twice as many rows a person, twice the noise; an edited noise is seen.
  auto file = json("t.json");
  EXPECT_NEAR(file["certificate"]["guarantee"]["mu"].get<double>() *
                  file["certificate"]["mechanism"]["noise"].get<double>(),
              2, 1e-9);
  file["model"]["nodes"][0]["noise"] = 1.0;
  folder.write("t.json", file.dump());
  EXPECT_EQ(gibbsite({"verify", "t.json"}).status, 4);
}

TEST_F(TableCli, IsEnteredInTheLedger) {
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "1.2", "--delta", "1e-6"}).status, 0);
  const Outcome made = table_of("sex", {"--out", "t.json", "--ledger", "l"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Entered: in l"));
  EXPECT_THAT(gibbsite({"ledger", "show", "l"}).out, HasSubstr("network-counts"));
  EXPECT_EQ(table_of("sex", {"--out", "u.json", "--ledger", "l"}).status, 5);
  EXPECT_FALSE(std::filesystem::exists(folder.path("u.json")));
}

TEST_F(TableCli, ChecksAndPlansForNothing) {
  const Outcome checked = table_of("sex,age", {"--check"});
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("95 % intervals of ±"));
  EXPECT_THAT(checked.out, HasSubstr("nothing"));
  EXPECT_EQ(made(), std::vector<std::string>{});
  const Arguments plan{"plan",   "--columns", "sex,age", "--schema", "table.toml",
                       "--rows", "400",       "--delta", "1e-6",     "--epsilon"};
  const Outcome planned = gibbsite(joined(plan, {"0.5,1"}));
  ASSERT_EQ(planned.status, 0) << planned.err;
  for (const char* const words : {"sex (2) × age (3): 6 cells", "age alone", "public", "0.5"})
    EXPECT_THAT(planned.out, HasSubstr(words));
  EXPECT_THAT(planned.out, Not(HasSubstr("noise hides")));
  EXPECT_THAT(gibbsite(joined(plan, {"0.05"})).out, HasSubstr("at ε = 0.05 noise hides an average "
                                                              "cell, of 66.7 rows"));
  // What was planned is what comes.
  const auto object = nlohmann::json::parse(gibbsite(joined(plan, {"1", "--json"})).out);
  const Outcome counted = table_of("sex,age", {"--out", "t.json", "--json"});
  const auto numbers = nlohmann::json::parse(counted.out)["numbers"];
  EXPECT_EQ(object["cross_table"]["cell_std_err"], numbers[0]["std_err"]);
  EXPECT_EQ(object["cross_table"]["margins"][0]["std_err"], numbers[6]["std_err"]);
  EXPECT_EQ(object["cross_table"]["total_std_err"], 0);
  expect_error(gibbsite(joined(plan, {"1", "--mechanism", "trimmed"})), 2, "--mechanism: has no");
  expect_error(gibbsite(joined(plan, {"1", "--model", "network"})), 2, "--model: has no");
}

TEST_F(TableCli, ManyLevelsAreAList) {
  std::string levels, table = "x,y\n";
  for (int l = 0; l < 30; ++l)
    levels += (l == 0 ? "\"level " : ", \"level ") + std::to_string(l) + "\"";
  for (int i = 0; i < 300; ++i)
    table += "level " + std::to_string(i % 30) + ",level " + std::to_string(i % 7) + "\n";
  folder.write("table.csv", table);
  folder.write("table.toml", "[columns]\nx = {type = \"category\", levels = [" + levels +
                                 "]}\ny = {type = \"category\", levels = [" + levels + "]}\n");
  const Outcome made = table_of("x,y", {"--out", "t.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("of 900 cells the first 100"));
  EXPECT_THAT(made.out, HasSubstr("* noise hides it"));
}

TEST_F(TableCli, BadInputIsOneLine) {
  for (const auto& [columns, what] : std::vector<std::pair<std::string, std::string>>{
           {"sex,sex", "--columns: 'sex' is given twice"},
           {"sex,town", "--columns: 'town' is not in the schema"},
           {"sex,ages", "did you mean age?"},
           {"id", "--columns: 'id' is ignored by the schema"},
           {"sex,height", "--columns: 'height' has no bins"},
           {"sex,", "--columns: a name is empty"},
           {"\"sex", "--columns: a quote is not closed"}}) {
    expect_error(table_of(columns, {"--out", "t.json"}), 2, what);
    expect_error(gibbsite({"plan", "--columns", columns, "--schema", "table.toml", "--rows", "400",
                           "--epsilon", "1", "--delta", "1e-6"}),
                 2, what);
  }
  // A level that cells that are missing have too is said of its own line.
  const std::string toml = folder.read("table.toml");
  folder.write("table.toml",
               "[columns]\na = {type = \"ignore\"}\nsex = {type = \"category\", levels = [\"F\", "
               "\"(missing)\"], missing = \"\"}\n");
  expect_error(table_of("sex", {"--out", "t.json"}), 2,
               "table.toml:3: column 'sex': two levels would both be called '(missing)'");
  folder.write("table.toml", toml);
  expect_error(table_of("sex"), 2, "--out");
  expect_error(gibbsite({"table"}), 2, "--data");
  expect_error(gibbsite({"table", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                         "--delta", "1e-6", "--out", "t.json"}),
               2, "--columns");
  expect_error(table_of("sex", {"--out", "t.json", "--csv", "t.json"}), 2, "--csv");
  expect_error(table_of("sex", {"--out", "t.json", "--csv", "table.csv"}), 2, "--csv");
  expect_error(table_of("sex", {"--out", "t.json", "--csv", "no/t.csv"}), 2, "--csv");
  EXPECT_EQ(made(), std::vector<std::string>{});
  // Files of releases: wrong columns, options without a meaning, paths in use, no release.
  ASSERT_EQ(table_of("sex", {"--out", "t.json", "--quiet"}).status, 0);
  expect_error(gibbsite({"table", "--model", "t.json", "--columns", "age"}), 2,
               "--columns: 'age' is no column");
  expect_error(gibbsite({"table", "--model", "t.json", "--epsilon", "1"}), 2,
               "--epsilon: has no meaning with --model");
  expect_error(gibbsite({"table", "--model", "t.json", "--csv", "t.json"}), 2, "--csv");
  expect_error(gibbsite({"table", "--model", "table.csv"}), 2, "table.csv");
  // Rows: none, one, and one more than the cap.
  folder.write("table.csv", "sex\n");
  expect_error(table_of("sex", {"--out", "u.json"}), 2, "table.csv");
  folder.write("table.csv", "sex,x\nF,1\n");
  const Outcome one = table_of("sex", {"--out", "u.json"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(gibbsite({"verify", "u.json"}).status, 0);
  folder.write("table.csv", "sex,x\nF,1\nM,1\n");
  expect_error(table_of("sex", {"--out", "v.json", "--adjacency", "add-remove", "--rows-cap", "1"}),
               2, "--rows-cap: the table has more than 1 rows");
}

// A key from a seed has no guarantee: said when it is made and when it is printed.
TEST_F(TableCli, OfASeedIsVoid) {
  const Outcome made = table_of("sex", {"--out", "t.json", "--seed", "4"});
  EXPECT_EQ(made.status, 0);
  EXPECT_THAT(made.err, HasSubstr("no guarantee"));
  EXPECT_EQ(gibbsite({"verify", "t.json"}).status, 4);
  EXPECT_THAT(gibbsite({"table", "--model", "t.json"}).err, HasSubstr("no guarantee"));
}

}  // namespace table_test
}  // namespace gibbsite::testing
