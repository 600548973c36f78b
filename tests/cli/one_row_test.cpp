// What one row, one hostile model file or one private count can make the program say.
#include "certificate/model_json.hpp"
#include "cli/cli.hpp"
#include "support/repeats.hpp"

namespace gibbsite::testing {
namespace one_row_test {

using ::testing::HasSubstr;
using ::testing::Not;

class OneRow : public Cli {
 protected:
  [[nodiscard]] Outcome fit_with(const std::string& last) const {
    std::string table = "age,work,income\n";
    for (int i = 0; i < 50; ++i) table += "30,Private,<=50K\n";
    folder.write("table.csv", table + last + "\n");
    return gibbsite(fit({"--out", "model.json", "--iterations", "3", "--force", "--verbose"}));
  }
  void write_schema(const std::string& from, const std::string& to) const {
    std::string text = schema();
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    folder.write("table.toml", text.replace(at, from.size(), to));
  }
};

TEST_F(OneRow, DecidesNothingAboutTheExitStatus) {
  write_schema("missing = \"?\"", "missing = \"?\"\ninvalid = \"middle\"");
  for (const char* last :
       {"30,Private,<=50K", "30,Private,>50K", "30,Private,maybe", "30,Private,",
        "abc,Private,>50K", ",,", "nan,Circus,?", "\"\x1b[2J\",\"\xff\",\"1\n2\""}) {
    const Outcome out = fit_with(last);
    EXPECT_EQ(out.status, 0) << last << out.err;
    EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0) << last;
  }
}

// An empty cell is a blank line in a CSV of one column. In LIBSVM a row without a label and entries
// is one. The published number of rows does not depend on it, whoever left the cell empty.
TEST_F(OneRow, IsNotDroppedWhereItIsABlankLine) {
  for (const char* const table : {"visits.csv", "visits.svm"}) {
    const bool csv = table == std::string("visits.csv");
    folder.write(
        "table.toml",
        std::string(csv ? "" : "label = \"y\"\npositive = \"1\"\n") +
            "invalid = \"middle\"\n[columns]\nvisits = {type = \"number\", range = [0, 8]}\n");
    for (const int who : {-1, 0, 6, 19}) {
      std::string text = csv ? "visits\n" : "";
      for (int i = 0; i < 20; ++i) text += i == who ? "\n" : csv ? "4\n" : "1 1:4\n";
      folder.write(table, text);
      std::vector<std::string> command{"fit",        "--data",    table,      "--schema",
                                       "table.toml", "--epsilon", "1",        "--delta",
                                       "1e-6",       "--out",     "out.json", "--force"};
      if (csv) command.insert(command.end(), {"--model", "rate", "--column", "visits"});
      const Outcome out = gibbsite(command);
      ASSERT_EQ(out.status, 0) << out.err;
      EXPECT_EQ(json("out.json")["certificate"]["constants"]["rows"], 20) << table << who;
    }
  }
  // And predictions are as many.
  folder.write("new.csv", "visits\r\n\r\n4\r\n\r\n");
  const Outcome out =
      gibbsite({"predict", "--model", "out.json", "--data", "new.csv", "--keep", "visits"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, ::testing::MatchesRegex("visits,prediction\n,[^,]*\n4,[^,]*\n,[^,]*\n"));
}

// Nor where parts have one column, and a cell holds what separates cells elsewhere: by itself, or
// beside a column that is in the folders' names.
TEST_F(OneRow, DecidesNothingInPartsOfOneColumn) {
  folder.write("one.toml",
               "invalid = \"middle\"\n[columns]\nz = {type = \"category\", levels = [\"a\", "
               "\"b\"], other = true}\n");
  folder.write("two.toml",
               "label = \"t\"\npositive = \"p\"\nnegative = \"q\"\ninvalid = \"middle\"\n"
               "[columns]\nz = {type = \"category\", levels = [\"a\", \"b\"], other = true}\n");
  std::filesystem::create_directories(folder.path("parts"));
  std::filesystem::create_directories(folder.path("folders/t=p"));
  std::filesystem::create_directories(folder.path("folders/t=q"));
  std::string rest = "z\n";
  for (int i = 0; i < 300; ++i) rest += i % 2 == 0 ? "a\n" : "b\n";
  folder.write("parts/p1.csv", rest);
  folder.write("folders/t=q/x.csv", rest);
  for (const std::string cell : {"a", "a;b", "a|b", "a\tb", "sep=;", "\"a\nb,c\""}) {
    folder.write("parts/p0.csv", "z\na\n" + cell + rest.substr(1));
    folder.write("folders/t=p/x.csv", "z\na\n" + cell + rest.substr(1));
    const Outcome parts =
        gibbsite({"table", "--columns", "z", "--data", "parts", "--schema", "one.toml", "--epsilon",
                  "1", "--delta", "1e-6", "--out", "parts.json", "--quiet", "--force"});
    EXPECT_EQ(parts.status, 0) << cell << parts.err;
    const Outcome folders =
        gibbsite({"fit", "--data", "folders", "--schema", "two.toml", "--epsilon", "1", "--delta",
                  "1e-6", "--out", "folders.json", "--quiet", "--force"});
    EXPECT_EQ(folders.status, 0) << cell << folders.err;
  }
}

TEST_F(OneRow, OfOneClassIsFittedAndTheCuratorIsTold) {
  const Outcome two = fit_with("30,Private,>50K"), one = fit_with("30,Private,<=50K");
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(two.err, Not(HasSubstr("private: no label")));
  EXPECT_THAT(one.err, HasSubstr("warning: private: no label is of the positive class"));
  EXPECT_THAT(one.err, HasSubstr("private, for the curator only"));
}

TEST_F(OneRow, CountsAreByColumnAndPrivate) {
  write_schema("missing = \"?\"", "missing = \"?\"\ninvalid = \"middle\"");
  const Outcome out = fit_with("999,?,maybe\n-5,Circus,\nabc,?,>50K");
  for (const char* line :
       {"private, for the curator only, do not publish: what does not count as it is written:\n",
        "private:   column 'age': 2 cells outside the range [17, 90], counted as its nearer end; 1 "
        "cell unreadable\n",
        "private:   column 'work': 2 cells missing; 1 cell unreadable\n",
        "private:   labels: 1 unreadable; 1 of neither class\n"})
    EXPECT_THAT(out.err, HasSubstr(line));
  EXPECT_THAT(out.out, Not(HasSubstr("private:")));
}

TEST_F(OneRow, ARefusalQuotesACellAsPrivate) {
  const Outcome out = fit_with("abc,Private,>50K");
  expect_error(out, 2, "'abc' is not a finite number");
  EXPECT_THAT(out.err, HasSubstr("private: this line quotes the table"));
}

// The number of rows is private under add-remove: no line has it without saying so.
TEST_F(OneRow, TheNumberOfRowsIsLabeledUnderAddRemove) {
  const std::vector<std::string> cap{"--adjacency", "add-remove", "--rows-cap", "400"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), cap.begin(), cap.end());
    return gibbsite(arguments);
  };
  const std::string count = std::to_string(rows);
  const auto lines_of = [](const Outcome& out) { return std::istringstream(out.out + out.err); };
  for (const auto& arguments :
       {fit({"--out", "model.json", "--verbose", "--progress"}),
        std::vector<std::string>{"plan", "--data", "table.csv", "--schema", "table.toml",
                                 "--epsilon", "1", "--delta", "1e-6"}}) {
    const Outcome out = with(arguments);
    ASSERT_EQ(out.status, 0) << out.err;
    std::istringstream lines = lines_of(out);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(count + " row") != std::string::npos) {
        EXPECT_THAT(line, HasSubstr("private"));
      }
    }
  }
  const Outcome over =
      gibbsite(fit({"--out", "over.json", "--adjacency", "add-remove", "--rows-cap", "100"}));
  expect_error(over, 2, "private: how many rows there are is not public");
  EXPECT_THAT(over.err, Not(HasSubstr(count)));
}

