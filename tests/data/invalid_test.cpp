// What becomes of cells that cannot be read, and of labels that are not listed: under
// invalid = "middle" no row decides whether there is a data set, nor of what shape.
#include <fmt/format.h>

#include <limits>
#include <random>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace invalid_test {

using test::expect_bad_input;
using ::testing::ElementsAre;

class InvalidCells : public test::DataTest {
 public:
  Schema schema = parse_schema(R"(label = "y"
positive = "1"
row_norm = 2
invalid = "middle"
intercept = false
[columns]
a = {type = "number", range = [0, 4]}
b = {type = "category", levels = ["0", "3"]}
c = {type = "category", levels = ["0", "3"], other = true}
)",
                               "s.toml");
  Dataset csv(std::string_view rows) const {
    return read_csv(write("t.csv", "a,b,c,y\n" + std::string(rows)), schema);
  }
  Dataset svm(std::string_view rows) const { return read_libsvm(write("t.svm", rows), schema); }
};

TEST_F(InvalidCells, AreTheMiddleAndNoLevelAndTheOther) {
  for (const char* row :
       {"x,x,x,1", ",,,1", "nan,nan,nan,1", "1e999,Z,Z,1", "\"1,5\",\x1b,\xff,1"}) {
    const Dataset data = csv(std::string(row) + "\n4,3,3,0\n");
    EXPECT_THAT(data.dense(), ElementsAre(0.5F, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0)) << row;
    // A level that is not listed is no invalid cell where there is (other); an empty one is.
    const bool listed_other = std::string_view(row) != ",,,1";
    EXPECT_EQ(data.counts.invalid_cells, listed_other ? 2U : 3U) << row;
    EXPECT_EQ(data.counts.other_cells, listed_other ? 1U : 0U) << row;
    ASSERT_EQ(data.counts.columns.size(), 3U);
    EXPECT_EQ(data.counts.columns[0].invalid, 1U);
    EXPECT_EQ(data.counts.columns[1].invalid, 1U);
  }
}

TEST_F(InvalidCells, LabelsAreTheNegativeClass) {
  EXPECT_THAT(csv("1,0,0,1\n1,0,0,\n").y, ElementsAre(1, -1));
  EXPECT_EQ(csv("1,0,0,1\n1,0,0,\n").counts.invalid_labels, 1U);
  schema.text.has_missing = true;
  schema.text.missing = "?";
  EXPECT_THAT(csv("1,0,0,1\n1,0,0,?\n").y, ElementsAre(1, -1));
  std::get<TwoClasses>(schema.label).negative = "0";
  const Dataset data = csv("1,0,0,1\n1,0,0,maybe\n1,0,0,0\n");
  EXPECT_THAT(data.y, ElementsAre(1, -1, -1));
  EXPECT_EQ(data.counts.unlisted_labels, 1U);
  EXPECT_EQ(data.counts.invalid_labels, 0U);
}

TEST_F(InvalidCells, OfLibsvmAndNumpyAreTheSame) {
  const Dataset text = svm("1 1:x 2: 3:nan\n1:inf 2:7 3:3\n0\n");
  EXPECT_THAT(text.dense(),
              ElementsAre(0.5F, 0, 0, 0, 0, 1, 0.5F, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0));
  EXPECT_THAT(text.y, ElementsAre(1, -1, -1));
  EXPECT_EQ(text.counts.invalid_labels, 1U);
  EXPECT_EQ(text.counts.invalid_cells, 5U);
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto inf = std::numeric_limits<float>::infinity();
  ReadOptions labels;
  labels.label_path =
      write("y.npy", test::npy("<f4", "(3,)", test::bytes_of<float>({1, nan, -inf})));
  const Dataset npy = read_npy(
      write("x.npy",
            test::npy("<f4", "(3, 3)", test::bytes_of<float>({nan, nan, nan, inf, 7, 3, 0, 0, 0}))),
      schema, labels);
  EXPECT_EQ(npy.dense(), text.dense());
  EXPECT_EQ(npy.y, text.y);
}

// The absent 0 of LIBSVM may be no level.
TEST_F(InvalidCells, MayBeAbsent) {
  schema.columns[1].levels = {"1", "3"};
  schema.columns[2].levels = {"1", "3"};
  const Dataset data = svm("1 1:4 2:3\n0\n0\n");
  EXPECT_THAT(data.dense(), ElementsAre(1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1));
  EXPECT_EQ(data.counts.columns[1].invalid, 2U);
  EXPECT_EQ(data.counts.columns[2].other, 3U);
}

TEST_F(InvalidCells, AreRefusedByDefaultAndTheLineSaysThatItIsPrivate) {
  schema.invalid = Invalid::refuse;
  for (const char* row : {"x,0,0,1\n", "1,Z,0,1\n"})
    expect_bad_input([&] { (void)csv(row); }, {"t.csv:2:", "private: this line quotes the table"});
  expect_bad_input([&] { (void)csv("1,0,0,\n"); }, {"t.csv:2:", "label is missing", "invalid ="});
  std::get<TwoClasses>(schema.label).negative = "0";
  EXPECT_THAT(csv("1,0,0,1\n1,0,0,maybe\n").y, ElementsAre(1, -1));
  std::get<TwoClasses>(schema.label).refuses_unlisted = true;
  expect_bad_input([&] { (void)csv("1,0,0,1\n1,0,0,maybe\n"); },
                   {"t.csv:3:", "'maybe' is neither '1' nor '0'", "private"});
}

