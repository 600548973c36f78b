// Labels that are amounts, counts or one of several classes: the same y, bit by bit, from every
// reader; what is moved into the range, what is not listed and what cannot be read; the keys of the
// schema and each line that refuses them.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "gibbsite/data/array.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace label_test {

using test::bytes_of;
using test::expect_bad_input;
using test::npy;
using testing::arrow_bools;
using testing::arrow_dictionary;
using testing::arrow_numbers;
using testing::arrow_text;
using testing::ArrowColumn;
using testing::ArrowTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema labeled(const std::string& keys) {
  return parse_schema("label = 'y'\n" + keys + "\n[columns]\nx = {type = 'number', range = [0, 1]}",
                      "s.toml");
}

constexpr const char* amounts = "range = [-5, 45]\ntolerance = 2.5\n";
constexpr const char* counts = "range = [0, 12]\ncounts = true\n";

class NumberLabels : public test::DataTest {
 public:
  struct Read {
    std::string reader;
    Dataset data;
  };
  [[nodiscard]] Dataset csv(const std::vector<std::string>& labels, const Schema& s,
                            const ReadOptions& options = {}) const {
    std::string text = "x;y\n";
    for (const std::string& label : labels) text += "0;" + label + "\n";
    return read_csv(write("t.csv", text), s, options);
  }
  [[nodiscard]] Dataset svm(const std::vector<std::string>& labels, const Schema& s) const {
    std::string text;
    for (const std::string& label : labels) text += label + " 1:0\n";
    return read_libsvm(write("t.svm", text), s);
  }
  static Dataset arrow(ArrowColumn labels, const Schema& s, const ReadOptions& options = {}) {
    const std::vector<std::optional<double>> zeros(static_cast<std::size_t>(labels.length), 0.0);
    ArrowTable::Batch batch{arrow_numbers<double>("x", "g", zeros), std::move(labels)};
    ArrowTable table({std::move(batch)});
    ArrowArrayStream stream = table.stream();
    return read_arrow(stream, s, options, {});
  }
  /// By every reader of doubles.
  [[nodiscard]] std::vector<Read> all(const std::vector<double>& labels, const Schema& s) const {
    const std::size_t n = labels.size();
    std::vector<std::string> words;
    testing::Texts cells;
    std::vector<std::optional<double>> numbers;
    RowEncoder of_numbers(s), of_text(s);
    for (const double label : labels) {
      words.push_back(std::isnan(label) ? "nan" : fmt::format("{}", label));
      cells.emplace_back(words.back());
      numbers.emplace_back(label);
      of_numbers.add(std::vector<double>{0}, label);
      of_text.add(std::vector<std::string_view>{"0"}, words.back());
    }
    const std::vector<double> zeros(n, 0.0);
    std::vector<Read> out;
    out.push_back({"csv", csv(words, s)});
    out.push_back({"libsvm", svm(words, s)});
    out.push_back(
        {"npy", read_npy(write("x.npy", npy("<f8", fmt::format("({}, 1)", n), bytes_of(zeros))), s,
                         {.label_path = write(
                              "y.npy", npy("<f8", fmt::format("({},)", n), bytes_of(labels)))})});
    out.push_back({"arrow", arrow(arrow_numbers<double>("y", "g", numbers), s)});
    out.push_back({"arrow text", arrow(arrow_text("y", "u", cells), s)});
    out.push_back({"rows of numbers", of_numbers.finish()});
    out.push_back({"rows of text", of_text.finish()});
    return out;
  }
};

TEST_F(NumberLabels, OfAmountsAreTheSameInEveryReader) {
  const Schema s = labeled(amounts);
  EXPECT_EQ(label_middle(s.label), 20);
  EXPECT_EQ(label_unit(s.label), 2.5);
  const std::vector<double> labels{0,     20.1, -5,     45,    -5.0000001, 45.000001,
                                   1e300, -1e9, 1e-300, 33.33, 20,         0.1 + 0.2};
  for (const auto& [reader, data] : all(labels, s)) {
    SCOPED_TRACE(reader);
    ASSERT_EQ(data.y.size(), labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const double held = std::min(std::max(labels[i], -5.0), 45.0);
      EXPECT_EQ(data.y[i], static_cast<float>((held - 20) / 2.5)) << labels[i];
      EXPECT_LE(std::fabs(data.y[i]), label_bound(s.label));
    }
    EXPECT_EQ(data.y[2], -10.0F);
    EXPECT_EQ(data.y[3], 10.0F);
    EXPECT_EQ(data.counts.clamped_labels, 4U);
    EXPECT_EQ(data.counts.invalid_labels, 0U);
    EXPECT_EQ(data.counts.unlisted_labels, 0U);
  }
}

TEST_F(NumberLabels, OfCountsAreTheSameInEveryReader) {
  const Schema s = labeled(counts);
  const std::vector<double> labels{0, 1, 7, 12, 13, 1e300, 3};
  for (const auto& [reader, data] : all(labels, s)) {
    SCOPED_TRACE(reader);
    EXPECT_THAT(data.y, ElementsAre(0, 1.0F / 12, 7.0F / 12, 1, 1, 1, 0.25F));
    EXPECT_EQ(data.counts.clamped_labels, 2U);
  }
}

