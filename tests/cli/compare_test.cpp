// `gibbsite compare`: figures on screen, as JSON and as a picture; bad input; nothing half-written.
#include <fmt/format.h>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace compare_test {

using ::testing::HasSubstr;
using ::testing::Not;

class Compare : public Cli {
 protected:
  /// On the small table, the quick mechanisms.
  [[nodiscard]] static std::vector<std::string> quick(const std::vector<std::string>& more = {}) {
    std::vector<std::string> out{"compare",         "--data",    "table.csv", "--schema",
                                 "table.toml",      "--epsilon", "2,0.5",     "--mechanism",
                                 "whitened,output", "--seeds",   "3",         "--backend",
                                 "reference"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  [[nodiscard]] static std::vector<std::string> with(const std::string& option,
                                                     const std::string& value) {
    std::vector<std::string> out = quick();
    const auto at = std::find(out.begin(), out.end(), option);
    if (at == out.end()) {
      out.push_back(option);
      out.push_back(value);
    } else {
      *(at + 1) = value;
    }
    return out;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
};

std::string four(const nlohmann::json& spread) {
  return fmt::format("{:.4f} ± {:.4f}", spread["mean"].get<double>(), spread["sd"].get<double>());
}

TEST_F(Compare, TheTableSaysWhatTheJsonSays) {
  const Outcome out = gibbsite(quick({"--json", "c.json", "--svg", "c.svg"}));
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.err, ::testing::StartsWith("NOT PRIVATE: "));
  const nlohmann::json found = json("c.json");
  EXPECT_EQ(found["schema"], "gibbsite-compare/1");
  EXPECT_EQ(found["training_rows"], 84);
  EXPECT_EQ(found["held_out_rows"], 36);
  EXPECT_EQ(found["held_out_share"], 0.3);
  EXPECT_EQ(found["test"], nullptr);
  EXPECT_EQ(found["seeds"], 3);
  EXPECT_EQ(found["delta"], 1.4e-4);  // 84^-2 = 1.417e-4
  EXPECT_THAT(out.out, HasSubstr("84 rows fitted, 36 held out, 5 features; δ = 0.00014"));
  ASSERT_EQ(found["results"].size(), 4U);
  const std::vector<std::string> lines = lines_of(out.out);
  std::size_t at = 0;
  double epsilon = 0;
  int best = 0;
  for (const nlohmann::json& result : found["results"]) {  // ascending epsilon
    if (result["epsilon"] != epsilon) {
      EXPECT_GT(result["epsilon"], epsilon);
      epsilon = result["epsilon"];
      while (at < lines.size() &&
             lines[at].find(fmt::format("ε = {}", epsilon)) == std::string::npos)
        ++at;
    }
    ASSERT_LT(++at, lines.size());
    EXPECT_THAT(lines[at], HasSubstr(result["mechanism"].get<std::string>()));
    const auto percent = [&](const char* part) {
      return 100 * result["accuracy"][part].get<double>();
    };
    EXPECT_THAT(lines[at],
                HasSubstr(fmt::format("{:.2f} ± {:.2f} %", percent("mean"), percent("sd"))));
    EXPECT_THAT(lines[at], HasSubstr(four(result["log_loss"])));
    EXPECT_THAT(lines[at], HasSubstr(four(result["auc"])));
    EXPECT_EQ(lines[at].find("→") != std::string::npos, result["best"].get<bool>());
    best += result["best"].get<bool>() ? 1 : 0;
    ASSERT_EQ(result["runs"].size(), 3U);
    double sum = 0;
    for (const nlohmann::json& run : result["runs"]) sum += run["accuracy"].get<double>();
    EXPECT_NEAR(sum / 3, result["accuracy"]["mean"].get<double>(), 1e-12);
    EXPECT_EQ(result["runs"][2]["seed"], 3);
  }
  EXPECT_GE(best, 2);
  EXPECT_THAT(out.out, HasSubstr(four(found["yardsticks"]["non_private"]["log_loss"])));
  EXPECT_THAT(out.out, HasSubstr(four(found["yardsticks"]["majority"]["log_loss"])));
  EXPECT_THAT(out.out, HasSubstr("Written: c.json\nWritten: c.svg\n"));
  EXPECT_EQ(found["left_out"].size(), 0U);
}

TEST_F(Compare, SeedsRepeatAndOthersDoNot) {
  const auto scores = [&](const std::string& seed) {
    const Outcome out = gibbsite(quick({"--seed", seed, "--json", "c.json", "--force"}));
    EXPECT_EQ(out.status, 0) << out.err;
    nlohmann::json found = json("c.json");
    std::vector<double> all;
    for (const auto& result : found["results"]) {
      for (const auto& run : result["runs"]) all.push_back(run["log_loss"]);
    }
    return all;
  };
  const std::vector<double> first = scores("7");
  EXPECT_EQ(first, scores("7"));
  EXPECT_NE(first, scores("8"));
}

// Tags closed in their order, no loose & or <.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = svg.find_first_of("<&", at)) != std::string::npos;) {
    if (svg[at] == '&') {
      const std::string entity = svg.substr(at, svg.find(';', at) + 1 - at);
      EXPECT_THAT(entity, ::testing::AnyOf("&amp;", "&lt;", "&gt;", "&quot;"));
      ++at;
      continue;
    }
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    at = end;
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag.starts_with("/")) {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (!tag.ends_with("/")) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
}

// A line that is as wide as in the widest common font stays in the picture.
TEST_F(Compare, ThePictureHoldsALongTitleAndItsMark) {
  const std::string name = "admissions of the fall term with every department and both_" +
                           std::string(90, 'w') + " of " + std::string(40, 'm') + ".csv";
  folder.write(name, csv());
  std::vector<std::string> command = quick({"--svg", "c.svg", "--force"});
  command[2] = name;
  const Outcome out = gibbsite(command);
  ASSERT_EQ(out.status, 0) << out.err;
  const std::string svg = folder.read("c.svg");
  expect_well_formed(svg);
  const auto number = [](const std::string& text, const std::string& after) {
    return std::stod(text.substr(text.find(after) + after.size()));
  };
  const double width = number(svg, "width=\""), height = number(svg, "height=\"");
  std::string title;
  std::size_t titles = 0, marks = 0;
  double last = 0;
  std::istringstream lines(svg);
  for (std::string line; std::getline(lines, line);) {
    const bool is_title = line.starts_with("<text class=\"title\""),
               is_mark = line.starts_with("<text class=\"mark\"");
    if (!is_title && !is_mark) continue;
    const std::size_t first = line.find('>') + 1;
    const std::string text = line.substr(first, line.rfind("</text>") - first);
    // Bold text in Verdana has letters of 0.71 of its size in the mean.
    const double size = is_title ? 16 : 12;
    EXPECT_LE(number(line, "x=\"") + 0.71 * size * static_cast<double>(text.size()), width) << line;
    EXPECT_GT(number(line, " y=\""), last) << line;
    last = number(line, " y=\"");
    (is_title ? titles : marks) += 1;
    if (is_title) title += text;
    if (is_mark && marks == 1) {
      EXPECT_THAT(text, ::testing::StartsWith("PRIVATE"));
    }
  }
  EXPECT_GE(titles, 3U);
  EXPECT_GE(marks, 1U);
  EXPECT_THAT(title, HasSubstr(std::string(90, 'w')));  // nothing is left out
  EXPECT_THAT(title, ::testing::EndsWith(std::string(40, 'm') + ".csv"));
  // What follows is pushed down by as much, and the picture is as much higher.
  const double pushed = number(svg, "<g transform=\"translate(0 ");
  EXPECT_GE(pushed + 46, last + 8);  // the panel begins at 46 where nothing is pushed
  command[2] = "table.csv";
  ASSERT_EQ(gibbsite(command).status, 0);
  const std::string plain = folder.read("c.svg");
  EXPECT_EQ(height - number(plain, "height=\""),
            pushed - number(plain, "<g transform=\"translate(0 "));
}

TEST_F(Compare, ThePictureIsWellFormedAndNamesEveryLine) {
  folder.write("a&<b>\".csv", csv());
  for (const char* epsilons : {"0.5,1,2", "1"}) {
    for (const char* seeds : {"1", "2"}) {
      std::vector<std::string> command = quick({"--svg", "c.svg", "--force"});
      command[2] = "a&<b>\".csv";
      command[6] = epsilons;
      command[10] = seeds;
      const Outcome out = gibbsite(command);
      ASSERT_EQ(out.status, 0) << out.err;
      const std::string svg = folder.read("c.svg");
      expect_well_formed(svg);
      for (const char* name : {"whitened", "output", "non-private fit", "majority class"})
        EXPECT_THAT(svg, HasSubstr(fmt::format(">{}</text>", name)));
      EXPECT_THAT(svg, HasSubstr("a&amp;&lt;b&gt;&quot;.csv"));
      EXPECT_THAT(svg, HasSubstr(">PRIVATE: "));
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
    }
  }
}

TEST_F(Compare, OneSeedHasNoSpread) {
  const Outcome out = gibbsite(quick({"--seeds", "1", "--json", "c.json"}));
  expect_error(out, 2, "--seeds");  // given twice
  const Outcome one = gibbsite(with("--seeds", "1"));
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, Not(HasSubstr("± 0")));
  EXPECT_THAT(one.out, Not(HasSubstr("nan")));
}