TEST_F(InvalidCells, SurviveACache) {
  const std::string table = write("t.csv", "a,b,c,y\nx,x,x,1\n9,0,0,\n");
  const ReadOptions cached{.cache = ReadOptions::Cache::always};
  const Dataset made = read_table(table, schema, cached), used = read_table(table, schema, cached);
  for (const Dataset* data : {&made, &used}) {
    EXPECT_EQ(data->counts.invalid_cells, 2U);
    EXPECT_EQ(data->counts.invalid_labels, 1U);
    EXPECT_EQ(data->counts.clamped_cells, 1U);
    EXPECT_EQ(data->counts.columns.at(0).clamped, 1U);
    EXPECT_EQ(data->counts.columns.at(0).invalid, 1U);
    EXPECT_EQ(data->counts.columns.at(2).other, 1U);
  }
}

// Hostile cells of one row, in every format, with and without missing, negative and clipping.
TEST_F(InvalidCells, NoCellOfOneRowDecidesWhetherThereIsADataSet) {
  const std::string hostile[] = {"",
                                 " ",
                                 "?",
                                 "nan",
                                 "-inf",
                                 "1e400",
                                 "-1e400",
                                 "abc",
                                 "0x10",
                                 "1_0",
                                 "\xff",
                                 "\x1b[",
                                 "+-1",
                                 "1e-400",
                                 "1,5",
                                 "a\"b",
                                 "(other)",
                                 "'",
                                 "\\",
                                 "3.0",
                                 "-0",
                                 std::string(70000, 'z'),
                                 "\xc2\x9b",
                                 "true",
                                 "99999999999999999999"};
  std::mt19937_64 random(13);
  const auto any = [&]() -> const std::string& { return hostile[random() % std::size(hostile)]; };
  const auto cell = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
  };
  for (int trial = 0; trial < support::repeats(2000, 300); ++trial) {
    schema.text.has_missing = trial % 2 == 0;
    schema.text.missing = trial % 4 == 0 ? "?" : "nan";
    std::get<TwoClasses>(schema.label).negative = trial % 3 == 0 ? "0" : "";
    schema.intercept = trial % 5 == 0;
    schema.row_norm = trial % 7 == 0 ? 1e-6 : 1;
    const std::string others = "1,0,0,1\n2,3,3,0\n";
    const Dataset before = csv(others + "3,3,0,1\n");
    const Dataset after = csv(others + cell(any()) + "," + cell(any()) + "," + cell(any()) + "," +
                              cell(any()) + "\n");
    ASSERT_EQ(after.rows(), before.rows());
    ASSERT_EQ(after.features(), before.features());
    ASSERT_TRUE(after.labeled());
    ASSERT_TRUE(std::abs(after.y[2]) == 1);
    for (std::size_t j = 0; j < after.features(); ++j) {
      ASSERT_TRUE(after.view()(2, j) >= 0 && after.view()(2, j) <= 1);
      for (std::size_t i = 0; i < 2; ++i) ASSERT_EQ(after.view()(i, j), before.view()(i, j));
    }
    // LIBSVM: words without blanks.
    const auto word = [&] {
      std::string out = any();
      std::erase_if(out, [](char c) { return c == ' ' || c == ':' || c == '#'; });
      return out;
    };
    const Dataset lines =
        svm(fmt::format("1 1:1 2:0\n0 1:2\n{} 1:{} 2:{} 3:{}\n", word(), word(), word(), word()));
    ASSERT_EQ(lines.rows(), 3U);
    ASSERT_TRUE(lines.labeled());
  }
}

TEST(InvalidSchema, KeysReadAndWriteBack) {
  const std::string head = "label='y'\npositive='1'\n",
                    tail = "[columns]\nx={type='number',range=[0,1]}";
  const Schema plain = parse_schema(head + tail, "s");
  EXPECT_EQ(plain.invalid, Invalid::refuse);
  EXPECT_FALSE(std::get<TwoClasses>(plain.label).refuses_unlisted);
  const Schema middle = parse_schema(head +
                                         "negative='0'\nunlisted_label='negative'\n"
                                         "invalid='middle'\n" +
                                         tail,
                                     "s");
  EXPECT_EQ(middle.invalid, Invalid::middle);
  EXPECT_EQ(parse_schema(to_toml(middle), "s").invalid, Invalid::middle);
  const Schema refuse =
      parse_schema(head + "negative='0'\nunlisted_label='refuse'\ninvalid='refuse'\n" + tail, "s");
  EXPECT_TRUE(std::get<TwoClasses>(refuse.label).refuses_unlisted);
  EXPECT_TRUE(parse_schema(to_toml(refuse), "s") == refuse);
  const auto error = [&](const std::string& keys, const std::vector<std::string>& parts) {
    expect_bad_input([&] { parse_schema(head + keys + tail, "s"); }, parts);
  };
  error("invalid='drop'\n", {"s:3:", "invalid", "'drop'", "\"middle\""});
  error("invalid=1\n", {"s:3:", "invalid", "a string"});
  error("unlisted_label='drop'\n", {"s:3:", "unlisted_label", "\"refuse\""});
  error("unlisted_label='refuse'\n", {"s:3:", "unlisted_label", "beside `negative`"});
  error("negative='0'\ninvalid='middle'\nunlisted_label='refuse'\n", {"s:5:", "contradicts"});
}

}  // namespace invalid_test
}  // namespace gibbsite
