#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <random>
#include <thread>

#include "gibbsite/data/csv_columns.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"

namespace gibbsite {
namespace csv_test {

using test::expect_bad_input;
using ::testing::ElementsAre;
using Labels = ReadOptions::Labels;

class Csv : public test::DataTest {
 public:
  // x in [0, 10], color one of two; no clipping.
  Schema schema = parse_schema(R"(label = "y"
positive = "yes"
row_norm = 2
intercept = false
[columns]
x = {type = "number", range = [0, 10]}
color = {type = "category", levels = ["red", "dark, blue"]}
note = {type = "ignore"}
)",
                               "s.toml");

  Dataset read(std::string_view text, const ReadOptions& options = {}) const {
    return read_csv(write("t.csv", text), schema, options);
  }
  void expect_error(std::string_view text, const std::vector<std::string>& parts,
                    const ReadOptions& options = {}) const {
    SCOPED_TRACE(text);
    expect_bad_input([&] { (void)read(text, options); }, parts);
  }
};

TEST_F(Csv, ReadsAndEncodes) {
  const Dataset data = read("x,color,note,y\n5,red,a,yes\n2.5,\"dark, blue\",b,no\n");
  EXPECT_EQ(data.rows(), 2U);
  EXPECT_EQ(data.features(), 3U);
  EXPECT_THAT(data.dense(), ElementsAre(0.5F, 1, 0, 0.25F, 0, 1));
  EXPECT_THAT(data.y, ElementsAre(1, -1));
  EXPECT_EQ(data.view()(1, 2), 1.0F);
  EXPECT_EQ(data.counts.clamped_cells + data.counts.missing_cells + data.counts.other_cells +
                data.counts.clipped_rows,
            0U);
}

TEST_F(Csv, ManyWaysToWriteTheSameTable) {
  const Dataset plain = read("x,color,note,y\n5,red,a,yes\n2.5,\"dark, blue\",b,no\n");
  for (const char* text : {
           "x,color,note,y\r\n5,red,a,yes\r\n2.5,\"dark, blue\",b,no\r\n",        // CRLF
           "x,color,note,y\n5,red,a,yes\n2.5,\"dark, blue\",b,no",                // no last newline
           "x,color,note,y\r5,red,a,yes\r2.5,\"dark, blue\",b,no",                // CR
           "\xef\xbb\xbfx,color,note,y\n5,red,a,yes\n2.5,\"dark, blue\",b,no\n",  // BOM
           " x ,\tcolor, note,y \n 5, red ,a,\tyes\n2.5 , \"dark, blue\" ,b, no \n",  // blanks
           "\n\nx,color,note,y\n\n5,red,a,yes\n  \n\r\n2.5,\"dark, blue\",b,no\n\n",  // blank
                                                                                      // lines
           "\"x\",\"color\",\"note\",\"y\"\n\"5\",\"red\",\"\",\"yes\"\n\"+2.5\",\"dark, "
           "blue\",,\"no\"\n",
           "x,color,note,y\n5.0e0,red,\"a \"\"b\"\"\nc, d\",yes\n25e-1,\"dark, blue\",b,no\n",
           "y,note,x,color\nyes,a,5,red\nno,b,2.5,\"dark, blue\"\n",  // another order
           "y,x,color\nyes,5,red\nno,2.5,\"dark, blue\"\n",           // without the ignored one
       }) {
    SCOPED_TRACE(text);
    const Dataset data = read(text);
    EXPECT_EQ(data.dense(), plain.dense());
    EXPECT_EQ(data.y, plain.y);
  }
}

// The header alone says what separates: what is in the rows does not matter.
TEST_F(Csv, TheHeaderSaysWhatSeparates) {
  schema.columns[1].levels = {"red", "dark, blue", "a;b\tc|d"};
  const Dataset plain = read("x,color,y\n5,red,yes\n2.5,\"dark, blue\",no\n1,a;b\tc|d,no\n");
  for (const char* text : {
           "x;color;y\n5;red;yes\n2.5;dark, blue;no\n1;\"a;b\tc|d\";no\n",
           "x\tcolor\ty\n5\tred\tyes\n2.5\tdark, blue\tno\n1\t\"a;b\tc|d\"\tno\n",
           "x|color|y\r\n5|red|yes\r\n2.5|dark, blue|no\r\n1|\"a;b\tc|d\"|no\r\n",
           "\xef\xbb\xbf\n \nx;color;\"y\"\r5;red;yes\r2.5;dark, blue;no\r1;\"a;b\tc|d\";no\r",
       }) {
    SCOPED_TRACE(text);
    const Dataset data = read(text);
    EXPECT_EQ(data.dense(), plain.dense());
    EXPECT_EQ(data.y, plain.y);
  }
  // Nor do separators in a quoted name.
  EXPECT_EQ(read("x,color,\"a;;;;;b\",y\n5,red,,yes\n", {.ignore_extra_columns = true}).rows(), 1U);
  // Rows full of other separators change nothing, with CR for line ends either.
  schema.columns[1].levels = {";;;;;;;;;;;;"};
  EXPECT_EQ(read("x,color,y\r1,;;;;;;;;;;;;,yes\r").rows(), 1U);
}

TEST_F(Csv, DecimalCommas) {
  expect_error("x;color;y\n2,5;red;no\n", {"t.csv:2:", "'2,5'", "set decimal = \",\""});
  schema.text.decimal = ',';
  const Dataset data = read("x;color;y\n2,5;red;no\n+1e0;red;no\n\"7,5\";red;yes\n");
  EXPECT_THAT(data.dense(), ElementsAre(0.25F, 1, 0, 0.1F, 1, 0, 0.75F, 1, 0));
  expect_error("x;color;y\n2.5;red;no\n", {"t.csv:2:", "'2.5' is not a finite number"});
  EXPECT_EQ(parse_schema(to_toml(schema), "s").text.decimal, ',');
  expect_bad_input(
      [] {
        parse_schema("label='y'\npositive='1'\ndecimal=';'\n[columns]\nx={type='ignore'}", "s");
      },
      {"s:3:", "decimal is ';'"});
}

TEST_F(Csv, EscapedQuotesAndNewlinesAreText) {
  schema.columns[1].levels = {"a \"b\"", "two\nlines", " blank "};
  const Dataset data =
      read("x,color,y\n0,\"a \"\"b\"\"\",yes\n0,\"two\nlines\",no\n0,\" blank \",no\n");
  EXPECT_THAT(data.dense(), ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1));
}

