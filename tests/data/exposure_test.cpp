// Exposures: the same offsets, bit by bit, from every reader, dense and sparse, in memory and in a
// cache; what is outside of the range, missing or no number; the lines that refuse; and the
// schema's keys for them and for weights, there and back.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "gibbsite/data/array.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace exposure_test {

using test::bytes_of;
using test::expect_bad_input;
using test::npy;
using testing::arrow_numbers;
using testing::arrow_text;
using testing::ArrowTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The exposure between two features: its place in a row is no feature's.
Schema exposed(const std::string& keys = "", const std::string& of_column = "") {
  return parse_schema("label = 'y'\nrange = [0, 12]\ncounts = true\n" + keys +
                          "\n[columns]\nx = {type = 'number', range = [0, 1]}\n"
                          "e = {type = 'exposure', range = [0.5, 8]" +
                          of_column + "}\nz = {type = 'number', range = [0, 4]}",
                      "s.toml");
}

class Exposures : public test::DataTest {
 public:
  struct Read {
    std::string reader;
    Dataset data;
  };
  [[nodiscard]] Dataset csv(const std::vector<std::string>& cells, const Schema& s,
                            const ReadOptions& options = {}) const {
    std::string text = "y,e,z,x\n";
    for (const std::string& cell : cells) text += "3," + cell + ",1,0.25\n";
    return read_csv(write("t.csv", text), s, options);
  }
  /// By every reader; x is 0.25 in every row, z is 1 or, in sparse tables, mostly 0.
  [[nodiscard]] std::vector<Read> all(const std::vector<double>& e, const Schema& s) const {
    const std::size_t n = e.size();
    std::vector<std::string> words;
    std::vector<double> table, labels(n, 3.0);
    std::string svm;
    testing::Texts texts;
    std::vector<std::optional<double>> es, xs(n, 0.25), zs(n, 1.0), ys(n, 3.0);
    RowEncoder of_numbers(s), of_text(s);
    for (const double v : e) {
      words.push_back(std::isnan(v) ? "nan" : fmt::format("{}", v));
      table.insert(table.end(), {0.25, v, 1});
      svm += "3 1:0.25 2:" + words.back() + " 3:1\n";
      texts.emplace_back(words.back());
      es.emplace_back(v);
      of_numbers.add(std::vector<double>{0.25, v, 1}, 3);
      of_text.add(std::vector<std::string_view>{"0.25", words.back(), "1"}, "3");
    }
    const auto arrow = [&](testing::ArrowColumn column) {
      ArrowTable::Batch batch{arrow_numbers<double>("z", "g", zs), std::move(column),
                              arrow_numbers<double>("x", "g", xs),
                              arrow_numbers<double>("y", "g", ys)};
      ArrowTable made({std::move(batch)});
      ArrowArrayStream stream = made.stream();
      return read_arrow(stream, s, {}, {});
    };
    std::vector<Read> out;
    out.push_back({"csv", csv(words, s)});
    out.push_back({"cached csv", csv(words, s, {.cache = ReadOptions::Cache::always})});
    out.push_back({"libsvm", read_libsvm(write("t.svm", svm), s)});
    out.push_back(
        {"npy", read_npy(write("x.npy", npy("<f8", fmt::format("({}, 3)", n), bytes_of(table))), s,
                         {.label_path = write(
                              "y.npy", npy("<f8", fmt::format("({},)", n), bytes_of(labels)))})});
    const ArrayView view{table.data(), ArrayView::Type::float64, n, 3, 24, 8};
    out.push_back({"array", read_array(view, labels, s, {.threads = 3})});
    out.push_back({"arrow", arrow(arrow_numbers<double>("e", "g", es))});
    out.push_back({"arrow text", arrow(arrow_text("e", "u", texts))});
    out.push_back({"rows of numbers", of_numbers.finish()});
    out.push_back({"rows of text", of_text.finish()});
    return out;
  }
};

