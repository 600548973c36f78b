#include <random>

#include "support.hpp"

namespace gibbsite {
namespace {

using test::expect_bad_input;
using ::testing::ElementsAre;
using Labels = ReadOptions::Labels;

class Libsvm : public test::DataTest {
 public:
  Schema schema = parse_schema(R"(label = "y"
positive = "1"
row_norm = 2
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
  const Dataset data =
      read("+1 1:0.5 3:3 # a comment\n\n# only a comment\n-1 2:77\r\n1.0 1:-1 2:1 3:0");
  EXPECT_THAT(data.x, ElementsAre(0.75F, 0, 1, 0.5F, 1, 0, 0, 1, 0));  // absent is 0
  EXPECT_THAT(data.y, ElementsAre(1, -1, 1));
}

TEST_F(Libsvm, LabelsAreComparedAsNumbers) {
  EXPECT_THAT(read("1 1:0\n0 1:0\n+1.00 1:0\n-0 1:0\n1e0 1:0\n").y, ElementsAre(1, -1, 1, -1, 1));
  schema.positive = "+1";
  schema.negative = "-1.0";
  EXPECT_THAT(read("1 1:0\n-1 1:0\n").y, ElementsAre(1, -1));
  expect_error("1 1:0\n0 1:0\n", {"t.svm:2:", "'0' is neither '1' nor '-1'"});
  schema.positive = "spam";
  schema.negative = "";
  EXPECT_THAT(read("spam 1:0\nham 1:0\n").y, ElementsAre(1, -1));
  schema.positive = "1";
  expect_error("1 1:0\n2 1:0\n3 1:0\n", {"t.svm:3:", "third class '3'"});
  expect_error("1 1:0\n", {"every label is '1'"});
}

TEST_F(Libsvm, RefusesMalformedLines) {
  expect_error("", {"t.svm: ", "empty"});
  expect_error("# nothing\n", {"t.svm: ", "no rows"});
  expect_error("1 1:0\n1 0:1\n", {"t.svm:2:", "index 0", "start at 1"});
  expect_error("1 2:0 1:1\n", {"t.svm:1:", "index 1", "increase"});
  expect_error("1 1:0 1:1\n", {"t.svm:1:", "index 1", "increase"});
  expect_error("1 4:0\n", {"t.svm:1:", "index 4", "3 columns"});
  expect_error("1 99999999999999999999:0\n", {"t.svm:1:", "not index:value"});
  expect_error("1 a:0\n", {"t.svm:1:", "'a:0' is not index:value"});
  expect_error("1 -1:0\n", {"t.svm:1:", "not index:value"});
  expect_error("1 1\n", {"t.svm:1:", "'1' is not index:value"});
  expect_error("1 1:\n", {"t.svm:1:", "value is not a number"});
  expect_error("1 1:x\n", {"t.svm:1:", "value is not a number"});
  expect_error("1 qid:3 1:0\n", {"t.svm:1:", "qid"});
  expect_error("1 1:nan\n", {"t.svm:1:", "'a'", "not a finite number"});
  expect_error("1 1:1e400\n", {"t.svm:1:", "'a'", "not a finite number"});
  expect_error("1:0.5\n", {"t.svm:1:", "no label"});
  expect_error("1 3:7\n", {"t.svm:1:", "'c'", "level '7' is not in the schema"});
  expect_error("1 3:0.5\n", {"t.svm:1:", "'c'", "level '0.5' is not in the schema"});
}

TEST_F(Libsvm, LabelsMayBeAbsentForPredict) {
  const Dataset data = read("1:0.5\n1 1:1\n", {.labels = Labels::optional});
  EXPECT_FALSE(data.labelled());
  EXPECT_THAT(data.x, ElementsAre(0.75F, 1, 0, 1, 1, 0));
}

TEST_F(Libsvm, MissingMayBeANumber) {
  schema.has_missing = true;
  schema.missing = "nan";
  const Dataset data = read("1 1:nan 3:nan\n0 1:0 3:0\n");
  EXPECT_THAT(data.x, ElementsAre(0.5F, 0, 0, 1, 0.5F, 1, 0, 0));
  EXPECT_EQ(data.counts.missing_cells, 2U);
  schema.missing = "-9";
  EXPECT_EQ(read("1 1:-9.0 3:3\n0 1:0 3:-9\n").x,
            (std::vector<float>{0.5F, 0, 1, 0, 0.5F, 0, 0, 1}));
}

TEST_F(Libsvm, LinesLongerThanAChunk) {
  schema = parse_schema(
      "label='y'\npositive='1'\nrow_norm=1000\n[columns]\nx={type='number',range=[0,1],count="
      "60000}",
      "s");
  std::string line;
  for (int j = 1; j <= 60000; ++j) line.append(" ").append(std::to_string(j)).append(":0.25");
  ASSERT_GT(line.size(), 2U * (256U << 10));
  const Dataset data = read("1" + line + "\n0" + line + "\n1 60000:1");
  EXPECT_EQ(data.rows(), 3U);
  EXPECT_EQ(data.view()(1, 59999), 0.25F);
  EXPECT_EQ(data.view()(2, 59999), 1.0F);
  EXPECT_EQ(data.view()(2, 59998), 0.0F);
  expect_error("1" + line + " 60001:2\n", {"t.svm:1:", "index 60001"});
}

TEST_F(Libsvm, MoreRowsThanMemoryIsAClearError) {
  schema = parse_schema(
      "label='y'\npositive='1'\n[columns]\nx={type='number',range=[0,1],count=100000}", "s");
  std::string text;
  for (int i = 0; i < 5000000; ++i) text += "1\n";  // 2 TB of zeros
  expect_error(text, {"t.svm: 5000001 rows of 100000 features need 1862.7 GiB", "available"});
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

}  // namespace
}  // namespace gibbsite