TEST_F(Csv, ClampsFillsAndCounts) {
  schema.text.has_missing = true;
  schema.text.missing = "?";
  schema.columns[1].has_missing = true;
  schema.columns[1].missing = "?";
  schema.columns[1].other = true;
  schema.intercept = true;
  schema.row_norm = 1;
  const Dataset data =
      read("x,color,y\n-3,?,yes\n11,green,no\n?,red,no\n10,\"dark, blue\",no\n0,red,no\n");
  EXPECT_EQ(data.features(), 6U);  // x, red, dark blue, (missing), (other), (intercept)
  const auto h = ::testing::FloatNear(0.70710677F, 1.3e-7F);
  EXPECT_THAT(std::vector<float>(data.dense().begin(), data.dense().begin() + 12),
              ElementsAre(0, 0, 0, 1, 0, 1, h, 0, 0, 0, h, 1));
  EXPECT_NEAR(data.view()(2, 0) / data.view()(2, 1), 0.5, 1e-6);  // the middle of the range
  EXPECT_EQ(data.view()(4, 1), 1.0F);
  EXPECT_EQ(data.counts.clamped_cells, 2U);
  EXPECT_EQ(data.counts.missing_cells, 2U);
  EXPECT_EQ(data.counts.other_cells, 1U);
  EXPECT_EQ(data.counts.clipped_rows, 3U);
}

TEST_F(Csv, EmptyCellsAreMissingOnlyWhenTheSchemaSaysSo) {
  expect_error("x,color,y\n,red,yes\n", {"t.csv:2:", "'x'", "empty", "missing = \"\""});
  schema.columns[1].other = true;  // not even then is an empty cell a level
  expect_error("x,color,y\n1,,yes\n", {"t.csv:2:", "'color'", "empty", "missing = \"\""});
  schema.text.has_missing = true;
  schema.text.missing = "";
  schema.columns[1].has_missing = true;
  const Dataset data = read("x,color,y\n,red,yes\n1,,no\n");
  EXPECT_EQ(data.counts.missing_cells, 2U);
  EXPECT_EQ(data.dense()[0], 0.5F);
  EXPECT_EQ(data.view()(1, 3), 1.0F);
}