TEST_F(Exposures, AreTheSameInEveryReader) {
  const Schema s = exposed();
  std::vector<double> e{0.5, 8, 1, 0.1, -3, 1e300, 7.999999, 4};
  for (int i = 0; i < 3000; ++i) e.push_back(0.4 + 0.003 * i);  // past where layouts are chosen
  for (const auto& [reader, data] : all(e, s)) {
    SCOPED_TRACE(reader);
    ASSERT_EQ(data.offset.size(), e.size());
    const Rows rows = data.view();
    ASSERT_EQ(rows.cols, 3U);
    ASSERT_NE(rows.offset, nullptr);
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
      const double held = std::min(std::max(e[i], 0.5), 8.0);
      outside += held != e[i] ? 1U : 0U;
      ASSERT_EQ(data.offset[i], static_cast<float>(std::log(held / 8))) << e[i];
      ASSERT_EQ(rows.offset_of(i), static_cast<double>(data.offset[i]));
      ASSERT_LE(std::fabs(data.offset[i]), s.offset_bound());
      ASSERT_EQ(rows(i, 0), 0.25F);
      ASSERT_EQ(rows(i, 1), 0.25F);
      ASSERT_EQ(rows(i, 2), 1.0F);
    }
    EXPECT_EQ(data.counts.columns[1].clamped, outside);
    EXPECT_EQ(data.counts.columns[0].sum() + data.counts.columns[2].sum(), 0U);
    EXPECT_EQ(data.y.size(), e.size());
  }
}

TEST_F(Exposures, ThatCannotBeReadAreTheMiddleOrRefused) {
  const float middle = static_cast<float>(std::log(4.25 / 8));
  for (const auto& [reader, data] : all({1, NAN, 8}, exposed("invalid = 'middle'"))) {
    SCOPED_TRACE(reader);
    EXPECT_THAT(data.offset, ElementsAre(static_cast<float>(std::log(1.0 / 8)), middle, 0.0F));
    EXPECT_EQ(data.counts.columns[1].invalid, 1U);
  }
  for (const auto& [reader, data] : all({1, 2, 8}, exposed("", ", missing = '2'"))) {
    SCOPED_TRACE(reader);
    EXPECT_EQ(data.offset[1], middle);
    EXPECT_EQ(data.counts.columns[1].missing, 1U);
  }
  expect_bad_input(
      [&] {
        std::ignore = csv({"1", "abc"}, exposed());
      },
      {"t.csv:3: column 'e': 'abc' is not a finite number"});
  expect_bad_input(
      [&] {
        std::ignore = csv({"1", ""}, exposed());
      },
      {"t.csv:3: column 'e': the cell is empty"});
  expect_bad_input([&] { read_csv(write("t.csv", "y,z,x\n1,1,1\n"), exposed()); },
                   {"lacks column 'e' of the schema"});
}

TEST_F(Exposures, OfOneRowAndAbsentOnes) {
  EXPECT_THAT(csv({"8"}, exposed()).offset, ElementsAre(0.0F));
  // An index that is not there is 0: the lowest exposure.
  const Dataset data = read_libsvm(write("t.svm", "1 1:1\n2 2:8 3:4\n"), exposed());
  EXPECT_THAT(data.offset, ElementsAre(static_cast<float>(std::log(0.5 / 8)), 0.0F));
  EXPECT_EQ(data.view()(1, 1), 1.0F);
  EXPECT_EQ(data.view()(0, 1), 0.0F);
}

TEST_F(Exposures, OfManyColumnsStaySparse) {
  std::string columns, header = "y", row;
  for (int j = 0; j < 40; ++j) {
    columns += fmt::format("c{} = {{type = 'number', range = [0, 1]}}\n", j);
    header += fmt::format(",c{}", j);
    if (j == 20) columns += "e = {type = 'exposure', range = [1, 4]}\n", header += ",e";
  }
  const Schema s = parse_schema(
      "label = 'y'\nrange = [0, 5]\ncounts = true\nintercept = false\n[columns]\n" + columns, "s");
  std::string text = header + "\n";
  for (int i = 0; i < 2000; ++i) {
    text += "1";
    for (int j = 0; j < 40; ++j) {
      text += j == i % 40 ? ",1" : ",0";
      if (j == 20) text += fmt::format(",{}", 1 + i % 3);
    }
    text += "\n";
  }
  for (const auto cache : {ReadOptions::Cache::never, ReadOptions::Cache::always}) {
    const Dataset data = read_csv(write("w.csv", text), s, {.cache = cache});
    const Rows rows = data.view();
    ASSERT_TRUE(rows.is_sparse());
    rows.validate();
    EXPECT_EQ(rows.sparse.entries(), 2000U);
    for (std::size_t i = 0; i < 2000; ++i) {
      ASSERT_EQ(rows(i, i % 40), 1.0F);
      ASSERT_EQ(data.offset[i], static_cast<float>(std::log(static_cast<double>(1 + i % 3) / 4)));
    }
  }
}