TEST_F(Compare, ATestTableJudges) {
  folder.write("test.csv", "age,work,income,extra\n20,Private,<=50K,1\n80,Private,>50K,1\n");
  const Outcome out = gibbsite(quick({"--test", "test.csv", "--json", "c.json"}));
  ASSERT_EQ(out.status, 0) << out.err;
  const nlohmann::json found = json("c.json");
  EXPECT_EQ(found["training_rows"], 120);
  EXPECT_EQ(found["held_out_rows"], 2);
  EXPECT_EQ(found["test"], "test.csv");
  EXPECT_EQ(found["held_out_share"], nullptr);
  EXPECT_EQ(found["yardsticks"]["non_private"]["accuracy"]["sd"], 0);
}

TEST_F(Compare, WhatIsOutOfReachOrTooLongIsALineWithItsReason) {
  std::vector<std::string> command = with("--mechanism", "whitened,path,dalalyan");
  command.insert(command.end(), {"--most-passes", "20", "--json", "c.json"});
  const Outcome out = gibbsite(command);
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("\nleft out: dalalyan: needs "));
  EXPECT_THAT(out.out, HasSubstr("\nleft out: whitened: "));
  EXPECT_THAT(out.out, HasSubstr("\nleft out at ε = 2: path: "));
  EXPECT_THAT(out.out, HasSubstr(" gradient passes; a larger --most-passes runs it\n"));
  const nlohmann::json found = json("c.json");
  ASSERT_EQ(found["results"].size(), 1U);
  EXPECT_EQ(found["results"][0]["mechanism"], "path");
  ASSERT_EQ(found["left_out"].size(), 3U);
  EXPECT_EQ(found["left_out"][0]["epsilons"], (std::vector<double>{0.5, 2}));
  EXPECT_EQ(found["left_out"][2]["epsilons"], std::vector<double>{2});
  expect_error(gibbsite(with("--mechanism", "dalalyan")), 4,
               "--mechanism: none can be run at any --epsilon; dalalyan: ");
}

