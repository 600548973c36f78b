// Curves in rows: the same bits by every reader, each row within its norm in exact arithmetic, the
// schema's text, and what is refused.
#include "gibbsite/model/curve.hpp"

#include <fmt/format.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "gibbsite/core/text.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/interaction.hpp"
#include "gibbsite/model/network_model.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace curve_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::expect_same_rows;
using test::npy;
using testing::arrow_numbers;
using testing::arrow_text;
using testing::ArrowTable;
using ::testing::ElementsAre;
using Int = boost::multiprecision::cpp_int;

const double nan = std::numeric_limits<double>::quiet_NaN();

/// Whether every row is within the schema's row_norm: in integers, as a float times 2^149 is one.
void expect_within_norm(const Dataset& data) {
  const double norm = data.schema.row_norm;
  const Int root(std::ldexp(norm, 200));
  const Int bound = root * root;
  const std::size_t d = data.features() - (data.schema.intercept ? 1 : 0);
  for (std::size_t i = 0; i < data.rows(); ++i) {
    Int sum = 0;
    data.view().for_each(i, [&](std::size_t j, float v) {
      const Int scaled(std::ldexp(static_cast<double>(v), 149));
      if (j < d) sum += scaled * scaled;
    });
    ASSERT_LE(sum << (2 * (200 - 149)), bound) << "row " << i;
  }
}

class CurveRows : public test::DataTest {
 public:
  static constexpr std::size_t width = 6;

  /// Columns of numbers alone, so that every format has them. `many`: so many knots that rows are
  /// kept as entries.
  static Schema schema(bool many, const std::string& more = "") {
    return parse_schema(fmt::format(R"(label = "y"
positive = "1"
negative = "0"
invalid = "middle"
{}
[columns]
age = {{type = "number", range = [17, 90], curve = {}, missing = "-9"}}
line = {{type = "number", range = [-1, 1]}}
gain = {{type = "number", range = [0, 100000], curve = {}}}
town = {{type = "category", levels = ["0", "1", "3"], other = true, missing = "-9"}}
known = {{type = "number", range = [0, 8], missing = "-9", missing_level = true}}
bent = {{type = "number", knots = [-2, -0.5, 0, 0.5, 4], missing = "-9", missing_level = false}}
)",
                                    more, many ? 60 : 8, many ? 90 : 6),
                        "s.toml");
  }
  /// Numbers that float32 holds, in the range and beyond, at knots, missing, no number.
  static std::vector<double> cells(std::size_t rows) {
    std::mt19937 random(5);
    const auto uniform = [&](double lo, double hi) {
      const double part = static_cast<double>(random() % 4096) / 4095;
      return static_cast<double>(static_cast<float>(lo + (hi - lo) * part));
    };
    const auto special = [&](double value, const std::vector<double>& others) {
      const std::size_t at = random() % (4 * others.size());
      return at < others.size() ? others[at] : value;
    };
    std::vector<double> out;
    for (std::size_t i = 0; i < rows; ++i) {
      out.push_back(special(uniform(10, 99), {17, 90, -9, nan, 1e30, -1e30, 27.5}));
      out.push_back(special(uniform(-1.5, 1.5), {-1, 1, 0, nan}));
      out.push_back(special(uniform(0, 2e5), {0, 100000, nan, 87.5, 1, -4}));
      out.push_back(special(static_cast<double>(random() % 5), {-9, 7}));
      out.push_back(special(uniform(-1, 9), {-9, nan, 0, 8}));
      out.push_back(special(uniform(-3, 5), {-9, nan, -2, -0.5, 0, 0.5, 4}));
    }
    return out;
  }
  static bool label(std::size_t i) { return i % 3 == 0; }
  static std::string text(double value, char point = '.') {
    std::string out = std::isnan(value) ? "nan" : number_text(value);
    std::ranges::replace(out, '.', point);
    return out;
  }
  [[nodiscard]] Dataset csv(const std::vector<double>& x, const Schema& schema,
                            char separator = ',') const {
    std::string out = "age,line,gain,town,known,bent,y\n";
    std::ranges::replace(out, ',', separator);
    for (std::size_t i = 0; i * width < x.size(); ++i) {
      for (std::size_t j = 0; j < width; ++j)
        out += text(x[i * width + j], schema.text.decimal) + separator;
      out += label(i) ? "1\n" : "0\n";
    }
    return read_csv(write("t.csv", out), schema);
  }
  template <class T>
  [[nodiscard]] Dataset numpy(const std::vector<double>& x, const Schema& schema) const {
    const std::vector<T> values(x.begin(), x.end());
    const std::size_t n = x.size() / width;
    std::vector<T> labels;
    for (std::size_t i = 0; i < n; ++i) labels.push_back(label(i) ? 1 : 0);
    const std::string type = sizeof(T) == 4 ? "<f4" : "<f8";
    const std::string of = write("y.npy", npy(type, fmt::format("({},)", n), bytes_of(labels)));
    return read_npy(write("x.npy", npy(type, fmt::format("({}, {})", n, width), bytes_of(values))),
                    schema, {.label_path = of});
  }
  [[nodiscard]] Dataset libsvm(const std::vector<double>& x, const Schema& schema) const {
    std::string out;
    for (std::size_t i = 0; i * width < x.size(); ++i) {
      out += label(i) ? "1" : "0";
      for (std::size_t j = 0; j < width; ++j) {
        if (x[i * width + j] != 0)  // what is left out is 0
          out += fmt::format(" {}:{}", j + 1, text(x[i * width + j]));
      }
      out += '\n';
    }
    return read_libsvm(write("t.svm", out), schema);
  }
  template <class T>
  static Dataset arrow(const std::vector<double>& x, const Schema& schema) {
    const std::size_t n = x.size() / width;
    ArrowTable::Batch batch;
    for (std::size_t j = 0; j < width; ++j) {
      std::vector<std::optional<T>> values;
      for (std::size_t i = 0; i < n; ++i) values.emplace_back(static_cast<T>(x[i * width + j]));
      batch.push_back(arrow_numbers<T>(schema.columns[j].name, sizeof(T) == 4 ? "f" : "g", values));
    }
    testing::Texts labels;
    for (std::size_t i = 0; i < n; ++i) labels.emplace_back(label(i) ? "1" : "0");
    batch.push_back(arrow_text("y", "u", labels));
    ArrowTable table({std::move(batch)});
    ArrowArrayStream stream = table.stream();
    return read_arrow(stream, schema);
  }
  static Dataset in_memory(const std::vector<double>& x, const Schema& schema, bool as_text) {
    RowEncoder rows(schema);
    for (std::size_t i = 0; i * width < x.size(); ++i) {
      const std::span<const double> row = std::span(x).subspan(i * width, width);
      if (!as_text) {
        rows.add(row, label(i) ? 1 : 0);
        continue;
      }
      std::vector<std::string> texts;
      for (const double value : row) texts.push_back(text(value));
      rows.add(std::vector<std::string_view>(texts.begin(), texts.end()), label(i) ? "1" : "0");
    }
    return rows.finish();
  }

  void expect_same_by_every_reader(const std::vector<double>& x, const Schema& s,
                                   const Dataset& data) {
    expect_same(numpy<double>(x, s), data);
    expect_same(numpy<float>(x, s), data);
    expect_same(libsvm(x, s), data);
    expect_same(arrow<double>(x, s), data);
    expect_same(arrow<float>(x, s), data);
    expect_same(in_memory(x, s, true), data);
    expect_same(in_memory(x, s, false), data);
  }
};

