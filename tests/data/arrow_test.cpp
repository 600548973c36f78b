// Tables by the Arrow C stream interface against the same cells as CSV and .npy: the same Dataset,
// bit by bit, and the same refusals.
#include "gibbsite/data/arrow.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "data/arrow_column.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace arrow_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using testing::arrow_bools;
using testing::arrow_dictionary;
using testing::arrow_nulls;
using testing::arrow_numbers;
using testing::arrow_text;
using testing::arrow_union;
using testing::ArrowBytes;
using testing::ArrowColumn;
using testing::ArrowTable;
using ::testing::ElementsAre;
using testing::Texts;
using Labels = ReadOptions::Labels;
using Batch = ArrowTable::Batch;
template <class T>
using Maybe = std::vector<std::optional<T>>;

Schema schema_of(const std::string& columns, const std::string& more = "") {
  return parse_schema("label = 'y'\npositive = 'yes'\n" + more + "\n[columns]\n" + columns,
                      "s.toml");
}
ArrowColumn labels_of(std::size_t rows) {
  Texts labels;
  for (std::size_t i = 0; i < rows; ++i) labels.emplace_back(i % 3 == 0 ? "yes" : "no");
  return arrow_text("y", "u", labels);
}

class Arrow : public test::DataTest {
 public:
  /// Reads the table, and everything that it lent is given back.
  static Dataset read(ArrowTable& table, const Schema& schema, const ReadOptions& options = {},
                      std::span<const double> labels = {}) {
    ArrowArrayStream stream = table.stream();
    struct GivenBack {
      ArrowTable& table;
      ~GivenBack() { EXPECT_EQ(table.lent(), 0); }
    } const given_back{table};
    return read_arrow(stream, schema, options, labels);
  }
  static Dataset read(Batch batch, const Schema& schema, const ReadOptions& options = {},
                      std::span<const double> labels = {}) {
    ArrowTable table({std::move(batch)});
    return read(table, schema, options, labels);
  }
  static void expect_error(Batch batch, const Schema& schema, const std::vector<std::string>& parts,
                           const ReadOptions& options = {}) {
    expect_bad_input([&] { (void)read(std::move(batch), schema, options); }, parts);
  }
  /// A CSV file of column a with these cells, and of labels_of.
  [[nodiscard]] Dataset csv(const std::vector<std::string>& cells, const Schema& schema) const {
    std::string text = "a,y\n";
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += fmt::format("\"{}\",{}\n", cells[i], i % 3 == 0 ? "yes" : "no");
    return read_csv(write("t.csv", text), schema);
  }
  /// The column is read as these cells of a CSV file, whole and from an offset on.
  void expect_cells(const ArrowColumn& column, const std::vector<std::string>& cells,
                    const Schema& schema) const {
    SCOPED_TRACE(column.format);
    const std::size_t n = cells.size();
    expect_same(read({column, labels_of(n)}, schema), csv(cells, schema));
    if (n < 2) return;
    const auto left = static_cast<std::int64_t>(n - 1);
    expect_same(read({column.slice(1, left), labels_of(n - 1)}, schema),
                csv({cells.begin() + 1, cells.end()}, schema));
  }
};

const Schema number = schema_of("a = {type = 'number', range = [-100, 100]}");

template <class T>
ArrowColumn integers(const std::string& format) {
  return arrow_numbers<T>("a", format, {T(0), T(3), T(100), T(101), T(-100), T(7), T(-1)});
}
template <class T>
std::vector<std::string> integer_cells() {
  std::vector<std::string> out;
  for (const T value : {T(0), T(3), T(100), T(101), T(-100), T(7), T(-1)})
    out.push_back(std::to_string(value));
  return out;
}

TEST_F(Arrow, ReadsEveryInteger) {
  expect_cells(integers<std::int8_t>("c"), integer_cells<std::int8_t>(), number);
  expect_cells(integers<std::uint8_t>("C"), integer_cells<std::uint8_t>(), number);
  expect_cells(integers<std::int16_t>("s"), integer_cells<std::int16_t>(), number);
  expect_cells(integers<std::uint16_t>("S"), integer_cells<std::uint16_t>(), number);
  expect_cells(integers<std::int32_t>("i"), integer_cells<std::int32_t>(), number);
  expect_cells(integers<std::uint32_t>("I"), integer_cells<std::uint32_t>(), number);
  expect_cells(integers<std::int64_t>("l"), integer_cells<std::int64_t>(), number);
  expect_cells(integers<std::uint64_t>("L"), integer_cells<std::uint64_t>(), number);
}

// Beyond 2^53 a number is rounded as its text is, and a level is its digits.
TEST_F(Arrow, LargeIntegersAreTheirText) {
  const Schema wide = schema_of("a = {type = 'number', range = [-2e19, 2e19]}");
  const std::vector<std::int64_t> values = {9007199254740993, 9007199254740995,
                                            -9223372036854775807, 1234567890123456789};
  Maybe<std::int64_t> column(values.begin(), values.end());
  std::vector<std::string> cells;
  for (const std::int64_t value : values) cells.push_back(std::to_string(value));
  expect_cells(arrow_numbers("a", "l", column), cells, wide);
  const Schema levels = schema_of(
      "a = {type = 'category', levels = ['9007199254740993', '18446744073709551615', '-5'], "
      "other = true}");
  expect_cells(arrow_numbers("a", "l", column), cells, levels);
  const Maybe<std::uint64_t> large = {18446744073709551615U, 9007199254740993U, 4U,
                                      9007199254740992U};
  const std::vector<std::string> large_cells = {"18446744073709551615", "9007199254740993", "4",
                                                "9007199254740992"};
  expect_cells(arrow_numbers("a", "L", large), large_cells, wide);
  expect_cells(arrow_numbers("a", "L", large), large_cells, levels);
}

TEST_F(Arrow, ReadsFloatsAsNpyDoes) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.1, -0.0, 3, 250, nan, infinity, -infinity, 1e-300, 99.99};
  for (const char* more : {"invalid = 'middle'", "invalid = 'middle'\nmissing = 'nan'",
                           "invalid = 'middle'\nmissing = '3'\nrow_norm = 0.4"}) {
    for (const char* kind : {"type = 'number', range = [-100, 100]",
                             "type = 'category', levels = ['3', '0.1', '0'], other = true",
                             "type = 'category', levels = ['0', '1e-300']"}) {
      Schema schema = schema_of(fmt::format("a = {{{}}}", kind), more);
      std::get<TwoClasses>(schema.label).positive = "1";
      std::vector<double> y;
      for (std::size_t i = 0; i < values.size(); ++i) y.push_back(i % 2 == 0 ? 1 : 0);
      const auto same = [&]<class T>(const char* format, const char* descr, T) {
        SCOPED_TRACE(format);
        Maybe<T> column;
        std::vector<T> plain;
        for (const double value : values) plain.push_back(static_cast<T>(value));
        column.assign(plain.begin(), plain.end());
        const std::string x_bytes = bytes_of(plain);
        const Dataset file = read_npy(
            write("x.npy", npy(descr, fmt::format("({}, 1)", values.size()), x_bytes)), schema,
            {.label_path =
                 write("y.npy", npy("<f8", fmt::format("({},)", y.size()), bytes_of(y)))});
        const Maybe<double> labels(y.begin(), y.end());
        expect_same(
            read({arrow_numbers("a", format, column), arrow_numbers("y", "g", labels)}, schema),
            file);
      };
      same("f", "<f4", 0.0F);
      same("g", "<f8", 0.0);
    }
  }
}

TEST_F(Arrow, ReadsHalves) {
  // 1, -2, 65504, 2^-24, the largest subnormal, 1/3, -0
  const Maybe<std::uint16_t> halves = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x3555, 0x8000};
  const std::vector<std::string> cells = {
      "1", "-2", "65504", "5.9604644775390625e-8", "6.0975551605224609375e-5", "0.333251953125",
      "0"};
  const Schema schema = schema_of("a = {type = 'number', range = [-2, 1e-5]}");
  expect_cells(arrow_numbers("a", "e", halves), cells, schema);
  const Schema large = schema_of("a = {type = 'number', range = [-2, 70000]}");
  expect_cells(arrow_numbers("a", "e", halves), cells, large);
  EXPECT_TRUE(std::isnan(half_number(0x7e00)));
  EXPECT_EQ(half_number(0xfc00), -std::numeric_limits<double>::infinity());
}

ArrowBytes decimal_bytes(const std::string& digits, int bytes) {
  ArrowBytes out(static_cast<std::size_t>(bytes));
  const bool negative = digits[0] == '-';
  for (const char c : digits) {
    if (c == '-') continue;
    int carry = c - '0';
    for (unsigned char& byte : out) {
      carry += byte * 10;
      byte = static_cast<unsigned char>(carry & 255);
      carry >>= 8;
    }
  }
  for (std::size_t k = 0, carry = 1; negative && k < out.size(); ++k) {
    carry += static_cast<unsigned char>(~out[k]);
    out[k] = static_cast<unsigned char>(carry & 255);
    carry >>= 8;
  }
  return out;
}

