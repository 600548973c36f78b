// Nothing private where it does not belong: behind a file's end, in a file that others may read, in
// the stream that holds the model. And nothing spent before the curator was told what looks wrong.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace trust_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Trust : public Cli {
 protected:
  Trust() { setenv("XDG_STATE_HOME", state.path().c_str(), 1); }
  ~Trust() override { unsetenv("XDG_STATE_HOME"); }

  void fitted(const std::string& out = "model.json", const Arguments& more = {}) const {
    Arguments all = fit({"--out", out, "--quiet", "--force"});
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = gibbsite(all);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  [[nodiscard]] unsigned mode_of(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::stat(folder.path(name).c_str(), &info), 0) << name;
    return info.st_mode & 0777U;
  }
  [[nodiscard]] Outcome shell(const std::string& line) const {
    return run({"/bin/sh", "-c", "umask 022; G='" GIBBSITE_CLI "'; " + line}, folder.path());
  }
  // Cells of another unit, spelled otherwise, labels too.
  void spoil() const {
    std::string text = "age,work,income\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string(12 * (18 + i % 60)) + ",private," + (i % 3 == 0 ? "yes\n" : "no\n");
    folder.write("spoiled.csv", text);
    std::string other = schema();
    const std::string levels = "\"State, gov\"]";
    other.insert(other.find(levels) + levels.size(), ", other = true");
    folder.write("table.toml", other);
  }

  TempDir state;
};

TEST_F(Trust, NoReaderTakesAFileThatGoesOnBehindANulByte) {
  fitted();
  const std::string good = folder.read("model.json"), nul(1, '\0');
  for (const std::string& tail : {nul, nul + good, nul + "age,income\n39,>50K\n"}) {
    folder.write("tail.json", good + tail);
    for (const Arguments& command :
         {Arguments{"verify", "tail.json"}, Arguments{"report", "tail.json", "--out", "r.html"},
          Arguments{"predict", "--model", "tail.json", "--data", "table.csv"},
          Arguments{"evaluate", "--model", "tail.json", "--data", "table.csv"},
          Arguments{"evaluate", "--model", "tail.json", "--data", "table.csv", "--epsilon", "1",
                    "--out", "e.json"},
          Arguments{"query", "--model", "tail.json", "--effect", "age"},
          Arguments{"synthesize", "--model", "tail.json"},
          Arguments{"table", "--model", "tail.json"}, Arguments{"coefficients", "tail.json"},
          Arguments{"export", "--model", "tail.json", "--onnx", "m.onnx"}}) {
      const Outcome outcome = gibbsite(command);
      if (outcome.err.find("gibbsite: gibbsite: ") == 0) continue;  // no such command
      EXPECT_EQ(outcome.status, 2) << command[0] << ": " << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("tail.json: has a NUL byte")) << command[0];
      EXPECT_EQ(outcome.out, "") << command[0];
    }
  }
}

TEST_F(Trust, WhatHoldsWhatRowsSayIsForItsOwnerAlone) {
  fitted();
  const Outcome all = shell(
      "$G predict --model model.json --data table.csv --out p.csv && "
      "$G evaluate --model model.json --data table.csv --report r.html >/dev/null 2>&1 && "
      "$G compare --data table.csv --schema table.toml --epsilon 1 --delta 1e-6 --seeds 1 "
      "--mechanism output --quiet --json c.json --svg c.svg >/dev/null 2>&1 && "
      "$G audit --data table.csv --schema table.toml --mechanism output --epsilon 1 --delta 1e-6 "
      "--pairs 200 --quiet --plot a.svg >/dev/null && "
      "$G audit --rows 50 --features 2 --row-norm 1 --mechanism output --epsilon 1 --delta 1e-6 "
      "--pairs 200 --quiet --plot public.svg >/dev/null; "
      "$G report model.json --out page.html && "
      "$G evaluate --model model.json --data table.csv --epsilon 1 --out e.json >/dev/null");
  ASSERT_EQ(all.status, 0) << all.err;
  for (const char* name : {"p.csv", "r.html", "c.json", "c.svg", "a.svg"})
    EXPECT_EQ(mode_of(name), 0600U) << name;
  for (const char* name : {"model.json", "page.html", "e.json"})
    EXPECT_EQ(mode_of(name), 0644U) << name;
}

