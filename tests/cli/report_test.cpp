// gibbsite report: a file that fit wrote becomes a page beside it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>

#include "cli/cli.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite::testing {
namespace report_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportCli : public Cli {
 protected:
  // Fitted, and reported on; the page.
  std::string report(const std::vector<std::string>& more) {
    std::vector<std::string> options{"--out", "m.json", "--quiet", "--force"};
    options.insert(options.end(), more.begin(), more.end());
    const Outcome fitted = gibbsite(fit(options));
    EXPECT_EQ(fitted.status, 0) << fitted.err;
    const Outcome made = gibbsite({"report", "m.json", "--out", "r.html", "--force"});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.out + made.err, "");
    return folder.read("r.html");
  }
};

// Estimates and tables before settings and constants, of every kind of file.
void expect_order(const std::string& page) {
  EXPECT_LT(page.find("id=\"utility\""), page.find(">numerics."));
  EXPECT_LT(page.find("id=\"assumptions\""), page.find(">numerics."));
  EXPECT_LT(page.find("id=\"promise\""), page.find("id=\"utility\""));
}

TEST_F(ReportCli, SaysWhatTheModelHolds) {
  const std::string page = report({"--intervals"});
  EXPECT_THAT(page, AllOf(HasSubstr("learns "), HasSubstr("best guess right at most "),
                          HasSubstr("State, gov"), HasSubstr("17 to 90"), HasSubstr("odds ratio"),
                          HasSubstr("p-value"), HasSubstr("is read as the middle of its range")));
  const nlohmann::json model = json("m.json");
  for (const auto& one : model["certificate"]["assumptions"]) {
    std::string line = with_paths_of_pages(one.get<std::string>());
    for (std::size_t at = 0; (at = line.find_first_of("'\"", at)) != std::string::npos;)
      line.replace(at, 1, line[at] == '\'' ? "&#39;" : "&quot;");
    EXPECT_THAT(page, HasSubstr(line));
  }
  // The slope of a number is shown in the number's own unit, as the file has it.
  const std::string plain = report({});
  const double slope = json("m.json")["model"]["original_units"]["slopes"]["age"];
  std::ostringstream digits;
  digits << std::showpos << std::setprecision(4) << slope;
  EXPECT_THAT(plain, HasSubstr("<td>" + digits.str() + "</td>"));
}

