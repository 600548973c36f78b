// Rows to predict with cells that the model cannot read, no rows at all, and names of files that
// are taken for patterns.
#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace unseen_test {

using ::testing::HasSubstr;
using ::testing::Not;

class Unseen : public Cli {
 protected:
  static std::string closed_schema() {  // no (other), no missing cell
    return "label = \"income\"\npositive = \">50K\"\nnegative = \"<=50K\"\n\n[columns]\n"
           "age = {type = \"number\", range = [17, 90]}\n"
           "work = {type = \"category\", levels = [\"Private\", \"State, gov\", \"?\"]}\n";
  }
  void SetUp() override {
    Cli::SetUp();
    folder.write("table.toml", closed_schema());
    ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
    folder.write("new.csv",
                 "id,age,work\na,30,Private\nb,40,pilot\nc,,Private\nd,,pilot\ne,50,?\n");
    folder.write("fine.csv", "id,age,work\na,30,Private\nc,53.5,Private\ne,50,?\n");
  }
  [[nodiscard]] Outcome predict(std::vector<std::string> more) const {
    std::vector<std::string> words{"predict", "--model", "model.json"};
    words.insert(words.end(), more.begin(), more.end());
    return gibbsite(words);
  }
  static std::vector<std::string> fit_of(const std::string& table) {
    return {"fit", "--data",  table,  "--schema", "table.toml", "--epsilon",
            "1",   "--delta", "1e-6", "--out",    "m.json"};
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
};

TEST_F(Unseen, OneCellDoesNotFailTheBatch) {
  const Outcome out = predict({"--data", "new.csv", "--keep", "id", "--probabilities"});
  EXPECT_EQ(out.status, 0) << out.err;
  const std::vector<std::string> all = lines(out.out);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0], "id,prediction,probability");  // as before: no column that nobody asked for
  EXPECT_THAT(out.err, HasSubstr("3 of 5 rows"));
  EXPECT_THAT(out.err, HasSubstr("2 in 'age', 2 in 'work'"));
  EXPECT_THAT(out.err, HasSubstr("(private)"));
  std::size_t warnings = 0;  // beside the line of counts
  for (const std::string& line : lines(out.err)) {
    warnings += line.starts_with("gibbsite: warning: ") ? 1U : 0U;
  }
  EXPECT_EQ(warnings, 1U) << out.err;
  // An empty number is the middle of its range, and rows that can be read are as they are alone.
  const std::vector<std::string> fine =
      lines(predict({"--data", "fine.csv", "--keep", "id", "--probabilities"}).out);
  EXPECT_EQ(all[1], fine[1]);
  EXPECT_EQ(all[3], fine[2]);
  EXPECT_EQ(all[5], fine[3]);
  EXPECT_EQ(predict({"--data", "fine.csv"}).err, "");
}

TEST_F(Unseen, AColumnSaysWhichRows) {
  const Outcome middle = predict({"--data", "new.csv", "--unseen", "middle"});
  EXPECT_EQ(middle.status, 0) << middle.err;
  const std::vector<std::string> all = lines(middle.out);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0], "prediction,unseen");
  EXPECT_THAT(all[1], ::testing::EndsWith(","));
  EXPECT_THAT(all[2], ::testing::EndsWith(",work"));
  EXPECT_THAT(all[3], ::testing::EndsWith(",age"));
  EXPECT_THAT(all[4], ::testing::EndsWith(",age;work"));
  const std::vector<std::string> skipped =
      lines(predict({"--data", "new.csv", "--unseen", "skip", "--probabilities"}).out);
  ASSERT_EQ(skipped.size(), 6U);
  EXPECT_EQ(skipped[0], "prediction,probability,unseen");
  EXPECT_EQ(skipped[2], ",,work");
  EXPECT_EQ(skipped[4], ",,age;work");
  EXPECT_THAT(skipped[5], Not(::testing::StartsWith(",")));
}

TEST_F(Unseen, RefuseNamesTheCellAndLeavesTheSchemaAlone) {
  const Outcome out = predict({"--data", "new.csv", "--unseen", "refuse"});
  expect_error(out, 2, "new.csv:3: column 'work': level 'pilot' is not in the schema (");
  EXPECT_THAT(out.err, HasSubstr("stays as it was published"));
  EXPECT_THAT(out.err, Not(HasSubstr("list the level")));
  EXPECT_EQ(out.out, "");
  expect_error(predict({"--data", "new.csv", "--unseen", "drop"}), 2,
               "--unseen: 'drop' is none of");
  folder.write("labeled.csv", "age,work,income\n30,pilot,>50K\n");
  const Outcome judged = gibbsite({"evaluate", "--model", "model.json", "--data", "labeled.csv"});
  EXPECT_EQ(judged.status, 2);
  EXPECT_THAT(judged.err, Not(HasSubstr("list the level")));
}

