#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"

namespace gibbsite {
namespace npy_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using ::testing::ElementsAre;
using Labels = ReadOptions::Labels;

class Npy : public test::DataTest {
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
  const std::string good_x =
      npy("<f4", "(3, 3)", bytes_of<float>({0.5F, 9, 3, 0, NAN, 0, -1, 1, 0}));
  const std::string good_y = npy("<f8", "(3,)", bytes_of<double>({1, -1, 1}));

  Dataset read(const std::string& x, const std::string& y, ReadOptions options = {}) const {
    options.label_path = y.empty() ? "" : write("y.npy", y);
    return read_npy(write("x.npy", x), schema, options);
  }
  void expect_error(const std::string& x, const std::string& y,
                    const std::vector<std::string>& parts) const {
    expect_bad_input([&] { (void)read(x, y); }, parts);
  }
};

TEST_F(Npy, ReadsFloatsAndDoubles) {
  const Dataset a = read(good_x, good_y);  // NaN in an ignored column is not looked at
  EXPECT_THAT(a.dense(), ElementsAre(0.75F, 0, 1, 0.5F, 1, 0, 0, 1, 0));
  EXPECT_THAT(a.y, ElementsAre(1, -1, 1));
  const Dataset b =
      read(npy("<f8", "(3,3)", bytes_of<double>({0.5, 9, 3, 0, 0, 0, -1, 1, 0})), good_y);
  EXPECT_EQ(b.dense(), a.dense());
}

TEST_F(Npy, ReadsEveryTypeAndVersionOfLabels) {
  const auto same = [&](const std::string& y) {
    EXPECT_THAT(read(good_x, y).y, ElementsAre(1, -1, 1));
  };
  same(npy("<f4", "(3,)", bytes_of<float>({1, 0, 1})));
  same(npy("<f4", "(3, 1)", bytes_of<float>({1, 0, 1})));
  same(npy("|b1", "(3,)", bytes_of<std::uint8_t>({1, 0, 1})));
  same(npy("|u1", "(3,)", bytes_of<std::uint8_t>({1, 2, 1})));
  same(npy("|i1", "(3,)", bytes_of<std::int8_t>({1, -1, 1})));
  same(npy("<i2", "(3,)", bytes_of<std::int16_t>({1, -1, 1})));
  same(npy("<u2", "(3,)", bytes_of<std::uint16_t>({1, 0, 1})));
  same(npy("<i4", "(3,)", bytes_of<std::int32_t>({1, -1, 1})));
  same(npy("<u4", "(3,)", bytes_of<std::uint32_t>({1, 0, 1})));
  same(npy("<i8", "(3,)", bytes_of<std::int64_t>({1, -1, 1})));
  same(npy("<u8", "(3,)", bytes_of<std::uint64_t>({1, 0, 1}), "True"));  // a vector has no order
  std::string v2 = good_y;  // version 2: a length of four bytes
  v2[6] = 2;
  v2.insert(10, 2, '\0');
  same(v2);
  v2[6] = 3;
  same(v2);
}

TEST_F(Npy, RefusesOtherFiles) {
  expect_error("", good_y, {"x.npy: ", "empty"});
  expect_error("a,b,c\n1,2,3\n", good_y, {"x.npy: ", "not a .npy file"});
  expect_error("\x93NUMPY", good_y, {"x.npy: ", "not a .npy file"});
  std::string version = good_x;
  version[6] = 4;
  expect_error(version, good_y, {"x.npy: ", "version 4"});
  expect_error(good_x.substr(0, 30), good_y, {"x.npy: ", "too early"});
  expect_error(good_x.substr(0, good_x.size() - 1), good_y, {"x.npy: ", "bytes"});
  expect_error(good_x + "x", good_y, {"x.npy: ", "bytes"});
  const std::string values = bytes_of(std::vector<float>(9));
  expect_error(npy(">f4", "(3, 3)", values), good_y,
               {"x.npy: ", "'>f4'", "numpy.ascontiguousarray"});
  expect_error(npy("<f2", "(3, 3)", values), good_y, {"'<f2'", "numpy.ascontiguousarray"});
  expect_error(npy("<i4", "(3, 3)", values), good_y, {"'<f4' or '<f8'", "numpy.ascontiguousarray"});
  expect_error(npy("<f4", "(3, 3)", values, "True"), good_y,
               {"Fortran", "numpy.ascontiguousarray"});
  expect_error(npy("<f4", "(9,)", values), good_y, {"2 dimensions, got 1"});
  expect_error(npy("<f4", "(1, 3, 3)", values), good_y, {"2 dimensions, got 3"});
  expect_error(npy("<f4", "(9, 1)", values), good_y, {"1 columns where the schema has 3"});
  expect_error(npy("<f4", "(0, 3)", ""), npy("<f4", "(0,)", ""), {"no rows"});
  expect_error(npy("<f4", "(3000000000000, 3)", values), good_y, {"bytes", "shape"});
  expect_error(npy("<f4", "(18446744073709551616, 3)", values), good_y, {"shape"});
  expect_error(npy("<f4", "(-3, 3)", values), good_y, {"shape"});
}

TEST_F(Npy, RefusesValuesByRowAndColumn) {
  const auto with = [](float a, float c) {
    return npy("<f4", "(2, 3)", bytes_of<float>({0, 0, 0, a, 0, c}));
  };
  const std::string y = npy("<f4", "(2,)", bytes_of<float>({1, 0}));
  expect_error(with(NAN, 0), y, {"x.npy: row 2: column 'a'", "nan", "not a finite number"});
  expect_error(with(INFINITY, 0), y, {"x.npy: row 2: column 'a'", "inf", "not a finite number"});
  expect_error(with(0, NAN), y, {"x.npy: row 2: column 'c'", "not a finite number"});
  expect_error(with(0, 7), y, {"x.npy: row 2: column 'c'", "level '7'"});
  schema.text.has_missing = true;
  schema.text.missing = "nan";
  EXPECT_EQ(read(with(NAN, NAN), y).counts.missing_cells, 2U);
}

TEST_F(Npy, RefusesLabelsThatDoNotFit) {
  expect_error(good_x, npy("<f4", "(2,)", bytes_of<float>({1, 0})),
               {"y.npy: ", "one value per row"});
  expect_error(good_x, npy("<f4", "(3, 2)", bytes_of<float>({1, 0, 1, 0, 1, 0})),
               {"y.npy: ", "vector"});
  expect_error(good_x, npy("<U3", "(3,)", std::string(36, 'a')), {"y.npy: ", "'<U3'"});
  EXPECT_EQ(read(good_x, npy("<f4", "(3,)", bytes_of<float>({1, 0, 2}))).y,
            (std::vector<float>{1, -1, -1}));
  expect_error(good_x, npy("<f4", "(3,)", bytes_of<float>({1, NAN, 1})),
               {"row 2", "label is missing"});
  expect_error(good_x, "", {"x.npy: ", "holds no labels"});
  EXPECT_FALSE(read(good_x, "", {.labels = Labels::optional}).labeled());
}

TEST_F(Npy, TheSameNumbersFromEveryFormatAreTheSameDataSet) {
  schema = parse_schema(R"(label = "y"
positive = "1"
intercept = true
row_norm = 1.0
[columns]
x = {type = "number", range = [-2, 2], count = 5}
k = {type = "category", levels = ["0", "1", "-2"], other = true}
)",
                        "s.toml");
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(-2.2F, 2.2F);
  std::string csv = "x1,x2,x3,x4,x5,k,y\n", svm;
  std::vector<float> x, y;
  for (int i = 0; i < 500; ++i) {
    svm += i % 3 == 0 ? "+1" : "0";
    for (int j = 0; j < 6; ++j) {
      const float v = j == 5              ? static_cast<float>(static_cast<int>(random() % 6) - 2)
                      : random() % 4 == 0 ? 0
                                          : uniform(random);
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", static_cast<double>(v));
      x.push_back(v);
      csv.append(text).append(",");
      if (v != 0) svm.append(" ").append(std::to_string(j + 1)).append(":").append(text);
    }
    csv += i % 3 == 0 ? "1\n" : "0\n";
    svm += "\n";
    y.push_back(i % 3 == 0);
  }
  const Dataset a = read_table(write("t.csv", csv), schema);
  const Dataset b = read_table(write("t.svmlight", svm), schema);
  // %.9g gives a float back, and its double when read as one differs from the float: below 1e-9.
  const Dataset c = read_table(write("x.NPY", npy("<f4", "(500, 6)", bytes_of(x))), schema,
                               {.label_path = write("y.npy", npy("<f4", "(500,)", bytes_of(y)))});
  EXPECT_EQ(a.rows(), 500U);
  EXPECT_EQ(a.dense(), b.dense());
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.y, c.y);
  ASSERT_EQ(a.dense().size(), c.dense().size());
  for (std::size_t i = 0; i < a.dense().size(); ++i) EXPECT_NEAR(a.dense()[i], c.dense()[i], 3e-7);
  for (const Dataset* data : {&b, &c}) {
    EXPECT_EQ(data->counts.clamped_cells, a.counts.clamped_cells);
    EXPECT_EQ(data->counts.other_cells, a.counts.other_cells);
    EXPECT_EQ(data->counts.clipped_rows, a.counts.clipped_rows);
  }
  EXPECT_GT(a.counts.clamped_cells, 100U);
  EXPECT_GT(a.counts.other_cells, 100U);
  EXPECT_GT(a.counts.clipped_rows, 100U);
  expect_bad_input([&] { (void)read_table(path("t.csv"), schema, {.label_path = path("y.npy")}); },
                   {"y.npy", ".npy table only"});
}