TEST_F(CurveRows, AreTheSameBitsByEveryReaderAndWithinTheirNorm) {
  for (const bool many : {false, true}) {
    const std::vector<double> x = cells(many ? 1300 : 300);
    for (const char* norm : {"", "row_norm = 1.1", "row_norm = 0.3\nintercept = false"}) {
      SCOPED_TRACE(::testing::Message() << "many " << many << " " << norm);
      const Schema s = schema(many, norm);
      const Dataset data = csv(x, s);
      EXPECT_EQ(data.view().is_sparse(), many);
      EXPECT_GT(data.counts.clamped_cells, 50U);
      EXPECT_GT(data.counts.missing_cells, 50U);
      EXPECT_GT(data.counts.columns[0].invalid, 2U);
      EXPECT_EQ(data.counts.clipped_rows > 0, *norm != '\0');
      expect_within_norm(data);
      expect_same_by_every_reader(x, s, data);
      Schema comma = s;
      comma.text.decimal = ',';
      expect_same_rows(csv(x, comma, ';'), data);
    }
  }
}

// Curves and lines alone, which readers of numbers have fast ways for once 1,024 rows are there.
TEST_F(CurveRows, OfNumbersAloneAreTheSameBits) {
  const double inf = std::numeric_limits<double>::infinity();
  const float below_end = std::nextafter(90.0F, 0.0F), beyond_end = std::nextafter(90.0F, 99.0F),
              above_start = std::nextafter(17.0F, 99.0F), below_start = std::nextafter(17.0F, 0.0F);
  std::vector<double> x = cells(2600);
  std::size_t at = 1500 * width;  // of rows that are read many at a time
  for (const double cell : {inf, -inf, -0.0, static_cast<double>(below_end), 90.0, 1e-38,
                            static_cast<double>(beyond_end), static_cast<double>(above_start), 17.0,
                            static_cast<double>(below_start), 27.5, -9.0, nan, 100000.0, -0.5}) {
    for (std::size_t j = 0; j < width; ++j) x[at++] = cell;
  }
  for (const bool many : {false, true}) {
    for (const char* norm : {"", "row_norm = 0.5", "row_norm = 0.5\nintercept = false"}) {
      SCOPED_TRACE(::testing::Message() << "many " << many << " " << norm);
      Schema s = schema(many, norm);
      s.columns[3] = {.name = "town", .type = ColumnType::number, .lo = 0, .hi = 4};
      if (*norm == '\0') s.row_norm = s.auto_row_norm();
      for (const bool curves : {true, false}) {  // without them the "(missing)" of a line is left
        for (Column& column : s.columns)
          if (!curves) without_curve(column);
        const Dataset data = csv(x, s);
        EXPECT_EQ(data.view().is_sparse(), many && curves);
        expect_within_norm(data);
        expect_same(numpy<double>(x, s), data);
        expect_same(numpy<float>(x, s), data);
        expect_same(libsvm(x, s), data);
        expect_same(arrow<double>(x, s), data);
        expect_same(in_memory(x, s, false), data);
      }
      s.columns[1] = {.name = "line", .type = ColumnType::ignore};
      expect_same(numpy<float>(x, s), csv(x, s));
    }
  }
}

// A row that is refused among those that are read many at a time is named.
TEST_F(CurveRows, OfNumbersAloneNameTheFirstRowThatIsRefused) {
  for (const bool many : {false, true}) {
    Schema s = schema(many, "");
    s.invalid = Invalid::refuse;
    s.columns[3] = {.name = "town", .type = ColumnType::number, .lo = 0, .hi = 4};
    std::vector<double> x(2400 * width, 1.0);
    x[2000 * width] = -9;  // missing, which is a level
    x[2100 * width + 2] = nan;
    x[2200 * width] = nan;
    expect_bad_input([&] { (void)numpy<float>(x, s); }, {"row 2101: column 'gain'", "nan"});
    x[2100 * width + 2] = 1;
    x[2200 * width] = 1;
    const Dataset data = numpy<float>(x, s);
    EXPECT_EQ(data.view().is_sparse(), many);
    EXPECT_EQ(data.counts.columns[0].missing, 1U);
    expect_same(data, csv(x, s));
  }
}