TEST_F(ReportCli, TakesAnEditedTemplate) {
  const std::string plain = report({});
  const Outcome printed = gibbsite({"report", "--print-template"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  folder.write("same.md", printed.out);
  ASSERT_EQ(gibbsite({"report", "m.json", "--template", "same.md", "--out", "s.html"}).status, 0);
  EXPECT_EQ(folder.read("s.html"), plain);
  std::string edited = printed.out;
  edited.insert(edited.find("## The promise"),
                "## Decision of the board\n\nApproved for {label}.\n\n");
  folder.write("mine.md", edited);
  const Outcome made = gibbsite({"report", "m.json", "--template", "mine.md", "--out", "e.html"});
  ASSERT_EQ(made.status, 0) << made.err;
  const std::string page = folder.read("e.html");
  EXPECT_THAT(page,
              AllOf(HasSubstr("<h2>Decision of the board</h2>\n<p>Approved for income.</p>"),
                    HasSubstr("words that somebody edited"), HasSubstr("--template template.md")));
  EXPECT_THAT(plain, Not(HasSubstr("edited")));
  folder.write("mine.md", edited + "{labell}\n");
  expect_error(gibbsite({"report", "m.json", "--template", "mine.md", "--out", "f.html"}), 2,
               "{labell} is no name of a report, did you mean label?; known are rows, ");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/f.html"));
  folder.write("mine.md", edited + "{counts_table}\n");
  expect_error(gibbsite({"report", "m.json", "--template", "mine.md", "--out", "f.html"}), 2,
               "{counts_table} says nothing of this release");
  expect_error(
      gibbsite({"report", "m.json", "--template", "mine.md", "--out", "mine.md", "--force"}), 2,
      "mine.md");
  expect_error(gibbsite({"report", "m.json", "--template", "none.md", "--out", "f.html"}), 2,
               "none.md: there is no such file; give an edited copy of the report's template");
  // A byte order mark is no word, and the ends of lines in files of Windows are ends of lines.
  const auto of_windows = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
      text.insert(at, 1, '\r');
    return "\xef\xbb\xbf" + text;
  };
  folder.write("same.md", of_windows(printed.out));
  ASSERT_EQ(gibbsite({"report", "m.json", "--template", "same.md", "--out", "t.html"}).status, 0);
  EXPECT_EQ(folder.read("t.html"), plain);
  folder.write("mine.md", of_windows(edited));
  ASSERT_EQ(gibbsite({"report", "m.json", "--template", "mine.md", "--out", "w.html"}).status, 0);
  EXPECT_THAT(folder.read("w.html"), HasSubstr("<h2>Decision of the board</h2>"));
  folder.write("mine.md", "\xff\xfe" + edited);
  expect_error(gibbsite({"report", "m.json", "--template", "mine.md", "--out", "f.html"}), 2,
               "mine.md: the file is UTF-16 text; save it as UTF-8");
  expect_error(gibbsite({"report"}), 2, "--model: is missing");
}

TEST_F(ReportCli, TakesAFamilyAndSeveralClasses) {
  std::string page = report({"--model", "categorical", "--column", "work"});
  EXPECT_THAT(page, AllOf(HasSubstr("Shares of the levels of work"), HasSubstr("State, gov"),
                          HasSubstr("95 % from")));
  expect_order(page);
  std::string schema = Cli::schema();
  schema.replace(schema.find("positive"), schema.find("row_norm") - schema.find("positive"),
                 "classes = [\"<=50K\", \">50K\", \"much\"]\n");
  folder.write("table.toml", schema);
  page = report({});
  EXPECT_THAT(page, AllOf(HasSubstr("<h3>&lt;=50K</h3>"), HasSubstr("<h3>&gt;50K</h3>"),
                          HasSubstr("<h3>much</h3>")));
}

// Where the structure was chosen the page says of every share what query says of it.
TEST_F(ReportCli, SaysHowSureSharesOfAChosenStructureAre) {
  const std::string page = report({"--model", "network", "--structure", "private"});
  expect_order(page);
  EXPECT_THAT(
      page, AllOf(HasSubstr("<caption>Shares of income in percent, and how far off"),
                  HasSubstr("lies within ± of the one shown"), Not(HasSubstr("is mostly noise"))));
  const auto asked = nlohmann::json::parse(
      gibbsite({"query", "--model", "m.json", "--json", "P(work = State, gov)"}).out);
  const std::string line = page.substr(
      page.find("<th scope=\"row\">State, gov</th>", page.find("<caption>Shares of work")));
  const std::string cells = line.substr(0, line.find("</tr>"));
  const double share = std::stod(cells.substr(cells.find("<td>") + 4));
  const double reach = std::stod(cells.substr(cells.rfind("<td>") + 4));
  EXPECT_NEAR(share, 100 * asked[0]["draws"][0].get<double>(), 0.01 * share);
  EXPECT_NEAR(reach, 100 * asked[0]["reach"].get<double>(), 0.06 * reach);
  EXPECT_GT(reach, 0);
}

TEST_F(ReportCli, TakesANetwork) {
  // Sixty people in each of two bins: noise of some ten hides neither, but once in a billion runs.
  std::string schema = Cli::schema();
  schema.replace(schema.find("[17, 90]"), 8, "[17, 90], bins = 2");
  folder.write("table.toml",
               schema + "[network]\nwork = [\"age\"]\nincome = [\"age\", \"work\"]\n");
  const std::string page = report({"--model", "network", "--mechanism", "counts"});
  EXPECT_THAT(page,
              AllOf(HasSubstr("a network of 3 columns"), HasSubstr("best guess right at most "),
                    HasSubstr("written by people"), HasSubstr("class=\"curve\""),
                    HasSubstr("Graph of 3 columns"), HasSubstr("in bins that meet at ")));
  expect_order(page);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t out = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++out;
    return out;
  };
  EXPECT_EQ(count(page, "l-4 -8h8z"), 3U);  // an arrow for each parent
  EXPECT_EQ(count(page, "<caption>Shares of "), 3U);
  // Each share is the file's: income given the second age and "State, gov".
  const auto nodes = json("m.json")["model"]["nodes"];
  const auto& income = nodes[2]["tables"][0];
  const std::size_t levels = nodes[1]["tables"][0].size() / nodes[0]["tables"][0].size();
  const std::size_t line = 1 * levels + 1;
  std::ostringstream share;
  share << std::setprecision(3) << 100 * income[2 * line].get<double>();
  const std::string given =
      page.substr(page.find(", work = State, gov</th>", page.find("<caption>Shares of income")));
  const std::string second = given.substr(given.find(", work = State, gov</th>", 10));
  EXPECT_THAT(second.substr(0, second.find("</tr>")), HasSubstr("<td>" + share.str() + "</td>"));
  // Counts and shares of one page differ, and it says why; a question has the shares' own noise.
  EXPECT_THAT(page, AllOf(HasSubstr("put all tables together"),
                          HasSubstr("the noise in a count of this table alone is up to ±")));
  EXPECT_THAT(page, Not(HasSubstr("counts of people are off")));
  EXPECT_EQ(count(page, "id=\"utility\""), 1U);
  const std::string of_age = page.substr(page.find("<caption>Shares of age"));
  const double off = std::stod(of_age.substr(of_age.find("±") + 2));
  const auto whole = nlohmann::json::parse(
      gibbsite({"query", "--model", "m.json", "--json", "P(age < 53.5)"}).out);
  double rows = 0;  // as the noisy counts say
  for (const auto& one : nodes[0]["counts"]) rows += one.get<double>();
  EXPECT_NEAR(1.96 * whole[0]["noise_deviation"].get<double>() * rows, off, 0.01 * off);
  EXPECT_THAT(gibbsite({"query", "--model", "m.json", "P(age < 53.5)"}).out,
              HasSubstr("by privacy's noise"));
  // A third label counts as the negative class, which is no level "(other)".
  const std::string dictionary = page.substr(page.find("id=\"data\""));
  EXPECT_THAT(dictionary, HasSubstr("an unlisted level is counted as “&lt;=50K”"));
  // The question that it gives is one.
  std::string asked = page.substr(page.find("query --model model.json \"") + 26);
  asked = asked.substr(0, asked.find('"'));
  for (const auto& [from, to] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}})
    for (std::size_t at = 0; (at = asked.find(from)) != std::string::npos;)
      asked.replace(at, 4, to);
  EXPECT_THAT(asked, HasSubstr("P(income = <=50K | age = [17, "));
  const Outcome answered = gibbsite({"query", "--model", "m.json", asked});
  EXPECT_EQ(answered.status, 0) << answered.err;
  // Drawn tables, and a structure that was chosen.
  EXPECT_THAT(
      report({"--model", "network", "--mechanism", "trimmed", "--trim", "0.01", "--draws", "2"}),
      AllOf(HasSubstr("averages over 2 draws"), Not(HasSubstr("off by"))));
  EXPECT_THAT(report({"--model", "network", "--structure", "private"}),
              HasSubstr("chosen from the table, which the guarantee covers"));
  EXPECT_THAT(report({"--model", "network", "--seed", "1"}), HasSubstr("NO GUARANTEE"));
}