/// Tables of numbers long enough to be read many rows at a time (above 1024), beside what the CSV
/// reader makes of the same numbers cell by cell.
class NpyBlocks : public Npy {
 public:
  static constexpr std::size_t columns = 7, piece_rows = (std::size_t{64} << 10) / (4 * columns);

  NpyBlocks() {
    schema = parse_schema(R"(label = "y"
positive = "1"
negative = "-1"
missing = "nan"
invalid = "middle"
intercept = true
row_norm = 1.0
[columns]
a = {type = "number", range = [-1, 1]}
b = {type = "ignore"}
c = {type = "number", range = [0, 3], count = 4}
d = {type = "number", range = [-0.5, 0], missing = "-0.25"}
)",
                          "s.toml");
  }

  /// Numbers inside and outside of the ranges, their ends, zeros of both signs, and some that are
  /// missing or not finite.
  static std::vector<float> numbers(std::size_t rows, bool finite) {
    std::mt19937_64 random(rows);
    std::uniform_real_distribution<float> uniform(-1.5F, 3.5F);
    std::vector<float> x(rows * columns);
    for (float& v : x) {
      const std::uint64_t kind = random() % 24;
      v = kind == 0            ? 0.0F
          : kind == 1          ? -0.0F
          : kind == 2          ? 3.0F
          : kind == 3          ? -0.25F
          : finite || kind > 6 ? uniform(random)
          : kind == 4          ? NAN
          : kind == 5          ? INFINITY
                               : -INFINITY;
    }
    return x;
  }
  static std::vector<float> labels(std::size_t rows) {
    std::vector<float> y(rows);
    for (std::size_t i = 0; i < rows; ++i) y[i] = i % 3 == 0 ? 1.0F : i % 7 == 0 ? 5.0F : -1.0F;
    return y;
  }
  template <class T>
  Dataset read_as(const std::vector<float>& x, const std::vector<float>& y,
                  ReadOptions options) const {
    const std::string n = std::to_string(y.size()), k = std::to_string(x.size() / y.size());
    options.label_path = write("y.npy", npy("<f4", "(" + n + ",)", bytes_of(y)));
    const std::vector<T> values(x.begin(), x.end());
    return read_table(write("x.npy", npy(sizeof(T) == 4 ? "<f4" : "<f8", "(" + n + ", " + k + ")",
                                         bytes_of(values))),
                      schema, options);
  }
  [[nodiscard]] Dataset read_cells(const std::vector<float>& x, const std::vector<float>& y) const {
    std::string csv = "a,b,c1,c2,c3,c4,d,y\n";
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        char text[32];
        const double v = x[i * columns + j];
        std::snprintf(text, sizeof text, "%.17g,", v);
        csv += std::isnan(v) ? "nan," : text;
      }
      csv += y[i] == 1 ? "1\n" : y[i] == 5 ? "5\n" : "-1\n";
    }
    return read_table(write("t.csv", csv), schema);
  }
};