/// One column, whose empty cells, as COPY of PostgreSQL writes them, are blank lines.
class CsvOfOneColumn : public test::DataTest {
 public:
  Schema schema = parse_schema(
      "label='y'\npositive='yes'\nmissing=''\nintercept=false\n[columns]\n"
      "x={type='number',range=[0,4]}",
      "s.toml");
  Dataset read(std::string_view text) const {
    return read_csv(write("t.csv", text), schema, {.labels = Labels::optional});
  }
};

TEST_F(CsvOfOneColumn, ABlankLineIsARow) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (const std::string head : {"", "\xef\xbb\xbf", "\n \n", "\r\r\n"}) {
      for (const std::string empty : {"", " ", "\t ", "\"\"", " \"\" "}) {
        const std::string line = empty + end;
        SCOPED_TRACE(::testing::PrintToString(head + end + empty));
        const Dataset data =
            read(head + "x" + end + line + "4" + end + line + line + "\"1\"" + end + line);
        EXPECT_THAT(data.dense(), ElementsAre(0.5F, 1, 0.5F, 0.5F, 0.25F, 0.5F));
        EXPECT_EQ(data.counts.missing_cells, 4U);
      }
    }
  }
  // Line ends of several kinds: CRLF is one, LF CR and CR blank LF are two.
  EXPECT_THAT(read("x\r\n4\n\r1\r \n4\r\r\n").dense(), ElementsAre(1, 0.5F, 0.25F, 0.5F, 1, 0.5F));
  // A cell of several lines has blank ones in it.
  schema = parse_schema(
      "label='y'\npositive='1'\nintercept=false\nmissing=''\n[columns]\n"
      "x={type='category',levels=[\"\\n\\n\", 'b']}",
      "s.toml");
  EXPECT_THAT(read("x\n\"\n\n\"\n\nb\n").dense(), ElementsAre(1, 0, 0, 0, 0, 1));
}

// A person's cell, empty or not, changes no number of rows: in any place, and across chunks.
TEST_F(CsvOfOneColumn, NoCellDecidesHowManyRowsThereAre) {
  schema.invalid = Invalid::middle;
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (int who = 0; who < 5; ++who) {
      for (const char* const cell : {"", " ", "\"\"", "x", "3"}) {
        std::string text = "x" + end;
        for (int i = 0; i < 5; ++i) text += (i == who ? cell : "2") + end;
        EXPECT_EQ(read(text).rows(), 5U) << ::testing::PrintToString(text);
      }
    }
  }
  for (const std::string line : {"\r\n", " \r\n", "   \n", "\r"}) {  // ends fall everywhere
    std::string text = "x\n4\n";
    while (text.size() < 600'000) text += line;
    const Dataset data = read(text);
    EXPECT_EQ(data.rows(), 1 + (text.size() - 4) / line.size());
    EXPECT_EQ(data.counts.missing_cells, data.rows() - 1);
  }
}

TEST_F(CsvOfOneColumn, FollowsTheRuleOfEmptyCells) {
  schema.text.has_missing = false;
  expect_bad_input([&] { (void)read("x\n1\n\n3\n"); }, {"t.csv:3:", "column 'x'", "cell is empty"});
  schema.invalid = Invalid::middle;
  EXPECT_THAT(read("x\n1\n\n4\n").dense(), ElementsAre(0.25F, 0.5F, 1));
  EXPECT_EQ(read("x\n1\n\n3\n").counts.invalid_cells, 1U);
  schema.invalid = Invalid::refuse;
  expect_bad_input([&] { (void)read("x\n\"1\n\"\n"); }, {"t.csv:2:", "not a finite number"});
}

// A writer that ends no last line would write an empty last cell as nothing at all.
TEST_F(CsvOfOneColumn, EveryLineMustEnd) {
  for (const char* const text : {"x\n1\n2", "x\n1\n ", "x\r1\r\t", "x\n1\n\"\"", "x\n1\n\"2\" "})
    expect_bad_input([&] { (void)read(text); }, {"t.csv:", "last line has no line end", "end the"});
  expect_bad_input([&] { (void)read("x\n1\n2"); }, {"t.csv:3:"});
  expect_bad_input([&] { (void)read("x"); }, {"no rows"});
  expect_bad_input([&] { (void)read("x\n\"1"); }, {"t.csv:2:", "no closing quote"});
  expect_bad_input([&] { (void)read("x\n1\n\"1\n2\n3\n"); }, {"t.csv:3:", "no closing quote"});
}