// A run whose time tells says so before it takes it.
TEST_F(OneRow, ADataDependentRunTimeIsSaidAtTheTime) {
  const std::string sentence = "how long this run takes depends on the private rows";
  for (const char* certificate : {"proximal", "rejection"}) {
    const Outcome out = gibbsite(fit({"--out", "model.json", "--force", "--quiet", "--mechanism",
                                      certificate, "--prior-precision", "5"}));
    if (out.status == 4) continue;
    ASSERT_EQ(out.status, 0) << out.err;
    EXPECT_THAT(out.err, HasSubstr(sentence)) << certificate;
    EXPECT_THAT(out.err, HasSubstr("--mechanism proximal --padded")) << certificate;
  }
  EXPECT_THAT(gibbsite(fit({"--out", "model.json", "--force"})).err, Not(HasSubstr(sentence)));
  const Outcome padded = gibbsite(fit({"--out", "model.json", "--force", "--mechanism", "proximal",
                                       "--padded", "--prior-precision", "5"}));
  ASSERT_EQ(padded.status, 0) << padded.err;
  EXPECT_THAT(padded.err, Not(HasSubstr(sentence)));
}

class HostileModel : public Cli {
 protected:
  static constexpr const char* evil =
      "\x1b[2K\r\xc2\x9b"
      "1A\xe2\x80\xaeVALID\nok    all";
  static void expect_harmless(const Outcome& out) {
    for (const std::string* text : {&out.out, &out.err}) {
      for (const char* bad : {"\x1b", "\r", "\xc2\x9b", "\xe2\x80\xae", "\nok    all"})
        EXPECT_THAT(*text, Not(HasSubstr(bad)));
    }
  }
};