TEST_F(NpyBlocks, AreTheRowsAndCountsOfCellsOneByOne) {
  for (const std::size_t rows :
       {std::size_t{1}, std::size_t{1023}, std::size_t{1024}, std::size_t{1025},
        1024 + piece_rows - 1, 1024 + piece_rows, 1024 + piece_rows + 1, 1024 + 2 * piece_rows,
        1024 + 32 * piece_rows + 1}) {
    SCOPED_TRACE(rows);
    schema.row_norm = rows % 2 == 0 ? 1.0 : 2.0;  // nearly all rows are clipped, or few
    const std::vector<float> x = numbers(rows, false), y = labels(rows);
    const Dataset cells = read_cells(x, y);
    for (const std::size_t threads : {1U, 2U, 5U}) {
      SCOPED_TRACE(threads);
      expect_same(read_as<float>(x, y, {.threads = threads}), cells);
      if (rows < 3000) expect_same(read_as<double>(x, y, {.threads = threads}), cells);
    }
    if (rows < 1025) continue;
    EXPECT_GT(cells.counts.clipped_rows, rows / 50);
    EXPECT_GT(cells.counts.clamped_cells, rows);
    EXPECT_GT(cells.counts.missing_cells, rows / 10);
    EXPECT_GT(cells.counts.invalid_cells, rows / 10);
    EXPECT_GT(cells.counts.unlisted_labels, rows / 20);
  }
}