TEST_F(Arrow, DecimalsAreTheNearestDoubles) {
  std::mt19937_64 random(5);
  for (int turn = 0; turn < 20'000; ++turn) {
    const int bytes = 4 << (random() % 4);
    const int most = std::vector<int>{9, 18, 38, 76}[static_cast<std::size_t>(bytes == 4    ? 0
                                                                              : bytes == 8  ? 1
                                                                              : bytes == 16 ? 2
                                                                                            : 3)];
    std::string digits = random() % 2 == 0 ? "-" : "";
    const auto count = 1 + random() % static_cast<std::uint64_t>(most);
    for (std::uint64_t k = 0; k < count; ++k) digits += static_cast<char>('0' + random() % 10);
    const int scale = static_cast<int>(random() % 50) - 10;
    const double value = decimal_number(decimal_bytes(digits, bytes).data(), bytes, scale);
    const double expected = std::strtod(fmt::format("{}e{}", digits, -scale).c_str(), nullptr);
    ASSERT_EQ(value, expected) << digits << " scale " << scale << " bytes " << bytes;
  }
}

TEST_F(Arrow, ReadsDecimalColumns) {
  const auto decimals = [](const std::string& format, int bytes,
                           const std::vector<std::string>& digits) {
    ArrowColumn out{"a", format, {std::nullopt, ArrowBytes()}, 0, 0, 0, {}, nullptr};
    for (const std::string& one : digits) {
      const ArrowBytes value = decimal_bytes(one, bytes);
      out.buffers[1]->insert(out.buffers[1]->end(), value.begin(), value.end());
      ++out.length;
    }
    return out;
  };
  const std::vector<std::string> digits = {"1250", "-1", "0", "9999", "700"};
  const std::vector<std::string> cells = {"12.50", "-0.01", "0", "99.99", "7.00"};
  expect_cells(decimals("d:10,2", 16, digits), cells, number);
  expect_cells(decimals("d:10,2,256", 32, digits), cells, number);
  expect_cells(decimals("d:9,2,32", 4, digits), cells, number);
  expect_cells(decimals("d:18,2,64", 8, digits), cells, number);
  expect_cells(decimals("d:38,-1", 16, {"3", "-2"}), {"30", "-20"}, number);
  const Schema levels = schema_of("a = {type = 'category', levels = ['12.5', '7'], other = true}");
  expect_cells(decimals("d:10,2", 16, digits), {"12.5", "-0.01", "0", "99.99", "7"}, levels);
  for (const char* bad : {"d:", "d:10", "d:10,x", "d:10,2,100", "d:10,2,", "d:10,99999999"})
    expect_error({decimals(bad, 16, digits), labels_of(5)}, number, {"table: ", "malformed"});
}

TEST_F(Arrow, ReadsTextAsCsvCells) {
  const std::vector<std::string> cells = {"12.5",
                                          "+1e1",
                                          "1000000000000000000e-17",
                                          "-100",
                                          "99.99999999999999999999",
                                          "7",
                                          "0.00000000000000001"};
  const std::vector<std::string> words = {"north",
                                          "south",
                                          "a town whose name is long",
                                          "",
                                          "east",
                                          "another, whose name is long too",
                                          "exactly12byt",
                                          "exactly13byte",
                                          "north"};
  const Schema levels = schema_of(
      "a = {type = 'category', levels = ['north', 'a town whose name is long', 'exactly12byt', "
      "'exactly13byte'], other = true, missing = ''}");
  for (const char* format : {"u", "U", "vu"}) {
    expect_cells(arrow_text("a", format, {cells.begin(), cells.end()}), cells, number);
    expect_cells(arrow_text("a", format, {words.begin(), words.end()}), words, levels);
  }
  const Schema comma = schema_of("a = {type = 'number', range = [0, 9]}", "decimal = ','");
  expect_cells(arrow_text("a", "u", {"3,5", "4"}), {"3,5", "4"}, comma);
  expect_error({arrow_text("a", "u", {"1", "x1"}), labels_of(2)}, number,
               {"table: row 2: column 'a': 'x1' is not a finite number", "private"});
}

template <class T>
void expect_dictionary(const Arrow& test, const std::string& format, const Schema& schema) {
  const ArrowColumn towns =
      arrow_text("", "u", {"unused", "north", "south", "east", std::nullopt}).slice(1, 4);
  const ArrowColumn column = arrow_dictionary<T>(
      "a", format, {T(0), T(1), T(2), T(3), std::nullopt, T(1), T(0), T(2)}, towns);
  test.expect_cells(column, {"north", "south", "east", "", "", "south", "north", "east"}, schema);
}

TEST_F(Arrow, ReadsDictionariesOfEveryIndex) {
  const Schema levels =
      schema_of("a = {type = 'category', levels = ['north', 'south'], other = true, missing = ''}");
  expect_dictionary<std::int8_t>(*this, "c", levels);
  expect_dictionary<std::uint8_t>(*this, "C", levels);
  expect_dictionary<std::int16_t>(*this, "s", levels);
  expect_dictionary<std::uint16_t>(*this, "S", levels);
  expect_dictionary<std::int32_t>(*this, "i", levels);
  expect_dictionary<std::uint32_t>(*this, "I", levels);
  expect_dictionary<std::int64_t>(*this, "l", levels);
  expect_dictionary<std::uint64_t>(*this, "L", levels);
  const ArrowColumn floats = arrow_numbers<double>("", "g", {2.5, -1.0, 300.0});
  expect_cells(arrow_dictionary<std::int32_t>("a", "i", {0, 1, 2, 0}, floats),
               {"2.5", "-1", "300", "2.5"}, number);
  const ArrowColumn views = arrow_text("", "vu", {"south", "a town whose name is long"});
  expect_cells(arrow_dictionary<std::int32_t>("a", "i", {1, 0, 1}, views),
               {"a town whose name is long", "south", "a town whose name is long"}, levels);
}

// Each batch has its own dictionary: the same index is another level.
TEST_F(Arrow, DictionariesMayChangeFromBatchToBatch) {
  const Schema levels = schema_of("a = {type = 'category', levels = ['north', 'south']}");
  const auto batch = [](const Texts& towns, const Maybe<std::int32_t>& indices) {
    return Batch{arrow_dictionary("a", "i", indices, arrow_text("", "u", towns)),
                 arrow_text("y", "u", Texts(indices.size(), "yes"))};
  };
  ArrowTable table({batch({"north"}, {0, 0}), batch({}, {}), batch({"south", "north"}, {0, 1})});
  const Dataset data = read(table, levels);
  EXPECT_EQ(data.view()(0, 0), 1);
  EXPECT_EQ(data.view()(2, 0), 0);
  EXPECT_EQ(data.view()(2, 1), 1);
  EXPECT_EQ(data.view()(3, 0), 1);
  ArrowTable beyond({batch({"north"}, {0, 1})});
  expect_bad_input([&] { (void)read(beyond, levels); }, {"malformed", "outside of its dictionary"});
  ArrowTable below({batch({"north"}, {-1})});
  expect_bad_input([&] { (void)read(below, levels); }, {"malformed", "outside of its dictionary"});
}

TEST_F(Arrow, NullsAreMissingOrEmptyCells) {
  const Maybe<double> values = {1.0, std::nullopt, 3.0, std::nullopt};
  const ArrowColumn column = arrow_numbers("a", "g", values);
  expect_cells(column, {"1", "?", "3", "?"},
               schema_of("a = {type = 'number', range = [0, 9]}", "missing = '?'"));
  expect_cells(column, {"1", "-9", "3", "-9"},
               schema_of("a = {type = 'number', range = [0, 9], missing = '-9'}"));
  expect_cells(column, {"1", "", "3", ""},
               schema_of("a = {type = 'number', range = [0, 9]}", "invalid = 'middle'"));
  expect_error({column, labels_of(4)}, number,
               {"table: row 2: column 'a': the cell is empty", "missing = \"\""});
  const Schema towns = schema_of("a = {type = 'category', levels = ['1', '3'], missing = '?'}",
                                 "invalid = 'middle'");
  expect_cells(column, {"1", "?", "3", "?"}, towns);
  expect_cells(arrow_text("a", "vu", {"1", std::nullopt, "4", ""}), {"1", "?", "4", ""}, towns);
  expect_cells(arrow_nulls("a", 3), {"?", "?", "?"}, towns);
  expect_cells(arrow_bools("a", {true, std::nullopt, false}), {"1", "?", "0"}, towns);
  expect_error({arrow_nulls("a", 3), labels_of(3)}, number,
               {"row 1: column 'a': the cell is empty"});
}

TEST_F(Arrow, ReadsBools) {
  const ArrowColumn column =
      arrow_bools("a", {true, false, true, true, false, false, true, false, true, false});
  const auto cells = [&](const std::string& yes, const std::string& no) {
    return std::vector<std::string>{yes, no, yes, yes, no, no, yes, no, yes, no};
  };
  expect_cells(column, cells("1", "0"), number);
  for (const auto& [yes, no] : std::vector<std::pair<std::string, std::string>>{
           {"true", "false"}, {"True", "False"}, {"TRUE", "FALSE"}, {"1", "0"}, {"Y", "N"}})
    expect_cells(
        column, cells(yes, no),
        schema_of(fmt::format("a = {{type = 'category', levels = ['{}', '{}']}}", yes, no)));
  expect_cells(column, cells("true", "false"),
               schema_of("a = {type = 'category', levels = ['x', 'false'], other = true}"));
}

