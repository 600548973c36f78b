#include <fmt/format.h>

#include <random>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace libsvm_test {

using test::expect_bad_input;
using ::testing::ElementsAre;
using Labels = ReadOptions::Labels;

class Libsvm : public test::DataTest {
 public:
  Schema schema = parse_schema(R"(label = "y"
positive = "1"
row_norm = 2
intercept = false
[columns]
a = {type = "number", range = [-1, 1]}
b = {type = "ignore"}
c = {type = "category", levels = ["0", "3"]}
)",
                               "s.toml");
  Dataset read(std::string_view text, const ReadOptions& options = {}) const {
    return read_libsvm(write("t.svm", text), schema, options);
  }
  void expect_error(std::string_view text, const std::vector<std::string>& parts) const {
    SCOPED_TRACE(text);
    expect_bad_input([&] { (void)read(text); }, parts);
  }
};

TEST_F(Libsvm, ReadsSparseRows) {
  const Dataset data = read("+1 1:0.5 3:3 # a comment\n-1 2:77\r\n1.0 1:-1 2:1 3:0\n");
  EXPECT_THAT(data.dense(), ElementsAre(0.75F, 0, 1, 0.5F, 1, 0, 0, 1, 0));  // absent is 0
  EXPECT_THAT(data.y, ElementsAre(1, -1, 1));
}

// Lines that a person's row may be: with no label and no entries, or a label that begins with #.
constexpr const char* unlabeled_lines[] = {
    "", " ", "\t\r", "#", "#N/A", "# 1:0.5", "#N/A 1:0.5", "#x # 7", " # 7", " # id 7", "  #\f"};

TEST_F(Libsvm, NoLineOfARowIsDropped) {
  for (const char* const line : unlabeled_lines) {
    for (const std::string end : {"\n", "\r\n"}) {
      for (std::size_t who = 0; who < 3; ++who) {
        std::string text;
        for (std::size_t i = 0; i < 3; ++i) text += (i == who ? line : "1 1:0.5 3:3 # id 4") + end;
        SCOPED_TRACE(::testing::PrintToString(text));
        schema.invalid = Invalid::middle;
        const Dataset data = read(text);
        ASSERT_EQ(data.rows(), 3U);
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(data.y[i], i == who ? -1.0F : 1.0F);
          EXPECT_EQ(data.view()(i, 0), i == who ? 0.5F : 0.75F);
          EXPECT_EQ(data.view()(i, 1), i == who ? 1.0F : 0.0F);
        }
        EXPECT_EQ(data.counts.invalid_labels, 1U);
        schema.invalid = Invalid::refuse;
        expect_error(text, {fmt::format("t.svm:{}:", 1 + who), "no label", "invalid = \"middle\""});
        EXPECT_EQ(read(text, {.labels = Labels::optional}).rows(), 3U);
      }
    }
  }
}

// The first row's label is no file's magic: whether there is a table does not follow from it.
TEST_F(Libsvm, NoLabelIsAnotherFormat) {
  schema.invalid = Invalid::middle;
  for (const std::string label :
       {"BZh", "BZh91AY&SY", "PAR1", "ARROW1", "SQLite", "\x1f\x8b", "\xff\xfe", "\xfe\xff",
        "\xef\xbb\xbf", "PK\x03\x04", "\x89HDF"}) {
    SCOPED_TRACE(::testing::PrintToString(label));
    const std::string text = label + " 1:0.5\n1 1:0.5\n";
    EXPECT_THAT(read(text).y, ElementsAre(-1, 1));
    EXPECT_THAT(read_table(write("T.SVM", text), schema).y, ElementsAre(-1, 1));
  }
}