TEST_F(Trust, PicturesOfANetworkAndATableArePrivateToo) {
  folder.write("net.toml", schema() + "[network]\nwork = [\"age\"]\n");
  ASSERT_EQ(gibbsite({"fit", "--model", "network", "--data", "table.csv", "--schema", "net.toml",
                      "--epsilon", "4", "--delta", "1e-6", "--out", "net.json", "--quiet"})
                .status,
            0);
  const Outcome out =
      shell("$G evaluate --model net.json --data table.csv --plot near.svg >/dev/null 2>&1");
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_EQ(mode_of("near.svg"), 0600U);
  EXPECT_EQ(mode_of("net.json"), 0644U);
}

// Nothing but the file, so that it can be piped on; what is for people goes to stderr.
TEST_F(Trust, StandardOutputHoldsTheFileAlone) {
  fitted();
  for (const char* place : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "//dev/stdout"}) {
    const Outcome out = gibbsite(fit({"--out", place}));
    ASSERT_EQ(out.status, 0) << out.err;
    const auto model = nlohmann::json::parse(out.out, nullptr, false);
    EXPECT_TRUE(model.is_object()) << place << ": " << out.out.substr(0, 80);
    EXPECT_THAT(out.err, HasSubstr("private, for the curator only")) << place;
    EXPECT_THAT(out.out, Not(HasSubstr("private, for"))) << place;
  }
  EXPECT_EQ(shell("$G fit --data table.csv --schema table.toml --epsilon 1 --delta 1e-6 --out - "
                  "2>/dev/null >piped.json && $G verify piped.json >/dev/null")
                .status,
            0);
  const auto alone = [&](const Arguments& command, const std::string& start) {
    const Outcome out = gibbsite(command);
    EXPECT_EQ(out.status, 0) << command[0] << ": " << out.err;
    EXPECT_THAT(out.out, StartsWith(start)) << command[0];
    return out.out;
  };
  EXPECT_EQ(alone({"predict", "--model", "model.json", "--data", "table.csv", "--out", "-"},
                  "prediction\n"),
            gibbsite({"predict", "--model", "model.json", "--data", "table.csv"}).out);
  alone({"report", "model.json", "--out", "-"}, "<!");
  alone({"evaluate", "--model", "model.json", "--data", "table.csv", "--report", "-"}, "<!");
  EXPECT_TRUE(nlohmann::json::accept(alone(
      {"evaluate", "--model", "model.json", "--data", "table.csv", "--epsilon", "1", "--out", "-"},
      "{")));
  EXPECT_TRUE(nlohmann::json::accept(
      alone({"compare", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
             "--delta", "1e-6", "--seeds", "1", "--mechanism", "output", "--json", "-"},
            "{")));
  expect_error(gibbsite({"compare", "--data", "table.csv", "--schema", "table.toml", "--epsilon",
                         "1", "--delta", "1e-6", "--seeds", "1", "--mechanism", "output", "--json",
                         "-", "--svg", "/dev/stdout"}),
               2, "--svg: standard output is taken by --json");
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "1", "--delta", "1e-6"}).status, 0);
  EXPECT_TRUE(nlohmann::json::accept(alone({"ledger", "export", "l", "--out", "-"}, "{")));
  // A disk that is full is standard output's, by that name.
  const Outcome full = shell(
      "$G fit --data table.csv --schema table.toml --epsilon 1 --delta 1e-6 --quiet --out - "
      ">/dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.err, HasSubstr("gibbsite: standard output: cannot write: No space left"));
}