TEST_F(NumberLabels, BesideAnArrayAreItsNumbers) {
  const std::vector<double> x(4, 0.5);
  const ArrayView view{x.data(), ArrayView::Type::float64, 4, 1, 8, 8};
  const auto read = [&](const std::vector<double>& y, const char* keys) {
    return read_array(view, y, labeled(keys), {});
  };
  const Dataset data = read({22.5, 0.1, 99, -5}, amounts);
  EXPECT_THAT(data.y, ElementsAre(1, static_cast<float>((0.1 - 20) / 2.5), 10, -10));
  EXPECT_EQ(data.counts.clamped_labels, 1U);
  expect_bad_input(
      [&] {
        read({1, 2, 2.5, 3}, counts);
      },
      {"row 3: label '2.5' is not a whole number from 0 up"});
  expect_bad_input([&] { read({1, NAN, 2, 3}, counts); }, {"row 2: the label is missing"});
}

TEST_F(NumberLabels, ThatAreIntegersOrWordsOfNumbersInArrow) {
  const Schema s = labeled(counts);
  using Ints = std::vector<std::optional<std::int64_t>>;
  EXPECT_THAT(arrow(arrow_numbers<std::int64_t>("y", "l", Ints{3, 12, 9007199254740993}), s).y,
              ElementsAre(0.25F, 1, 1));
  const ArrowColumn words = arrow_text("", "U", {"6", "12"});
  EXPECT_THAT(arrow(arrow_dictionary<std::int8_t>("y", "c", {1, 0, 1}, words), s).y,
              ElementsAre(1, 0.5F, 1));
}

// Said once, before a row is read.
TEST_F(NumberLabels, ThatAreBoolsInArrowAreRefusedAtOnce) {
  for (const char* keys : {amounts, counts}) {
    for (const char* middle : {"", "invalid = 'middle'\n"}) {
      expect_bad_input(
          [&] {
            (void)arrow(arrow_bools("y", {true, false}), labeled(std::string(keys) + middle));
          },
          {"table: label column 'y' is of type bool", "`positive`"});
    }
  }
}

TEST_F(NumberLabels, ReadADecimalComma) {
  const Schema s = labeled(std::string(amounts) + "decimal = ','\n");
  const Dataset comma = csv({"22,5", "1e1", "-5"}, s);
  EXPECT_THAT(comma.y, ElementsAre(1, -4, -10));
  expect_bad_input([&] { (void)csv({"22.5"}, s); },
                   {"t.csv:2: label '22.5' is not a finite number"});
  const Dataset point = csv({"22.5", "1e1", "-5"}, labeled(amounts));
  EXPECT_EQ(point.y, comma.y);
  // Arrays of numbers have no commas.
  EXPECT_THAT(arrow(arrow_numbers<double>("y", "g", {22.5, 10.0, -5.0}), s).y, comma.y);
}

TEST_F(NumberLabels, ThatCannotBeReadAreRefusedOrTheMiddle) {
  struct Bad {
    const char* label;
    const char* why;
  };
  const std::string middle = "invalid = 'middle'\n", missing = "missing = '?'\n";
  for (const Bad& bad :
       {Bad{"", "label is missing"}, Bad{"?", "label is missing"},
        Bad{"nan", "'nan' is not a finite number"}, Bad{"inf", "'inf' is not a finite number"},
        Bad{"1e400", "'1e400' is not a finite number"}, Bad{"abc", "'abc' is not a finite number"},
        Bad{"1 2", "'1 2' is not a finite number"}, Bad{"0x10", "'0x10' is not a finite number"}}) {
    SCOPED_TRACE(bad.label);
    expect_bad_input(
        [&] {
          (void)csv({"1", bad.label}, labeled(amounts + missing));
        },
        {"t.csv:3: ", bad.why, "invalid = \"middle\""});
    const Dataset data = csv({"-5", bad.label}, labeled(amounts + missing + middle));
    EXPECT_THAT(data.y, ElementsAre(-10, 0));
    EXPECT_EQ(data.counts.invalid_labels, 1U);
    EXPECT_EQ(data.counts.clamped_labels, 0U);
  }
  for (const Bad& bad : {Bad{"1.5", "'1.5' is not a whole number from 0 up"},
                         Bad{"-1", "'-1' is not a whole number from 0 up"},
                         Bad{"-1e300", "not a whole number"}, Bad{"nan", "not a whole number"},
                         Bad{"1e400", "not a whole number"}, Bad{"", "label is missing"}}) {
    SCOPED_TRACE(bad.label);
    expect_bad_input(
        [&] {
          (void)csv({"1", bad.label}, labeled(counts));
        },
        {"t.csv:3: ", bad.why, "invalid = \"middle\""});
    EXPECT_THAT(csv({"12", bad.label}, labeled(counts + middle)).y, ElementsAre(1, 0.5F));
    EXPECT_THAT(csv({"3", bad.label}, labeled("range = [0, 3]\ncounts = true\n" + middle)).y,
                ElementsAre(1, 1.0F / 3));
  }
  // A zero of either sign, and whole numbers however they are written.
  EXPECT_THAT(csv({"-0", "1.2e1", "3.0", "+6"}, labeled(counts)).y, ElementsAre(0, 1, 0.25F, 0.5F));
}