// Nothing but such lines, and lines that a chunk's end falls in.
TEST_F(Libsvm, BlankLinesAlone) {
  schema.invalid = Invalid::middle;
  EXPECT_THAT(read("\n#\n").y, ElementsAre(-1, -1));
  EXPECT_THAT(read("#\n# a comment\n\n1 1:0\n\n").y, ElementsAre(-1, -1, -1, 1, -1));
  std::string text;
  while (text.size() < 600'000) text += "  \r\n";
  EXPECT_EQ(read(text).rows(), text.size() / 4);
  EXPECT_EQ(read(text + "1\n").y.back(), 1);
}

// A writer that ends no last line would write such a last row as nothing at all.
TEST_F(Libsvm, EveryLineMustEnd) {
  schema.invalid = Invalid::middle;
  for (const char* const text : {"1 1:0\n1 1:0", "1\n ", "1 1:0\n#", "1 1:0\n\r"})
    expect_error(text, {"t.svm:", "last line has no line end", "end the line"});
  expect_error("1 1:0\n1 1:0", {"t.svm:2:"});
}

TEST_F(Libsvm, LabelsAreComparedAsNumbers) {
  EXPECT_THAT(read("1 1:0\n0 1:0\n+1.00 1:0\n-0 1:0\n1e0 1:0\n").y, ElementsAre(1, -1, 1, -1, 1));
  std::get<TwoClasses>(schema.label).positive = "+1";
  std::get<TwoClasses>(schema.label).negative = "-1.0";
  EXPECT_THAT(read("1 1:0\n-1 1:0\n").y, ElementsAre(1, -1));
  EXPECT_THAT(read("1 1:0\n0 1:0\n").y, ElementsAre(1, -1));
  std::get<TwoClasses>(schema.label).refuses_unlisted = true;
  expect_error("1 1:0\n0 1:0\n", {"t.svm:2:", "'0' is neither '1' nor '-1'"});
  std::get<TwoClasses>(schema.label).refuses_unlisted = false;
  std::get<TwoClasses>(schema.label).positive = "spam";
  std::get<TwoClasses>(schema.label).negative = "";
  EXPECT_THAT(read("spam 1:0\nham 1:0\n").y, ElementsAre(1, -1));
  std::get<TwoClasses>(schema.label).positive = "1";
  EXPECT_THAT(read("1 1:0\n2 1:0\n3 1:0\n").y, ElementsAre(1, -1, -1));
  EXPECT_THAT(read("1 1:0\n").y, ElementsAre(1));
}

TEST_F(Libsvm, RefusesMalformedLines) {
  expect_error("", {"t.svm: ", "empty"});
  expect_error("# nothing\n", {"t.svm:1: ", "blank or a comment"});
  expect_error("1 1:0\n1 0:1\n", {"t.svm:2:", "index 0", "start at 1"});
  expect_error("1 2:0 1:1\n", {"t.svm:1:", "index 1", "increase"});
  expect_error("1 1:0 1:1\n", {"t.svm:1:", "index 1", "increase"});
  expect_error("1 4:0\n", {"t.svm:1:", "index 4", "3 columns"});
  expect_error("1 99999999999999999999:0\n", {"t.svm:1:", "not index:value"});
  expect_error("1 a:0\n", {"t.svm:1:", "'a:0' is not index:value"});
  expect_error("1 -1:0\n", {"t.svm:1:", "not index:value"});
  expect_error("1 1\n", {"t.svm:1:", "'1' is not index:value"});
  expect_error("1 1:\n", {"t.svm:1:", "'a'", "the cell is empty"});
  expect_error("1 1:x\n", {"t.svm:1:", "'x' is not a finite number"});
  expect_error("1 qid:3 1:0\n", {"t.svm:1:", "qid"});
  expect_error("1 1:nan\n", {"t.svm:1:", "'a'", "not a finite number"});
  expect_error("1 1:1e400\n", {"t.svm:1:", "'a'", "not a finite number"});
  expect_error("1:0.5\n", {"t.svm:1:", "no label"});
  expect_error("1 3:7\n", {"t.svm:1:", "'c'", "level '7' is not in the schema"});
  expect_error("1 3:0.5\n", {"t.svm:1:", "'c'", "level '0.5' is not in the schema"});
}

TEST_F(Libsvm, LabelsMayBeAbsentForPredict) {
  const Dataset data = read("1:0.5\n1 1:1\n", {.labels = Labels::optional});
  EXPECT_FALSE(data.labeled());
  EXPECT_THAT(data.dense(), ElementsAre(0.75F, 1, 0, 1, 1, 0));
}

TEST_F(Libsvm, MissingMayBeANumber) {
  schema.text.has_missing = true;
  schema.text.missing = "nan";
  schema.columns[2].has_missing = true;
  schema.columns[2].missing = "nan";
  const Dataset data = read("1 1:nan 3:nan\n0 1:0 3:0\n");
  EXPECT_THAT(data.dense(), ElementsAre(0.5F, 0, 0, 1, 0.5F, 1, 0, 0));
  EXPECT_EQ(data.counts.missing_cells, 2U);
  schema.text.missing = schema.columns[2].missing = "-9";
  EXPECT_THAT(read("1 1:-9.0 3:3\n0 1:0 3:-9\n").dense(),
              ElementsAre(0.5F, 0, 1, 0, 0.5F, 0, 0, 1));
}

TEST_F(Libsvm, LinesLongerThanAChunk) {
  schema = parse_schema(
      "label='y'\npositive='1'\nrow_norm=1000\n[columns]\nx={type='number',range=[0,1],count="
      "60000}",
      "s");
  std::string line;
  for (int j = 1; j <= 60000; ++j) line.append(" ").append(std::to_string(j)).append(":0.25");
  ASSERT_GT(line.size(), 2U * (256U << 10));
  const Dataset data = read("1" + line + "\n0" + line + "\n1 60000:1\n");
  EXPECT_EQ(data.rows(), 3U);
  EXPECT_EQ(data.view()(1, 59999), 0.25F);
  EXPECT_EQ(data.view()(2, 59999), 1.0F);
  EXPECT_EQ(data.view()(2, 59998), 0.0F);
  expect_error("1" + line + " 60001:2\n", {"t.svm:1:", "index 60001"});
}

TEST_F(Libsvm, MoreRowsThanMemoryIsAClearError) {
  schema = parse_schema(
      "label='y'\npositive='1'\nrow_norm=1.0\nintercept=false\n[columns]\nx={type='number',range=[-"
      "1,1],count=100000}",
      "s");
  std::string text;
  for (int i = 0; i < 5000000; ++i) text += "1\n";  // 2 TB of halves
  expect_error(text,
               {"t.svm: 5000001 rows (private under add-remove) of 100000 features need 1862.7 GiB",
                "available"});
}

// What is absent costs neither memory nor time.
TEST_F(Libsvm, AMillionColumnsStaySparse) {
  constexpr std::size_t many = support::repeats(1'000'000UL, 100'000UL);
  schema = parse_schema(
      "label='y'\npositive='1'\nrow_norm=3\nintercept=true\n[columns]\n"
      "x={type='number',range=[0,2],count=" +
          std::to_string(many) + "}",
      "s");
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += fmt::format("{} {}:1 {}:0.5 {}:2\n", i % 2, i + 1, many / 2, many);
  const Dataset data = read(text);
  EXPECT_EQ(data.rows(), 3000U);
  const Rows x = data.view();
  ASSERT_TRUE(x.is_sparse());
  EXPECT_EQ(x.cols, many + 1);
  EXPECT_EQ(x.sparse.entries(), 3000U * 4);
  EXPECT_LT(data.bytes_per_row(), 64);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1500}, std::size_t{2999}}) {
    EXPECT_EQ(x(i, i), 0.5F);
    EXPECT_EQ(x(i, many / 2 - 1), 0.25F);
    EXPECT_EQ(x(i, many - 1), 1.0F);
    EXPECT_EQ(x(i, many), 1.0F);
    EXPECT_EQ(x(i, 7777), 0.0F);
  }
  x.validate();
}