// Positions between knots, few and many, as the definition finds them.
TEST(Hats, AreBetweenTheKnotsThatTheDefinitionSays) {
  std::mt19937 random(7);
  for (const std::size_t count : {2U, 3U, 8U, 17U, 18U, 19U, 20U, 100U}) {
    const std::vector<double> knots = placed_knots(0, 1, count, KnotScale::even);
    const Hats hats{std::span<const double>(knots)};
    std::vector<float> at{0.0F, -0.0F, 1.0F, 1e-38F};
    for (const double knot : knots) {
      const auto near = static_cast<float>(knot);
      for (const float end : {0.0F, 1.0F}) at.push_back(std::nextafter(near, end));
      at.push_back(near);
    }
    for (int i = 0; i < 500; ++i) at.push_back(static_cast<float>(random() % 4096) / 4095);
    for (const float x : at) {
      std::size_t first = 0;
      while (first + 2 < count && knots[first + 1] <= x) ++first;
      const Hat hat = hats.at(x);
      ASSERT_EQ(hat.first, first) << count << " knots, " << x;
      ASSERT_EQ(hat.value + hat.next, 1.0F);
      ASSERT_NEAR(hat.next, (x - knots[first]) / (knots[first + 1] - knots[first]), 0x1p-23);
    }
  }
}