TEST_F(Unseen, LevelsThatAMissingCellHasAreUsed) {
  folder.write("table.toml",
               "label = \"income\"\npositive = \">50K\"\n[columns]\n"
               "age = {type = \"number\", range = [17, 90]}\n"
               "work = {type = \"category\", levels = [\"Private\", \"State, gov\"], other = true, "
               "missing = \"?\"}\n");
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet", "--force"})).status, 0);
  folder.write("a.csv", "age,work\n30,\n30,?\n30,pilot\n");
  const Outcome out = predict({"--data", "a.csv", "--unseen", "middle", "--probabilities"});
  const std::vector<std::string> all = lines(out.out);
  ASSERT_EQ(all.size(), 4U) << out.err;
  EXPECT_EQ(all[1], all[2] + "work");  // empty is as missing, and said; "?" and (other) are listed
  EXPECT_THAT(all[3], ::testing::EndsWith(","));
}

TEST_F(Unseen, LibsvmAndPartsToo) {
  folder.write("n.toml",
               "label = \"y\"\npositive = \"1\"\n[columns]\n"
               "a = {type = \"number\", range = [0, 1]}\n"
               "b = {type = \"category\", levels = [\"0\", \"1\"]}\n");
  std::string rows;
  for (int i = 0; i < 200; ++i)
    rows += std::to_string(i % 2) + " 1:0.5 2:" + std::to_string(i / 2 % 2) + "\n";
  folder.write("t.svm", rows);
  ASSERT_EQ(gibbsite({"fit", "--data", "t.svm", "--schema", "n.toml", "--epsilon", "1", "--delta",
                      "1e-6", "--out", "model.json", "--quiet", "--force"})
                .status,
            0);
  std::filesystem::create_directory(folder.path("p"));
  folder.write("p/1.svm", "0 1:0.5 2:1\n0 1:nan 2:1\n");
  folder.write("p/2.svm", "0 1:0.5 2:7\n0 1:0.5\n");
  const std::vector<std::string> all = lines(predict({"--data", "p", "--unseen", "middle"}).out);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_THAT(all[1], ::testing::EndsWith(","));
  EXPECT_THAT(all[2], ::testing::EndsWith(",a"));
  EXPECT_THAT(all[3], ::testing::EndsWith(",b"));
  EXPECT_THAT(all[4], ::testing::EndsWith(","));
}

TEST_F(Unseen, NoRowsAreNoError) {
  folder.write("none.csv", "age,work\n");
  const Outcome out = predict({"--data", "none.csv", "--probabilities"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_EQ(out.out, "prediction,probability\n");
  EXPECT_EQ(out.err, "");
  EXPECT_EQ(predict({"--data", "none.csv", "--unseen", "skip"}).out, "prediction,unseen\n");
  std::filesystem::create_directory(folder.path("parts"));
  folder.write("parts/a.csv", "age,work\n");
  folder.write("parts/b.csv", "age,work\n");
  EXPECT_EQ(predict({"--data", "parts"}).out, "prediction\n");
  // A model of no rows is another matter.
  folder.write("none.csv", "age,work,income\n");
  expect_error(gibbsite(fit_of("none.csv")), 2, "the table has no rows");
}

TEST_F(Unseen, ANameInBracketsFallsUponNoOtherFile) {
  folder.write("data 2.csv", csv());
  folder.write("data 24.csv", csv());
  for (const std::string name : {"data [2024].csv", "data [2].csv", "data 2?.csv"}) {
    const Outcome out = gibbsite(fit_of(name));
    expect_error(out, 2, name + ": no such file; as a pattern it would be data 2");
    expect_error(predict({"--data", name}), 2, "no such file");
    expect_error(gibbsite({"evaluate", "--model", "model.json", "--data", name}), 2,
                 "no such file");
    expect_error(gibbsite({"plan", "--data", name, "--schema", "table.toml", "--epsilon", "1",
                           "--delta", "1e-6"}),
                 2, "no such file");
  }
  // A file of that very name is read, and what has a * is a pattern.
  folder.write("data [2024].csv", csv());
  EXPECT_EQ(predict({"--data", "data [2024].csv"}).status, 0);
  EXPECT_EQ(lines(predict({"--data", "data 2*.csv"}).out).size(), 2U * rows + 1);
  EXPECT_EQ(lines(predict({"--data", "data [0-9]*.csv"}).out).size(), 2U * rows + 1);
}

}  // namespace unseen_test
}  // namespace gibbsite::testing
