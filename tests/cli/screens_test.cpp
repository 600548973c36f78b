// What a new reader sees: effects first, private lines apart and marked, each message with what to
// do.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace screens_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Screens = Cli;

TEST_F(Screens, AVeryLargeEpsilonIsSaidInWords) {
  const auto warned = [&](const Arguments& command) {
    const Outcome out = gibbsite(command);
    EXPECT_EQ(out.status, 0) << out.err;
    return out.err.find(
               "gibbsite: warning: --epsilon: ε = 50 by itself lets whoever knows all other rows "
               "be all but certain about one person's: this hardly protects anybody") !=
           std::string::npos;
  };
  const auto plan = [](const std::string& epsilon) {
    return Arguments{"plan",      "--data", "table.csv", "--schema", "table.toml",
                     "--epsilon", epsilon,  "--delta",   "1e-6"};
  };
  EXPECT_TRUE(warned(plan("50")));
  EXPECT_TRUE(warned(plan("0.5,50,1")));
  EXPECT_FALSE(warned(plan("10")));
  EXPECT_TRUE(warned({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "50",
                      "--delta", "1e-6", "--quiet", "--out", "m.json"}));
}

TEST_F(Screens, ACellThatTheSchemaLacksIsSaidBesideTheLevels) {
  const auto refused = [&](const std::string& row, const std::string& what) {
    folder.write("new.csv", "age,work,income\n30,Private,>50K\n" + row + "\n");
    for (const char* command : {"plan", "fit"}) {
      Arguments arguments{command,     "--data", "new.csv", "--schema", "table.toml",
                          "--epsilon", "1",      "--delta", "1e-6"};
      if (command == std::string("fit")) arguments.insert(arguments.end(), {"--out", "m.json"});
      const Outcome out = gibbsite(arguments);
      expect_error(out, 2, "new.csv:3: " + what);
      EXPECT_THAT(out.err, HasSubstr("(private: this line ")) << command;
    }
  };
  refused("30,private,>50K",
          "column 'work': level 'private' is not in the schema (its levels: 'Private', 'State, "
          "gov', did you mean Private?); fix the cell");
  refused("30,Privte,>50K",
          "column 'work': level 'Privte' is not in the schema (its levels: "
          "'Private', 'State, gov', did you mean Private?)");
  refused(
      "30,pilot,>50K",
      "column 'work': level 'pilot' is not in the schema (its levels: 'Private', 'State, gov'); fix the cell");
  refused(",Private,>50K", "column 'age': the cell is empty; fill it");
  refused("30,Private,", "the label is missing; fill it or leave the row out");
  refused("30,Private", "2 cells where the header has 3; fix the row");
  refused("30,\"Private,>50K", "a quoted cell has no closing quote");
  folder.write("table.toml",
               schema().insert(schema().find("row_norm"), "unlisted_label = \"refuse\"\n"));
  refused("30,Private,>50k", "label '>50k' is neither '>50K' nor '<=50K', did you mean >50K?; fix");
}

// More levels than a line can hold.
TEST_F(Screens, OfManyLevelsAFewAreSaid) {
  std::string levels;
  for (int i = 0; i < 40; ++i) levels += fmt::format("{}\"town {}\"", i > 0 ? ", " : "", i);
  folder.write("table.toml",
               "label = \"y\"\npositive = \"1\"\n[columns]\ntown = {type = "
               "\"category\", levels = [" +
                   levels + "]}\n");
  folder.write("table.csv", "town,y\ntown 3,1\nvillage,0\n");
  const Outcome out = gibbsite(fit({"--out", "m.json"}));
  expect_error(out, 2, "'town 7' and 32 more); fix the cell");
  EXPECT_THAT(out.err, Not(HasSubstr("town 8")));
}