TEST_F(Arrow, ReadsLabelsOfEveryKind) {
  const ArrowColumn a = arrow_numbers<double>("a", "g", {1.0, 2.0, 3.0});
  Schema schema = number;
  const auto read_labels = [&](const ArrowColumn& labels) { return read({labels, a}, schema).y; };
  EXPECT_THAT(read_labels(arrow_text("y", "u", {"yes", "no", "Yes"})), ElementsAre(1, -1, -1));
  const ArrowColumn words = arrow_text("", "U", {"no", "yes"});
  EXPECT_THAT(read_labels(arrow_dictionary<std::int8_t>("y", "c", {1, 0, 1}, words)),
              ElementsAre(1, -1, 1));
  std::get<TwoClasses>(schema.label).positive = "True";
  EXPECT_THAT(read_labels(arrow_bools("y", {true, false, true})), ElementsAre(1, -1, 1));
  std::get<TwoClasses>(schema.label).positive = "false";
  EXPECT_THAT(read_labels(arrow_bools("y", {true, false, true})), ElementsAre(-1, 1, -1));
  std::get<TwoClasses>(schema.label).positive = "1";
  EXPECT_THAT(read_labels(arrow_bools("y", {true, false, true})), ElementsAre(1, -1, 1));
  std::get<TwoClasses>(schema.label).positive = "No";
  EXPECT_THAT(read_labels(arrow_bools("y", {true, false, true})), ElementsAre(-1, 1, -1));
  std::get<TwoClasses>(schema.label).positive = "ill";
  expect_error({arrow_bools("y", {true, false, true}), a}, schema,
               {"table: label column 'y' is of type bool and `positive` is 'ill'", "\"true\""});
  std::get<TwoClasses>(schema.label).positive = "+1.0";
  EXPECT_THAT(read_labels(arrow_numbers<std::int64_t>("y", "l", {1, 0, -1})),
              ElementsAre(1, -1, -1));
  EXPECT_THAT(read_labels(arrow_numbers<float>("y", "f", {1.0F, 0.0F, 1.0F})),
              ElementsAre(1, -1, 1));
  EXPECT_THAT(read_labels(arrow_text("y", "u", {"1", "+1.0", "x"})), ElementsAre(-1, 1, -1));
  const ArrowColumn numbers = arrow_numbers<std::int16_t>("", "s", {1, 5});
  EXPECT_THAT(read_labels(arrow_dictionary<std::int8_t>("y", "c", {1, 0, 1}, numbers)),
              ElementsAre(-1, 1, -1));
}

TEST_F(Arrow, NullLabelsAreMissing) {
  const ArrowColumn a = arrow_numbers<double>("a", "g", {1.0, 2.0, 3.0});
  Schema schema = number;
  std::get<TwoClasses>(schema.label).positive = "1";
  const std::vector<ArrowColumn> some = {
      arrow_text("y", "u", {"1", std::nullopt, "1"}),
      arrow_numbers<double>("y", "g", {1.0, std::nullopt, 1.0}),
      arrow_numbers<double>("y", "g", {1.0, std::nan(""), 1.0}),
      arrow_bools("y", {true, std::nullopt, true}),
      arrow_dictionary<std::int8_t>("y", "c", {0, 1, 0}, arrow_text("", "u", {"1", std::nullopt})),
      arrow_text("y", "u", {"1", "", "1"})};
  for (const ArrowColumn& labels : some) {
    schema.invalid = Invalid::refuse;
    expect_error({a, labels}, schema, {"table: row 2: the label is missing"});
    EXPECT_FALSE(read({a, labels}, schema, {.labels = Labels::optional}).labeled());
    schema.invalid = Invalid::middle;
    const Dataset data = read({a, labels}, schema);
    EXPECT_THAT(data.y, ElementsAre(1, -1, 1));
    EXPECT_EQ(data.counts.invalid_labels, 1U);
  }
  schema.invalid = Invalid::refuse;
  std::get<TwoClasses>(schema.label).negative = "0";
  std::get<TwoClasses>(schema.label).refuses_unlisted = true;
  expect_error({a, arrow_numbers<double>("y", "g", {1.0, 0.0, 2.0})}, schema,
               {"table: row 3: label '2' is neither '1' nor '0'"});
}

TEST_F(Arrow, LabelsMayComeBeside) {
  const ArrowColumn a = arrow_numbers<double>("a", "g", {1.0, 2.0, 3.0});
  const std::vector<double> labels = {1, -1, 1};
  const Dataset data = read({a}, number, {}, labels);
  EXPECT_EQ(data.y, std::vector<float>(labels.begin(), labels.end()));
  expect_same(data, read({a, arrow_nulls("y", 3)}, number, {}, labels));  // not looked at
  const auto error = [&](const std::vector<double>& wrong, const std::vector<std::string>& parts) {
    expect_bad_input([&] { (void)read({a}, number, {}, wrong); }, parts);
  };
  error({1, -1}, {"table: 2 labels for 3 rows", "private under add-remove"});
  error({1, -1, 1, 1}, {"table: 4 labels for 3 rows"});
  error({1, 0, 1}, {"table: row 2: label 0 is neither -1 nor +1"});
  error({1, NAN, 1}, {"table: row 2: label nan is neither -1 nor +1"});
  expect_error({a}, number, {"table: the table lacks the label column 'y'"});
  EXPECT_FALSE(read({a}, number, {.labels = Labels::optional}).labeled());
}

TEST_F(Arrow, ColumnsAreFoundByName) {
  const Schema two = schema_of(
      "a = {type = 'number', range = [0, 9]}\nb = {type = 'number', range = [0, 90]}\n"
      "c = {type = 'ignore'}");
  const ArrowColumn a = arrow_numbers<double>("a", "g", {1.0, 2.0}),
                    b = arrow_numbers<std::int32_t>("b", "i", {10, 80}), y = labels_of(2);
  const Dataset data = read({a, b, y}, two);
  expect_same(data, read({y, b, arrow_nulls("c", 2), a}, two));
  expect_error({a, b, y, arrow_nulls("d", 2)}, two,
               {"table: column 'd' is not in the schema", "[columns]"});
  expect_same(data, read({a, b, y, arrow_nulls("d", 2)}, two, {.ignore_extra_columns = true}));
  expect_error({a, y}, two, {"table: the table lacks column 'b' of the schema"});
  expect_error({a, b, a, y}, two, {"table: column 'a' occurs twice in the table"});
  expect_error({a, b, y.named("Y")}, two, {"lacks the label column 'y' (is it 'Y'?)"});
}

TEST_F(Arrow, RefusesTypesThatAreNoCells) {
  const Schema one = schema_of("'the day' = {type = 'number', range = [0, 9]}");
  const Schema none =
      schema_of("'the day' = {type = 'ignore'}\na = {type = 'number', range = [0, 9]}");
  const std::vector<std::pair<std::string, std::string>> types = {
      {"tsu:UTC", "a timestamp or a date"},
      {"tdD", "a date"},
      {"tdm", "a date"},
      {"ttu", "a time of day"},
      {"tDs", "a duration"},
      {"tiM", "an interval"},
      {"z", "binary"},
      {"Z", "binary"},
      {"vz", "binary"},
      {"w:16", "binary"},
      {"+l", "a list"},
      {"+L", "a list"},
      {"+w:3", "a list"},
      {"+vl", "a list"},
      {"+s", "a struct"},
      {"+m", "a map"},
      {"+us:0,1", "a union"},
      {"+r", "run-end"},
      {"q\x1b", "unknown Arrow type 'q\\x1b'"}};
  for (const auto& [format, what] : types) {
    ArrowColumn column = arrow_numbers<std::int64_t>("the day", format, {1, 2});
    expect_error({column, labels_of(2)}, one, {"table: column 'the day': ", what, "ignore"});
    const Dataset data =
        read({column, arrow_numbers<double>("a", "g", {1.0, 2.0}), labels_of(2)}, none);
    EXPECT_EQ(data.rows(), 2U);
    expect_error({arrow_numbers<double>("the day", "g", {1.0, 2.0}), column.named("y")}, one,
                 {"table: column 'y': ", what});
    expect_error({arrow_dictionary<std::int32_t>("the day", "i", {0, 1}, column), labels_of(2)},
                 one, {"table: column 'the day': ", what});
  }
  const ArrowColumn inner =
      arrow_dictionary<std::int32_t>("", "i", {0}, arrow_text("", "u", {"x"}));
  expect_error({arrow_dictionary<std::int32_t>("the day", "i", {0}, inner), labels_of(1)}, one,
               {"a dictionary of dictionaries"});
}