// Labels that are no numbers are treated alike by every reader.
TEST_F(NumberLabels, ThatAreNoNumbersAreTheSameInEveryReader) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const char* keys : {amounts, counts}) {
    const Schema s = labeled(std::string(keys) + "invalid = 'middle'\n");
    const float middle = is<Count>(s.label) ? 0.5F : 0.0F;
    for (const double bad : {nan, inf, -inf}) {
      for (const auto& [reader, data] : all({0, bad, 6}, s)) {
        EXPECT_EQ(data.y[1], middle) << reader << " " << bad;
        EXPECT_EQ(data.counts.invalid_labels, 1U) << reader << " " << bad;
      }
      expect_bad_input([&] { (void)all({0, bad}, labeled(keys)); }, {"row 2"});
    }
    for (const auto& [reader, data] :
         all({0, 1.5, 6}, labeled(std::string(keys) + "invalid = 'middle'\n"))) {
      EXPECT_EQ(data.counts.invalid_labels, is<Count>(s.label) ? 1U : 0U) << reader;
    }
  }
  // A missing cell that reads as a number.
  for (const auto& [reader, data] :
       all({-9, 6}, labeled(std::string(amounts) + "invalid = 'middle'\nmissing = '-9'\n"))) {
    EXPECT_EQ(data.counts.invalid_labels, 1U) << reader;
    EXPECT_THAT(data.y, ElementsAre(0, static_cast<float>((6 - 20) / 2.5))) << reader;
  }
}

// Nothing of the rows is told by whether there is a data set.
TEST_F(NumberLabels, NoLabelDecidesWhetherThereIsADataSet) {
  for (const char* keys : {amounts, counts}) {
    const Schema s = labeled(std::string(keys) + "invalid = 'middle'\n");
    for (const char* hostile : {"", " ", "nan", "-inf", "1e400", "x", "-1", "1.5", "1,5", "true",
                                "1e-400", "99999999999999999999", "0x1", "--1", "1_0", "\xff"}) {
      const Dataset data = csv({"1", "\"" + std::string(hostile) + "\"", "2"}, s);
      ASSERT_EQ(data.y.size(), 3U) << hostile;
      EXPECT_LE(std::fabs(data.y[1]), label_bound(s.label)) << hostile;
      EXPECT_TRUE(is<Amount>(s.label) || (data.y[1] >= 0 && data.y[1] <= 1));
    }
  }
}

TEST_F(NumberLabels, AreKeptByACache) {
  const Schema s = labeled(std::string(amounts) + "invalid = 'middle'\n");
  const ReadOptions cached{.cache = ReadOptions::Cache::always};
  const std::string table = write("c.csv", "x,y\n0,20.1\n1,99\n0,\n1,-5\n");
  const Dataset plain = read_table(table, s, {.cache = ReadOptions::Cache::never});
  const Dataset made = read_table(table, s, cached), used = read_table(table, s, cached);
  for (const Dataset* data : {&made, &used}) {
    EXPECT_EQ(data->y, plain.y);
    EXPECT_EQ(data->counts.clamped_labels, 1U);
    EXPECT_EQ(data->counts.invalid_labels, 1U);
  }
  // A schema with another range, tolerance or kind of label does not use the cached table.
  for (const char* keys :
       {"range = [-5, 45]\ntolerance = 5\n", "range = [-5, 40]\ntolerance = 2.5\n",
        "range = [0, 45]\ncounts = true\n"}) {
    const Schema other = labeled(std::string(keys) + "invalid = 'middle'\n");
    EXPECT_EQ(read_table(table, other, cached).y,
              read_table(table, other, {.cache = ReadOptions::Cache::never}).y);
    EXPECT_NE(read_table(table, other, cached).y, plain.y);
  }
}

TEST_F(NumberLabels, MayBeAbsentWhereRowsAreToBePredicted) {
  const Dataset data = read_csv(write("p.csv", "x\n0\n1\n"), labeled(amounts),
                                {.labels = ReadOptions::Labels::optional});
  EXPECT_FALSE(data.labeled());
}

// ---- Several classes.

constexpr const char* species = "classes = ['setosa', 'versicolor', 'virginica']\n";
constexpr const char* grades = "classes = ['10', '2.5', '-3', 'none']\n";
const std::string or_first = "invalid = 'middle'\n";