// A level that no row has gets a coefficient of noise, which may be the largest: it is no effect.
TEST_F(Screens, ALevelThatNobodyHasIsSaidToBeNoise) {
  std::string levels, rows = "town,y\n";
  for (int i = 0; i < 14; ++i) levels += fmt::format("{}\"t{}\"", i > 0 ? ", " : "", i);
  for (int i = 0; i < 6000; ++i) rows += fmt::format("t{},{}\n", i % 12, i % 5 == 0 ? 1 : 0);
  folder.write("table.toml",
               "label = \"y\"\npositive = \"1\"\n[columns]\ntown = {type = "
               "\"category\", other = true, levels = [" +
                   levels + "]}\n");
  folder.write("table.csv", rows);
  // Two of a hundred such levels are above two deviations of noise: a seed whose are not.
  Arguments arguments = fit({"--out", "m.json", "--mechanism", "whitened", "--seed", "1"});
  *(std::ranges::find(arguments, "--epsilon") + 1) = "4";
  ASSERT_EQ(gibbsite(arguments).status, 0);
  const auto said = [&](const Arguments& command, const std::string& level) {
    const Outcome out = gibbsite(command);
    EXPECT_EQ(out.status, 0) << out.err;
    const std::size_t at = out.out.find("town=" + level);
    EXPECT_NE(at, std::string::npos) << out.out;
    return out.out.substr(at, out.out.find('\n', at) - at);
  };
  const Arguments all{"coefficients", "m.json", "--all"};
  for (const char* const level : {"t12", "t13", "(other)"})
    EXPECT_THAT(said(all, level), HasSubstr("few rows or none: noise")) << level;
  for (const char* const level : {"t0", "t11"})
    EXPECT_THAT(said(all, level), Not(HasSubstr("noise"))) << level;
  EXPECT_THAT(gibbsite({"coefficients", "m.json"}).out,
              AllOf(HasSubstr("(the 10 that spread"), Not(HasSubstr("few rows"))));
  const Arguments csv{"coefficients", "m.json", "--csv"};
  EXPECT_THAT(said(csv, "t13"), HasSubstr(",true,"));
  EXPECT_THAT(said(csv, "t0"), Not(HasSubstr("true")));
  ASSERT_EQ(gibbsite({"report", "m.json", "--out", "r.html"}).status, 0);
  EXPECT_THAT(folder.read("r.html"), HasSubstr("town=(other) – few rows or none: noise"));
}

TEST_F(Screens, PredictSaysWhichCellsCountAsTheEndOfWhichRange) {
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet"})).status, 0);
  folder.write("new.csv", "age,work\n30,Private\n3000,Private\n-1,Private\n40,?\n");
  const Outcome out = gibbsite({"predict", "--model", "m.json", "--data", "new.csv"});
  EXPECT_EQ(out.status, 0);
  EXPECT_EQ(out.err,
            "private, for the curator only, do not publish: what does not count as it is "
            "written:\nprivate:   column 'age': 2 cells outside the range [17, 90], counted as its "
            "nearer end\nprivate:   column 'work': 1 cell missing\n");
}

TEST_F(Screens, AFitBeginsWithEffectsAndItsPrivateLinesGoElsewhere) {
  const Outcome out = gibbsite(fit({"--out", "m.json", "--mechanism", "output"}));
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, StartsWith("Coefficients and what they multiply the odds by"));
  EXPECT_THAT(out.out, Not(HasSubstr("private:")));
  EXPECT_THAT(out.out, Not(HasSubstr("backend ")));
  std::size_t before = 0;
  for (const char* part : {"(ε, δ) = (1, 1e-06)", "Not covered", "Written: m.json"}) {
    const std::size_t at = out.out.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    EXPECT_GT(at, before) << part;
    before = at;
  }
  std::istringstream lines(out.err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("gibbsite: warning: ")) {
      EXPECT_THAT(line, StartsWith("private")) << out.err;
    }
  }
}

TEST_F(Screens, WhatMostPeopleNeedStandsFirstInTheHelpOfFit) {
  const std::string help = gibbsite({"fit", "--help"}).out;
  const std::size_t more = help.find("More options:");
  for (const char* option : {"--intervals ", "--check ", "--epsilon ", "--schema "})
    EXPECT_LT(help.find(option), more) << option;
  EXPECT_GT(help.find("--design "), more);
}

TEST_F(Screens, WhatIsMissingIsSaidAtOnceWithAnExample) {
  for (
      const auto& [command, what] : std::vector<std::pair<Arguments, std::string>>{
          {{"fit", "table.csv"}, "'table.csv' belongs to no option; --data, --epsilon"},
          {{"plan", "--rows", "9"},
           "--epsilon, --delta: are missing; give them, such as --epsilon 1"},
          {{"report", "m.json"}, "--out: is missing; give it, such as --out report.html; see"},
          {{"verify"},
           "--model: is missing; give it, such as --model model.json; see 'gibbsite verify --help'"},
          {{"ledger"}, "ledger: what to do is missing; give one of create, show, export"},
          {{"table", "--data", "table.csv"},
           "--schema, --columns, --epsilon, --delta: are missing"}}) {
    expect_error(gibbsite(command), 2, "gibbsite: " + what);
  }
}