/// A union of text, whole numbers, numbers, truths and days: cell i is that of its kind.
ArrowColumn mixed(const ArrowBytes& kinds, const Texts& texts, const Maybe<std::int64_t>& whole,
                  const Maybe<double>& numbers, const Maybe<bool>& truths,
                  const Maybe<std::int32_t>& days) {
  return arrow_union(
      "a", kinds,
      {arrow_text("", "U", texts), arrow_numbers("", "l", whole), arrow_numbers("", "g", numbers),
       arrow_bools("", truths), arrow_numbers("", "tdD", days)});
}

// A day among numbers or levels, and a number among days, is what the same text is.
TEST_F(Arrow, CellsOfAUnionAreOfTheirOwnTypes) {
  constexpr std::int32_t day = 20'454;  // 2026-01-01
  const ArrowColumn column = mixed(
      {0, 1, 2, 3, 0, 4, 2, 1, 0}, {"3", {}, {}, {}, {}, {}, {}, {}, "x"},
      {{}, 4, {}, {}, {}, {}, {}, 9007199254740993, {}}, {{}, {}, 2.5, {}, {}, {}, -7.0, {}, {}},
      {{}, {}, {}, true, {}, {}, {}, {}, {}}, {{}, {}, {}, {}, {}, day, {}, {}, {}});
  std::vector<std::string> cells{
      "3", "4", "2.5", "true", "", "2026-01-01", "-7", "9007199254740993", "x"};
  const std::string rest = "', '4', 'true', '2026-01-01', '9007199254740993'], other = true}";
  expect_cells(column, cells,
               schema_of("a = {type = 'category', levels = ['3" + rest, "invalid = 'middle'"));
  expect_cells(column, cells,
               schema_of("a = {type = 'category', missing = ['', '2.5'], levels = ['-7.0" + rest));
  cells[3] = "1";
  const std::string of_numbers = "a = {type = 'number', range = [-5, 100], missing = ";
  expect_cells(column, cells, schema_of(of_numbers + "['', '2.50']}", "invalid = 'middle'"));
  cells[4] = "x";  // a null is missing, however that is written
  expect_cells(column, cells,
               schema_of(of_numbers + "'x', decimal = '.'}", "decimal = ','\ninvalid = 'middle'"));
  expect_cells(mixed({0, 1, 2, 4, 0, 3}, {"20251230", {}, {}, {}, {}, {}},
                     {{}, 20'251'231, {}, {}, {}, {}}, {{}, {}, 20'260'102.0, {}, {}, {}},
                     {{}, {}, {}, {}, {}, true}, {{}, {}, {}, day, {}, {}}),
               {"20251230", "20251231", "20260102", "20260101", "", "true"},
               schema_of("a = {type = 'date', range = ['2025-12-31', '2026-03-01'], format = "
                         "'%Y%m%d'}",
                         "invalid = 'middle'"));
}

TEST_F(Arrow, LabelsAndIdsMayBeOfUnions) {
  const ArrowBytes kinds{0, 1, 2, 3, 0};
  const ArrowColumn y = mixed(kinds, {"1", {}, {}, {}, {}}, {{}, 1, {}, {}, {}},
                              {{}, {}, 0.0, {}, {}}, {{}, {}, {}, true, {}}, {{}, {}, {}, {}, {}})
                            .named("y");
  const std::string head = "label = 'y'\ninvalid = 'middle'\n";
  const std::string columns = "[columns]\na = {type = 'number', range = [0, 9]}\n";
  const ArrowColumn a = arrow_numbers<double>("a", "g", {1.0, 2.0, 3.0, 4.0, 5.0});
  for (const char* const label :
       {"positive = '1'\nnegative = '0'\n", "classes = ['0', '1', 'true']\n",
        "range = [0, 2]\ndecimal = ','\n"}) {
    const Schema schema = parse_schema(head + label + columns, "s.toml");
    const bool is_two = std::string_view(label).starts_with("positive");
    expect_same(
        read({a, y}, schema),
        read({a, arrow_text("y", "u", {"1", "1", "0", is_two ? "1" : "true", ""})}, schema));
  }
  const Schema numbers = parse_schema(
      "label = 'y'\nclasses = ['9007199254740993', '2.50', '1e3']\n" + columns, "s.toml");
  const ArrowColumn classes =
      arrow_union("y", {0, 1, 1, 0, 2},
                  {arrow_numbers<std::int64_t>("", "l", {9007199254740993, {}, {}, 1000, {}}),
                   arrow_numbers<double>("", "g", {{}, 2.5, 1000.0, {}, {}}),
                   arrow_text("", "u", {{}, {}, {}, {}, "1e3"})});
  EXPECT_THAT(read({a, classes}, numbers).y, ElementsAre(0, 1, 2, 2, 2));
  // A float may have been rounded, and a timestamp is an instant, whatever column it is in.
  const ArrowColumn ids = arrow_union(
      "a", {0, 1, 2, 3, 4, 2, 0},
      {arrow_text("", "u", {"7", {}, {}, {}, {}, {}, "2026-01-01T00:00:01"}),
       arrow_numbers<std::int64_t>("", "l", {{}, 7, {}, {}, {}, {}, {}}),
       arrow_numbers<float>("", "f", {{}, {}, 7.0F, {}, {}, 0.5F, {}}),
       arrow_numbers<double>("", "g", {{}, {}, {}, 7.0, {}, {}, {}}),
       arrow_numbers<std::int64_t>("", "tss:", {{}, {}, {}, {}, 20'454 * 86'400 + 1, {}, {}})});
  const Schema people = schema_of("a = {type = 'person'}\nb = {type = 'number', range = [0, 9]}",
                                  "invalid = 'middle'");
  ReadOptions options;
  options.holds_people = true;
  const Dataset data = read(
      {ids, arrow_numbers<double>("b", "g", Maybe<double>(7, 1.0)), labels_of(7)}, people, options);
  EXPECT_THAT(data.person, ElementsAre(0, 0, 0, 0, 1, Dataset::nobody, 1));
}

TEST_F(Arrow, RefusesUnionsThatAreNone) {
  const ArrowColumn good = arrow_union(
      "a", {0, 1, 0},
      {arrow_text("", "u", {"1", {}, "2"}), arrow_numbers<double>("", "g", {{}, 3.0, {}})});
  expect_cells(good, {"1", "3", "2"}, number);
  const auto expect = [&](const std::string& what, const std::function<void(ArrowColumn&)>& spoil) {
    ArrowColumn column = good;
    spoil(column);
    expect_error({column, labels_of(3)}, number, {"column 'a'", what});
  };
  expect("a union", [](ArrowColumn& c) { c.format = "+us:1,0"; });
  expect("a union", [](ArrowColumn& c) { c.format = "+us:0"; });
  expect("a union", [](ArrowColumn& c) { c.format = "+ud:0,1"; });
  expect("a union", [](ArrowColumn& c) { c.children[1].format = "z"; });
  expect("a union", [&](ArrowColumn& c) { c.children[1] = good; });
  expect("a union", [](ArrowColumn& c) {
    c.children[1] = arrow_dictionary<std::int32_t>("", "i", {0, 0, 0}, c.children[0]);
  });
  expect("a cell of a type", [](ArrowColumn& c) { c.buffers[0] = ArrowBytes{0, 2, 0}; });
  expect("a cell of a type", [](ArrowColumn& c) { c.buffers[0] = ArrowBytes{0, 255, 0}; });
  expect("the types of its cells", [](ArrowColumn& c) { c.buffers[0].reset(); });
  expect("the types of its cells", [](ArrowColumn& c) { c.buffers.emplace_back(); });
  expect("shorter than", [](ArrowColumn& c) { c.children[1] = c.children[1].slice(0, 2); });
  expect_error({arrow_dictionary<std::int32_t>("a", "i", {0, 1, 2}, good), labels_of(3)}, number,
               {"column 'a'", "a dictionary of dictionaries or of a union"});
}

// Rows of the struct that are null, and its own offset: columns of six rows, of which four are
// rows.
TEST_F(Arrow, BatchesMayHaveOffsetsAndNullRows) {
  const Schema schema = schema_of("a = {type = 'number', range = [0, 9]}", "invalid = 'middle'");
  ArrowTable table({{arrow_numbers<double>("a", "g", {9.0, 9.0, 1.0, 2.0, 3.0, 4.0}),
                     arrow_text("y", "u", {"no", "no", "yes", "yes", "no", "yes"})}});
  table.struct_offset = 2;
  expect_same(read(table, schema), read({arrow_numbers<double>("a", "g", {1.0, 2.0, 3.0, 4.0}),
                                         arrow_text("y", "u", {"yes", "yes", "no", "yes"})},
                                        schema));
  table.struct_validity = ArrowBytes{0b110111};
  expect_same(read(table, schema),
              read({arrow_numbers<double>("a", "g", {1.0, std::nullopt, 3.0, 4.0}),
                    arrow_text("y", "u", {"yes", std::nullopt, "no", "yes"})},
                   schema));
}