class ClassLabels : public NumberLabels {
 public:
  /// By every reader of text; LIBSVM has no words with blanks.
  [[nodiscard]] std::vector<Read> all_texts(const std::vector<std::string>& labels,
                                            const Schema& s) const {
    testing::Texts cells(labels.begin(), labels.end());
    std::vector<std::optional<std::int64_t>> order;
    for (std::size_t i = 0; i < labels.size(); ++i)
      order.emplace_back(static_cast<std::int64_t>(labels.size() - 1 - i));
    testing::Texts listed(cells.rbegin(), cells.rend());
    RowEncoder rows(s);
    for (const std::string& label : labels) rows.add(std::vector<std::string_view>{"0"}, label);
    std::vector<Read> out;
    out.push_back({"csv", csv(labels, s)});
    out.push_back({"csv, cached", csv(labels, s, {.cache = ReadOptions::Cache::always})});
    out.push_back({"arrow", arrow(arrow_text("y", "u", cells), s)});
    out.push_back({"arrow, large", arrow(arrow_text("y", "U", cells), s)});
    out.push_back({"arrow, listed",
                   arrow(arrow_dictionary<std::int16_t>("y", "s", {order.begin(), order.end()},
                                                        arrow_text("", "u", listed)),
                         s)});
    out.push_back({"rows", rows.finish()});
    if (std::ranges::none_of(labels, [](const std::string& label) {
          return label.empty() || label.find(' ') != std::string::npos;
        }))
      out.push_back({"libsvm", svm(labels, s)});
    return out;
  }
};

TEST_F(ClassLabels, OfTextAreTheSameInEveryReader) {
  const Schema s = labeled(species);
  EXPECT_EQ(kind_of(s.label), LabelKind::classes);
  EXPECT_EQ(label_unit(s.label), 1);
  EXPECT_EQ(label_middle(s.label), 0);
  EXPECT_THAT(class_names(s.label), ElementsAre("setosa", "versicolor", "virginica"));
  const FeatureSpace space = s;
  EXPECT_EQ(space.label, LabelKind::classes);
  EXPECT_EQ(space.classes, 3U);
  // The last again and again: what a dictionary keeps of y = 0 too.
  const std::vector<std::string> labels{"virginica", "setosa", "versicolor", "setosa", "setosa"};
  const std::vector<Read> reads = all_texts(labels, s);
  ASSERT_EQ(reads.size(), 7U);
  for (const auto& [reader, data] : reads) {
    SCOPED_TRACE(reader);
    EXPECT_THAT(data.y, ElementsAre(2, 0, 1, 0, 0));
    EXPECT_EQ(data.counts.unlisted_labels, 0U);
    EXPECT_EQ(data.counts.invalid_labels, 0U);
    EXPECT_EQ(data.counts.clamped_labels, 0U);
  }
}

