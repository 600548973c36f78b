// gibbsite report: a file that fit wrote becomes a page beside it.
#include <algorithm>
#include <filesystem>
#include <iomanip>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace {

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

TEST_F(ReportCli, SaysWhatTheModelHolds) {
  const std::string page = report({"--intervals"});
  EXPECT_THAT(page, AllOf(HasSubstr("learns "), HasSubstr("best guess right at most "),
                          HasSubstr("State, gov"), HasSubstr("(baseline)"), HasSubstr("17 to 90"),
                          HasSubstr("Measured, not proven")));
  const nlohmann::json model = json("m.json");
  for (const auto& one : model["certificate"]["assumptions"]) {
    std::string line = one.get<std::string>();
    for (std::size_t at = 0; (at = line.find_first_of("'\"", at)) != std::string::npos;)
      line.replace(at, 1, line[at] == '\'' ? "&#39;" : "&quot;");
    EXPECT_THAT(page, HasSubstr(line));
  }
  // Of a number the slope in its own unit, as the file has it.
  const double slope = model["model"]["original_units"]["slopes"]["age"];
  std::ostringstream digits;
  digits << std::showpos << std::setprecision(4) << slope;
  EXPECT_THAT(page, HasSubstr("<td>" + digits.str() + " ± "));
}

TEST_F(ReportCli, TakesAFamilyAndSeveralClasses) {
  std::string page = report({"--model", "categorical", "--column", "work"});
  EXPECT_THAT(page, AllOf(HasSubstr("Shares of the levels of work"), HasSubstr("State, gov"),
                          HasSubstr("95 % from")));
  std::string schema = Cli::schema();
  schema.replace(schema.find("positive"), schema.find("row_norm") - schema.find("positive"),
                 "classes = [\"<=50K\", \">50K\", \"much\"]\n");
  folder.write("table.toml", schema);
  page = report({});
  EXPECT_THAT(page, AllOf(HasSubstr("<h3>&lt;=50K</h3>"), HasSubstr("<h3>&gt;50K</h3>"),
                          HasSubstr("<h3>much</h3>")));
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
  expect_error(of("later.json", "r.html"), 2, "later.json: is not a gibbsite-release/2 file");
  expect_error(of("table.csv", "r.html"), 2, "table.csv: is not JSON");
  expect_error(of("none.json", "r.html"), 2, "none.json: cannot read");
  expect_error(of("m.json", "m.json"), 2, "m.json");
  expect_error(of("m.json", "no/r.html"), 2, "no/r.html");
  EXPECT_EQ(made(), (std::vector<std::string>{"later.json", "m.json", "stronger.json"}));
  ASSERT_EQ(of("m.json", "r.html").status, 0);
  const std::string page = folder.read("r.html");
  expect_error(of("m.json", "r.html"), 2, "--force");
  EXPECT_EQ(folder.read("r.html"), page);
}

// By HTML Tidy, where it is installed: no error, no warning, for every kind of page.
TEST_F(ReportCli, IsValidHtml) {
  const std::string tidy = "/usr/bin/tidy";
  if (!std::filesystem::exists(tidy)) GTEST_SKIP() << "tidy is not installed: no page is validated";
  const std::vector<std::vector<std::string>> kinds{
      {}, {"--intervals"}, {"--seed", "1"}, {"--model", "categorical", "--column", "work"}};
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
  expect_error(onnx("table.csv", "m.onnx"), 2, "table.csv: is not JSON");
  expect_error(onnx("m.json", "m.json"), 2, "m.json");
  EXPECT_EQ(made(), (std::vector<std::string>{"m.json"}));
}

}  // namespace
}  // namespace gibbsite::testing