// Bits of validity are counted by words: wherever a null lies, it is found, and one too few or too
// many is refused.
TEST_F(Arrow, NullsAreCountedWhereverTheyLie) {
  const Schema schema = schema_of("a = {type = 'number', range = [0, 9]}", "invalid = 'middle'");
  constexpr std::int64_t offset = 3, rows = 200;
  for (const std::int64_t null : {0, 4, 5, 60, 61, 124, 125, 188, 189, 196, 199}) {
    SCOPED_TRACE(null);
    Maybe<double> values(rows + offset, 9.0);
    values[static_cast<std::size_t>(null + offset)] = std::nullopt;
    const ArrowColumn a = arrow_numbers<double>("a", "g", values).slice(offset, rows);
    ArrowTable table({{a, labels_of(rows)}});
    for (const std::int64_t told : {-1, 0, 1, 2}) {
      table.spoil_array = [told](ArrowArray& t) { t.children[0]->null_count = told; };
      if (told == 0 || told == 2) {
        expect_bad_input([&] { (void)read(table, schema); }, {"column 'a': a count of nulls"});
        continue;
      }
      const Dataset data = read(table, schema);
      for (std::int64_t i = 0; i < rows; ++i)
        EXPECT_EQ(data.view()(static_cast<std::size_t>(i), 0), i == null ? 0.5 : 1.0) << i;
    }
  }
}

// A table of every kind of column in batches of any size is the CSV file of the same cells.
TEST_F(Arrow, MixedTablesAreThoseOfTheCsvFile) {
  const std::string columns =
      "age = {type = 'number', range = [18, 90]}\n"
      "town = {type = 'category', levels = ['north', 'south'], other = true}\n"
      "note = {type = 'ignore'}\n"
      "size = {type = 'number', range = [-1, 1]}\n"
      "code = {type = 'category', levels = ['1', '2', '40'], other = true}\n"
      "kind = {type = 'category', levels = ['a long name of a kind', 'b'], missing = ''}\n";
  std::mt19937_64 random(11);
  for (const char* more : {"missing = ''", "missing = ''\nrow_norm = 1.2\nintercept = false",
                           "invalid = 'middle'\nmissing = '?'"}) {
    const Schema schema = schema_of(columns, more);
    const bool empty_is_missing = std::string_view(more).starts_with("missing = ''");
    std::vector<Batch> batches;
    std::string csv = "size,age,town,y,kind,note,code\n";
    for (const std::size_t rows : {700U, 0U, 1U, 63U, 64U, 65U, 1500U, 900U}) {
      Maybe<double> size;
      Maybe<std::int16_t> age;
      Maybe<std::int32_t> town;
      Texts y, kind;
      Maybe<std::uint32_t> code;
      const std::vector<std::string> towns = {"east", "south", "north"};
      for (std::size_t i = 0; i < rows; ++i) {
        const auto there = [&] { return random() % 10 != 0; };
        size.push_back(static_cast<double>(random() % 4000) / 1000 - 2);
        age.push_back(static_cast<std::int16_t>(random() % 120));
        town.push_back(static_cast<std::int32_t>(random() % 3));
        y.emplace_back(random() % 2 == 0 ? "yes" : "no");
        kind.emplace_back(random() % 2 == 0 ? "a long name of a kind" : "b");
        code.push_back(static_cast<std::uint32_t>(random() % 3 + 1));
        if (!there()) size.back().reset();
        if (!there()) age.back().reset();
        if (!there()) town.back().reset();
        if (!there()) kind.back().reset();
        if (!there()) code.back().reset();
        const std::string null = empty_is_missing ? "" : "?";
        csv += fmt::format("{},{},{},{},{},x,{}\n", size.back() ? number_text(*size.back()) : null,
                           age.back() ? std::to_string(*age.back()) : null,
                           town.back() ? towns[static_cast<std::size_t>(*town.back())] : null,
                           *y.back(), kind.back() ? *kind.back() : "",
                           code.back() ? std::to_string(*code.back()) : null);
      }
      batches.push_back(
          {arrow_numbers("size", "g", size), arrow_numbers("age", "s", age),
           arrow_dictionary("town", "i", town, arrow_text("", "u", {towns.begin(), towns.end()})),
           arrow_text("y", "vu", y), arrow_text("kind", "U", kind),
           arrow_nulls("note", static_cast<std::int64_t>(rows)), arrow_numbers("code", "I", code)});
    }
    const Dataset file = read_csv(write("t.csv", csv), schema);
    ArrowTable table(std::move(batches));
    for (const std::size_t threads : {1U, 2U, 5U})
      expect_same(read(table, schema, {.threads = threads}), file);
    EXPECT_GT(file.counts.missing_cells, 100U);
    EXPECT_GT(file.counts.other_cells, 100U);
  }
}

// Rows in pieces, dense and sparse, of every way that a number may lie: nulls, cells that are none,
// floats beside doubles and integers; and the row that is refused.
TEST_F(Arrow, PiecesOfMixedTablesAreThoseOfTheCsvFile) {
  constexpr std::size_t rows = 9000;
  for (const bool sparse : {false, true}) {
    std::string levels;
    for (int k = 0; k < (sparse ? 60 : 3); ++k) levels += fmt::format("'t{}', ", k);
    const std::string columns = fmt::format(
        "a = {{type = 'number', range = [0, 5]}}\nb = {{type = 'number', range = [0, 5]}}\n"
        "town = {{type = 'category', levels = [{}]}}\nc = {{type = 'number', range = [0, 3]}}\n"
        "d = {{type = 'number', range = [-2, 0], missing = '-1'}}\n"
        "e = {{type = 'number', range = [0, 9]}}\nf = {{type = 'number', range = [0, 9]}}\n"
        "g = {{type = 'number', range = [0, 9]}}\n",
        levels);
    for (const char* more : {"invalid = 'middle'", "invalid = 'middle'\nrow_norm = 1.1",
                             "invalid = 'middle'\nmissing = '?'\nintercept = false"}) {
      const Schema schema = schema_of(columns, more);
      const bool missing = std::string_view(more).find("missing") != std::string_view::npos;
      std::mt19937_64 random(sparse ? 5 : 6);
      Maybe<float> a, b;
      Maybe<double> c, d, e, f;
      Maybe<std::int64_t> g;
      Texts town, y;
      std::string csv = "a,b,c,d,e,f,g,town,y\n";
      for (std::size_t i = 0; i < rows; ++i) {
        const auto drawn = [&](int most) {  // mostly 0 where rows are to be sparse
          return sparse && random() % 8 != 0 ? 0.0 : static_cast<double>(random() % 16) * most / 8;
        };
        a.emplace_back(static_cast<float>(drawn(5)));
        b.emplace_back(random() % 500 == 0 ? INFINITY : static_cast<float>(drawn(5)));
        c.emplace_back(drawn(3));
        d.emplace_back(-drawn(2));
        e.emplace_back(drawn(9));
        f.emplace_back(random() % 900 == 0 ? NAN : drawn(9));
        g.emplace_back(static_cast<std::int64_t>(drawn(9)));
        if (random() % 20 == 0) e.back().reset();
        if (i % 2000 > 1500) g.back().reset();
        town.emplace_back(fmt::format("t{}", random() % (sparse ? 61 : 4)));
        if (random() % 30 == 0) town.back().reset();
        y.emplace_back(random() % 2 == 0 ? "yes" : "no");
        const std::string null = missing ? "?" : "";
        csv +=
            fmt::format("{},{},{},{},{},{},{},{},{}\n", number_text(static_cast<double>(*a.back())),
                        number_text(static_cast<double>(*b.back())), number_text(*c.back()),
                        number_text(*d.back()), e.back() ? number_text(*e.back()) : null,
                        number_text(*f.back()), g.back() ? std::to_string(*g.back()) : null,
                        town.back() ? *town.back() : null, *y.back());
      }
      const Dataset file = read_csv(write("t.csv", csv), schema);
      EXPECT_EQ(file.view().is_sparse(), sparse);
      EXPECT_GT(file.counts.invalid_cells, 50U);
      EXPECT_GT(file.counts.clamped_cells, 1000U);
      Batch whole = {
          arrow_numbers("a", "f", a), arrow_numbers("b", "f", b),    arrow_numbers("c", "g", c),
          arrow_numbers("d", "g", d), arrow_numbers("e", "g", e),    arrow_numbers("f", "g", f),
          arrow_numbers("g", "l", g), arrow_text("town", "u", town), arrow_text("y", "u", y)};
      std::vector<Batch> parts;
      std::int64_t first = 0;
      for (const std::int64_t some : {1023, 1, 3001, 17, 4958}) {
        Batch& part = parts.emplace_back();
        for (const ArrowColumn& column : whole) part.push_back(column.slice(first, some));
        first += some;
      }
      ArrowTable table(parts);
      for (const std::size_t threads : {1U, 2U, 5U})
        expect_same(read(table, schema, {.threads = threads}), file);
    }
    // The first row that is refused, in whichever column, behind whole pieces.
    const Schema strict = schema_of(columns);
    const auto refused = [&](std::size_t row, std::size_t null, const std::string& what) {
      Maybe<double> zero(rows, 0.0), e = zero;
      Texts town(rows, "t1");
      town[row] = "elsewhere";
      if (null < rows) e[null].reset();
      Batch batch;
      for (const char* name : {"a", "b", "c", "d", "f", "g"})
        batch.push_back(arrow_numbers(name, "g", zero));
      batch.push_back(arrow_numbers("e", "g", e));
      batch.push_back(arrow_text("town", "u", town));
      batch.push_back(labels_of(rows));
      for (const std::size_t threads : {1U, 5U})
        expect_error(batch, strict, {what}, {.threads = threads});
    };
    refused(8000, rows, "table: row 8001: column 'town'");
    refused(8000, 7999, "table: row 8000: column 'e': the cell is empty");
    refused(3000, 3001, "table: row 3001: column 'town'");
  }
}