TEST_F(Screens, ASlipInTheSchemaIsSaidWithWhatWasMeant) {
  for (const auto& [was, is, what] : std::vector<std::array<std::string, 3>>{
           {"row_norm", "row_nrom",
            "s.toml:4: unknown key 'row_nrom', did you mean row_norm?; known"},
           {"[columns]", "[column]",
            "s.toml:8: unknown key 'column', did you mean columns?; known"},
           {"levels", "level",
            "unknown key 'level' for a column of type \"category\", did you mean "
            "levels?; rename or remove it"}}) {
    std::string text = schema();
    folder.write("s.toml", text.replace(text.find(was), was.size(), is));
    const Outcome out = gibbsite(
        {"plan", "--data", "table.csv", "--schema", "s.toml", "--epsilon", "1", "--delta", "1e-6"});
    EXPECT_EQ(out.status, 2);
    EXPECT_THAT(out.err, HasSubstr(what));
  }
  expect_error(gibbsite({"plan", "--data", "table.csv", "--schema", "table.csv", "--epsilon", "1",
                         "--delta", "1e-6"}),
               2, "; give a schema, whose lines read key = value; a table goes elsewhere");
}

// What a model needs cannot be taken out of its schema.
TEST_F(Screens, ATableThatLacksAColumnOfAModelIsToldToAddIt) {
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet"})).status, 0);
  folder.write("new.csv", "age\n30\n");
  expect_error(gibbsite({"predict", "--model", "m.json", "--data", "new.csv"}), 2,
               "the header lacks column 'work' of the schema; add it (the model needs it)");
  folder.write("new.csv", "age,wrk,income\n30,Private,>50K\n");
  expect_error(gibbsite({"plan", "--data", "new.csv", "--schema", "table.toml", "--epsilon", "1",
                         "--delta", "1e-6"}),
               2, "column 'wrk' is not in the schema, did you mean work?; add it under [columns]");
}

TEST_F(Screens, TheReportNamesTheKindOfModelAndPagesThatAreThere) {
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet"})).status, 0);
  const Outcome out = gibbsite({"report", "m.json", "--out", "-"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out,
              AllOf(HasSubstr("<p>A logistic regression that predicts income from 2"),
                    HasSubstr("docs/theory/whitened.md"), Not(HasSubstr("docs/whitened.md"))));
}

class Curves : public Cli {
 protected:
  void SetUp() override {
    std::string people = "age,hours,buys\n";
    for (int i = 0; i < 3000; ++i)
      people += fmt::format("{},{},{}\n", 17 + (i * 37) % 74, (i * 53) % 100,
                            (i * 7) % 11 < 5 ? "yes" : "no");
    folder.write("table.csv", people);
  }
  void write_schema(const std::string& more) const {
    folder.write("table.toml",
                 "label = \"buys\"\npositive = \"yes\"\n[columns]\nage = {type = \"number\", range "
                 "= [17, 90]" +
                     more + "}\nhours = {type = \"number\", range = [0, 100]" + more + "}\n");
  }
};

// Before anything is spent, by public numbers alone.
TEST_F(Curves, WithIntervalsAWarningSaysHowWideTheyWillBe) {
  const char* const warning =
      "gibbsite: warning: curve = \"auto\" and --intervals: 3,000 rows at ε = 1 are few for curves of";
  write_schema(", curve = \"auto\"");
  const Outcome out = gibbsite(fit({"--intervals", "--check"}));
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.err, AllOf(HasSubstr(warning), HasSubstr("give fewer knots, such as curve = ")));
  EXPECT_THAT(gibbsite(fit({"--check"})).err, Not(HasSubstr(warning)));
  Arguments plan = fit({"--intervals"});
  plan[0] = "plan";
  EXPECT_THAT(gibbsite(plan).err, HasSubstr(warning));
  write_schema(", curve = 5");
  EXPECT_THAT(gibbsite(fit({"--intervals", "--check"})).err, Not(HasSubstr(warning)));
}

// The file has all digits, and so has what other programs read.
TEST_F(Curves, KnotsHaveFewDigitsOnScreens) {
  folder.write("table.toml",
               "label = \"buys\"\npositive = \"yes\"\n[columns]\nage = {type = \"number\", knots = "
               "[17, 33.33333333333333, 66.66666666666667, 90]}\nhours = {type = \"ignore\"}\n");
  for (const char* intervals : {"--intervals", "--verbose"}) {
    ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet", "--force", intervals})).status, 0);
    const Outcome out = gibbsite({"coefficients", "m.json", "--all"});
    EXPECT_THAT(out.out, AllOf(HasSubstr("age=33.33 "), HasSubstr("age=66.67 "),
                               Not(HasSubstr("33.333333"))));
    EXPECT_THAT(gibbsite({"coefficients", "m.json", "--csv"}).out,
                HasSubstr("age=33.33333333333333,"));
    EXPECT_THAT(folder.read("m.json"), HasSubstr("age=33.33333333333333\""));
  }
}

}  // namespace screens_test
}  // namespace gibbsite::testing