TEST_F(Compare, BadInputIsOneLine) {
  const auto error = [&](const std::string& option, const std::string& value,
                         const std::string& what) {
    expect_error(gibbsite(with(option, value)), 2, what);
    EXPECT_EQ(made(), std::vector<std::string>{}) << option << ' ' << value;
  };
  error("--epsilon", "0.1,0.x,2", "--epsilon: '0.x' is not a number");
  error("--epsilon", "0.1,,2", "--epsilon: '' is not a number");
  error("--epsilon", "0.1,-1", "--epsilon: must be");
  error("--epsilon", "1,1000", "--epsilon: must be at most 700");
  error("--delta", "0.7", "--delta: must be");
  error("--mechanism", "output,magic", "--mechanism: 'magic' is unknown; give some of whitened, ");
  error("--held-out", "0", "--held-out: must lie strictly");
  error("--held-out", "1", "--held-out: must lie strictly");
  error("--held-out", "1.5", "--held-out: must lie strictly");
  error("--held-out", "1e-3", "--held-out: 0.001 of 120 rows leaves no row to judge by");
  error("--held-out", "0.999", "--held-out: 0.999 of 120 rows leaves no row to fit");
  error("--seeds", "0", "--seeds: must be a whole number, 1 or above");
  error("--seeds", "2.5", "--seeds: must be a whole number");
  error("--test", "absent.csv", "absent.csv");
  error("--data", "absent.csv", "absent.csv");
  error("--schema", "absent.toml", "absent.toml");
  error("--test-labels", "y.npy", "--test-labels: needs --test");
  error("--backend", "abacus", "--backend");
  error("--json", "absent/c.json", "--json: cannot write to absent");
  error("--json", ".", "--json: . is a folder");
  error("--json", "table.csv", "--json: table.csv is the file of --data");
  error("--svg", "./table.toml", "--svg: ./table.toml is the file of --schema");
  expect_error(gibbsite(quick({"--json", "c", "--svg", "c"})), 2, "--json: c is the file of --svg");
  expect_error(gibbsite(quick({"--held-out", "0.3", "--test", "table.csv"})), 2, "--test");
  folder.write("table.csv", "age,work\n20,Private\n30,Private\n");
  error("--seeds", "2", "table.csv:1");
}