// Numbers many at a time: those of read_npy, cell by cell, for any threads, batches and nulls.
class ManyNumbers : public Arrow {
 public:
  static constexpr std::size_t columns = 7;
  static Schema schema(const std::string& more = "") {
    return parse_schema("label = 'y'\npositive = '1'\n" + more +
                            "\n[columns]\nx = {type = 'number', range = [-1, 1], count = 7}",
                        "s.toml");
  }
  std::vector<double> x;  // [rows x columns]
  std::vector<double> y;
  void draw(std::size_t rows) {
    std::mt19937_64 random(rows);
    for (std::size_t k = 0; k < rows * columns; ++k)
      x.push_back(static_cast<double>(static_cast<int>(random() % 3000)) / 1000 - 1.5);
    for (std::size_t i = 0; i < rows; ++i) y.push_back(static_cast<double>(random() % 3));
  }
  [[nodiscard]] std::string file() const {
    return write("x.npy", npy("<f8", fmt::format("({}, {})", y.size(), columns), bytes_of(x)));
  }
  [[nodiscard]] ReadOptions file_options() const {
    return {.label_path = write("y.npy", npy("<f8", fmt::format("({},)", y.size()), bytes_of(y)))};
  }
  /// Batches of these sizes, then the rest, from an offset in longer arrays; NaN is a null.
  [[nodiscard]] ArrowTable table(const std::vector<std::size_t>& sizes) const {
    std::vector<Batch> batches;
    std::size_t first = 0;
    for (std::size_t k = 0; k <= sizes.size(); ++k) {
      const std::size_t count = k < sizes.size() ? sizes[k] : y.size() - first;
      const std::size_t before = std::min<std::size_t>(first, 3);
      Batch batch;
      for (std::size_t j = 0; j < columns; ++j) {
        Maybe<double> cells;
        for (std::size_t i = first - before; i < first + count; ++i) {
          cells.emplace_back(x[i * columns + j]);
          if (std::isnan(*cells.back())) cells.back().reset();
        }
        batch.push_back(
            arrow_numbers(fmt::format("x{}", j + 1), "g", cells)
                .slice(static_cast<std::int64_t>(before), static_cast<std::int64_t>(count)));
      }
      Maybe<double> labels(y.begin() + static_cast<std::ptrdiff_t>(first),
                           y.begin() + static_cast<std::ptrdiff_t>(first + count));
      batch.push_back(arrow_numbers("y", "g", labels));
      batches.push_back(batch);
      first += count;
    }
    return ArrowTable(batches);
  }
};

TEST_F(ManyNumbers, AreThoseOfTheNpyFile) {
  draw(9000);
  for (const char* more : {"", "row_norm = 1.5", "negative = '0'\nintercept = false"}) {
    const Dataset expected = read_npy(file(), schema(more), file_options());
    for (const std::size_t threads : {1U, 2U, 5U}) {
      ArrowTable whole = table({});
      expect_same(read(whole, schema(more), {.threads = threads}), expected);
      ArrowTable parts = table({1, 0, 1022, 1, 1, 3000, 64});
      expect_same(read(parts, schema(more), {.threads = threads}), expected);
    }
  }
  const std::vector<double> labels = y;
  std::vector<double> beside;
  for (const double label : labels) beside.push_back(label == 1 ? 1.0 : -1.0);
  ArrowTable whole = table({2000});
  expect_same(read(whole, schema(), {}, beside), read_npy(file(), schema(), file_options()));
}

TEST_F(ManyNumbers, WithNullsHereAndThere) {
  draw(6000);
  for (const std::size_t i : {1030U, 1031U, 2999U, 3000U, 5999U}) x[i * columns + 3] = NAN;
  const Schema s = schema("missing = 'nan'");
  const Dataset expected = read_npy(file(), s, file_options());
  for (const std::size_t threads : {1U, 2U}) {
    ArrowTable parts = table({3000});
    expect_same(read(parts, s, {.threads = threads}), expected);
  }
  EXPECT_EQ(expected.counts.missing_cells, 5U);
}

TEST_F(ManyNumbers, TheFirstRowThatIsRefusedIsSaid) {
  draw(6000);
  const std::vector<double> good_x = x, good_y = y;
  for (const std::size_t row : {5U, 1023U, 1024U, 2500U, 5999U}) {
    x = good_x;
    x[row * columns + 2] = INFINITY;
    if (row + 5 < 6000) x[(row + 5) * columns + 1] = INFINITY;
    std::string said;
    try {
      (void)read_npy(file(), schema(), file_options());
    } catch (const BadInput& error) {
      said = error.what();
    }
    said = said.substr(said.find("row "));
    EXPECT_THAT(said, ::testing::StartsWith(fmt::format("row {}: column 'x3': 'inf'", row + 1)));
    for (const std::size_t threads : {1U, 3U}) {
      ArrowTable bad = table({1000, 700});
      expect_bad_input([&] { (void)read(bad, schema(), {.threads = threads}); },
                       {"table: " + said});
    }
    // A label before it, in the same piece.
    x = good_x;
    x[row * columns + 2] = INFINITY;
    y = good_y;
    y[row - 1] = NAN;
    ArrowTable bad = table({1000, 700});
    expect_bad_input([&] { (void)read(bad, schema()); },
                     {fmt::format("table: row {}: the label is missing", row)});
    y = good_y;
  }
}

// Labels of two classes are set while other threads make the rows, up to one that is new.
TEST_F(ManyNumbers, LabelsOfTwoClasses) {
  draw(9000);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i * i % 7 == 2);
  const std::vector<double> good_x = x, good_y = y;
  const auto same = [&](const char* more) {
    const Dataset expected = read_npy(file(), schema(more), file_options());
    for (const std::size_t threads : {1U, 2U, 5U}) {
      ArrowTable whole = table({}), parts = table({5000, 1, 2048});
      expect_same(read(whole, schema(more), {.threads = threads}), expected);
      expect_same(read(parts, schema(more), {.threads = threads}), expected);
    }
    return expected.counts.unlisted_labels;
  };
  EXPECT_EQ(same(""), 0U);
  EXPECT_EQ(same("negative = '0'"), 0U);
  for (const std::size_t i : {3U, 4099U, 6000U, 6001U, 8999U}) y[i] = 2;
  EXPECT_EQ(same("negative = '0'"), 5U);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = good_y[i] + 1;  // both unlike those of before
  (void)same("");
  y = good_y;
  for (const std::size_t row : {3U, 1024U, 4000U, 8999U}) {
    x = good_x;
    x[row * columns + 2] = INFINITY;
    for (const std::size_t threads : {1U, 3U}) {
      ArrowTable bad = table({2000});
      expect_bad_input([&] { (void)read(bad, schema(), {.threads = threads}); },
                       {fmt::format("table: row {}: column 'x3': 'inf'", row + 1)});
    }
  }
}