// What the rows are, said once more and simply.
TEST_F(CurveRows, AreHatsBetweenKnotsAndALevelOfMissingCells) {
  const Schema s = parse_schema(
      "label = 'y'\npositive = '1'\nintercept = false\ninvalid = 'middle'\nmissing = '?'\n"
      "[columns]\n"
      "a = {type = 'number', knots = [0, 1, 3, 4]}\n"
      "l = {type = 'number', range = [0, 4], missing_level = true}\n"
      "b = {type = 'number', knots = [0, 3, 4], missing_level = false}",
      "s.toml");
  EXPECT_EQ(s.feature_names(), (std::vector<std::string>{"a=0", "a=1", "a=3", "a=4", "a=(missing)",
                                                         "l", "l=(missing)", "b=0", "b=3", "b=4"}));
  const float third = 5592405.0F / 16777216, two_thirds = 11184811.0F / 16777216;
  const auto row = [&](std::string_view cells) {
    return read_csv(write("t.csv", fmt::format("a,l,b,y\n{},1\n", cells)), s).dense();
  };
  EXPECT_THAT(row("0,0,0"), ElementsAre(1, 0, 0, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(row("4,4,4"), ElementsAre(0, 0, 0, 1, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(row("1,1,1"), ElementsAre(0, 1, 0, 0, 0, 0.25F, 0, two_thirds, third, 0));
  EXPECT_THAT(row("1.5,0,3.5"), ElementsAre(0, 0.75F, 0.25F, 0, 0, 0, 0, 0, 0.5F, 0.5F));
  EXPECT_THAT(row("-7,-7,99"), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0, 1));
  // A missing number with a level is in no other feature, without one it is the middle.
  EXPECT_THAT(row("?,?,?"), ElementsAre(0, 0, 0, 0, 1, 0, 1, third, two_thirds, 0));
  // What cannot be read is the middle.
  EXPECT_THAT(row("x,inf,nan"), ElementsAre(0, 0.5F, 0.5F, 0, 0, 0.5F, 0, third, two_thirds, 0));
}

// The next row does not keep what was set in a feature of the row before it.
TEST_F(CurveRows, OfEntriesThatAreAbsentAreTheirHat) {
  const Schema s = parse_schema(
      "label = 'y'\npositive = '1'\nintercept = false\n[columns]\n"
      "a = {type = 'number', knots = [-1, 0, 1]}\nb = {type = 'number', knots = [-1, 1, 3]}\n"
      "c = {type = 'number', knots = [1, 2, 3]}",
      "s.toml");
  const Dataset data = read_libsvm(write("t.svm", "1 1:0.5 2:2 3:2.5\n0\n0 2:3\n1 1:-0.25\n"), s);
  EXPECT_THAT(data.dense(), ElementsAre(0, 0.5F, 0.5F, 0, 0.5F, 0.5F, 0, 0.5F, 0.5F,  //
                                        0, 1, 0, 0.5F, 0.5F, 0, 1, 0, 0,              //
                                        0, 1, 0, 0, 0, 1, 1, 0, 0,                    //
                                        0.25F, 0.75F, 0, 0.5F, 0.5F, 0, 1, 0, 0));
  EXPECT_EQ(data.counts.columns[2].clamped, 3U);
}

TEST_F(CurveRows, OfAConstantColumnAreOneHat) {
  const Schema s = parse_schema(
      "label = 'y'\npositive = '1'\n[columns]\na = {type = 'number', range = [0, 1], curve = 1000}",
      "s.toml");
  EXPECT_EQ(s.features(), 1001U);
  std::string text = "a,y\n";
  for (int i = 0; i < 50; ++i) text += i % 2 == 0 ? "0.3,1\n" : "0.3,0\n";
  const Dataset data = read_csv(write("t.csv", text), s);
  ASSERT_TRUE(data.view().is_sparse());
  EXPECT_LE(data.view().sparse.entries(), 150U);
  expect_within_norm(data);
}

// Rows at the longest: every curve and level at 1.
TEST_F(CurveRows, AreNoLongerThanTheRootOfTheColumns) {
  for (const std::size_t columns : {1U, 2U, 3U, 7U, 50U}) {
    std::string toml = "label = 'y'\npositive = '1'\nrow_norm = 'auto'\n[columns]\n", head, low,
                near;
    for (std::size_t j = 0; j < columns; ++j) {
      toml += fmt::format("c{} = {{type = 'number', range = [0, 1], curve = 5}}\n", j);
      head += fmt::format("c{},", j);
      low += j % 2 == 0 ? "0," : "1,";
      near += j % 2 == 0 ? "1e-9," : "0.75000003,";
    }
    const Schema s = parse_schema(toml, "s.toml");
    const Dataset data =
        read_csv(write("t.csv", head + "y\n" + low + "1\n" + near + "0\n" + near + "1\n"), s);
    EXPECT_EQ(data.counts.clipped_rows, 0U);
    expect_within_norm(data);
  }
}

// Every row that a schema can encode is in the span of the basis, with coordinates no longer than
// the row.
TEST_F(CurveRows, LieInTheSpanOfTheContrasts) {
  for (const char* more : {"row_norm = 'auto'", "row_norm = 1.1", "row_norm = 'auto'\nmissing = ''",
                           "row_norm = 'auto'\nintercept = false"}) {
    SCOPED_TRACE(more);
    const Schema s = schema(false, more);
    const ContrastBasis found = contrast_basis(s);
    const std::size_t d = found.features, k = found.coordinates;
    EXPECT_EQ(d - k, std::string_view(more).ends_with("'auto'") ||
                             std::string_view(more).ends_with("missing = ''")
                         ? 4U
                         : 0U);
    std::vector<std::vector<double>> directions;
    for (std::size_t c = 0; c < k; ++c) {
      std::vector<double> v(d);
      for (std::size_t j = 0; j < d; ++j) v[j] = found.basis[j * k + c];
      for (int twice = 0; twice < 2; ++twice) {
        for (const std::vector<double>& u : directions) {
          double along = 0;
          for (std::size_t j = 0; j < d; ++j) along += u[j] * v[j];
          for (std::size_t j = 0; j < d; ++j) v[j] -= along * u[j];
        }
      }
      double square = 0;
      for (const double value : v) square += value * value;
      ASSERT_GT(square, 1e-6);
      for (double& value : v) value /= std::sqrt(square);
      directions.push_back(std::move(v));
    }
    const Dataset data = csv(cells(200), s);
    for (std::size_t i = 0; i < data.rows(); ++i) {
      std::vector<double> row(d, 0.0), coordinates(k, 0.0);
      data.view().for_each(i, [&](std::size_t j, float v) { row[j] = static_cast<double>(v); });
      double before = 0, after = 0;
      for (std::size_t j = 0; j < d; ++j) {
        before += row[j] * row[j];
        for (std::size_t c = 0; c < k; ++c) coordinates[c] += found.basis[j * k + c] * row[j];
      }
      for (const double y : coordinates) after += y * y;
      EXPECT_LE(after, before * (1 + 1e-12));
      for (const std::vector<double>& u : directions) {
        double along = 0;
        for (std::size_t j = 0; j < d; ++j) along += u[j] * row[j];
        for (std::size_t j = 0; j < d; ++j) row[j] -= along * u[j];
      }
      for (const double left : row) ASSERT_NEAR(left, 0, 1e-9) << "row " << i;
    }
  }
}

// A table that is read before its curves are chosen, and the same table read once they are.
TEST_F(CurveRows, OfAutomaticCurvesAreThoseOfReadingWithTheChosen) {
  const std::vector<double> x = cells(300);
  for (const char* more : {"", "row_norm = 1.1", "row_norm = 0.3\nintercept = false", "exposure"}) {
    const bool exposed = std::string_view(more) == "exposure";
    Schema s = schema(false, exposed ? "" : more);
    if (exposed) {  // a count over an exposure, whose rows have offsets
      s.label = Count{{.lo = 0, .hi = 9}};
      s.columns[4] = {.name = "known", .type = ColumnType::exposure, .lo = 0.5, .hi = 8};
    }
    const auto automatic = [](Column& column) {
      column.knots.clear();
      column.automatic_curve = true;
    };
    automatic(s.columns[0]);  // with a level of missing cells
    automatic(s.columns[1]);
    automatic(s.columns[2]);
    s.columns[2].scale = KnotScale::even;
    s.validate("s");
    const Dataset lines = csv(x, s);
    EXPECT_EQ(lines.counts.clipped_rows, 0U);  // until they are chosen
    for (const std::size_t knots : {2U, 4U, 12U, 400U}) {
      SCOPED_TRACE(::testing::Message() << more << " " << knots << " knots");
      const Schema chosen = with_knots(s, knots);
      const Dataset expected = csv(x, chosen);
      const Dataset made = with_curves(lines, chosen);
      expect_same(made, expected);
      EXPECT_EQ(made.offset, expected.offset);
      EXPECT_EQ(made.offset.empty(), !exposed);
      expect_within_norm(made);
      expect_same(with_curves(libsvm(x, s), chosen), expected);
      expect_same(with_curves(numpy<float>(x, s), chosen), expected);
      expect_same(with_curves(arrow<double>(x, s), chosen), expected);
    }
    expect_same(with_curves(csv(x, with_knots(s, 5)), with_knots(s, 5)), csv(x, with_knots(s, 5)));
    Schema other = with_knots(s, 5);
    other.row_norm *= 2;
    expect_bad_input([&] { (void)with_curves(lines, other); }, {"another schema"});
    expect_bad_input([&] { (void)with_curves(lines, s); }, {"another schema"});
  }
}

// Layouts that change: few entries of many knots from dense lines, and back.
TEST_F(CurveRows, OfAutomaticCurvesAreDenseOrSparseAsThoseThatAreRead) {
  std::string toml = "label = 'y'\npositive = '1'\n[columns]\n", text;
  for (int j = 0; j < 12; ++j)
    toml += fmt::format("c{} = {{type = 'number', range = [0, 1], curve = 'auto'}}\n", j);
  for (int j = 0; j < 12; ++j) text += fmt::format("c{},", j);
  text += "y\n";
  for (std::size_t i = 0; i < 1200; ++i) {
    for (std::size_t j = 0; j < 12; ++j)
      text += (i + j) % 7 == 0 ? fmt::format("{},", static_cast<double>(i % 97) / 97) : "0,";
    text += label(i) ? "1\n" : "0\n";
  }
  const Schema s = parse_schema(toml, "s.toml");
  const std::string path = write("t.csv", text);
  for (const std::size_t knots : {2U, 4U, 12U}) {
    const Schema chosen = with_knots(s, knots);
    expect_same(with_curves(read_csv(path, s), chosen), read_csv(path, chosen));
  }
}

// Interactions of every kind of column in that schema.
Schema with_interactions(Schema s, bool three = true) {
  const auto part = [&](const std::string& name) {
    const Column& column = *s.column_named(name);
    Interaction::Part out{name};
    if (column.type == ColumnType::number) out.knots = interaction_knots(column);
    return out;
  };
  s.interactions = {{{part("age"), part("town")}},
                    {{part("gain"), part("line")}},
                    {{part("known"), part("bent")}}};
  if (three) s.interactions.push_back({{part("town"), part("known"), part("age")}});
  if (s.row_norm > 1.5) s.row_norm = s.auto_row_norm();
  s.validate("s");
  return s;
}

TEST_F(CurveRows, WithInteractionsAreTheSameBitsByEveryReaderAndWithinTheirNorm) {
  for (const bool many : {false, true}) {
    const std::vector<double> x = cells(many ? 1300 : 300);
    for (const char* norm : {"", "row_norm = 1.1", "row_norm = 0.3\nintercept = false"}) {
      SCOPED_TRACE(::testing::Message() << "many " << many << " " << norm);
      const Schema s = with_interactions(schema(many, norm), many);
      const Dataset data = csv(x, s);
      EXPECT_EQ(data.view().is_sparse(), many);
      EXPECT_EQ(data.counts.clipped_rows > 0, *norm != '\0');
      expect_within_norm(data);
      expect_same_by_every_reader(x, s, data);
    }
  }
}

// Straight lines alone, which readers of numbers have fast ways for.
TEST_F(CurveRows, OfNumbersAloneWithInteractionsAreTheSameBits) {
  const std::vector<double> x = cells(1300);
  Schema s = schema(false, "");
  s.columns[3] = {.name = "town", .type = ColumnType::number, .lo = 0, .hi = 4};
  for (Column& column : s.columns) {
    without_curve(column);
    column.missing_level.reset();
  }
  s = with_interactions(std::move(s));
  EXPECT_EQ(s.features(), 6U + 3 * 4 + 8 + 1);
  const Dataset data = csv(x, s);
  expect_within_norm(data);
  expect_same(numpy<double>(x, s), data);
  expect_same(numpy<float>(x, s), data);
  expect_same(libsvm(x, s), data);
  expect_same(arrow<double>(x, s), data);
  expect_same(arrow<float>(x, s), data);
  expect_same(in_memory(x, s, false), data);
}

TEST_F(CurveRows, OfAutomaticCurvesWithInteractionsAreThoseOfReadingWithTheChosen) {
  const std::vector<double> x = cells(300);
  for (const char* more : {"", "row_norm = 1.1"}) {
    Schema s = schema(false, more);
    for (const std::size_t j : {0U, 2U}) {
      s.columns[j].knots.clear();
      s.columns[j].automatic_curve = true;
    }
    s = with_interactions(std::move(s));
    const Dataset lines = csv(x, s);
    for (const std::size_t knots : {2U, 4U, 12U}) {
      const Schema chosen = with_knots(s, knots);
      const Dataset made = with_curves(lines, chosen);
      expect_same(made, csv(x, chosen));
      expect_within_norm(made);
      expect_same(with_curves(arrow<double>(x, s), chosen), made);
    }
  }
}

// What these features are, said once more and simply.
TEST_F(CurveRows, OfInteractionsAreProductsOfHatsAndLevels) {
  const Schema s = parse_schema(
      "label = 'y'\npositive = '1'\nintercept = false\ninvalid = 'middle'\n"
      "[[interaction]]\ncolumns = ['a', 't']\n[[interaction]]\ncolumns = ['b', 'a']\nknots = {b = "
      "[0, 1, 4]}\n"
      "[columns]\n"
      "a = {type = 'number', range = [0, 4], missing = '?', missing_level = true}\n"
      "b = {type = 'number', range = [0, 4], missing = '?'}\n"
      "t = {type = 'category', levels = ['u', 'v']}\n",
      "s.toml");
  EXPECT_EQ(s.feature_names(), (std::vector<std::string>{"a",
                                                         "a=(missing)",
                                                         "b",
                                                         "t=u",
                                                         "t=v",
                                                         "a × t=0 × u",
                                                         "a × t=0 × v",
                                                         "a × t=4 × u",
                                                         "a × t=4 × v",
                                                         "a × t=(missing) × u",
                                                         "a × t=(missing) × v",
                                                         "b × a=0 × 0",
                                                         "b × a=0 × 4",
                                                         "b × a=0 × (missing)",
                                                         "b × a=1 × 0",
                                                         "b × a=1 × 4",
                                                         "b × a=1 × (missing)",
                                                         "b × a=4 × 0",
                                                         "b × a=4 × 4",
                                                         "b × a=4 × (missing)"}));
  const auto row = [&](std::string_view cells) {
    const Dataset data = read_csv(write("t.csv", fmt::format("a,b,t,y\n{},1\n", cells)), s);
    std::vector<float> out(15);
    data.view().for_each(0, [&](std::size_t j, float v) {
      if (j >= 5) out[j - 5] = v;
    });
    return out;
  };
  EXPECT_THAT(row("1,0.5,u"), ElementsAre(0.75F, 0, 0.25F, 0, 0, 0,  //
                                          0.375F, 0.125F, 0, 0.375F, 0.125F, 0, 0, 0, 0));
  EXPECT_THAT(row("9,-3,v"), ElementsAre(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
  // b has no level of missing cells: they are its middle, 2, between 1 and 4.
  const float third = 5592405.0F / 16777216, two_thirds = 11184811.0F / 16777216;
  EXPECT_THAT(row("?,?,u"), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, two_thirds, 0, 0, third));
  // A category without a level for this cell has no product.
  EXPECT_THAT(row("0,4,w"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_FALSE(always_has_level(s, s.interactions[0]));
  EXPECT_TRUE(always_has_level(s, s.interactions[1]));
}

TEST(InteractionsInToml, AreReadAndWritten) {
  const std::string columns =
      "[columns]\nage = {type = 'number', range = [0, 90], curve = 10}\n"
      "w = {type = 'number', range = [0, 1]}\nauto = {type = 'number', range = [0, 9], curve = "
      "'auto'}\n'so called' = {type = 'category', levels = ['F', 'M'], other = true}\n";
  const auto parse = [&](const std::string& text) {
    return parse_schema("label = 'y'\npositive = '1'\n" + columns + text, "s.toml");
  };
  const Schema s = parse(
      "[[interaction]]\ncolumns = ['age', 'so called']\n[[interaction]]\ncolumns = ['w', 'auto', "
      "'age']\n[[interaction]]\ncolumns = ['w', 'age']\ncurve = 3\nknots = {w = [0, 0.1, 0.5, 1]}");
  ASSERT_EQ(s.interactions.size(), 3U);
  using Knots = std::vector<double>;
  EXPECT_EQ(s.interactions[0].parts[0].knots, (Knots{0, 30, 60, 90}));
  EXPECT_EQ(s.interactions[0].parts[1].knots, Knots());
  EXPECT_EQ(s.interactions[1].parts[0].knots, (Knots{0, 1}));
  EXPECT_EQ(s.interactions[1].parts[1].knots, (Knots{0, 3, 6, 9}));
  EXPECT_EQ(s.interactions[2].parts[0].knots, (Knots{0, 0.1, 0.5, 1}));
  EXPECT_EQ(s.interactions[2].parts[1].knots, (Knots{0, 50, 90}));
  EXPECT_EQ(s.features(), 10U + 1 + 1 + 3 + 12 + 32 + 12 + 1);
  EXPECT_EQ(parse_schema(to_toml(s), "t.toml"), s) << to_toml(s);
  const Schema chosen = with_knots(s, 6);
  EXPECT_EQ(parse_schema(to_toml(chosen), "t.toml"), chosen);
  // Models without a label to predict have none.
  const std::string text = "label = 'y'\npositive = '1'\nnegative = '0'\n" + columns;
  const std::string more = "[[interaction]]\ncolumns = ['age', 'w']\n";
  EXPECT_EQ(parse_network_schema(text + more, "s"), parse_network_schema(text, "s"));
  EXPECT_EQ(parse_column_schema(text + more, "s", "w"), parse_column_schema(text, "s", "w"));
}

TEST(InteractionsInToml, ThatAreWrongAreRefusedAtTheirLine) {
  std::string levels;
  for (int k = 0; k < 200; ++k) levels += fmt::format("'{}', ", k);
  const auto expect_fault = [&](const std::string& lines, const std::vector<std::string>& parts,
                                int line = 5) {
    SCOPED_TRACE(lines);
    std::vector<std::string> all = parts;
    all.push_back(fmt::format("s.toml:{}:", line));
    expect_bad_input(
        [&] {
          (void)parse_schema("label = 'y'\npositive = '1'\n\n" + lines +
                                 "\n[columns]\nage = {type = 'number', range = [17, 90]}\n"
                                 "sex = {type = 'category', levels = ['F', 'M']}\n"
                                 "id = {type = 'ignore'}\n"
                                 "many = {type = 'category', levels = [" +
                                 levels + "]}\nmore = {type = 'category', levels = [" + levels +
                                 "]}\n",
                             "s.toml");
        },
        all);
  };
  const auto of = [&](const std::string& columns, const std::vector<std::string>& parts) {
    expect_fault("[[interaction]]\ncolumns = [" + columns + "]", parts);
  };
  of("'age', 'sexx'", {"'age × sexx'", "no column is called 'sexx'", "sex"});
  of("'age', 'id'", {"'id' is ignored"});
  of("'age', 'y'", {"'y' is the label"});
  of("'age', 'age'", {"'age' is in it twice"});
  of("'age'", {"has 1 column", "2 or 3"});
  of("", {"has 0 columns"});
  of("'age', 'sex', 'many', 'more'", {"has 4 columns", "2 or 3"});
  of("'many', 'more'", {"has 40000 features, and 10000 are the most"});
  of("'many', 'more', 'age'", {"has 80000 features"});
  expect_fault("[[interaction]]\ncolumns = 'age'", {"a list"});
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\ncurve = 1", {"from 2 to 1000", "got 1"},
               6);
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\ncurve = 'auto'", {"a number of knots"},
               6);
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\ncolour = 1", {"unknown key 'colour'"},
               6);
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\nknots = [17, 90]", {"a table such as"},
               6);
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\nknots = {many = [1, 2]}",
               {"'many'", "is not in it"}, 6);
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\nknots = {sex = [1, 2]}",
               {"'sex' is a category"});
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\nknots = {age = [17, 40]}",
               {"'age'", "17 and 90"});
  expect_fault("[[interaction]]\ncolumns = ['age', 'sex']\nknots = {age = [17, 40, 40, 90]}",
               {"'age'", "farther apart"});
  expect_fault("[[interaction]]\n[[interaction]]\ncolumns = ['age', 'sex']", {"columns is missing"},
               4);
  expect_fault("[interaction]\ncolumns = ['age', 'sex']", {"[[interaction]], with two brackets"},
               4);
  expect_fault(
      "[[interaction]]\ncolumns = ['age', 'sex']\n[[interaction]]\ncolumns = ['sex', 'age']",
      {"'sex × age'", "given twice"}, 7);
}