// Rows as LIBSVM text equal the same rows as a CSV with every cell: values, counts and clipping. An
// absent 0 may be a level, an ignored or missing cell, clamped, or not 0 after scaling.
TEST_F(Libsvm, AbsentIsZeroInEveryKindOfColumn) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::string toml = "label='y'\npositive='1'\nrow_norm=1.5\n";
    if (trial % 3 == 0) toml += "missing='0'\n";
    if (trial % 2 == 0) toml += "intercept=true\n";
    toml += "[columns]\n";
    const int k = 1 + static_cast<int>(random() % 12);
    std::string header = "y";
    for (int j = 0; j < k; ++j) {
      const std::string name = fmt::format("c{}", j);
      const char* const kinds[] = {
          "{type='number',range=[0,4]}",
          "{type='number',range=[-1,2]}",
          "{type='number',range=[1,2]}",
          "{type='category',levels=['0','3'],other=true}",
          "{type='category',levels=['1','2'],other=true}",
          "{type='category',levels=['a','b','c','d','e','f','0','1','2','3']}",
          "{type='ignore'}"};
      toml += fmt::format("{}={}\n", name, kinds[j == 0 ? 0 : random() % std::size(kinds)]);
      header += fmt::format(",{}", name);
    }
    schema = parse_schema(toml, "s");
    std::string entries, cells = header + "\n";
    for (int i = 0; i < 40; ++i) {
      entries += std::to_string(1 + i % 2);
      cells += std::to_string(1 + i % 2);
      for (int j = 0; j < k; ++j) {
        const int value = random() % 3 == 0 ? static_cast<int>(random() % 4) : 0;
        if (value != 0 || random() % 4 == 0) entries += fmt::format(" {}:{}", j + 1, value);
        cells += fmt::format(",{}", value);
      }
      entries += "\n";
      cells += "\n";
    }
    SCOPED_TRACE(toml + entries);
    const Dataset a = read(entries), b = read_csv(write("t.csv", cells), schema);
    test::expect_same_rows(a, b);
    ASSERT_EQ(a.counts.columns.size(), b.counts.columns.size());
    for (std::size_t j = 0; j < a.counts.columns.size(); ++j) {
      EXPECT_EQ(a.counts.columns[j].clamped, b.counts.columns[j].clamped);
      EXPECT_EQ(a.counts.columns[j].missing, b.counts.columns[j].missing);
      EXPECT_EQ(a.counts.columns[j].other, b.counts.columns[j].other);
    }
    a.view().validate();
  }
}

TEST_F(Libsvm, AbsentMayBeNoLevel) {
  schema = parse_schema(
      "label='y'\npositive='1'\n[columns]\na={type='number',range=[0,1]}\n"
      "c={type='category',levels=['1','3']}",
      "s");
  EXPECT_EQ(read("1 2:3\n0 1:1 2:1\n").rows(), 2U);  // never absent
  expect_error("1 2:3\n0 1:1\n", {"t.svm:2:", "'c'", "level '0' is not in the schema"});
}

TEST_F(Libsvm, RandomBytesNeverCrash) {
  const std::string alphabet = "0123456789::::    \n\n.-+e#aqid\r\t";
  std::mt19937_64 random(9);
  int read_rows = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = "1 1:0.5 3:3\n-1 2:1\n";
    if (trial % 2 == 0) text[random() % text.size()] = alphabet[random() % alphabet.size()];
    if (trial % 3 == 0)
      for (std::uint64_t i = random() % 60; i > 0; --i)
        text += trial % 9 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    try {
      (void)read(text, {.labels = Labels::optional});
      ++read_rows;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
  EXPECT_GT(read_rows, 50);
}

}  // namespace libsvm_test
}  // namespace gibbsite