// Names are people's text; columns beyond what is drawn and listed are counted.
TEST_F(ReportCli, ANetworksNamesAndSizesAreHarmless) {
  std::string csv = "age,work",
              schema =
                  "[columns]\nage = {type = \"number\", range = [17, 90], bins = 60}\n"
                  "work = {type = \"category\", levels = [\"<b>\", \"x\"], unlisted = \"x\"}\n";
  for (int k = 0; k < 62; ++k) {
    csv += ",n" + std::to_string(k);
    schema += "n" + std::to_string(k) + " = {type = \"number\", range = [0, 1], bins = 2}\n";
  }
  csv += ",\"<script>alert(1)</script>&\u202e\"\"'\"\n";
  schema +=
      "\"<script>alert(1)</script>&\u202e\\\"'\" = {type = \"category\", levels = [\"</table>\", "
      "\"'\"], unlisted = \"'\"}\n";
  for (int i = 0; i < 50; ++i) {
    csv += std::to_string(20 + i) + ",<b>";
    for (int k = 0; k < 62; ++k) csv += ",0.5";
    csv += ",</table>\n";
  }
  folder.write("table.csv", csv);
  folder.write("table.toml", schema + "[network]\nwork = [\"age\", \"n1\"]\n");
  std::string page = report({"--model", "network", "--mechanism", "counts"});
  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<b>")), Not(HasSubstr("\u202e")),
                    HasSubstr("&lt;script&gt;"), HasSubstr("40 of 120 lines are shown"),
                    HasSubstr("Tables of 60 of 65 columns are shown")));
  EXPECT_THAT(page, Not(HasSubstr("Graph of")));  // too many to be seen
  // Few enough for a picture.
  folder.write("table.csv",
               "age,work," + std::string("\"<script>alert(1)</script>&\u202e\"\"'\"\n30,<b>,'\n"));
  std::string few = schema;
  few.erase(few.find("n0 ="), few.find("\"<script>") - few.find("n0 ="));
  folder.write("table.toml", few + "[network]\n");
  page = report({"--model", "network", "--mechanism", "counts"});
  EXPECT_THAT(page, AllOf(HasSubstr("Graph of 3"), HasSubstr("&lt;script&gt;alert(…</text>"),
                          Not(HasSubstr("<script"))));
}