TEST_F(Exposures, OfACacheThatWasDamagedAreMadeAnew) {
  const std::string table = write("t.csv", "y,e,z,x\n3,1,1,0\n4,2,1,0\n");
  std::string notes;
  ReadOptions options{.cache = ReadOptions::Cache::always};
  options.note = [&](const Message& line) { notes += line.text(); };
  const Dataset made = read_table(table, exposed(), options);
  EXPECT_THAT(read_table(table, exposed(), options).offset,
              ::testing::ElementsAreArray(made.offset));
  EXPECT_THAT(notes, HasSubstr("agrees with the table"));
  const std::string offsets = table + ".gibbsite-cache/offsets.f32";
  for (const bool removed : {false, true}) {
    notes.clear();
    removed ? void(std::filesystem::remove(offsets)) : void(std::ofstream(offsets) << "12345678");
    EXPECT_THAT(read_table(table, exposed(), options).offset,
                ::testing::ElementsAreArray(made.offset));
    EXPECT_THAT(notes, HasSubstr(removed ? "offsets.f32 is not there" : "offsets.f32 is damaged"));
  }
}

TEST(SchemaKeys, OfThePositiveShareComeBack) {
  const auto with = [](const std::string& label, const std::string& share) {
    return parse_schema("label = 'y'\n" + label + "\npositive_share = " + share +
                            "\n[columns]\nx = {type = 'number', range = [0, 1]}",
                        "p.toml");
  };
  const std::string two = "positive = 'yes'";
  EXPECT_EQ(std::get<TwoClasses>(with(two, "0.002").label).positive_share,
            (PositiveShare{0.002, 0.002}));
  const Schema bounds = with(two, "[0.001, 0.004]");
  EXPECT_EQ(std::get<TwoClasses>(bounds.label).positive_share, (PositiveShare{0.001, 0.004}));
  EXPECT_EQ(parse_schema(to_toml(bounds), "t"), bounds);
  const auto refused = [&](const std::string& label, const std::string& share,
                           const std::string& words) {
    expect_bad_input([&] { with(label, share); }, {"p.toml:3: positive_share", words});
  };
  refused(two, "0", "must be above 0 and below 1, got 0;");
  refused(two, "1", "must be above 0 and below 1, got 1;");
  refused(two, "[0.1, 1.5]", "got 1.5;");
  refused(two, "nan", "got nan;");
  refused(two, "[0.4, 0.3]", "must have the lower bound first, got 0.4 and 0.3;");
  refused(two, "[0.1, 0.2, 0.3]", "a list [0.001, 0.004]");
  refused(two, "'few'", "a number such as 0.002");
  refused("range = [0, 9]", "0.1", "is of two classes, and the label is an amount; leave it out");
  refused("classes = ['a', 'b', 'c']", "0.1", "the label is several classes; leave it out");
}

TEST(SchemaKeys, OfExposuresAndWeightsComeBack) {
  const Schema s = exposed("", ", missing = '?'");
  EXPECT_EQ(s.columns[1].type, ColumnType::exposure);
  EXPECT_EQ(parse_schema(to_toml(s), "t"), s);
  const auto weighted = [](const std::string& label, const std::string& weights) {
    return parse_schema("label = 'y'\n" + label + "\nclass_weights = " + weights +
                            "\n[columns]\nx = {type = 'number', range = [0, 1]}",
                        "w.toml");
  };
  const Schema two = weighted("positive = 'yes'\nnegative = 'no'", "{yes = 2.5, no = 1}");
  EXPECT_THAT(class_weights(two.label), ElementsAre(1, 2.5));  // in the order of y
  EXPECT_EQ(parse_schema(to_toml(two), "t"), two);
  const Schema one = weighted("positive = '>50K'", "{'not >50K' = 1, '>50K' = 3}");
  EXPECT_THAT(class_weights(one.label), ElementsAre(1, 3));
  const Schema three = weighted("classes = ['a', 'b', 'c']", "{c = 3, a = 1, b = 2}");
  EXPECT_THAT(class_weights(three.label), ElementsAre(1, 2, 3));
  EXPECT_EQ(parse_schema(to_toml(three), "t"), three);
  EXPECT_THAT(
      std::get<TwoClasses>(weighted("classes = ['b', 'a']", "{a = 1, b = 2}").label).weights,
      ElementsAre(2, 1));
  const auto refused = [&](const std::string& label, const std::string& weights,
                           const std::string& words) {
    expect_bad_input([&] { weighted(label, weights); }, {"w.toml:3: class_weights", words});
  };
  const std::string abc = "classes = ['a', 'b', 'c']";
  refused(abc, "{a = 1, b = 2}", "'c' has no weight");
  refused(abc, "{a = 1, b = 2, c = 3, d = 4}", "'d' is none of the classes");
  refused(abc, "{a = 1, b = 0, c = 3}", "0 is no weight");
  refused(abc, "{a = 1, b = -2, c = 3}", "-2 is no weight");
  refused(abc, "{a = 1, b = inf, c = 3}", "inf is no weight");
  refused(abc, "{a = 1, b = 'two', c = 3}", "must be a number");
  refused(abc, "[1, 2, 3]", "must be a table");
  refused(abc, "{a = 1, b = 1e-12, c = 3}", "of so little weight");
  refused("range = [0, 3]", "{a = 1}", "are of classes, and the label is an amount");
}