TEST_F(NpyBlocks, OfManyColumnsFillVectorsOfEveryLength) {
  for (const int count : {1, 2, 3, 8, 9, 15, 16, 17, 31, 33, 100}) {
    SCOPED_TRACE(count);
    schema = parse_schema(
        "label='y'\npositive='1'\nrow_norm=1\nintercept=false\n[columns]\nx={type='number',range=["
        "0,3],count=" +
            std::to_string(count) + "}\n",
        "s.toml");
    const auto k = static_cast<std::size_t>(count);
    std::vector<float> x = numbers(1100, true), y = labels(1100);
    x.resize(1100 * k, 0.5F);
    const Dataset blocks = read_as<float>(x, y, {});
    // The clipped row again, by itself.
    for (std::size_t i = 0; i < 1100; ++i) {
      std::vector<float> row;
      for (std::size_t j = 0; j < k; ++j) {
        const auto v = static_cast<double>(x[i * k + j]);
        const auto scaled = static_cast<float>((v < 0 ? 0 : v > 3 ? 3 : v) / 3);
        if (scaled != 0) row.push_back(scaled);
      }
      clip_row_to_norm(row, 1);
      std::size_t next = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const float got = blocks.dense()[i * k + j];
        ASSERT_FALSE(std::signbit(got));
        if (got == 0) continue;
        ASSERT_EQ(got, row.at(next++)) << i << ' ' << j;
      }
      ASSERT_EQ(next, row.size());
    }
  }
}