TEST_F(CsvOfOneColumn, CellsThatAreKeptAreThoseOfTheRows) {
  std::vector<std::string> kept;
  read_csv_columns(write("t.csv", "\nx\r\n1\r\n\r\n \"\" \r\n\r\n"), {"x"},
                   [&](std::span<const std::string> cells) { kept.push_back(cells[0]); });
  EXPECT_THAT(kept, ElementsAre("1", "", "", ""));
}

TEST_F(CsvOfOneColumn, ReadsAPipe) {
  const std::string pipe = path("pipe.csv");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream out(pipe);
    for (const char* part : {"x", "\r", "\n", " ", "\r", "\n", "\r", "\n", "4", "\r\n"})
      out << part << std::flush;
  });
  const Dataset data = read_csv(pipe, schema, {.labels = Labels::optional});
  writer.join();
  EXPECT_THAT(data.dense(), ElementsAre(0.5F, 0.5F, 1));
}

TEST_F(Csv, MissingIsOfTheColumn) {
  schema.text.has_missing = true;
  schema.text.missing = "?";
  schema.columns[0].has_missing = true;
  schema.columns[0].missing = "-9";
  schema.columns[1].other = true;
  const Dataset data = read("x,color,y\n-9,?,yes\n1,red,no\n");
  EXPECT_THAT(data.dense(),
              ElementsAre(0.5F, 0, 0, 0, 0.1F, 1, 0, 0));  // no level, not (other) either
  EXPECT_EQ(data.counts.columns[0].missing, 1U);
  EXPECT_EQ(data.counts.columns[1].missing, 1U);
  expect_error("x,color,y\n?,red,yes\n", {"'?' is not a finite number"});
}

TEST_F(Csv, MissingThatIsAListedLevelIsThatLevel) {
  schema.text.has_missing = true;
  schema.text.missing = "red";
  const Dataset data = read("x,color,y\n1,red,yes\n1,\"dark, blue\",no\n");
  EXPECT_EQ(data.features(), 3U);
  EXPECT_EQ(data.dense()[1], 1.0F);
  EXPECT_EQ(data.counts.missing_cells, 1U);
}

TEST_F(Csv, RefusesFilesThatAreNoTable) {
  expect_bad_input([&] { (void)read_csv(path("none.csv"), schema); },
                   {"none.csv: ", "there is no such file"});
  expect_bad_input([&] { (void)read_csv(path("."), schema); }, {"directory"});
  expect_error("", {"t.csv: ", "empty"});
  expect_error("\n \n\n", {"t.csv: ", "no header"});
  expect_error("x,color,y\n", {"t.csv: ", "no rows"});
  expect_error("\x1f\x8b\x08", {"t.csv: ", "compressed"});
  expect_error("\xff\xfex", {"t.csv: ", "UTF-16"});
  expect_error("PAR1\x15\x04", {"t.csv: ", "Parquet", "to_csv"});
  expect_error("ARROW1", {"t.csv: ", "Arrow", "to_csv"});
  expect_error("PK\x03\x04x", {"t.csv: ", "zip, or a workbook", "CSV UTF-8"});
  expect_error("\xd0\xcf\x11\xe0", {"t.csv: ", "Excel", "CSV UTF-8"});
  expect_bad_input([&] { (void)read_csv(write("t.xlsx", "PK\x03\x04x"), schema); },
                   {"t.xlsx: ", "is a workbook", "save the sheet as CSV UTF-8"});
}

TEST_F(Csv, RefusesBadHeaders) {
  expect_error("x,color,z,y\n1,red,2,yes\n", {"t.csv:1:", "'z'", "not in the schema", "ignore"});
  expect_error("x,y\n1,yes\n", {"t.csv:1:", "lacks column 'color'"});
  expect_error("x,color\n1,red\n", {"t.csv:1:", "label column 'y'"});
  // A label under another name is no column to ignore.
  expect_error("x,color,income\n1,red,yes\n",
               {"t.csv:1:", "label column 'y' (is it 'income'?)", "fix `label`"});
  expect_error("x,a,b,c,d\n1,2,3,4,5\n", {"(is it 'a' or 'b' or 'c', ...?)"});
  expect_error("x,color,x,y\n1,red,2,yes\n", {"t.csv:1:", "'x'", "twice"});
  EXPECT_EQ(read("x,color,z,y\n1,red,2,yes\n1,red,2,no\n", {.ignore_extra_columns = true}).rows(),
            2U);
}