TEST_F(ManyNumbers, ReadingCanBeStopped) {
  draw(200'000);
  std::uint64_t most = 0;
  int calls = 0;
  ArrowTable all = table({100'000});
  (void)read(all, schema(), {.progress = [&](std::uint64_t done, std::uint64_t total) {
               EXPECT_LE(done - most, std::uint64_t{4} << 20);
               EXPECT_EQ(total, 0U);
               most = done;
               ++calls;
               return true;
             }});
  EXPECT_GT(calls, 3);
  EXPECT_GT(most, 10'000'000U);
  ArrowTable stopped = table({100'000});
  EXPECT_THROW((void)read(stopped, schema(),
                          {.progress = [](std::uint64_t, std::uint64_t) { return false; }}),
               Interrupted);
}

TEST_F(Arrow, CellsOfARowAreRefusedInTheTablesOrder) {
  const Schema schema =
      schema_of("a = {type = 'number', range = [0, 9]}\nb = {type = 'category', levels = ['x']}");
  const ArrowColumn a = arrow_numbers<double>("a", "g", {1.0, NAN, 3.0}),
                    b = arrow_text("b", "u", {"x", "z", "z"}), y = labels_of(3);
  expect_error({a, b, y}, schema, {"table: row 2: column 'a': 'nan' is not a finite number"});
  expect_error({b, a, y}, schema, {"table: row 2: column 'b': level 'z' is not in the schema"});
  const ArrowColumn no_label = arrow_text("y", "u", {"yes", "", "no"});
  expect_error({no_label, b, a}, schema, {"table: row 2: the label is missing"});
  expect_error({b, a, no_label}, schema, {"table: row 2: column 'b'"});
}

TEST_F(Arrow, ErrorsOfTheStreamAreSaid) {
  const Batch batch{arrow_numbers<double>("a", "g", {1.0}), labels_of(1)};
  ArrowTable table({batch, batch});
  table.fail_at(1, "disk\nis \x1b[31mbroken");
  expect_bad_input([&] { (void)read(table, number); },
                   {"table: cannot be read: disk\\x0ais \\x1b[31mbroken", "private"});
  ArrowTable silent({batch});
  silent.fail_at(0, "");
  expect_bad_input([&] { (void)read(silent, number); }, {"table: cannot be read: ", "error"});
  ArrowTable empty({{arrow_numbers<double>("a", "g", {}), labels_of(0)}});
  expect_bad_input([&] { (void)read(empty, number); }, {"table: the table has no rows"});
  ArrowTable no_columns({Batch{}});
  expect_bad_input([&] { (void)read(no_columns, number); }, {"table: the table lacks the label"});
  ArrowArrayStream none{};
  expect_bad_input([&] { (void)read_arrow(none, number); }, {"table: the stream was consumed"});
  ArrowTable once({batch});
  ArrowArrayStream stream = once.stream();
  (void)read_arrow(stream, number);
  expect_bad_input([&] { (void)read_arrow(stream, number); }, {"table: the stream was consumed"});
  ArrowTable column({batch});
  column.spoil_schema = [](ArrowSchema& schema) { schema.format = "l"; };
  expect_bad_input([&] { (void)read(column, number); }, {"table: not a table"});
}

TEST_F(Arrow, StreamsThatBreakTheInterfaceAreRefused) {
  const Schema schema = schema_of(
      "a = {type = 'number', range = [0, 9]}\nb = {type = 'category', levels = ['x'], other = "
      "true}\n"
      "c = {type = 'category', levels = ['x'], other = true}\n"
      "d = {type = 'category', levels = ['x'], other = true}");
  const Batch batch{
      arrow_numbers<double>("a", "g", {1.0, 2.0}), arrow_text("b", "u", {"x", "yy"}),
      arrow_text("c", "vu", {"x", "a text that is longer"}),
      arrow_dictionary<std::int32_t>("d", "i", {0, 1}, arrow_text("", "u", {"x", "z"})),
      labels_of(2)};
  (void)read(batch, schema);
  using Spoil = std::function<void(ArrowArray&)>;
  const std::vector<Spoil> arrays = {
      [](ArrowArray& t) { t.length = -1; },
      [](ArrowArray& t) { t.length = 3; },
      [](ArrowArray& t) { t.offset = -1; },
      [](ArrowArray& t) { t.offset = 1; },
      [](ArrowArray& t) { t.offset = std::numeric_limits<std::int64_t>::max(); },
      [](ArrowArray& t) { t.n_children = 4; },
      [](ArrowArray& t) { t.n_children = -1; },
      [](ArrowArray& t) { t.children = nullptr; },
      [](ArrowArray& t) { t.null_count = 1; },
      [](ArrowArray& t) { t.children[0]->length = 1; },
      [](ArrowArray& t) { t.children[0]->length = std::numeric_limits<std::int64_t>::max(); },
      [](ArrowArray& t) { t.children[0]->offset = -5; },
      [](ArrowArray& t) { t.children[0]->null_count = 7; },
      [](ArrowArray& t) { t.children[0]->null_count = -2; },
      [](ArrowArray& t) { t.children[0]->null_count = 1; },
      [](ArrowArray& t) { t.children[0]->n_buffers = 1; },
      [](ArrowArray& t) { t.children[0]->n_buffers = 3; },
      [](ArrowArray& t) { t.children[0]->buffers = nullptr; },
      [](ArrowArray& t) { t.children[0]->buffers[1] = nullptr; },
      [](ArrowArray& t) { t.children[1]->n_buffers = 2; },
      [](ArrowArray& t) { t.children[1]->buffers[2] = nullptr; },
      [](ArrowArray& t) {
        static const std::int32_t down[] = {3, 2, 1};
        t.children[1]->buffers[1] = down;
      },
      [](ArrowArray& t) {
        static const std::int32_t below[] = {-3, -2, 1};
        t.children[1]->buffers[1] = below;
      },
      [](ArrowArray& t) { t.children[2]->n_buffers = 2; },
      [](ArrowArray& t) { t.children[2]->n_buffers = 3; },
      [](ArrowArray& t) { t.children[2]->buffers[2] = nullptr; },
      [](ArrowArray& t) { t.children[2]->buffers[3] = nullptr; },
      [](ArrowArray& t) {
        static const std::int64_t sizes[] = {7};
        t.children[2]->buffers[3] = sizes;
      },
      [](ArrowArray& t) {
        static const std::int32_t views[] = {1, 'x', 0, 0, 21, 0, 0, -1};
        t.children[2]->buffers[1] = views;
      },
      [](ArrowArray& t) {
        static const std::int32_t views[] = {-1, 'x', 0, 0, 21, 0, 0, 0};
        t.children[2]->buffers[1] = views;
      },
      [](ArrowArray& t) {
        static const std::int32_t views[] = {1, 'x', 0, 0, 21, 0, 1, 0};
        t.children[2]->buffers[1] = views;
      },
      [](ArrowArray& t) { t.children[3]->dictionary = nullptr; },
      [](ArrowArray& t) { t.children[3]->dictionary->length = 1; },
      [](ArrowArray& t) { t.children[3]->dictionary->n_buffers = 0; },
      [](ArrowArray& t) {
        static ArrowArray* columns[5] = {};
        t.children = columns;
      },
  };
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    SCOPED_TRACE(k);
    ArrowTable table({batch});
    table.spoil_array = arrays[k];
    expect_bad_input([&] { (void)read(table, schema); }, {"table: the stream is malformed: "});
  }
  using SpoilSchema = std::function<void(ArrowSchema&)>;
  const std::vector<SpoilSchema> schemas = {
      [](ArrowSchema& t) { t.n_children = -1; },
      [](ArrowSchema& t) { t.children = nullptr; },
      [](ArrowSchema& t) { t.children[0]->format = nullptr; },
      [](ArrowSchema& t) { t.children[3]->format = "u"; },
      [](ArrowSchema& t) { t.children[3]->dictionary->format = nullptr; },
      [](ArrowSchema& t) {
        static ArrowSchema* columns[5] = {};
        t.children = columns;
      },
  };
  for (std::size_t k = 0; k < schemas.size(); ++k) {
    SCOPED_TRACE(k);
    ArrowTable table({batch});
    table.spoil_schema = schemas[k];
    expect_bad_input([&] { (void)read(table, schema); }, {"table: the stream is malformed: "});
  }
  const std::vector<std::pair<std::string, Spoil>> named = {
      {"column 'a': a count of nulls", [](ArrowArray& t) { t.children[0]->null_count = 0; }},
      {"column 'a': a count of nulls", [](ArrowArray& t) { t.children[0]->null_count = 2; }},
      {"column 'a': columns within",
       [](ArrowArray& t) { t.children[0]->n_children = 1, t.children[0]->children = t.children; }},
      {"column 'a': a dictionary that its type has not",
       [](ArrowArray& t) { t.children[0]->dictionary = t.children[1]; }},
      {"column 'a': the array was released",
       [](ArrowArray& t) { t.children[0]->release(t.children[0]); }},
      {"column 'd': columns within",
       [](ArrowArray& t) {
         t.children[3]->dictionary->n_children = 1;
         t.children[3]->dictionary->children = t.children;
       }},
      {"column 'b': offsets of text are not in order",
       [](ArrowArray& t) {
         static const std::int32_t far[] = {0, 2'000'000'000, 3};
         t.children[1]->buffers[1] = far;
       }},
      {"column 'd': an index outside",
       [](ArrowArray& t) {
         static const std::int32_t far[] = {0, 2'000'000'000};
         t.children[3]->buffers[1] = far;
       }},
      {"a batch that is no struct", [](ArrowArray& t) { t.n_buffers = 2; }},
      {"a batch that is no struct", [](ArrowArray& t) { t.dictionary = t.children[0]; }},
      {"a count of nulls",
       [](ArrowArray& t) {
         static const unsigned char bits[] = {1};
         t.buffers[0] = bits;
       }},
  };
  Batch with_null = batch;
  with_null[0] = arrow_numbers<double>("a", "g", {1.0, std::nullopt});
  const Schema middle = schema_of(
      "a = {type = 'number', range = [0, 9]}\nb = {type = 'category', levels = ['x'], other = "
      "true}\n"
      "c = {type = 'category', levels = ['x'], other = true}\n"
      "d = {type = 'category', levels = ['x'], other = true}",
      "invalid = 'middle'");
  EXPECT_EQ(read(with_null, middle).rows(), 2U);
  for (const auto& [what, spoil] : named) {
    SCOPED_TRACE(what);
    ArrowTable table({with_null});
    table.spoil_array = spoil;
    expect_bad_input([&] { (void)read(table, middle); },
                     {"table: the stream is malformed: " + what});
  }
  ArrowTable no_type({batch});
  no_type.spoil_schema = [](ArrowSchema& t) { t.children[0]->format = "d:1"; };
  expect_bad_input([&] { (void)read(no_type, schema); }, {"malformed: column 'a': a decimal type"});
  ArrowTable nameless({batch});
  nameless.spoil_schema = [](ArrowSchema& t) { t.children[0]->name = nullptr; };
  expect_bad_input([&] { (void)read(nameless, schema); },
                   {"table: column '' is not in the schema"});
}

// What get_schema and get_next leave behind with an error is not theirs to give.
TEST_F(Arrow, NothingIsReleasedThatWasNotHandedOver) {
  for (const bool in_schema : {true, false}) {
    ArrowTable table({{arrow_numbers<double>("a", "g", {1.0}), labels_of(1)}});
    static int released = 0, stale = 0;
    released = stale = 0;
    ArrowArrayStream inner = table.stream();
    ArrowArrayStream stream{};
    stream.private_data = &inner;
    stream.release = [](ArrowArrayStream* self) {
      ++released;
      auto* const held = static_cast<ArrowArrayStream*>(self->private_data);
      held->release(held);
      self->release = nullptr;
    };
    stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
      auto* const held = static_cast<ArrowArrayStream*>(self->private_data);
      return held->get_schema(held, out);
    };
    if (in_schema) {
      stream.get_schema = [](ArrowArrayStream*, ArrowSchema* out) {
        out->release = [](ArrowSchema*) { ++stale; };
        return -7;
      };
    }
    stream.get_next = [](ArrowArrayStream*, ArrowArray* out) {
      out->release = [](ArrowArray*) { ++stale; };
      return EIO;
    };
    expect_bad_input([&] { (void)read_arrow(stream, number); },
                     {"table: cannot be read: ", in_schema ? "error" : "Input/output error"});
    EXPECT_EQ(released, 1);
    EXPECT_EQ(stale, 0);
    EXPECT_EQ(table.lent(), 0);
  }
  ArrowTable table({{arrow_numbers<double>("a", "g", {1.0}), labels_of(1)}});
  ArrowArrayStream stream = table.stream();
  stream.get_next = nullptr;
  expect_bad_input([&] { (void)read_arrow(stream, number); }, {"table: the stream was consumed"});
  EXPECT_EQ(table.lent(), 0);
}

// However few rows a batch has: a producer may be slow.
TEST_F(Arrow, ReadingCanBeStoppedAfterEachBatch) {
  const Batch one{arrow_numbers<double>("a", "g", {1.0}), labels_of(1)};
  ArrowTable table(std::vector<Batch>(50, one));
  int calls = 0;
  EXPECT_THROW((void)read(table, number,
                          {.progress = [&](std::uint64_t, std::uint64_t) { return ++calls < 3; }}),
               Interrupted);
  EXPECT_EQ(calls, 3);
}

// Its values are then looked up row by row: batches of few rows would pay for all of it each.
TEST_F(Arrow, DictionariesMayBeLongerThanTheirBatches) {
  Texts words;
  for (int k = 0; k < 5000; ++k) words.emplace_back(fmt::format("w{}", k));
  words[4999].reset();
  const Schema levels =
      schema_of("a = {type = 'category', levels = ['w0', 'w4998'], other = true, missing = ''}");
  const ArrowColumn column = arrow_dictionary<std::int16_t>(
      "a", "s", {0, 4998, 17, 4999, std::nullopt, 4998}, arrow_text("", "U", words));
  expect_cells(column, {"w0", "w4998", "w17", "", "", "w4998"}, levels);
  const Schema strict = schema_of("a = {type = 'category', levels = ['w0']}");
  expect_error({column, labels_of(6)}, strict, {"table: row 2: column 'a': level 'w4998'"});
}

// ---- Files
// ---------------------------------------------------------------------------------------

class ArrowFiles : public Arrow {
 public:
  ~ArrowFiles() override { set_arrow_opener({}); }
};

TEST_F(ArrowFiles, AreOpenedForTheColumnsThatAreUsed) {
  const Schema schema =
      schema_of("a = {type = 'number', range = [0, 9]}\nnote = {type = 'ignore'}");
  std::vector<std::vector<std::string>> asked;
  std::vector<std::unique_ptr<ArrowTable>> tables;
  set_arrow_opener(
      [&](const std::string& path, const std::vector<std::string>& columns, ArrowArrayStream* out) {
        EXPECT_TRUE(std::string_view(path).ends_with("people.Parquet")) << path;
        asked.push_back(columns);
        Batch batch;
        for (const ArrowColumn& column :
             {arrow_numbers<double>("a", "g", {1.0, 2.0}), arrow_nulls("note", 2), labels_of(2)})
          if (columns.empty() ||
              std::find(columns.begin(), columns.end(), column.name) != columns.end())
            batch.push_back(column);
        tables.push_back(std::make_unique<ArrowTable>(std::vector<Batch>{batch}));
        *out = tables.back()->stream();
        return std::uint64_t{2};
      });
  const std::string file = path("people.Parquet");
  const Dataset data = read_table(file, schema);
  EXPECT_EQ(data.rows(), 2U);
  EXPECT_THAT(asked, ElementsAre(ElementsAre(), ElementsAre("a", "y")));
  expect_same(read_table(file, schema, {.cache = ReadOptions::Cache::automatic}), data);
  for (const auto& table : tables) EXPECT_EQ(table->lent(), 0);
  EXPECT_THAT(schema_template(file), ::testing::HasSubstr("note = {type = \"\"}\n"));
  expect_bad_input([&] { (void)read_table(file, schema, {.cache = ReadOptions::Cache::always}); },
                   {file + ": rows of a Parquet or Arrow file are not cached"});
  expect_bad_input([&] { (void)read_table(file, schema, {.label_path = "y.npy"}); },
                   {"y.npy: a file of labels goes with a .npy table only"});
  expect_bad_input([&] { (void)read_table(file, number); },
                   {file + ": column 'note' is not in the schema"});
  Schema other = schema;
  other.label_name = "z";
  expect_bad_input([&] { (void)read_table(file, other); },
                   {file + ": the table lacks the label column 'z' (is it 'y'?)"});
  Schema narrow = schema;
  narrow.columns[0].type = ColumnType::category;
  narrow.columns[0].levels = {"1"};
  expect_bad_input([&] { (void)read_table(file, narrow); },
                   {file + ": row 2: column 'a': level '2'"});
}

TEST_F(ArrowFiles, WithoutWhatOpensThemBothWaysAreNamed) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (std::filesystem::exists(here / "libgibbsite_parquet.so"))
    GTEST_SKIP() << "libgibbsite_parquet.so is built here";
  for (const char* name : {"t.parquet", "t.arrow", "t.feather", "t.ipc"}) {
    const std::string file = write(name, "PAR1");
    expect_bad_input([&] { (void)read_table(file, number); },
                     {file + ": nothing here opens Parquet and Arrow files", "Python package",
                      "libgibbsite_parquet.so"});
    expect_bad_input([&] { (void)schema_template(file); }, {file + ": nothing here opens"});
  }
}

// Curves, and a line with a level of missing cells, in dense rows and in rows kept as entries, with
// and without rows that are scaled down. Planted: the second hat left out, rows not scaled.
TEST_F(Arrow, CurvesAreThoseOfTheCsv) {
  constexpr std::size_t n = 3000;
  std::mt19937 random(9);
  Maybe<double> a, c;
  Maybe<float> b;
  std::string text = "a,b,c,y\n";
  const auto cell = [](const auto& value) {
    return value ? number_text(static_cast<double>(*value)) : std::string("NA");
  };
  for (std::size_t i = 0; i < n; ++i) {
    const auto next = [&] { return static_cast<double>(random() % 4096) / 256; };  // 0 to 16
    a.push_back(random() % 9 == 0 ? std::nullopt : std::optional(next() - 1));
    b.push_back(random() % 7 == 0 ? std::nullopt : std::optional(static_cast<float>(next())));
    c.push_back(next());
    text +=
        fmt::format("{},{},{},{}\n", cell(a[i]), cell(b[i]), cell(c[i]), i % 3 == 0 ? "yes" : "no");
  }
  const Batch batch{arrow_numbers("a", "g", a), arrow_numbers("b", "f", b),
                    arrow_numbers("c", "g", c), labels_of(n)};
  for (const int knots : {5, 90}) {
    for (const char* more : {"", "row_norm = 0.9\n", "intercept = false\n"}) {
      const Schema schema = schema_of(
          fmt::format(
              "a = {{type = 'number', range = [0, 12], curve = {0}, missing = 'NA'}}\n"
              "b = {{type = 'number', range = [0, 9], missing = 'NA', missing_level = true}}\n"
              "c = {{type = 'number', range = [1, 16], curve = {0}}}\n",
              knots),
          more);
      const Dataset found = read(batch, schema);
      EXPECT_EQ(found.view().is_sparse(), knots == 90);
      expect_same(found, read_csv(write("t.csv", text), schema));
    }
  }
}

}  // namespace arrow_test
}  // namespace gibbsite