TEST_F(ReportCli, RefusesInOneLineAndLeavesNothing) {
  const Outcome fitted = gibbsite(fit({"--out", "m.json", "--quiet"}));
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const auto of = [&](const std::string& model, const std::string& out) {
    return gibbsite({"report", model, "--out", out});
  };
  nlohmann::json file = json("m.json");
  file["certificate"]["guarantee"]["delta"] = 1e-9;
  folder.write("stronger.json", file.dump());
  expect_error(of("stronger.json", "r.html"), 4, "stronger.json: NOT VALID: guarantee");
  file["format"] = "gibbsite-release/9";
  folder.write("later.json", file.dump());
  expect_error(of("later.json", "r.html"), 2,
               "later.json: is JSON, but no gibbsite-release/3 file");
  expect_error(of("table.csv", "r.html"), 2,
               "table.csv: is no gibbsite model file, or its beginning is damaged");
  expect_error(of("none.json", "r.html"), 2, "none.json: there is no such file");
  expect_error(of("m.json", "m.json"), 2, "m.json");
  expect_error(of("m.json", "no/r.html"), 2, "no/r.html");
  EXPECT_EQ(made(), (std::vector<std::string>{"later.json", "m.json", "stronger.json"}));
  ASSERT_EQ(of("m.json", "r.html").status, 0);
  const std::string page = folder.read("r.html");
  expect_error(of("m.json", "r.html"), 2, "--force");
  EXPECT_EQ(folder.read("r.html"), page);
}

// By HTML Tidy, where it is installed: no error, no warning, for every kind of page.
// What a ledger adds up is said of a release that it holds alone.
TEST_F(ReportCli, ARegistrysEntryNamesTheLedgerOfItsRelease) {
  TempDir state;
  setenv("XDG_STATE_HOME", state.path().c_str(), 1);
  std::ofstream(folder.path("about.toml"))
      << "name = \"A\"\ndata_curators = [\"O\"]\nintended_use = \"T.\"\n"
         "data_product_region = \"C\"\npublication_date = 2026-11-26\n"
         "registry_authors = [\"P\"]\n";
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "2", "--delta", "1e-6"}).status, 0);
  ASSERT_EQ(gibbsite(fit({"--out", "in.json", "--ledger", "l"})).status, 0);
  ASSERT_EQ(gibbsite(fit({"--out", "other.json"})).status, 0);
  const auto entry = [&](const std::string& model) {
    return gibbsite(
        {"report", model, "--registry", model + ".yaml", "--about", "about.toml", "--ledger", "l"});
  };
  const Outcome of_it = entry("in.json");
  EXPECT_EQ(of_it.status, 0) << of_it.err;
  EXPECT_THAT(folder.read("in.json.yaml"), HasSubstr("1 so far, and never more than"));
  expect_error(entry("other.json"), 2, "--ledger: l holds no release of this file;");
  EXPECT_FALSE(std::filesystem::exists(folder.path("other.json.yaml")));
  unsetenv("XDG_STATE_HOME");
}