TEST_F(Csv, RefusesRaggedRows) {
  expect_error("x,color,y\n1,red,yes\n1,red\n", {"t.csv:3:", "2 cells", "header has 3"});
  // The row is ragged, not its second cell a bad level.
  expect_error("x,color,y\n1,dark, blue,yes\n", {"t.csv:2:", "4 cells", "header has 3", "quotes"});
}

TEST_F(Csv, RefusesCellsThatAreNoFiniteNumber) {
  for (const char* cell : {"nan", "NaN", "inf", "-inf", "1e400", "-1e400", "infinity"})
    expect_error(std::string("x,color,y\n1,red,no\n") + cell + ",red,yes\n",
                 {"t.csv:3:", "column 'x'", cell, "not a finite number"});
  for (const char* cell : {"abc", "1x", "0x10", "+-1", "++1", "1 2", "--1", "+", "1,5", "1_000"})
    expect_error(std::string("x,color,y\n\"") + cell + "\",red,yes\n",
                 {"t.csv:2:", "column 'x'", cell, "not a finite number"});
  EXPECT_EQ(read("x,color,y\n1e-400,red,no\n+1e1,red,yes\n").dense()[3], 1.0F);
}

TEST_F(Csv, RefusesALevelThatIsNotInTheSchema) {
  expect_error("x,color,y\n1,green,yes\n",
               {"t.csv:2:", "'color'", "level 'green'", "other = true"});
  expect_error("x,color,y\n1,Red,yes\n", {"t.csv:2:", "level 'Red'"});
}

TEST_F(Csv, RefusesMalformedQuotes) {
  expect_error("x,color,y\n1,re\"d,yes\n", {"t.csv:2:", "quote"});
  expect_error("x,color,y\n1,\"red\"s,yes\n", {"t.csv:2:", "quote"});
  expect_error("x,color,y\n1,red,yes\n1,\"red,yes\n1,red,no\n", {"t.csv:3:", "no closing quote"});
  // The line where it opened, in a first cell too.
  expect_error("x,color,y\n1,red,yes\n\"1,red,yes\n1,red,no\n1,red,no\n",
               {"t.csv:3:", "no closing quote"});
  expect_error("x,color,y\n1,\"" + std::string(3 << 20, 'a'), {"t.csv:2:", "1 MiB", "quote"});
}

TEST_F(Csv, LineNumbersCountNewlinesInsideCells) {
  expect_error(
      "x,color,note,y\r\n1,red,\"a\r\nb\nc\",yes\r\n\r\n1,red,a,no\r\n1,green,\"\n\",no\r\n",
      {"t.csv:7:", "green"});
  // Errors of a record are at the line where it starts, also across chunks of the reader.
  std::string text = "x,color,note,y\n";
  for (int i = 0; i < 100000; ++i) text += "1,red,\"\n\",no\n";
  expect_error(text + "1,red,\"\n\",maybe,\n", {"t.csv:200002:", "5 cells"});
}

// Neither one class nor a third one decides whether there is a data set.
TEST_F(Csv, LabelsOfOneClassOrThree) {
  EXPECT_THAT(read("x,color,y\n1,red,yes\n1,red,yes\n").y, ElementsAre(1, 1));
  EXPECT_THAT(read("x,color,y\n1,red,no\n1,red,no\n").y, ElementsAre(-1, -1));
  EXPECT_THAT(read("x,color,y\n1,red,no\n1,red,yes\n1,red,maybe\n").y, ElementsAre(-1, 1, -1));
  expect_error("x,color,y\n1,red,no\n1,red,\n", {"t.csv:3:", "label is missing"});
  std::get<TwoClasses>(schema.label).negative = "no";
  EXPECT_THAT(read("x,color,y\n1,red,maybe\n1,red,no\n1,red, yes \n").y, ElementsAre(-1, -1, 1));
  std::get<TwoClasses>(schema.label).refuses_unlisted = true;
  expect_error("x,color,y\n1,red,maybe\n", {"t.csv:2:", "'maybe' is neither 'yes' nor 'no'"});
}