Schema parsed(const std::string& column, const std::string& more = "") {
  return parse_schema(
      "label = 'y'\npositive = '1'\n" + more + "[columns]\nx = {type = 'number', " + column + "}\n",
      "s.toml");
}

TEST(CurvesInToml, AreReadAndWritten) {
  const auto knots_of = [](const std::string& column) { return parsed(column).columns[0].knots; };
  EXPECT_EQ(knots_of("range = [17, 90], curve = 3"), (std::vector<double>{17, 53.5, 90}));
  EXPECT_EQ(knots_of("knots = [0, 1, 10]"), (std::vector<double>{0, 1, 10}));
  EXPECT_EQ(knots_of("knots = [0, 1, 10], range = [0, 10]"), (std::vector<double>{0, 1, 10}));
  EXPECT_EQ(knots_of("range = [0, 10], curve = 7, scale = 'log'"),
            placed_knots(0, 10, 7, KnotScale::log));
  EXPECT_EQ(knots_of("range = [0, 1e5], curve = 7"), placed_knots(0, 1e5, 7, KnotScale::log));
  EXPECT_EQ(knots_of("range = [0, 1e5], curve = 7, scale = 'even'"),
            placed_knots(0, 1e5, 7, KnotScale::even));
  EXPECT_EQ(knots_of("range = [-3, 70], scale = 'series'"), series_knots(-3, 70));
  EXPECT_EQ(knots_of("range = [0, 1], curve = 1000").size(), 1000U);
  const std::vector<std::string> lines = {"range = [0, 1], curve = 2", "knots = [0, 1]",
                                          "range = [0, 1]"};
  for (const std::string& line : lines) {
    EXPECT_FALSE(parsed(line).columns[0].is_curve());
    EXPECT_EQ(parsed(line), parsed(lines.front()));
  }
  for (const char* column :
       {"range = [17, 90], curve = 8", "range = [0, 1e5], curve = 12, missing = '?'",
        "range = [0, 1e-90], curve = 9", "range = [-1e300, 1e300], curve = 12",
        "range = [1000000000, 1000000001], curve = 5", "range = [-3, 70], scale = 'series'",
        "knots = [-0.1, 0.1, 0.30000000000000004]", "range = [0, 1], curve = 'auto'",
        "range = [0, 1e5], curve = 'auto', scale = 'even', missing = '?', missing_level = false",
        "range = [0, 10], curve = 'auto', scale = 'log'",
        "range = [0, 10], curve = 'auto', scale = 'series'",
        "range = [0, 1], missing = '', missing_level = true"}) {
    const Schema once = parsed(column);
    EXPECT_EQ(parse_schema(to_toml(once), "t.toml"), once) << to_toml(once);
  }
  const Column automatic = parsed("range = [0, 9], curve = 'auto', scale = 'log'").columns[0];
  EXPECT_TRUE(automatic.automatic_curve);
  EXPECT_EQ(automatic.scale, KnotScale::log);
}