TEST_F(ReportCli, IsValidHtml) {
  const std::string tidy = "/usr/bin/tidy";
  if (!std::filesystem::exists(tidy)) GTEST_SKIP() << "tidy is not installed: no page is validated";
  const std::vector<std::vector<std::string>> kinds{
      {},
      {"--intervals"},
      {"--seed", "1"},
      {"--model", "categorical", "--column", "work"},
      {"--model", "network", "--structure", "private"}};
  for (const auto& more : kinds) {
    report(more);
    const Outcome found = testing::run({tidy, "-e", "-q", "r.html"}, folder.path());
    EXPECT_EQ(found.status, 0) << found.out << found.err;
    EXPECT_EQ(found.out + found.err, "");
  }
  folder.write("r.html", folder.read("r.html") + "<p id=\"promise\"><b></p>");
  EXPECT_NE(testing::run({tidy, "-e", "-q", "r.html"}, folder.path()).status, 0);
}

// The program by itself has no writer of ONNX; where Python installs it there is one.
TEST_F(ReportCli, ExportSaysWhatItNeeds) {
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet"})).status, 0);
  const auto onnx = [&](const std::string& model, const std::string& out) {
    return gibbsite({"export", "--model", model, "--onnx", out});
  };
  expect_error(onnx("m.json", "m.onnx"), 2, "pip install 'gibbsite[onnx]'");
  expect_error(onnx("table.csv", "m.onnx"), 2,
               "table.csv: is no gibbsite model file, or its beginning is damaged");
  expect_error(onnx("m.json", "m.json"), 2, "m.json");
  expect_error(gibbsite({"export", "m.json"}), 2, "--onnx, --plots: neither is given");
  EXPECT_EQ(made(), (std::vector<std::string>{"m.json"}));
}

// A picture of each column in a folder that is whole or absent; the page has the same drawings.
TEST_F(ReportCli, ExportDrawsEachColumn) {
  std::string csv = Cli::csv(), schema = Cli::schema();
  csv.replace(csv.find("work"), 4, "\"../a b/ä\"");
  schema.replace(schema.find("work ="), 4, "\"../a b/ä\"");
  schema.replace(schema.find("[17, 90]"), 8, "[17, 90], curve = 6");
  folder.write("table.csv", csv);
  folder.write("table.toml", schema);
  const std::string page = report({"--intervals"});
  const auto plots = [&](const std::vector<std::string>& more) {
    return gibbsite(joined({"export", "m.json", "--plots"}, more));
  };
  const Outcome first = plots({"pictures"});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out + first.err, "");
  const auto names = [&](const std::string& place) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/" + place))
      out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
  };
  EXPECT_EQ(names("pictures"), (std::vector<std::string>{"01-age.svg", "02-a-b.svg"}));
  const std::string age = folder.read("pictures/01-age.svg");
  EXPECT_THAT(age, AllOf(HasSubstr("role=\"img\" aria-label=\"Effect of age on odds of income"),
                         HasSubstr("</svg>\n"), Not(HasSubstr("NO GUARANTEE"))));
  const std::size_t at = age.find("<path class=\"term\"");
  EXPECT_THAT(page, HasSubstr(age.substr(at, age.find('\n', at) - at)));
  // What is there stays, unless --force is given; nothing else in the folder is touched.
  expect_error(plots({"pictures"}), 2, "--plots: pictures is there and not empty");
  expect_error(plots({"table.csv"}), 2, "table.csv: is a file");
  expect_error(plots({"table.csv", "--force"}), 2, "table.csv: is a file");
  expect_error(plots({"no/pictures"}), 2, "no/pictures: cannot write");
  folder.write("pictures/01-age.svg", "old");
  folder.write("pictures/mine.txt", "kept");
  EXPECT_EQ(plots({"pictures", "--force"}).status, 0);
  EXPECT_EQ(folder.read("pictures/01-age.svg"), age);
  EXPECT_EQ(folder.read("pictures/mine.txt"), "kept");
  // A disk that is full leaves nothing.
  const Outcome full = gibbsite({"export", "m.json", "--plots", "new"}, 3000);
  EXPECT_EQ(full.status, 2) << full.err;
  EXPECT_EQ(made(), (std::vector<std::string>{"m.json", "pictures", "r.html"}));
  report({"--seed", "1"});
  EXPECT_EQ(plots({"void"}).status, 0);
  EXPECT_THAT(folder.read("void/01-age.svg"), HasSubstr(">NO GUARANTEE"));
}

}  // namespace report_test
}  // namespace gibbsite::testing