TEST_F(NpyBlocks, NameTheFirstRowThatIsRefused) {
  schema.invalid = Invalid::refuse;
  const std::size_t rows = 1024 + 3 * piece_rows;
  const std::vector<float> x = numbers(rows, true), y = labels(rows);
  struct Bad {
    std::size_t cell_row, label_row;
    std::string first;
  };
  for (const Bad& bad :
       {Bad{1500, 1600, "row 1501: column 'c2'"}, Bad{1600, 1500, "row 1501: the label is missing"},
        Bad{1500, 1500, "row 1501: column 'c2'"},  // cells come before the label
        Bad{1024, rows, "row 1025: column 'c2'"},
        Bad{1024 + piece_rows, rows, "row " + std::to_string(1025 + piece_rows) + ": column 'c2'"},
        Bad{rows - 1, rows, "row " + std::to_string(rows) + ": column 'c2'"},
        Bad{rows, 1024 + 2 * piece_rows,
            "row " + std::to_string(1025 + 2 * piece_rows) + ": the label is missing"}}) {
    std::vector<float> bad_x = x, bad_y = y;
    if (bad.cell_row < rows) {
      bad_x[bad.cell_row * columns + 3] = INFINITY;
      for (std::size_t i = bad.cell_row + 1; i < rows; i += 999) bad_x[i * columns] = -INFINITY;
    }
    if (bad.label_row < rows) bad_y[bad.label_row] = NAN;
    for (const std::size_t threads : {1U, 2U, 5U})
      expect_bad_input([&] { (void)read_as<float>(bad_x, bad_y, {.threads = threads}); },
                       {"x.npy: " + bad.first});
  }
}

TEST_F(NpyBlocks, ReportProgressAndStop) {
  const std::size_t rows = (std::size_t{10} << 20) / (4 * columns);
  const std::vector<float> x = numbers(rows, true), y = labels(rows);
  std::uint64_t last = 0, most = 0, calls = 0;
  ReadOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    most = std::max(most, done - last);
    last = done;
    ++calls;
    EXPECT_LE(done, all);
    return true;
  };
  (void)read_as<float>(x, y, options);
  EXPECT_LE(most, std::uint64_t{4} << 20);
  EXPECT_GE(calls, 3U);
  EXPECT_GT(last, std::uint64_t{8} << 20);
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    last = done;
    return false;
  };
  EXPECT_THROW((void)read_as<float>(x, y, options), Interrupted);
  EXPECT_LE(last, std::uint64_t{4} << 20);
}

TEST_F(NpyBlocks, OfACacheOrAPipeAreTheSame) {
  const std::size_t rows = 1024 + piece_rows + 5;
  const std::vector<float> x = numbers(rows, false), y = labels(rows);
  const Dataset memory = read_as<float>(x, y, {});
  const Dataset cached = read_as<float>(x, y, {.cache = ReadOptions::Cache::always});
  ASSERT_TRUE(cached.on_disk());
  EXPECT_EQ(std::memcmp(cached.view().dense, memory.dense().data(),
                        memory.dense().size() * sizeof(float)),
            0);
  EXPECT_EQ(cached.counts.clamped_cells, memory.counts.clamped_cells);
  remove_cache(path("x.npy"));

  ASSERT_EQ(::mkfifo(path("p.npy").c_str(), 0600), 0);
  std::ifstream file(path("x.npy"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::thread writer([&] { std::ofstream(path("p.npy"), std::ios::binary) << bytes; });
  const Dataset piped = read_table(path("p.npy"), schema, {.label_path = path("y.npy")});
  writer.join();
  expect_same(piped, memory);
}

TEST_F(Npy, ChangedBytesNeverCrash) {
  std::mt19937_64 random(5);
  int read_rows = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string x = good_x, y = good_y;
    std::string& changed = trial % 4 == 0 ? y : x;
    for (int i = 0; i < 1 + trial % 3; ++i)
      changed[random() % std::min<std::size_t>(changed.size(), 90)] =
          trial % 2 == 0 ? static_cast<char>(random()) : "0123456789()<f48 ,'"[random() % 19];
    if (trial % 7 == 0) changed.resize(random() % changed.size());
    try {
      (void)read(x, y, {.labels = Labels::optional});
      ++read_rows;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
  EXPECT_GT(read_rows, 50);
}

}  // namespace npy_test
}  // namespace gibbsite