// The weight in the exposure's place, of rows of any label.
Schema weighed(const std::string& keys = "", const std::string& of_column = "") {
  return parse_schema("label = 'y'\nrange = [0, 12]\n" + keys +
                          "\n[columns]\nx = {type = 'number', range = [0, 1]}\n"
                          "e = {type = 'weight', range = [0, 8]" +
                          of_column + "}\nz = {type = 'number', range = [0, 4]}",
                      "s.toml");
}

class RowWeights : public Exposures {};

TEST_F(RowWeights, AreTheSameInEveryReaderAndNeverAboveOne) {
  const Schema s = weighed();
  std::vector<double> w{0, 8, 1, 0.1, -3, 1e300, 7.999999, 7.99999999999, 1e-300, 4};
  for (int i = 0; i < 3000; ++i) w.push_back(0.0029 * i);  // past where layouts are chosen
  for (const auto& [reader, data] : all(w, s)) {
    SCOPED_TRACE(reader);
    ASSERT_EQ(data.weight.size(), w.size());
    EXPECT_TRUE(data.offset.empty());
    const Rows rows = data.view();
    ASSERT_EQ(rows.cols, 3U);
    ASSERT_NE(rows.weight, nullptr);
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double held = std::min(std::max(w[i], 0.0), 8.0);
      outside += held != w[i] ? 1U : 0U;
      ASSERT_LE(static_cast<double>(data.weight[i]), held / 8) << w[i];
      ASSERT_GE(static_cast<double>(data.weight[i]), held / 8 * (1 - 0x1p-23) - 1e-45) << w[i];
      ASSERT_EQ(rows.weight_of(i), static_cast<double>(data.weight[i]));
      ASSERT_EQ(rows(i, 0), 0.25F);
      ASSERT_EQ(rows(i, 1), 0.25F);
      ASSERT_EQ(rows(i, 2), 1.0F);
    }
    EXPECT_EQ(data.weight[1], 1.0F);
    EXPECT_EQ(data.counts.columns[1].clamped, outside);
    EXPECT_EQ(data.counts.columns[0].sum() + data.counts.columns[2].sum(), 0U);
  }
  for (const auto& [reader, data] : all({0, 0, 0}, s)) {
    EXPECT_THAT(data.weight, ElementsAre(0, 0, 0)) << reader;
  }
}

// A row without a weight counts as little as a row may: the middle would be a guess.
TEST_F(RowWeights, ThatCannotBeReadCountNothingOrAreRefused) {
  for (const auto& [reader, data] : all({1, NAN, 8}, weighed("invalid = 'middle'"))) {
    SCOPED_TRACE(reader);
    EXPECT_THAT(data.weight, ElementsAre(0.125F, 0, 1));
    EXPECT_EQ(data.counts.columns[1].invalid, 1U);
  }
  for (const auto& [reader, data] : all({1, 2, 8}, weighed("", ", missing = '2'"))) {
    EXPECT_EQ(data.weight[1], 0) << reader;
  }
  expect_bad_input(
      [&] {
        std::ignore = csv({"1", "nan"}, weighed());
      },
      {"t.csv:3: column 'e': 'nan' is not a finite number"});
  expect_bad_input([&] { read_csv(write("t.csv", "y,z,x\n1,1,1\n"), weighed()); },
                   {"lacks column 'e' of the schema"});
}

TEST_F(RowWeights, AreNotNeededToPredict) {
  const Schema s = weighed();
  const ReadOptions predicts{.labels = ReadOptions::Labels::optional, .ignore_extra_columns = true};
  for (const char* text : {"z,x\n1,0.25\n", "z,x,e\n1,0.25,3\n", "z,x,e\n1,0.25,none\n"}) {
    const Dataset data = read_csv(write("p.csv", text), s, predicts);
    EXPECT_EQ(data.rows(), 1U);
    EXPECT_TRUE(data.weight.empty());
    EXPECT_EQ(data.view()(0, 1), 0.25F);
  }
  for (const std::size_t k : {2U, 3U}) {
    const std::vector<double> x =
        k == 2 ? std::vector<double>{0.5, 1} : std::vector<double>{0.5, 9, 1};
    const ArrayView view{x.data(), ArrayView::Type::float64, 1, k, 24, 8};
    const Dataset data = read_array(view, {}, s, predicts);
    EXPECT_EQ(data.view()(0, 0), 0.5F);
    EXPECT_EQ(data.view()(0, 1), 0.25F);
    EXPECT_TRUE(data.weight.empty());
  }
}

