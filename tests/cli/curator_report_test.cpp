// gibbsite evaluate --report: the curator's page, of every kind of label, and its bad input.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "cli/cli.hpp"
#include "support/html.hpp"

namespace gibbsite::testing {
namespace curator_report_test {

using support::all_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CuratorReportCli : public Cli {
 protected:
  void fit_model(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> options{"--out", "m.json", "--quiet", "--force"};
    options.insert(options.end(), more.begin(), more.end());
    const Outcome fitted = gibbsite(fit(options));
    ASSERT_EQ(fitted.status, 0) << fitted.err;
  }
  [[nodiscard]] Outcome evaluate(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> out{"evaluate", "--model", "m.json", "--data", "table.csv"};
    out.insert(out.end(), more.begin(), more.end());
    return gibbsite(out);
  }
  // Anew; the page.
  [[nodiscard]] std::string page(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> options{"--report", "r.html", "--force"};
    options.insert(options.end(), more.begin(), more.end());
    const Outcome out = evaluate(options);
    EXPECT_EQ(out.status, 0) << out.err;
    EXPECT_THAT(out.err, HasSubstr("private: these figures read"));
    return folder.read("r.html");
  }
  // Writes a table and a schema whose classes have these names.
  void write_classes(const std::vector<std::string>& names) const {
    std::string table = "age,work,income\n", classes;
    for (int i = 0; i < rows; ++i)
      table += std::to_string(18 + (i * 37) % 60) + ",Private,\"" +
               names[static_cast<std::size_t>(i * 7) % names.size()] + "\"\n";
    for (const std::string& name : names) classes += "'" + name + "', ";
    folder.write("table.csv", table);
    write_label("classes = [" + classes + "]\n");
  }
  void write_amounts(bool counts) const {
    std::string table = "age,work,income\n";
    for (int i = 0; i < rows; ++i)
      table += std::to_string(18 + (i * 37) % 60) + ",Private," +
               (counts ? std::to_string((i * 37) % 60 / 10) : std::to_string(1000 * i) + ".5") +
               "\n";
    folder.write("table.csv", table);
    write_label(counts ? "range = [0, 8]\ncounts = true\n" : "range = [0, 100000]\n");
  }
  void write_label(const std::string& lines) const {
    std::string text = schema();
    text.replace(text.find("positive"), text.find("row_norm") - text.find("positive"), lines);
    folder.write("table.toml", text);
  }
  void expect_valid() const {
    const std::string tidy = "/usr/bin/tidy";
    if (!std::filesystem::exists(tidy)) return;
    const Outcome found = testing::run({tidy, "-e", "-q", "r.html"}, folder.path());
    EXPECT_EQ(found.status, 0);
    EXPECT_EQ(found.out + found.err, "");
  }
  // What holds of each.
  void expect_page(std::string page) const {
    support::expect_harmless(page);
    EXPECT_LT(page.size(), 200'000U);
    const std::string body = page.substr(page.find("<main>\n") + 7);
    EXPECT_THAT(body.substr(0, body.find('\n')), HasSubstr("PRIVATE"));
    EXPECT_THAT(page, AllOf(HasSubstr("<title>PRIVATE. "), HasSubstr("<p class=\"mark foot\">"),
                            HasSubstr("display: table-header-group"),
                            HasSubstr("display: table-footer-group"), Not(HasSubstr("nan"))));
    // Each picture and table says it too: it may be cut out.
    const auto count = [&](const std::string& what) {
      return all_of(page, "(" + what + ")").size();
    };
    // But for the pictures of the columns, which are of the model file alone and stand together.
    const std::size_t begin = page.find("<div class=\"terms\">");
    ASSERT_NE(begin, std::string::npos);
    const std::string released = page.substr(begin, page.find("</div>", begin) - begin);
    EXPECT_THAT(released, AllOf(HasSubstr("<svg "), Not(HasSubstr("PRIVATE"))));
    page.erase(begin, released.size());
    // Above the plot, with room for the letters of a taller font.
    EXPECT_EQ(count("<svg "), count("viewBox=\"0 -20 360 372\""));
    EXPECT_EQ(count("<svg "), count("y=\"-4\">PRIVATE</text>"));
    EXPECT_EQ(count("<svg "), count("<figcaption>PRIVATE"));
    EXPECT_EQ(count("<table "), count("<caption>PRIVATE"));
    EXPECT_GT(count("<svg "), 0U);
    expect_valid();
  }
};

TEST_F(CuratorReportCli, HasWhatTheScreenSays) {
  fit_model();
  const std::string made = page({"--threshold", "0.4", "--json"});
  expect_page(made);
  const auto e = nlohmann::json::parse(evaluate({"--threshold", "0.4", "--json"}).out);
  // The line of the threshold in the first table of confusion is this model's.
  std::ostringstream line;
  line << "<th scope=\"row\">0.4 (used)</th><td>" << e["confusion"][1][1] << "</td><td>"
       << e["confusion"][1][0] << "</td><td>" << e["confusion"][0][1] << "</td><td>"
       << e["confusion"][0][0] << "</td>";
  EXPECT_THAT(made, HasSubstr(line.str()));
  char area[32];
  std::snprintf(area, sizeof area, "%.4f", e["auc"].get<double>());
  EXPECT_THAT(made, AllOf(HasSubstr("<td>" + std::string(area) + "</td>"),
                          HasSubstr("this model, AUC " + std::string(area))));
  // Beside the ordinary fit, by the figures that --beside-non-private shows.
  const std::string screen = evaluate({"--beside-non-private"}).out;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(screen, found, std::regex("AUC +[0-9.]+ +([0-9.]+)")));
  EXPECT_THAT(made, HasSubstr("NOT PRIVATE fit, AUC " + found[1].str()));
  EXPECT_EQ(all_of(made, "(class=\"other\" d=\"M)").size(), 6U);  // as many as of this model
  EXPECT_EQ(all_of(made, "(class=\"curve\" d=\"M)").size(), 6U);
  for (const char* id : {"summary", "roc", "calibration", "thresholds", "cells"})
    EXPECT_THAT(made, HasSubstr(std::string("<h2 id=\"") + id + "\">"));
  EXPECT_EQ(made, page({"--threshold", "0.4"}));  // of the same file and table the same bytes
  struct stat status {};
  ASSERT_EQ(stat(folder.path("r.html").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

// As fit --verbose shows them, from the one reading.
TEST_F(CuratorReportCli, CountsTheCellsThatTheReaderChanged) {
  std::string text = schema();
  text.replace(text.find("missing"), 13, "missing = \"?\"\ninvalid = \"middle\"");
  text +=
      "city = {type = \"category\", levels = [\"a\", \"b\"], other = true}\n"
      "calm = {type = \"number\", range = [0, 9]}\n";
  folder.write("table.toml", text);
  std::string table = "age,work,city,calm,income\n";
  for (int i = 0; i < 40; ++i) {
    table += std::string(i < 3   ? "999"
                         : i < 5 ? "abc"
                                 : "40") +
             "," + (i < 7 ? "?" : "Private") + "," + (i < 11 ? "elsewhere" : "a") + ",5," +
             (i % 2 == 0 ? ">50K" : "<=50K") + "\n";
  }
  folder.write("table.csv", table);
  fit_model();
  const std::string made = page();
  const auto line = [](const std::string& name, const std::string& cells) {
    return "<tr><th scope=\"row\">" + name + "</th>" + cells + "</tr>";
  };
  EXPECT_THAT(
      made,
      AllOf(HasSubstr(line("age", "<td>3 (7.5 %)</td><td>0</td><td>0</td><td>2 (5 %)</td>")),
            HasSubstr(line("work", "<td>0</td><td>7 (18 %)</td><td>0</td><td>0</td>")),
            HasSubstr(line("city", "<td>0</td><td>0</td><td>11 (28 %)</td><td>0</td>")),
            Not(HasSubstr("scope=\"row\">calm<")), HasSubstr("The other 1 column: not one cell")));
  expect_page(made);
}

TEST_F(CuratorReportCli, TakesEveryKindOfLabel) {
  write_classes({"round", "long, thin", "<b>&flat"});
  fit_model();
  std::string made = page();
  expect_page(made);
  EXPECT_THAT(made, AllOf(HasSubstr("<h3>&lt;b&gt;&amp;flat</h3>"), HasSubstr("against the rest"),
                          HasSubstr("Confusion of the NOT PRIVATE fit")));
  EXPECT_EQ(all_of(made, "(ROC curve of)").size(), 3U);

  std::vector<std::string> many;
  for (int k = 0; k < 12; ++k) many.push_back("kind " + std::to_string(k));
  write_classes(many);
  fit_model();
  made = page();
  expect_page(made);
  EXPECT_EQ(all_of(made, "(ROC curve of)").size(), 8U);
  EXPECT_THAT(made, AllOf(HasSubstr("Of 8 of 12 classes"), HasSubstr("Most often taken for")));

  write_amounts(false);
  fit_model();
  made = page();
  expect_page(made);
  EXPECT_THAT(made, AllOf(HasSubstr("RMSE"), HasSubstr("mean found"), Not(HasSubstr("deviance"))));
  EXPECT_THAT(made, HasSubstr("labels outside of their public range: 20"));  // of 100 001 and more
  write_amounts(true);
  fit_model();
  made = page();
  expect_page(made);
  EXPECT_THAT(made, AllOf(HasSubstr("deviance a row"), HasSubstr("R²")));
}

TEST_F(CuratorReportCli, OfOneRowOrOneClassSaysWhatThereIsNot) {
  fit_model();
  folder.write("table.csv", "age,work,income\n40,Private,>50K\n");
  std::string made = page();
  expect_page(made);
  EXPECT_THAT(made, AllOf(HasSubstr("all of one class"), Not(HasSubstr("ROC curve of")),
                          HasSubstr(">1 row<")));
  folder.write("table.csv", "age,work,income\n40,Private,<=50K\n50,?,<=50K\n");
  made = page();
  expect_page(made);
  EXPECT_THAT(made, HasSubstr("all of one class"));
  write_amounts(false);
  fit_model();
  folder.write("table.csv", "age,work,income\n40,Private,500\n");
  expect_page(page());
}

// Coefficients of three classes beyond what is fitted beside.
TEST_F(CuratorReportCli, SaysWhereNothingCanBeFittedBeside) {
  std::string text = schema(), table = "age,work,income", row;
  for (int j = 0; j < 2001; ++j) {
    const std::string name = "x" + std::to_string(j);
    text += name + " = {type = \"number\", range = [0, 1]}\n";
    table += "," + name;
    row += j % 2 == 0 ? ",0" : ",1";
  }
  table += "\n";
  for (int i = 0; i < 40; ++i)
    table += std::to_string(20 + i) + ",?," + (i % 2 == 0 ? ">50K" : "<=50K") + row + "\n";
  folder.write("table.toml", text);
  folder.write("table.csv", table);
  fit_model({"--mechanism", "output"});
  const std::string made = page();
  expect_page(made);
  EXPECT_THAT(made, AllOf(HasSubstr("no fit without privacy beside it"), HasSubstr("at most 2000"),
                          Not(HasSubstr("class=\"other\"")), Not(HasSubstr("key two\""))));
  const Outcome beside = evaluate({"--beside-non-private", "--report", "other.html"});
  EXPECT_EQ(beside.status, 2);
  EXPECT_THAT(beside.err, HasSubstr("--beside-non-private: the model has 2006 coefficients"));
  EXPECT_THAT(this->made(), Not(::testing::Contains("other.html")));
}

TEST_F(CuratorReportCli, OfAVoidModelSaysSoFirst) {
  fit_model({"--seed", "1"});
  const std::string made = page();
  expect_page(made);
  const std::string body = made.substr(made.find("<main>\n") + 7);
  EXPECT_THAT(body.substr(0, body.find('\n')), HasSubstr("NO GUARANTEE"));
  EXPECT_THAT(made, AllOf(HasSubstr("<title>PRIVATE. Void. "),
                          HasSubstr("<p class=\"void\">NO GUARANTEE")));
  fit_model();
  EXPECT_THAT(page(), Not(HasSubstr("NO GUARANTEE")));
}

// Lines and marks that only this report has stand out. The public report's test checks the texts
// and grounds that both share.
TEST_F(CuratorReportCli, HasLinesThatStandOut) {
  fit_model();
  const std::string page = this->page();
  const std::vector<std::string> grounds = all_of(page, "--page: (#[0-9a-f]{6});"),
                                 lines = all_of(page, "--other: (#[0-9a-f]{6});"),
                                 alerts = all_of(page, "--alert: (#[0-9a-f]{6});"),
                                 gpus = all_of(page, "--card: (#[0-9a-f]{6});");
  ASSERT_EQ(grounds.size(), 3U);  // light, dark, paper
  ASSERT_EQ(lines.size(), 3U);
  ASSERT_EQ(alerts.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_GE(support::contrast(lines[k], grounds[k]), 3);
    EXPECT_GE(support::contrast(alerts[k], gpus[k]), 4.5);  // the mark
  }
  EXPECT_THAT(page, HasSubstr("background: var(--card); color: var(--alert)"));
}

TEST_F(CuratorReportCli, EscapesNames) {
  const std::string script = "<script>alert(1)</script>";
  std::string text = schema(), table = csv();
  const auto replace = [](std::string& in, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = in.find(from, at)) != std::string::npos; at += to.size())
      in.replace(at, from.size(), to);
  };
  replace(text, "\"income\"", "\"" + script + "\"");
  replace(table, "income", script);
  replace(text, ">50K", "</td>'>50K");
  replace(table, ">50K", "</td>'>50K");
  replace(text, "age = ", "\"a&<i>\" = ");
  replace(table, "age", "a&<i>");
  table += "999,Private,<=50K\n";
  folder.write("table.toml", text);
  folder.write("table.csv", table);
  fit_model();
  const std::string made = page();
  expect_page(made);
  EXPECT_THAT(made, AllOf(HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"),
                          HasSubstr("&lt;/td&gt;&#39;&gt;50K"), HasSubstr("a&amp;&lt;i&gt;"),
                          Not(HasSubstr("<script"))));
}

TEST_F(CuratorReportCli, RefusesInOneLineAndLeavesNothing) {
  fit_model();
  const auto of = [&](const std::string& model, const std::string& report) {
    return gibbsite({"evaluate", "--model", model, "--data", "table.csv", "--report", report});
  };
  nlohmann::json file = json("m.json");
  file["certificate"]["guarantee"]["delta"] = 1e-9;
  folder.write("stronger.json", file.dump());
  expect_error(of("stronger.json", "r.html"), 4, "stronger.json: NOT VALID: guarantee");
  file["format"] = "gibbsite-release/9";
  folder.write("later.json", file.dump());
  expect_error(of("later.json", "r.html"), 2,
               "later.json: is JSON, but no gibbsite-release/3 file");
  expect_error(of("m.json", "m.json"), 2, "--report: m.json is the file of --model");
  expect_error(of("m.json", "table.csv"), 2, "--report: table.csv is the file of --data");
  expect_error(of("m.json", "no/r.html"), 2, "--report: cannot write to no");
  folder.write("empty.csv", "age,work,income\n");
  expect_error(
      gibbsite({"evaluate", "--model", "m.json", "--data", "empty.csv", "--report", "r.html"}), 2,
      "empty.csv");
  std::string of_network = schema();
  folder.write("network.toml", of_network.erase(of_network.find("row_norm"), 32) +
                                   "\n[network]\nincome = [\"age\", \"work\"]\n");
  const Outcome network =
      gibbsite({"fit", "--model", "network", "--data", "table.csv", "--schema", "network.toml",
                "--epsilon", "5", "--delta", "1e-6", "--out", "network.json", "--quiet"});
  ASSERT_EQ(network.status, 0) << network.err;
  expect_error(of("network.json", "r.html"), 2, "--report: network.json holds a network");
  expect_error(evaluate({"--force"}), 2, "--force");  // there is nothing to write
  EXPECT_EQ(made(), (std::vector<std::string>{"empty.csv", "later.json", "m.json", "network.json",
                                              "network.toml", "stronger.json"}));
  ASSERT_EQ(of("m.json", "r.html").status, 0);
  const std::string first = folder.read("r.html");
  expect_error(of("m.json", "r.html"), 2, "--report: r.html is there already");
  EXPECT_EQ(folder.read("r.html"), first);
}

}  // namespace curator_report_test
}  // namespace gibbsite::testing
