// Arrays in memory against the same numbers in a .npy file: the same Dataset, bit by bit.
#include "gibbsite/data/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"

namespace gibbsite {
namespace array_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using Labels = ReadOptions::Labels;

template <class T>
constexpr ArrayView::Type type_of = sizeof(T) == 4 ? ArrayView::Type::float32
                                                   : ArrayView::Type::float64;

template <class T>
ArrayView c_order(const std::vector<T>& x, std::uint64_t rows, std::uint64_t cols) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  return {x.data(), type_of<T>, rows, cols, static_cast<std::ptrdiff_t>(cols) * size, size};
}

class Array : public test::DataTest {
 public:
  static constexpr std::size_t cols = 5;
  static Schema schema(const std::string& more = "", const std::string& last = "") {
    return parse_schema("label = 'y'\npositive = '1'\n" + more +
                            "\n[columns]\nx = {type = 'number', range = [-1, 1], count = 4}\nz = " +
                            (last.empty() ? "{type = 'ignore'}" : last),
                        "s.toml");
  }
  template <class T>
  static std::vector<T> numbers(std::size_t rows, bool unreadable) {
    std::mt19937_64 random(rows);
    std::vector<T> out(rows * cols);
    for (T& value : out) {
      value = static_cast<T>(static_cast<int>(random() % 30)) / 10 - static_cast<T>(1.5);
      if (unreadable && random() % 50 == 0) value = random() % 2 == 0 ? NAN : INFINITY;
    }
    return out;
  }
  template <class T = double>
  static std::vector<T> labels(std::size_t rows) {
    std::vector<T> out;
    for (std::size_t i = 0; i < rows; ++i) out.push_back(i % 3 == 0 ? T{1} : -T{1});
    return out;
  }
  template <class T>
  [[nodiscard]] Dataset file(const std::vector<T>& x, const Schema& s) const {
    const std::size_t n = x.size() / cols;
    return read_npy(
        write("x.npy",
              npy(sizeof(T) == 4 ? "<f4" : "<f8", fmt::format("({}, {})", n, cols), bytes_of(x))),
        s,
        {.label_path =
             write("y.npy", npy("<f4", fmt::format("({},)", n), bytes_of(labels<float>(n))))});
  }
  /// Whatever strides: C order, rows with room between, F order, from the end on, not aligned.
  template <class T>
  void expect_file(std::size_t rows, const Schema& s, bool unreadable) const {
    const std::vector<T> x = numbers<T>(rows, unreadable);
    const Dataset expected = file(x, s);
    const std::vector<double> y = labels(rows);
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    const auto n = static_cast<std::ptrdiff_t>(rows), k = static_cast<std::ptrdiff_t>(cols);
    std::vector<T> wide(rows * 8), columns(rows * cols), backwards(x.rbegin(), x.rend());
    std::string bytes(x.size() * sizeof(T) + 1, '\0');
    std::memcpy(bytes.data() + 1, x.data(), x.size() * sizeof(T));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        wide[i * 8 + j] = x[i * cols + j];
        columns[j * rows + i] = x[i * cols + j];
      }
    }
    const std::vector<ArrayView> views = {
        c_order(x, rows, cols),
        {wide.data(), type_of<T>, rows, cols, 8 * size, size},
        {columns.data(), type_of<T>, rows, cols, size, n * size},
        {&backwards.back(), type_of<T>, rows, cols, -k * size, -size},
        {bytes.data() + 1, type_of<T>, rows, cols, k * size, size}};
    for (const ArrayView& view : views) {
      SCOPED_TRACE(fmt::format("strides {} {}", view.row_stride, view.col_stride));
      for (const std::size_t threads : {1U, 2U, 5U})
        expect_same(read_array(view, y, s, {.threads = threads}), expected);
    }
  }
};