TEST_F(RowWeights, OfACacheThatWasDamagedAreMadeAnew) {
  const std::string table = write("t.csv", "y,e,z,x\n3,1,1,0\n4,2,1,0\n");
  const ReadOptions options{.cache = ReadOptions::Cache::always};
  const Dataset made = read_table(table, weighed(), options);
  EXPECT_THAT(made.weight, ElementsAre(0.125F, 0.25F));
  EXPECT_THAT(read_table(table, weighed(), options).weight, ElementsAre(0.125F, 0.25F));
  std::ofstream(table + ".gibbsite-cache/weights.f32") << "12345678";
  EXPECT_THAT(read_table(table, weighed(), options).weight, ElementsAre(0.125F, 0.25F));
}

TEST_F(RowWeights, GivenApartAreThoseOfAColumn) {
  const Schema plain = parse_schema(
      "label = 'y'\nrange = [0, 12]\n[columns]\nx = {type = 'number', range = [0, 1]}\n", "s");
  const std::string table = write("t.csv", "y,x\n1,0\n2,1\n3,1\n4,0\n");
  Dataset data = read_csv(table, plain);
  const std::vector<double> w{4, -1, 9, 0};
  data.weigh(w, 8);
  EXPECT_THAT(data.weight, ElementsAre(0.5F, 0, 1, 0));
  ASSERT_NE(data.schema.weight(), nullptr);
  EXPECT_EQ(data.schema.weight()->hi, 8);
  EXPECT_EQ(data.features(), 2U);
  EXPECT_EQ(data.counts.columns[1].clamped, 2U);
  expect_bad_input([&] { data.weigh(w, 8); }, {"sample_weight: column 'sample_weight'"});
  for (const double highest :
       {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    Dataset other = read_csv(table, plain);
    EXPECT_THROW(other.weigh(w, highest), BadInput) << highest;
  }
  Dataset other = read_csv(table, plain);
  expect_bad_input([&] { other.weigh(std::vector<double>{1, 2}, 8); }, {"2 weights for 4 rows"});
  expect_bad_input([&] { other.weigh(std::vector<double>{1, 2, NAN, 1}, 8); }, {"is not finite"});
}

TEST(SchemaKeys, OfRowWeightsComeBackAndAreChecked) {
  const Schema s = weighed("", ", missing = '?'");
  EXPECT_EQ(s.columns[1].type, ColumnType::weight);
  EXPECT_EQ(parse_schema(to_toml(s), "t"), s);
  EXPECT_TRUE(static_cast<FeatureSpace>(s).weighted);
  EXPECT_EQ(s.features(), 3U);
  const auto refused = [](const std::string& columns, const std::string& words) {
    expect_bad_input(
        [&] {
          parse_schema(
              "label = 'y'\npositive = '1'\n[columns]\nx = {type = 'number', range = [0, "
              "1]}\n" +
                  columns,
              "s");
        },
        {words});
  };
  refused("w = {type = 'weight'}", "is a weight without a range; add range = [0, ");
  refused("w = {type = 'weight', range = [-1, 2]}", "from 0 on");
  refused("w = {type = 'weight', range = [0, 0]}", "from 0 on");
  refused("w = {type = 'weight', range = [0, inf]}", "from 0 on");
  refused("w = {type = 'weight', range = [0, 1], count = 2}", "a row has one");
  refused("w = {type = 'weight', range = [0, 1]}\nv = {type = 'weight', range = [0, 1]}",
          "weighs rows, and so does 'w'");
  refused("w = {type = 'weight', range = [0, 1], levels = ['a']}", "unknown key 'levels'");
  refused("w = {type = 'weight', range = [0, 1]}\n[[interaction]]\ncolumns = ['x', 'w']",
          "weighs rows, which has no effect");
}

TEST(SchemaKeys, RowsOwnWeightsAreAColumn) {
  const std::string rest = "\n[columns]\nx = {type = 'number', range = [0, 1]}\n";
  for (const char* key : {"weights", "weight", "sample_weight", "sample_weights"}) {
    expect_bad_input(
        [&] {
          parse_schema(fmt::format("label = 'y'\npositive = '1'\n{} = 'w'", key) + rest, "s");
        },
        {fmt::format("s:3: {}: a row's own weight is a column, with a public bound", key)});
  }
}

}  // namespace exposure_test
}  // namespace gibbsite