// Compared as numbers where they are numbers, as the text that they are where they are text.
TEST_F(ClassLabels, ThatAreNumbersAreTheSameInEveryReader) {
  const Schema s = labeled(grades);
  for (const auto& [reader, data] : all({2.5, 10, -3, 10, 2.5, -3}, s))
    EXPECT_THAT(data.y, ElementsAre(1, 0, 2, 0, 1, 2)) << reader;
  const Schema long_names = labeled("classes = ['+1.0', '2e0', '3.00']\n");
  EXPECT_THAT(svm({"1", "+2", "3.0", "2"}, long_names).y, ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(arrow(arrow_numbers<double>("y", "g", {3.0, 1.0, 2.0}), long_names).y,
              ElementsAre(2, 0, 1));
  EXPECT_THAT(csv({"3.00", "+1.0", "2e0"}, long_names).y, ElementsAre(2, 0, 1));
  expect_bad_input(
      [&] {
        (void)csv({"3.00", "1"}, long_names);
      },
      {"t.csv:3: label '1' is none of the schema's classes"});
  using Ints = std::vector<std::optional<std::int64_t>>;
  const Schema digits = labeled("classes = ['0', '1', '2', '9007199254740993']\n");
  EXPECT_THAT(
      arrow(arrow_numbers<std::int64_t>("y", "l", Ints{2, 0, 9007199254740993, 1}), digits).y,
      ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(arrow(arrow_dictionary<std::int8_t>("y", "c", {1, 0, 1, 1},
                                                  arrow_numbers<std::int16_t>("", "s", {0, 2})),
                    digits)
                  .y,
              ElementsAre(2, 0, 2, 2));
}

TEST_F(ClassLabels, ThatAreBoolsInArrowNeedBothWords) {
  for (const char* middle : {"", or_first.c_str()}) {
    const auto read = [&](const char* classes) {
      return arrow(arrow_bools("y", {true, std::nullopt, false, true}),
                   labeled(std::string(classes) + or_first))
          .y;
    };
    EXPECT_THAT(read("classes = ['unknown', 'False', 'True']\n"), ElementsAre(2, 0, 1, 2));
    EXPECT_THAT(read("classes = ['2', '1', '0']\n"), ElementsAre(1, 0, 2, 1));
    for (const char* classes :
         {"classes = ['a', 'b', 'true']\n", "classes = ['a', 'b', 'false']\n", species})
      expect_bad_input(
          [&] {
            (void)arrow(arrow_bools("y", {true, false}), labeled(std::string(classes) + middle));
          },
          {"table: label column 'y' is of type bool", "list both"});
  }
}

TEST_F(ClassLabels, BesideATableAreTheirPlaces) {
  const std::vector<double> x(3, 0.5);
  const ArrayView view{x.data(), ArrayView::Type::float64, 3, 1, 8, 8};
  // Not their numbers, where they are numbers.
  for (const char* classes : {species, "classes = ['2', '1', '0']\n"}) {
    const Schema s = labeled(classes);
    const Dataset data = read_array(view, std::vector<double>{2, -0.0, 1}, s, {});
    EXPECT_THAT(data.y, ElementsAre(2, 0, 1));
    EXPECT_FALSE(std::signbit(data.y[1]));
    for (const double bad : {-1.0, 3.0, 0.5, std::nan(""), 1e300}) {
      expect_bad_input(
          [&] {
            (void)read_array(view, std::vector<double>{0, bad, 1}, s, {});
          },
          {"row 2: label", "no place in the schema's classes", "from 0 to 2", "(private"});
    }
    ArrowTable::Batch batch{arrow_numbers<double>("x", "g", {0.5, 0.5, 0.5})};
    ArrowTable table({std::move(batch)});
    ArrowArrayStream stream = table.stream();
    EXPECT_THAT(read_arrow(stream, s, {}, std::vector<double>{1, 2, 0}).y, ElementsAre(1, 2, 0));
  }
}

TEST_F(ClassLabels, ThatAreNotListedAreRefusedOrTheFirst) {
  struct Bad {
    const char* label;
    bool missing;
  };
  const std::string known = std::string(species) + "missing = '?'\n";
  for (const Bad& bad : {Bad{"", true}, Bad{"?", true}, Bad{"Setosa", false}, Bad{"iris", false},
                         Bad{"0", false}, Bad{"nan", false}, Bad{"setosa virginica", false}}) {
    SCOPED_TRACE(bad.label);
    const std::vector<std::string> labels{"virginica", bad.label, "versicolor"};
    expect_bad_input(
        [&] { (void)csv(labels, labeled(known)); },
        {"t.csv:3: ",
         bad.missing ? "label is missing"
                     : fmt::format("label '{}' is none of the schema's classes", bad.label),
         "invalid = \"middle\""});
    EXPECT_FALSE(csv(labels, labeled(known), {.labels = ReadOptions::Labels::optional}).labeled());
    for (const auto& [reader, data] : all_texts(labels, labeled(known + or_first))) {
      SCOPED_TRACE(reader);
      EXPECT_THAT(data.y, ElementsAre(2, 0, 1));
      EXPECT_EQ(data.counts.invalid_labels, bad.missing ? 1U : 0U);
      EXPECT_EQ(data.counts.unlisted_labels, bad.missing ? 0U : 1U);
    }
  }
  // Every reader of numbers treats unlisted numbers alike, also if they repeat.
  for (const double bad : {2.0, 1e300, -10.0}) {
    for (const auto& [reader, data] : all({10, bad, 2.5, bad}, labeled(grades + or_first))) {
      EXPECT_THAT(data.y, ElementsAre(0, 0, 1, 0)) << reader;
      EXPECT_EQ(data.counts.unlisted_labels, 2U) << reader;
    }
    expect_bad_input([&] { (void)all({10, bad}, labeled(grades)); }, {"none of the schema's"});
  }
  // NaN of an array is a missing label, and text one of no class; a table's null is missing.
  const Schema s = labeled(grades + or_first);
  const Dataset nan = arrow(arrow_numbers<double>("y", "g", {10.0, std::nan(""), 2.5}), s);
  EXPECT_THAT(nan.y, ElementsAre(0, 0, 1));
  EXPECT_EQ(nan.counts.invalid_labels, 1U);
  // Whatever the classes are called: NaN is missing, the text is a class where it is one.
  const Schema named = labeled("classes = ['1', 'nan', '2']\n" + or_first);
  EXPECT_THAT(arrow(arrow_numbers<double>("y", "g", {2.0, std::nan("")}), named).y,
              ElementsAre(2, 0));
  for (const auto& [reader, data] : all_texts({"2", "nan", "1"}, named))
    EXPECT_THAT(data.y, ElementsAre(2, 1, 0)) << reader;
  const ArrowColumn nulls = arrow_text("y", "u", {"2.5", std::nullopt, "none"});
  EXPECT_THAT(arrow(nulls, s).y, ElementsAre(1, 0, 3));
  EXPECT_EQ(arrow(nulls, s).counts.invalid_labels, 1U);
  expect_bad_input([&] { (void)arrow(nulls, labeled(grades)); }, {"row 2: the label is missing"});
}

// Two names that only a reader of numbers takes for one (both are beyond a double there) leave the
// places of the others as they are.
TEST_F(ClassLabels, KeepTheirPlacesWhereNumbersHaveTwoNames) {
  const Schema s = labeled("classes = ['inf', '1e400', '7']\n");
  EXPECT_THAT(csv({"7", "inf", "1e400"}, s).y, ElementsAre(2, 0, 1));
  EXPECT_THAT(arrow(arrow_numbers<double>("y", "g", {7.0, HUGE_VAL}), s).y, ElementsAre(2, 0));
}

// A name that reads as `missing` is a class all the same; blanks around a cell are none of it.
TEST_F(ClassLabels, MayBeTheMissingWordAndHaveBlanksAround) {
  const Schema s = labeled("classes = ['yes', 'no', '?']\nmissing = '?'\n");
  EXPECT_THAT(csv({"?", "no", " yes ", "\"no\"", "  ?"}, s).y, ElementsAre(2, 1, 0, 1, 2));
  expect_bad_input([&] { (void)csv({"no", "YES"}, s); }, {"t.csv:3: label 'YES'"});
}

TEST_F(ClassLabels, NoLabelDecidesWhetherThereIsADataSet) {
  for (const char* classes : {species, grades}) {
    const Schema s = labeled(classes + or_first);
    for (const char* hostile : {"", " ", "nan", "-inf", "1e400", "x", "-1", "1.5", "2,5", "true",
                                "1e-400", "99999999999999999999", "0x1", "--1", "1_0", "\xff"}) {
      const Dataset data = csv({"none", "\"" + std::string(hostile) + "\"", "setosa"}, s);
      ASSERT_EQ(data.y.size(), 3U) << hostile;
      EXPECT_EQ(data.y[1], 0) << hostile;
    }
  }
}

TEST_F(ClassLabels, ACacheIsOfTheirOrder) {
  const ReadOptions cached{.cache = ReadOptions::Cache::always};
  const std::string table = write("c.csv", "x,y\n0,b\n1,c\n0,\n1,a\n0,d\n");
  const auto keys = [](const char* classes) { return labeled(classes + or_first); };
  for (const char* classes : {"classes = ['a', 'b', 'c']\n", "classes = ['a', 'c', 'b']\n",
                              "classes = ['b', 'c', 'd', 'a']\n", "classes = ['a', 'b']\n"}) {
    SCOPED_TRACE(classes);
    const Schema s = keys(classes);
    const Dataset plain = read_table(table, s, {.cache = ReadOptions::Cache::never});
    const Dataset made = read_table(table, s, cached), used = read_table(table, s, cached);
    EXPECT_EQ(made.y, plain.y);
    EXPECT_EQ(used.y, plain.y);
    EXPECT_EQ(used.counts.unlisted_labels, plain.counts.unlisted_labels);
    EXPECT_EQ(used.counts.invalid_labels, 1U);
  }
}

// Under a schema of two the second is the positive one, and what is not listed the first.
TEST_F(ClassLabels, OfTwoArePositiveAndNegative) {
  const Schema two = labeled("classes = ['no', 'yes']\n");
  EXPECT_TRUE(two == labeled("positive = 'yes'\nnegative = 'no'\nunlisted_label = 'refuse'\n"));
  EXPECT_EQ(kind_of(two.label), LabelKind::two_classes);
  EXPECT_THAT(class_names(two.label), ElementsAre("no", "yes"));
  // A third label goes by `invalid`, as of more classes, unless `unlisted_label` says how.
  expect_bad_input(
      [&] {
        (void)csv({"yes", "no", "maybe", "yes"}, two);
      },
      {"t.csv:4: label 'maybe' is neither 'yes' nor 'no'"});
  for (const char* rule : {"invalid = 'middle'\n", "unlisted_label = 'negative'\n"}) {
    const Schema mild = labeled(std::string("classes = ['no', 'yes']\n") + rule);
    EXPECT_TRUE(mild == labeled(std::string("positive = 'yes'\nnegative = 'no'\n") + rule));
    const Dataset data = csv({"yes", "no", "maybe", "yes"}, mild);
    EXPECT_THAT(data.y, ElementsAre(1, -1, -1, 1));
    EXPECT_EQ(data.counts.unlisted_labels, 1U);
  }
  EXPECT_EQ(to_toml(two).find("classes"), std::string::npos);
}

// ---- The schema.

TEST(LabelSchema, ScalesToTheBoundAndNeverBeyond) {
  for (const auto& [lo, hi, tolerance] :
       std::vector<std::tuple<double, double, double>>{{0.0, 1.0, 0.1},
                                                       {-1e-300, 1e-300, 1e-301},
                                                       {1e300, 1.1e300, 3e298},
                                                       {0.1, 0.7, 0.3},
                                                       {-17.3, 90.1, 1.0 / 3},
                                                       {1e15, 1e15 + 8, 1e-5}}) {
    Schema s;
    s.label = Amount{{.lo = lo, .hi = hi}, tolerance};
    const double bound = static_cast<double>(label_bound(s.label));
    EXPECT_NEAR(bound, (hi - lo) / 2 / tolerance, 1e-6 * bound);
    for (const double v : {lo, hi, -1e308, 1e308, std::nextafter(lo, hi), std::nextafter(hi, lo)}) {
      EXPECT_LE(std::fabs(static_cast<double>(scaled_label(s.label, v))), bound) << v;
    }
    EXPECT_GE(static_cast<double>(scaled_label(s.label, hi)), bound * (1 - 3e-7));
    EXPECT_LE(static_cast<double>(scaled_label(s.label, lo)), -bound * (1 - 3e-7));
  }
}

TEST(LabelSchema, KeysReadAndWriteBack) {
  const Schema amount = labeled("range = [-5, 45.5]\n");
  EXPECT_EQ(kind_of(amount.label), LabelKind::amount);
  EXPECT_EQ(std::get<Amount>(amount.label).tolerance, 10.1);  // a fifth
  const Schema count = labeled(counts);
  EXPECT_EQ(kind_of(count.label), LabelKind::count);
  EXPECT_EQ(label_unit(count.label), 12);
  EXPECT_EQ(label_bound(count.label), 1);
  Schema odd = labeled("range = [0.1, 0.7]\ntolerance = 0.0333\ninvalid = 'middle'\n");
  std::get<Amount>(odd.label).hi = std::nextafter(0.7, 1.0);
  for (const Schema& s :
       {amount, count, odd, labeled("range = [-1e100, 1e100]\ncounts = false\n")}) {
    EXPECT_TRUE(parse_schema(to_toml(s), "s") == s) << to_toml(s);
  }
  for (const char* keys :
       {species, grades, "classes = ['a \"b\"', 'c\\d', \"e\\nf\", 'ü', ' g ']\n"})
    for (const char* more : {"", "invalid = 'middle'\nmissing = '?'\n"}) {
      const Schema s = labeled(std::string(keys) + more);
      EXPECT_TRUE(parse_schema(to_toml(s), "s") == s) << to_toml(s);
    }
  const FeatureSpace space = amount;
  EXPECT_EQ(space.label, LabelKind::amount);
  EXPECT_EQ(space.label_bound, static_cast<double>(label_bound(amount.label)));
}

TEST(LabelSchema, RefusesEachFaultWithItsLine) {
  const auto error = [](const std::string& keys, const std::vector<std::string>& parts) {
    SCOPED_TRACE(keys);
    expect_bad_input([&] { labeled(keys); }, parts);
  };
  error("", {"`positive` is missing", "`classes`", "`range`"});
  error("positive = ''", {"s.toml:2: positive is empty", "`range`"});
  error("positive = '1'\nrange = [0, 1]", {"s.toml:2: positive", "leave one out"});
  error("negative = '1'\nrange = [0, 1]", {"s.toml:", "negative name classes", "leave one out"});
  error("range = [1, 0]", {"s.toml:2: range [1, 0] of the label", "lower first"});
  error("range = [1, 1]", {"s.toml:2: range", "lower first"});
  error("range = [0, inf]", {"s.toml:2: range", "finite"});
  error("range = [nan, 1]", {"s.toml:2: range", "finite"});
  error("range = [-1e308, 1e308]", {"s.toml:2: range"});
  error("range = [0]", {"s.toml:2: range of the label must be [lowest, highest]"});
  error("range = 3", {"s.toml:2: range of the label must be [lowest, highest]"});
  error("range = ['0', '1']", {"s.toml:2: range of the label", "a number"});
  error("range = [0, 1]\ntolerance = 0", {"s.toml:3: tolerance 0 must be above 0"});
  error("range = [0, 1]\ntolerance = -1", {"s.toml:3: tolerance -1 must be above 0"});
  error("range = [0, 1]\ntolerance = nan", {"s.toml:3: tolerance"});
  error("range = [0, 1]\ntolerance = inf", {"s.toml:3: tolerance"});
  error("range = [0, 1]\ntolerance = 0.6", {"s.toml:3: tolerance 0.6", "at most half"});
  error("range = [0, 1]\ntolerance = 1e-7", {"s.toml:3: tolerance 1e-07", "a millionth"});
  error("range = [0, 1]\ntolerance = '1'", {"s.toml:3: tolerance", "a number"});
  error("tolerance = 1\npositive = '1'", {"s.toml:2: tolerance has a meaning beside"});
  error("counts = true\npositive = '1'", {"s.toml:2: counts has a meaning beside"});
  error("counts = 1\nrange = [0, 3]", {"s.toml:2: counts", "true or false"});
  error("range = [0, 3]\ncounts = true\ntolerance = 1", {"s.toml:4: tolerance is that of amounts"});
  error("range = [1, 3]\ncounts = true", {"s.toml:2: range [1, 3] of the label must go from 0"});
  error("range = [0, 3.5]\ncounts = true",
        {"s.toml:2: range [0, 3.5] of the label", "counts = true"});
  error("range = [0, 16777217]\ncounts = true", {"s.toml:2: range", "2^24"});
  error("range = [0, 1]\nunlisted_label = 'refuse'", {"s.toml:3: unlisted_label"});
  error("classes = 'a'", {"s.toml:2: classes must be a list"});
  error("classes = ['a', 'b', 3]", {"s.toml:2: classes must be a string"});
  error("classes = []", {"s.toml:2: classes lists 0", "from 2 to 1000"});
  error("classes = ['a']", {"s.toml:2: classes lists 1", "from 2 to 1000"});
  error("classes = ['a', '']", {"s.toml:2: classes: a name is empty"});
  error("classes = ['a', 'b', '']", {"s.toml:2: classes: a name is empty"});
  error("classes = ['a', 'a']", {"s.toml:2: classes: 'a' is listed twice"});
  error("classes = ['a', 'b', 'c', 'b']", {"s.toml:2: classes: 'b' is listed twice"});
  error("classes = ['1', '2', '1.0']", {"s.toml:2: classes: '1' and '1.0' are the same number"});
  error("classes = ['+5', '5e0']", {"s.toml:2: classes: '+5' and '5e0' are the same number"});
  error("classes = ['1e400', 'a', '2e400']", {"s.toml:2: classes: '1e400' and '2e400'"});
  error("invalid = 'middle'\nclasses = ['a', 'b', 'b']", {"s.toml:3: classes: 'b'"});
  error("classes = ['a', 'b', 'c']\npositive = 'a'", {"s.toml:3: positive has no meaning beside"});
  error("classes = ['a', 'b']\nnegative = 'a'", {"s.toml:3: negative has no meaning beside"});
  error("range = [0, 3]\nclasses = ['a', 'b', 'c']", {"s.toml:2: range has no meaning beside"});
  error("classes = ['a', 'b', 'c']\ntolerance = 1", {"s.toml:3: tolerance has a meaning beside"});
  error("classes = ['a', 'b', 'c']\ncounts = true", {"s.toml:3: counts has a meaning beside"});
  for (const char* rule : {"refuse", "negative"})
    error(fmt::format("classes = ['a', 'b', 'c']\nunlisted_label = '{}'", rule),
          {"s.toml:3: unlisted_label is of two classes", "`invalid`"});
  const auto many = [](int count) {
    std::string out = "classes = [";
    for (int k = 0; k < count; ++k) out += fmt::format("'k{}', ", k);
    return out + "]";
  };
  EXPECT_EQ(class_names(labeled(many(1000)).label).size(), 1000U);
  error(many(1001), {"s.toml:2: classes lists 1001", "from 2 to 1000"});
  EXPECT_NO_THROW(labeled("classes = ['1', '1.5', 'one', '0x1', 'nan']"));
  EXPECT_NO_THROW(labeled("range = [0, 16777216]\ncounts = true"));
  EXPECT_NO_THROW(labeled("range = [0, 1]\ntolerance = 0.5"));
  EXPECT_NO_THROW(labeled("range = [0, 1]\ntolerance = 5.1e-7"));
}

TEST(LabelSchema, ThatWasNotReadFromAFileIsCheckedToo) {
  const auto error = [](const auto& change, const std::string& part) {
    Schema s = labeled(species);
    change(std::get<Classes>(s.label).names);
    expect_bad_input([&] { s.validate("m"); }, {"m: ", part});
  };
  EXPECT_NO_THROW(labeled(species).validate("m"));
  using Names = std::vector<std::string>;
  error([](Names& names) { names.resize(1); }, "classes lists 1");
  error([](Names& names) { names.pop_back(); }, "classes lists 2, which are negative and positive");
  error([](Names& names) { names[2] = names[0]; }, "'setosa' is listed twice");
  error([](Names& names) { names[1].clear(); }, "a name is empty");
  error([](Names& names) { names.resize(1001); }, "classes lists 1001");
}

// Under `refuse` no record has another level; else one that cannot be read has one of its own.
TEST(LabelSchema, OfClassesIsACategoryOfItsOwn) {
  const char* const tail = "[columns]\nx = {type = 'number', range = [0, 1]}\n";
  const std::string head = "label = 'y'\n" + std::string(species);
  const Schema refuse = parse_column_schema(head + tail, "s", "y");
  EXPECT_THAT(refuse.feature_names(), ElementsAre("y=setosa", "y=versicolor", "y=virginica"));
  EXPECT_FALSE(is<Classes>(refuse.label));
  const Schema middle = parse_column_schema(head + or_first + tail, "s", "y");
  EXPECT_THAT(middle.feature_names(),
              ElementsAre("y=setosa", "y=versicolor", "y=virginica", "y=(other)"));
  const Schema x =
      parse_column_schema(head + "[columns]\nx={type='category',levels=['p']}\n", "s", "x");
  EXPECT_FALSE(is<Classes>(x.label));
  EXPECT_THAT(x.feature_names(), ElementsAre("x=p"));
}

// Commented out: classes are what it asks for, and each other kind is a line away.
TEST_F(NumberLabels, TheTemplateHasTheirLines) {
  std::string text = schema_template(write("h.csv", "x,y\n1,2\n"));
  for (const char* line : {"\n# range = [", "\n# counts = true", "\n# classes = ["})
    EXPECT_THAT(text, HasSubstr(line));
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("label = \"\"", "label = \"y\"");
  replace("positive = \"\"", "# positive = \"\"");
  replace("\n# range = [", "\nrange = [");
  replace("\n# counts = true", "\ncounts = true");
  const std::size_t y = text.rfind("\ny ");
  ASSERT_NE(y, std::string::npos) << text;
  text.erase(y, text.find('\n', y + 1) - y);
  EXPECT_THAT(text, HasSubstr("\nx "));
  const std::size_t x = text.rfind("\nx ");
  text.replace(x, text.find('\n', x + 1) - x, "\nx = {type = \"ignore\"}");
  text += "\nz = {type = \"number\", range = [0, 1]}\n";
  EXPECT_EQ(kind_of(parse_schema(text, "s").label), LabelKind::count) << text;
}

}  // namespace label_test
}  // namespace gibbsite
