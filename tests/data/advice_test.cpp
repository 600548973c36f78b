// What is said of tables that other programs wrote in their own ways: the advice is the right one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite::testing {
namespace advice_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Advice : public ::testing::Test {
 protected:
  [[nodiscard]] std::string said(const std::string& text, const std::string& name = "t.csv",
                                 const std::string& more = "") const {
    folder.write(name, text);
    const Schema schema = parse_schema(
        "label = \"buy\"\npositive = \"yes\"\nnegative = \"no\"\n" + more +
            "[columns]\nage = {type = \"number\", range = [0, 100]}\n"
            "job = {type = \"category\", levels = [\"clerk\", \"100000\", \"Zürich\"]}\n",
        "t.toml");
    try {
      static_cast<void>(read_table(folder.path(name), schema));
    } catch (const BadInput& error) {
      return error.what();
    }
    return "read";
  }
  [[nodiscard]] std::string of_schema(const std::string& text) const {
    folder.write("h.csv", text);
    try {
      return schema_template(folder.path("h.csv"));
    } catch (const BadInput& error) {
      return error.what();
    }
  }
  static std::string toml(const std::string& line) {
    try {
      static_cast<void>(
          parse_schema("label = \"y\"\npositive = \"1\"\n[columns]\n" + line + "\n", "s.toml"));
    } catch (const Error& error) {
      return error.what();
    }
    return "read";
  }
  mutable TempDir folder;
  const std::string header = "age,job,buy\n";
};

TEST_F(Advice, NumbersThatAreNone) {
  for (const std::string cell : {"nan", "Inf", "-inf", "1e400", "NA", "NULL"}) {
    const std::string line = said(header + cell + ",clerk,yes\n");
    EXPECT_THAT(line, Not(HasSubstr("decimal"))) << cell;
    EXPECT_THAT(line, HasSubstr("is not a finite number; fix the cell")) << cell;
    EXPECT_EQ(line.find("missing = ") != std::string::npos, cell != "1e400") << line;
  }
  EXPECT_THAT(said(header + "NA,clerk,yes\n"), HasSubstr("set missing = \"NA\""));
  EXPECT_THAT(said(header + ",clerk,yes\n", "t.csv", "missing = \"NA\"\n"),
              HasSubstr("write it as a missing one, 'NA'"));
  EXPECT_THAT(said(header + "NULL,clerk,yes\n", "t.csv", "missing = \"NA\"\n"),
              HasSubstr("write it as 'NA' if it is a missing one"));
  EXPECT_THAT(said(header + "\"3,5\",clerk,yes\n"), HasSubstr("set decimal = \",\""));
  EXPECT_THAT(said(header + "3.5,clerk,yes\n", "t.csv", "decimal = \",\"\n"),
              HasSubstr("set decimal = \".\""));
  EXPECT_THAT(
      said(header + "\"1,234.5\",clerk,yes\n"),
      AllOf(HasSubstr("set thousands = \",\" if it groups digits"), Not(HasSubstr("decimal"))));
  EXPECT_THAT(said(header + "\"12,34.5\",clerk,yes\n"),
              AllOf(HasSubstr("without thousands separators"), Not(HasSubstr("set thousands"))));
}

TEST_F(Advice, LevelsThatAreSpelledInAnotherWay) {
  EXPECT_THAT(said(header + "3,1e+05,yes\n"),
              AllOf(HasSubstr("write it as '100000'"), HasSubstr("scipen"),
                    Not(HasSubstr("list the level"))));
  EXPECT_EQ(said(header + "3,100000.0,yes\n"), "read");
  EXPECT_THAT(said(header + "3,Z\xfcrich,yes\n"), AllOf(HasSubstr("UTF-8"), HasSubstr("Latin-1")));
  EXPECT_THAT(said(header + "3,farmer,yes\n"), HasSubstr("list the level"));
  EXPECT_EQ(said(header + "3,Z\xc3\xbcrich,yes\n"), "read");
}