TEST_F(Csv, LabelsMayBeOptional) {
  const ReadOptions required{.labels = Labels::required}, optional{.labels = Labels::optional};
  EXPECT_THAT(read("x,color,y\n1,red,yes\n", required).y, ElementsAre(1));
  expect_error("x,color\n1,red\n", {"label column 'y'"}, required);
  expect_error("x,color,y\n1,red,\n", {"label is missing"}, required);
  EXPECT_THAT(read("x,color,y\n1,red,yes\n1,red,no\n", optional).y, ElementsAre(1, -1));
  for (const char* text : {"x,color\n1,red\n1,red\n", "x,color,y\n1,red,yes\n1,red,\n"}) {
    const Dataset data = read(text, optional);
    EXPECT_FALSE(data.labeled());
    EXPECT_GE(data.rows(), 2U);
  }
}

TEST_F(Csv, ErrorsStayOnOneLineAndShort) {
  expect_error("x,color,y\n1,\"a\n\x1b[31m" + std::string(1000, 'b') + "\",yes\n",
               {"\\x0a\\x1b", "..."});
}

TEST_F(Csv, ProgressIsReportedAndCanStop) {
  std::string text = "x,color,y\n";
  while (text.size() < (std::size_t{20} << 20)) text += "1.2345678,red,yes\n1.2345678,red,no\n";
  std::uint64_t last = 0, calls = 0;
  const Dataset data = read(text, {.progress = [&](std::uint64_t done, std::uint64_t all) {
                              EXPECT_EQ(all, text.size());
                              EXPECT_LE(done - last, std::uint64_t{5} << 20);
                              last = done;
                              ++calls;
                              return true;
                            }});
  EXPECT_EQ(last, text.size());
  EXPECT_GE(calls, 5U);
  EXPECT_THROW(read(text, {.progress = [](std::uint64_t, std::uint64_t) { return false; }}),
               Interrupted);
}

TEST_F(Csv, ReadsAPipe) {
  const std::string pipe = path("pipe.csv");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream out(pipe);
    for (const char* part : {"x;co", "lor;", "y\n"}) out << part << std::flush;
    for (int i = 0; i < 10000; ++i) out << "5;red;yes\n5;red;no\n";
  });
  const Dataset data = read_csv(pipe, schema);
  writer.join();
  EXPECT_EQ(data.rows(), 20000U);
  EXPECT_EQ(data.dense()[3 * 19999], 0.5F);
}

#ifdef GIBBSITE_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST_F(Csv, TheTextIsNotHeldInMemory) {
  if (sanitized) GTEST_SKIP() << "resident memory means nothing under a sanitizer";
  const std::string file = path("long.csv");
  {
    std::ofstream out(file);
    out << "x,color,note,y\n";
    const std::string note(180, 'n');
    for (int i = 0; i < 200000; ++i)
      out << i % 10 << ",red," << note << (i % 2 ? ",yes\n" : ",no\n");
  }
  ASSERT_GT(std::filesystem::file_size(file), 36U << 20);
  // In a child, whose peak starts at its present size. The rows need 200000 * 4 * 4 B = 3.2 MB, and
  // more than twice that where they move to a larger place; the text would need 37 MB.
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const Dataset data = read_csv(file, schema);
    ::getrusage(RUSAGE_SELF, &after);
    const long grown_kib = after.ru_maxrss - before.ru_maxrss;
    ::_exit(data.rows() == 200000 && grown_kib < 16 * 1024 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "reading 37 MB of text took more than 16 MiB of memory";
}

TEST_F(Csv, RandomBytesNeverCrash) {
  const std::string alphabet =
      "0123456789.,,,,\"\"\n\n\r -+e;xyesnoredcolor?#:\t\\\0\xef\xbb\xbf\xff";
  std::mt19937_64 random(7);
  int read_rows = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = trial % 3 == 0 ? "" : "x,color,y\n1,red,yes\n2,red,no\n";
    for (std::uint64_t i = random() % 200; i > 0; --i)
      text += trial % 2 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    if (trial % 5 == 0)  // legal rows with one byte changed
      text = "x,color,y\n1,red,yes\n2.25,\"red\",no\n3e0,\"dark, blue\",no\n";
    if (trial % 5 == 0) text[random() % text.size()] = alphabet[random() % alphabet.size()];
    try {
      const Dataset data = read(text, {.labels = Labels::optional});
      ++read_rows;
      for (const float v : data.dense()) EXPECT_TRUE(v >= 0 && v <= 1);
      EXPECT_TRUE(data.y.empty() || data.y.size() == data.rows()) << ::testing::PrintToString(text);
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
  EXPECT_GT(read_rows, 50);
}

}  // namespace csv_test
}  // namespace gibbsite