// Every string of the file, and a name that nobody asked for, at every level.
TEST_F(HostileModel, CannotForgeTheScreenOfVerify) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  const nlohmann::json good = json("model.json");
  std::vector<nlohmann::json> hostile;
  const auto flat = good.flatten();
  for (const auto& item : flat.items()) {
    const nlohmann::json::json_pointer at(item.key());
    if (item.value().is_string()) {
      hostile.push_back(good);
      hostile.back()[at] = evil;
    }
  }
  for (const char* at : {"", "/model", "/certificate", "/certificate/guarantee",
                         "/model/preprocessing", "/model/original_units/slopes"}) {
    hostile.push_back(good);
    hostile.back()[nlohmann::json::json_pointer(at)][evil] = evil;
  }
  ASSERT_GT(hostile.size(), 25U);
  support::Thinned sweep(5);
  int reader = 0;
  for (nlohmann::json& file : hostile) {
    for (const bool sealed : {false, true}) {
      if (sweep.skips()) continue;
      if (sealed) file["certificate"]["digest"] = file_digest(file);
      folder.write("evil.json", file.dump());
      const Outcome verify = gibbsite({"verify", "evil.json", "--verbose"});
      expect_harmless(verify);
      if (!sealed) {
        EXPECT_NE(verify.status, 0);
      }
      // An unsealed file ends both at its digest, in one place (ThatWasChangedIsRefusedInOneLine).
      if (!sealed && reader++ % 5 != 0) continue;
      expect_harmless(gibbsite({"predict", "--model", "evil.json", "--data", "table.csv", "--out",
                                "predictions.csv", "--force"}));
      expect_harmless(gibbsite({"evaluate", "--model", "evil.json", "--data", "table.csv"}));
    }
  }
}

TEST_F(HostileModel, OrTableCannotForgeTheScreenOfFit) {
  folder.write(
      "table.toml",
      "label = \"income\"\npositive = \">50K\"\nnegative = \"\\u001B[2K\\u009B1A\"\n"
      "[columns]\nage = {type = \"number\", range = [0, 99]}\n"
      "work = {type = \"category\", levels = [\"\\u001B[2K\", \"\\u202Ex\"], other = true}\n");
  const Outcome good = gibbsite(fit({"--out", "model.json"}));
  ASSERT_EQ(good.status, 0) << good.err;
  expect_harmless(good);
  EXPECT_THAT(good.out, HasSubstr("work=\\x1b[2K"));
  folder.write("table.csv",
               "age,work,income\n1,\xc2\x9b"
               "2J\x1b[0m,x\n");
  expect_harmless(gibbsite(fit({"--out", "model2.json"})));
  folder.write("table.csv", "age,work,inc\x1b[2Jome,\xe2\x80\xae\n1,x,y,z\n");
  const Outcome bad = gibbsite(fit({"--out", "model2.json"}));
  EXPECT_EQ(bad.status, 2);
  expect_harmless(bad);
  expect_harmless(gibbsite({"schema", "table.csv"}));
}

TEST_F(HostileModel, ThatWasChangedIsRefusedInOneLine) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  nlohmann::json changed = json("model.json");
  changed["model"]["coefficients"][0] = 0.0;
  folder.write("changed.json", changed.dump());
  for (const char* command : {"predict", "evaluate"})
    expect_error(gibbsite({command, "--model", "changed.json", "--data", "table.csv"}), 2,
                 "changed.json: was changed after fit wrote it");
}

}  // namespace one_row_test
}  // namespace gibbsite::testing