TEST(CurvesInToml, HaveALevelOfMissingCellsWhereMarksSayHowTheyRead) {
  const auto has = [](const std::string& column, const std::string& more = "") {
    const Schema s = parsed(column, more);
    return s.has_missing_level(s.columns[0]);
  };
  EXPECT_FALSE(has("range = [0, 1], curve = 4"));
  EXPECT_TRUE(has("range = [0, 1], curve = 4, missing = '?'"));
  EXPECT_TRUE(has("range = [0, 1], curve = 4", "missing = '?'\n"));
  EXPECT_FALSE(has("range = [0, 1], curve = 4, missing_level = false", "missing = '?'\n"));
  EXPECT_TRUE(has("range = [0, 1], curve = 'auto', missing = '?'"));
  EXPECT_FALSE(has("range = [0, 1], missing = '?'"));
  EXPECT_TRUE(has("range = [0, 1], missing = '?', missing_level = true"));
}

TEST(CurvesInToml, ThatAreWrongAreRefusedAtTheirLine) {
  const auto expect_fault = [](const std::string& column, const std::vector<std::string>& parts) {
    SCOPED_TRACE(column);
    std::vector<std::string> all = parts;
    all.insert(all.end(), {"s.toml:4:", "'x'"});
    expect_bad_input([&] { (void)parsed(column); }, all);
  };
  expect_fault("range = [0, 1], curve = 1", {"from 2 (a straight line) to 1000 knots, got 1"});
  expect_fault("range = [0, 1], curve = 0", {"got 0"});
  expect_fault("range = [0, 1], curve = -3", {"got -3"});
  expect_fault("range = [0, 1], curve = 1001", {"1000 knots, got 1001"});
  expect_fault("range = [0, 1], curve = 9223372036854775807", {"1000 knots"});
  expect_fault("range = [0, 1], curve = 8.0", {"curve", "a number of knots"});
  expect_fault("range = [0, 1], curve = 'many'", {"curve", "auto"});
  expect_fault("range = [0, 1], curve = true", {"curve", "a number of knots"});
  expect_fault("curve = 8", {"without a range"});
  expect_fault("range = [1, 0], curve = 8", {"range [1, 0]"});
  expect_fault("range = [0, inf], curve = 8", {"range"});
  expect_fault("range = [0, 1], curve = 8, knots = [0, 0.5, 1]", {"leave one out"});
  expect_fault("knots = [0, 0.5, 1], scale = 'log'", {"leave one out"});
  expect_fault("knots = []", {"two numbers at least"});
  expect_fault("knots = [3]", {"two numbers at least"});
  expect_fault("knots = 3", {"a list of numbers"});
  expect_fault("knots = [0, 'a', 1]", {"knots"});
  expect_fault("knots = [0, 0.5, 0.5, 1]", {"0.5 and 0.5", "farther apart"});
  expect_fault("knots = [0, 0.5, 0.5000000001, 1]", {"farther apart"});
  expect_fault("knots = [0, 0.7, 0.5, 1]", {"ascending"});
  expect_fault("knots = [0, nan, 1]", {"knots"});
  expect_fault("knots = [0, 0.5, 1], range = [0, 2]", {"go from 0 to 1", "[0, 2]"});
  expect_fault("range = [0, 1], scale = 'log'", {"add curve"});
  expect_fault("range = [0, 1], curve = 4, scale = 'cubic'", {"'cubic'", "series"});
  expect_fault("range = [0, 1], curve = 4, scale = 'series'", {"leave curve out"});
  expect_fault("range = [0, 1], curve = 4, missing_level = true", {"missing"});
  expect_fault("range = [1e15, 1000000000000001], curve = 1000", {"knots"});
  std::string many = "knots = [0";
  for (int k = 1; k <= 1000; ++k) many += fmt::format(", {}", k);
  expect_fault(many + "]", {"knots are 1001; give from 3 to 1000"});
  // A curve is no key of other columns.
  for (const char* column : {"type = 'category', levels = ['a']", "type = 'ignore'"}) {
    for (const char* key : {"curve = 4", "knots = [0, 1, 2]", "scale = 'log'"}) {
      expect_bad_input(
          [&] {
            (void)parse_schema(
                fmt::format("label = 'y'\npositive = '1'\n[columns]\nx = {{{}, {}}}", column, key),
                "s.toml");
          },
          {"s.toml:4:", "unknown key"});
    }
  }
}