TEST_F(Advice, AFirstLineThatIsARowIsNotQuoted) {
  for (const std::string row :
       {"38,farmer,yes\n", "Berger,clerk,no\n", "38,38,yes\n", "yes,yes,no\n"}) {
    const std::string line = said(row + "40,clerk,no\n");
    EXPECT_THAT(line, HasSubstr("the first line names none of the schema's columns")) << row;
    for (const char* const cell : {"38", "farmer", "Berger", "'yes'", "'no'"})
      EXPECT_THAT(line, Not(HasSubstr(cell))) << row;
  }
  const std::string twice = of_schema("Berger,Berger,no\nHuber,Maier,no\n");
  EXPECT_THAT(twice, AllOf(HasSubstr("occurs twice"), Not(HasSubstr("Berger"))));
  // Where some are known it is a header, whose other names help.
  EXPECT_THAT(said("age,occupation,buy\n3,clerk,yes\n"),
              HasSubstr("'occupation' is not in the schema"));
}

TEST_F(Advice, LinesAboveTheHeader) {
  const std::string table = header + "3,clerk,yes\n4,clerk,no\n";
  EXPECT_THAT(said("sep=,\n" + table), HasSubstr("line 2 does: remove the lines above it"));
  EXPECT_THAT(said("# exported by crm\n" + table), HasSubstr("line 2 does"));
  EXPECT_THAT(said("Customers\nas of Monday\n\n" + table), HasSubstr("line 4 does"));
  for (const std::string above :
       {"sep=,\n", "# exported by crm\n", "Customers\n\n", "Customers\nas of Monday\n\n"})
    EXPECT_THAT(of_schema(above + table), HasSubstr("remove what stands above")) << above;
  EXPECT_THAT(of_schema(table), HasSubstr("age = {type"));
  EXPECT_THAT(of_schema("name\n41\n"), HasSubstr("name = {type"));
}

TEST_F(Advice, RowNumbersAndBlanksOfR) {
  EXPECT_THAT(said("\"\",\"age\",\"job\",\"buy\"\n\"1\",3,\"clerk\",\"yes\"\n"),
              AllOf(HasSubstr("row.names = FALSE"), HasSubstr("index=False")));
  EXPECT_THAT(said("\"age\" \"job\" \"buy\"\n\"1\" 3 \"clerk\" \"yes\"\n"),
              HasSubstr("write.table"));
  EXPECT_THAT(said("age job buy\n1 3 clerk yes\n"), HasSubstr("write.table"));
}

TEST_F(Advice, FilesOfOtherPrograms) {
  using namespace std::string_literals;
  EXPECT_THAT(said("{\"age\": 3}\n"), HasSubstr("is JSON"));
  EXPECT_THAT(said("[{\"age\": 3}]\n"), HasSubstr("is JSON"));
  EXPECT_THAT(said("<stata_dta><header>"), HasSubstr("is a Stata file"));
  EXPECT_THAT(said("r\x02\x01"s, "t.dta"), HasSubstr("is a Stata file"));
  EXPECT_THAT(said("$FL2@(#) SPSS DATA FILE"), HasSubstr("is an SPSS file"));
  EXPECT_THAT(said("<?xml version=\"1.0\"?>"), HasSubstr("is XML"));
  EXPECT_THAT(said("<!DOCTYPE html>"), HasSubstr("a page of the web"));
  EXPECT_THAT(said("\xfd"
                   "7zXZ"),
              HasSubstr("into a pipe"));
  EXPECT_THAT(said("\x1f\x8b\x08"), HasSubstr("cut off"));
  EXPECT_THAT(said("\x1f\x8b\x08", "t.rds"), HasSubstr("write.csv"));
  EXPECT_THAT(said(""), HasSubstr("empty (0 bytes)"));
}