TEST_F(Compare, FilesAreKeptWithoutForceAndWholeOrAbsent) {
  folder.write("c.json", "mine");
  expect_error(gibbsite(quick({"--json", "c.json"})), 2,
               "--json: c.json is there already; give another name, or --force to replace it");
  EXPECT_EQ(folder.read("c.json"), "mine");
  expect_error(gibbsite(quick({"--svg", "c.json"})), 2, "--svg: c.json is there already");
  EXPECT_EQ(gibbsite(quick({"--json", "c.json", "--force"})).status, 0);
  EXPECT_EQ(json("c.json")["schema"], "gibbsite-compare/1");
  // A file that cannot grow: what was there stays.
  const std::string before = folder.read("c.json");
  ASSERT_GT(before.size(), 1024U);
  const Outcome full = gibbsite(quick({"--json", "c.json", "--force"}), 1024);
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.err, HasSubstr("c.json: cannot write"));
  EXPECT_EQ(folder.read("c.json"), before);
  EXPECT_EQ(made(), std::vector<std::string>{"c.json"});
}

TEST_F(Compare, InterruptedItEndsInOneLineWithNothingWritten) {
  std::vector<std::string> command = with("--seeds", "1000000");
  command.insert(command.begin(), GIBBSITE_CLI);
  command.insert(command.end(), {"--json", "c.json", "--svg", "c.svg", "--progress"});
  Process process(command, folder.path());
  ASSERT_TRUE(process.wait_until([&] {
    return process.err_so_far().find("comparing: ") != std::string::npos;
  })) << process.err_so_far();
  EXPECT_THAT(process.err_so_far(), HasSubstr("left"));
  EXPECT_EQ(expect_interruption(process, SIGINT).out, "");
}

}  // namespace compare_test
}  // namespace gibbsite::testing