// Models without terms have no curves, and what they count is as it was.
TEST(CurvesInToml, AreNoPartOfNetworksAndFamilies) {
  const char* const rest = "t = {type = 'category', levels = ['a', 'b']}\n";
  const auto both = [&](const std::string& keys) {
    const auto text = [&](const char* missing) {
      return "label = 'y'\npositive = '1'\nnegative = '0'\n[columns]\n" +
             std::string("x = {type = 'number', range = [0, 80]") + missing + keys + "}\n" + rest;
    };
    return std::pair{parse_network_schema(text(", missing = '?'"), "s.toml"),
                     parse_column_schema(text(""), "s.toml", "x")};
  };
  const auto [network, family] = both("");
  for (const char* curve : {", curve = 8", ", curve = 'auto', scale = 'log'",
                            ", knots = [0, 7, 80]", ", scale = 'series'"}) {
    const auto [other, alone] = both(curve);
    EXPECT_EQ(other, network) << curve;
    EXPECT_EQ(alone, family) << curve;
  }
}

// Shares of one table are kept alike, whatever their own rows would choose: on knots a row has one
// entry of a curve, between them two (planted: each share's own choice).
TEST_F(CurveRows, OfSharesAreKeptByTheSchemaAlone) {
  const Schema asked = parse_schema(
      "label = 'y'\npositive = '1'\nrow_norm = 'auto'\n[columns]\n"
      "a = {type = 'number', range = [0, 11], curve = 'auto'}\n"
      "b = {type = 'number', range = [0, 11], curve = 'auto'}\n",
      "s.toml");
  const auto share = [&](std::string_view cell) {
    std::string text = "a,b,y\n";
    for (int i = 0; i < 50; ++i) text += fmt::format("{0},{0},{1}\n", cell, i % 2);
    return read_csv(write("t.csv", text), asked);
  };
  for (const std::size_t knots : {12U, 30U}) {
    const Schema chosen = with_knots(asked, knots);
    const ReadOptions::Layout layout = layout_of(chosen);
    EXPECT_EQ(layout == ReadOptions::Layout::sparse, knots == 30);  // 5 of 61 entries, 5 of 25
    const Dataset on = with_curves(share("0"), chosen, layout),
                  between = with_curves(share("5.3"), chosen, layout);
    EXPECT_EQ(on.view().is_sparse(), knots == 30);
    EXPECT_EQ(between.view().is_sparse(), knots == 30);
  }
  const Schema chosen = with_knots(asked, 12);
  EXPECT_TRUE(with_curves(share("0"), chosen).view().is_sparse());
  EXPECT_FALSE(with_curves(share("5.3"), chosen).view().is_sparse());
}

}  // namespace curve_test
}  // namespace gibbsite