TEST_F(Advice, TheRightPartOfAFolderTakesTheBlame) {
  const std::string part = header + "3,clerk,yes\n";
  std::filesystem::create_directory(folder.path("sp"));
  folder.write("sp/part-a.csv", part);
  folder.write("sp/part-b.csv", part);
  folder.write("sp/_SUCCESS", "");
  const std::string readme = said("hi\n", "sp/README.txt");  // reads that file alone
  EXPECT_THAT(readme, HasSubstr("README.txt"));
  const auto of_folder = [&] {
    try {
      static_cast<void>(read_table(
          folder.path("sp"),
          parse_schema(
              "label = \"buy\"\npositive = \"yes\"\n[columns]\nage = {type = \"number\", range = [0, 100]}\njob = {type = \"ignore\"}\n",
              "t.toml")));
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_THAT(of_folder(), AllOf(HasSubstr("README.txt: is no part of a table of .csv files")));
  std::filesystem::remove(folder.path("sp/README.txt"));
  EXPECT_EQ(of_folder(), "read");
  folder.write("sp/part-c.csv", "");
  EXPECT_THAT(of_folder(),
              AllOf(HasSubstr("part-c.csv: the file is empty (0 bytes)"), HasSubstr("Spark")));
}

TEST_F(Advice, SlipsOfToml) {
  EXPECT_THAT(toml("job={type=\xe2\x80\x9cignore\xe2\x80\x9d}"), HasSubstr("straight quotes"));
  EXPECT_THAT(toml("job={\n type=\"category\"}"), HasSubstr("in the same line"));
  EXPECT_THAT(toml("work hours={type=\"ignore\"}"),
              HasSubstr("put the name in quotes: \"work hours\""));
  EXPECT_THAT(toml("gr\xc3\xb6\xc3\x9f\x65={type=\"ignore\"}"),
              HasSubstr("put the name in quotes"));
  EXPECT_THAT(toml("job={type=\"category\",levels=[\"clerk\"],}"), HasSubstr("remove the comma"));
  EXPECT_THAT(toml("job={type=ignore}"), HasSubstr("put words in quotes"));
  EXPECT_THAT(toml("job={type=\"category\", levels=[clerk]}"), HasSubstr("put words in quotes"));
  EXPECT_THAT(toml("job={type=\"category\" levels=[\"clerk\"]}"), HasSubstr("put a comma"));
  EXPECT_THAT(toml("job={type=\"category\", levels=[\"a\", \"b\"}"),
              HasSubstr("close every bracket"));
  EXPECT_THAT(toml("job: {type=\"ignore\"}"), HasSubstr("write = in place of :"));
  EXPECT_THAT(toml("job={type=\"category\", levels=[\"a\"], other=True}"),
              HasSubstr("small letters"));
  EXPECT_THAT(toml("job={type=\"number\", range=(0, 60)}"), HasSubstr("square brackets"));
  EXPECT_THAT(toml("job={type=\"number\", range=[0, 1,000]}"), HasSubstr("thousands separators"));
  EXPECT_THAT(toml("hours={type=\"ignore\"}\nhours.worked={type=\"ignore\"}"),
              HasSubstr("put the name in quotes: \"hours.worked\""));
  EXPECT_THAT(toml("age (years)={type=\"number\", range=[0, 60]}"),
              HasSubstr("put the name in quotes: \"age (years)\""));
  EXPECT_THAT(toml("job={type=\"number\", range=[0;60]}"), HasSubstr("put commas between"));
  EXPECT_THAT(toml("job={type=\"number\", range=[0, 60]\n"), HasSubstr("a } in the same line"));
  EXPECT_THAT(toml("job={type=\"category\", levels=[\"a\"]} other=true"),
              HasSubstr("between { and }"));
  EXPECT_THAT(toml("job={type=\"\"}"), HasSubstr("{type = \"person\"}"));
}

}  // namespace advice_test
}  // namespace gibbsite::testing