TEST_F(Array, IsTheNpyFileOfTheSameNumbers) {
  for (const std::size_t rows : {1U, 1023U, 1024U, 1025U, 5000U, 60'001U}) {
    SCOPED_TRACE(rows);
    expect_file<float>(rows, schema("row_norm = 1.1"), false);
    expect_file<double>(rows, schema("invalid = 'middle'\nmissing = '0.5'"), true);
  }
  const Schema levels =
      schema("invalid = 'middle'", "{type = 'category', levels = ['0.5', '-1'], other = true}");
  expect_file<double>(3000, levels, true);
  expect_file<float>(3000, levels, true);
}

// Every row the same, and one column: strides of 0, and of one value.
TEST_F(Array, StridesMayBeZero) {
  const double row[cols] = {0.5, -0.5, 0, 1, 9};
  const ArrayView same{row, ArrayView::Type::float64, 2000, cols, 0, 8};
  std::vector<double> x;
  for (int i = 0; i < 2000; ++i) x.insert(x.end(), row, row + cols);
  expect_same(read_array(same, labels(2000), schema()), file(x, schema()));
}

TEST_F(Array, WithoutLabelsRowsAreToBePredicted) {
  const std::vector<double> x = numbers<double>(2000, false);
  const Dataset data =
      read_array(c_order(x, 2000, cols), {}, schema(), {.labels = Labels::optional});
  EXPECT_FALSE(data.labeled());
  EXPECT_EQ(data.dense(), file(x, schema()).dense());
}

TEST_F(Array, RefusesWhatItCannotBe) {
  std::vector<double> x = numbers<double>(3000, false);
  const ArrayView view = c_order(x, 3000, cols);
  const auto error = [&](const ArrayView& bad, const std::vector<double>& y,
                         const std::vector<std::string>& parts) {
    expect_bad_input([&] { (void)read_array(bad, y, schema()); }, parts);
  };
  error(c_order(x, 3000, 4), labels(3000), {"array: 4 columns where the schema has 5"});
  error(view, labels(2999), {"array: 2999 labels for 3000 rows (private under add-remove)"});
  error(view, {}, {"array: an array holds no labels"});
  error(c_order(x, 0, cols), {}, {"array: an array holds no labels"});
  expect_bad_input(
      [&] { (void)read_array(c_order(x, 0, cols), {}, schema(), {.labels = Labels::optional}); },
      {"array: the table has no rows"});
  error({nullptr, ArrayView::Type::float64, 3, cols, 40, 8}, labels(3), {"array: there are rows"});
  error({x.data(), ArrayView::Type::float64, ~std::uint64_t{0} / 4, cols, 40, 8}, {},
        {"array: more values than memory"});
  std::vector<double> y = labels(3000);
  y[2000] = 2;
  error(view, y, {"array: row 2001: label 2 is neither -1 nor +1", "private"});
  for (const std::size_t row : {7U, 1500U, 2999U}) {
    x[row * cols + 1] = NAN;
    for (const std::size_t threads : {1U, 3U})
      expect_bad_input(
          [&] { (void)read_array(view, labels(3000), schema(), {.threads = threads}); },
          {fmt::format("array: row {}: column 'x2': 'nan' is not a finite number", row + 1)});
    x[row * cols + 1] = 0;
  }
}

TEST_F(Array, ReadingCanBeStopped) {
  const std::vector<double> x(400'000 * cols, 0.5);
  std::uint64_t most = 0;
  (void)read_array(c_order(x, 400'000, cols), labels(400'000), schema(),
                   {.progress = [&](std::uint64_t done, std::uint64_t total) {
                     EXPECT_LE(done - most, std::uint64_t{4} << 20);
                     EXPECT_EQ(total, 400'000U * cols * 8);
                     most = done;
                     return true;
                   }});
  EXPECT_EQ(most, 400'000U * cols * 8);
  EXPECT_THROW((void)read_array(c_order(x, 400'000, cols), labels(400'000), schema(),
                                {.progress = [](std::uint64_t, std::uint64_t) { return false; }}),
               Interrupted);
}

// ---- Memory that is read by copies
// ----------------------------------------------------------------------------------------------

/// Lends [first, last) and refuses every other byte.
class Watched final : public RemoteMemory {
 public:
  Watched(const void* first, std::size_t bytes)
      : first_(static_cast<const std::byte*>(first)), last_(first_ + bytes) {}
  void copy(std::byte* out, const std::byte* at, std::size_t pitch, std::size_t width,
            std::size_t height) override {
    ASSERT_GE(pitch, width);
    ASSERT_GT(height, 0U);
    ASSERT_GE(at, first_);
    ASSERT_LE(at + (height - 1) * pitch + width, last_);
    for (std::size_t i = 0; i < height; ++i) std::memcpy(out + i * width, at + i * pitch, width);
    most = std::max(most, width * height);
    ++calls;
  }
  std::size_t most = 0, calls = 0;

 private:
  const std::byte *first_, *last_;
};

TEST_F(Array, CopiesAreReadAsTheArrayItself) {
  for (const std::size_t rows : {1U, 7U, 1023U, 1025U, 120'000U}) {
    std::vector<float> x = numbers<float>(rows * 30, false);  // room for every stride below
    const std::vector<double> y = labels(rows);
    const auto n = static_cast<std::ptrdiff_t>(rows), k = static_cast<std::ptrdiff_t>(cols);
    const std::vector<std::array<std::ptrdiff_t, 3>> ways = {// first, row stride, column stride
                                                             {0, k, 1},
                                                             {3, 2 * k, 1},
                                                             {1, 2 * k, 2},
                                                             {0, 1, n},
                                                             {0, 1, 2 * n},
                                                             {n * k - 1, -k, -1},
                                                             {(n - 1) * k, -k, 1},
                                                             {k * n - 1, -1, -n},
                                                             {0, 29, 7},
                                                             {0, 6, 6 * n},
                                                             {0, 1, 1},
                                                             {0, 0, 1},
                                                             {0, 1, 0},
                                                             {0, 0, 0},
                                                             {0, 0, -0},
                                                             {(n - 1) * 29, -29, 7}};
    for (const auto& [first, row, col] : ways) {
      SCOPED_TRACE(fmt::format("{} rows, {} {} {}", rows, first, row, col));
      constexpr std::ptrdiff_t size = sizeof(float);
      const ArrayView view{x.data() + first, ArrayView::Type::float32, rows, cols, row * size,
                           col * size};
      Watched memory(x.data(), x.size() * sizeof(float));
      expect_same(read_array(view, memory, y, schema()), read_array(view, y, schema()));
      EXPECT_LE(memory.most, std::size_t{5} << 21);
    }
  }
}

TEST_F(Array, OtherTypesAreReadAsDoubles) {
  using Type = ArrayView::Type;
  const auto same = [&]<class T>(Type type, std::vector<T> values, std::vector<double> expected) {
    for (std::size_t i = values.size(); i < 1500 * cols; ++i) {
      values.push_back(values[i % 5]);
      expected.push_back(expected[i % 5]);
    }
    ArrayView view = c_order(expected, 1500, cols);
    const std::vector<double> y = labels(1500);
    const Dataset wanted = read_array(view, y, schema());
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    view = {values.data(), type, 1500, cols, static_cast<std::ptrdiff_t>(cols) * size, size};
    expect_same(read_array(view, y, schema()), wanted);
    Watched memory(values.data(), values.size() * sizeof(T));
    expect_same(read_array(view, memory, y, schema()), wanted);
    view.cols = 1;
    const std::vector<double> column = read_column(view, memory);
    ASSERT_EQ(column.size(), 1500U);
    for (std::size_t i = 0; i < column.size(); ++i) ASSERT_EQ(column[i], expected[i * cols]);
  };
  same(Type::int8, std::vector<std::int8_t>{0, 1, -1, -128, 127}, {0, 1, -1, -128, 127});
  same(Type::int16, std::vector<std::int16_t>{0, 1, -1, -300, 300}, {0, 1, -1, -300, 300});
  same(Type::int32, std::vector<std::int32_t>{0, 1, -1, -70000, 9}, {0, 1, -1, -70000, 9});
  same(Type::int64, std::vector<std::int64_t>{0, 1, -1, 9007199254740993, 9},
       {0, 1, -1, 9007199254740992.0, 9});
  same(Type::uint8, std::vector<std::uint8_t>{0, 1, 255, 128, 2}, {0, 1, 255, 128, 2});
  same(Type::uint16, std::vector<std::uint16_t>{0, 1, 65535, 2, 3}, {0, 1, 65535, 2, 3});
  same(Type::uint32, std::vector<std::uint32_t>{0, 1, 4294967295, 2, 3}, {0, 1, 4294967295, 2, 3});
  same(Type::uint64, std::vector<std::uint64_t>{0, 1, 18446744073709551615U, 2, 3},
       {0, 1, 18446744073709551616.0, 2, 3});
  same(Type::boolean, std::vector<unsigned char>{0, 1, 2, 0, 1}, {0, 1, 1, 0, 1});
  same(Type::float16, std::vector<std::uint16_t>{0x3c00, 0xbc00, 0x3800, 0, 0x0001},
       {1, -1, 0.5, 0, 0x1p-24});
}

}  // namespace array_test
}  // namespace gibbsite