// The command of a model that says so, and no other, so that a table in another unit is seen.
TEST_F(Trust, EveryCommandThatReadsATableSaysWhatLooksWrong) {
  fitted();
  spoil();
  fitted("other.json");  // with (other)
  const std::string age = "column 'age': ", work =
                                                "column 'work': 120 of 120 cells are none of the "
                                                "levels and count as (other)";
  const std::string labels =
      "120 of 120 labels are neither '>50K' nor '<=50K' and count as '<=50K'";
  const std::string none = "no label is of the positive class '>50K'";
  for (const Arguments& command :
       {Arguments{"evaluate", "--model", "other.json", "--data", "spoiled.csv"},
        Arguments{"evaluate", "--model", "other.json", "--data", "spoiled.csv", "--json"},
        Arguments{"evaluate", "--model", "other.json", "--data", "spoiled.csv", "--epsilon", "1",
                  "--out", "-"},
        Arguments{"plan", "--data", "spoiled.csv", "--schema", "table.toml", "--epsilon", "1",
                  "--delta", "1e-6"},
        Arguments{"compare", "--data", "spoiled.csv", "--schema", "table.toml", "--epsilon", "1",
                  "--delta", "1e-6", "--seeds", "1", "--mechanism", "output", "--quiet"},
        Arguments{"sample", "--data", "spoiled.csv", "--schema", "table.toml", "--prior-precision",
                  "1", "--draws", "8", "--warm-up", "8", "--chains", "2", "--quiet", "--out",
                  "draws"},
        Arguments{"audit", "--data", "spoiled.csv", "--schema", "table.toml", "--mechanism",
                  "output", "--epsilon", "1", "--delta", "1e-6", "--pairs", "200", "--quiet"},
        Arguments{"fit", "--data", "spoiled.csv", "--schema", "table.toml", "--epsilon", "1",
                  "--delta", "1e-6", "--quiet", "--out", "-"}}) {
    const Outcome out = gibbsite(command);
    for (const std::string& part : {age, work, labels, none})
      EXPECT_THAT(out.err, HasSubstr("gibbsite: warning: private: " + part)) << command[0];
    EXPECT_THAT(out.out, Not(HasSubstr("private: column"))) << command[0];
  }
  const Outcome predicted = gibbsite({"predict", "--model", "other.json", "--data", "spoiled.csv"});
  EXPECT_EQ(predicted.status, 0);
  EXPECT_THAT(predicted.out, StartsWith("prediction\n"));
  EXPECT_THAT(predicted.err, HasSubstr("warning: private: " + age));
  EXPECT_THAT(predicted.err, HasSubstr("are they in another unit?"));
  EXPECT_THAT(predicted.err, HasSubstr("private, for the curator only"));
  // And of a table that reads as it should, nothing.
  EXPECT_EQ(gibbsite({"predict", "--model", "model.json", "--data", "table.csv"}).err, "");
}

TEST_F(Trust, ACheckReadsAndPlansAndSpendsNothing) {
  spoil();
  ASSERT_EQ(gibbsite({"ledger", "create", "l", "--epsilon", "2", "--delta", "1e-6"}).status, 0);
  const std::string before = folder.read("l");
  Arguments check = fit({"--check", "--ledger", "l"});
  const Outcome good = gibbsite(check);
  ASSERT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(
      good.err,
      HasSubstr("private, for the curator only, do not publish: what does not count as it is "
                "written:\nprivate:   column 'work': 40 cells missing\n"));
  EXPECT_THAT(good.err,
              ::testing::ContainsRegex("private:   rows of each class: [0-9]+ .*, [0-9]+ .*\n"));
  EXPECT_THAT(good.out, Not(HasSubstr("private")));
  EXPECT_THAT(good.out, HasSubstr("mechanism whitened: "));
  EXPECT_THAT(
      good.out,
      HasSubstr(
          "Checked: nothing was released or spent, and no model was written.\nThe table reads "
          "as the schema says"));
  check[2] = "spoiled.csv";
  const Outcome bad = gibbsite(check);
  EXPECT_EQ(bad.status, 0) << bad.err;
  EXPECT_THAT(bad.err, HasSubstr("column 'work': 120 of 120"));
  EXPECT_THAT(bad.err, HasSubstr("private:   column 'age': "));
  EXPECT_THAT(bad.out, HasSubstr("Look at the warnings first"));
  EXPECT_EQ(folder.read("l"), before);
  EXPECT_EQ(made(), (Arguments{"l", "spoiled.csv"}));
  // What a fit would be refused for is said by the check.
  Arguments much = fit({"--check", "--ledger", "l", "--epsilon", "3"});
  much.erase(much.begin() + 5, much.begin() + 7);
  EXPECT_EQ(gibbsite(much).status, 5);
  // Every kind of model.
  folder.write("net.toml", schema() + "[network]\nwork = [\"age\"]\n");
  const Outcome network = gibbsite({"fit", "--check", "--model", "network", "--data", "table.csv",
                                    "--schema", "net.toml", "--epsilon", "4", "--delta", "1e-6"});
  EXPECT_EQ(network.status, 0) << network.err;
  EXPECT_THAT(network.out, HasSubstr("Checked: nothing was released"));
  const Outcome family = gibbsite(fit({"--check", "--model", "categorical", "--column", "work"}));
  EXPECT_EQ(family.status, 0) << family.err;
  EXPECT_THAT(family.out, HasSubstr("Checked: nothing was released"));
  expect_error(gibbsite(fit({})), 2, "--out");
  EXPECT_EQ(made(), (Arguments{"l", "net.toml", "spoiled.csv"}));
}

}  // namespace trust_test
}  // namespace gibbsite::testing
