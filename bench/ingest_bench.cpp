// Ingestion: rows and bytes per second of each reader on one core, files in the page cache, beside
// the roofs of the CSV reader on the same bytes: libcsv with empty callbacks, libcsv and fast_float
// with nothing else, and one pass of memchr.
#include <benchmark/benchmark.h>
#include <csv.h>
#include <fast_float/fast_float.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>

#include "gibbsite/data/array.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t file_bytes = std::size_t{48} << 20;

/// A table on disk, made once, and what reads it.
struct Table {
  std::string path, labels;
  Schema schema;
  std::uint64_t bytes = 0;
};

/// A folder that goes with the process.
const std::string& folder() {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "gibbsite-bench-XXXXXX").string();
    Folder() {
      if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder made;
  return made.path;
}

constexpr int number_columns = 20;
using Random = std::mt19937_64;

double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

Schema number_schema(std::size_t columns = number_columns) {
  return parse_schema(
      fmt::format("label='y'\npositive='1'\n[columns]\nx={{type='number',range=[0,100],count={}}}",
                  columns),
      "bench");
}

Table numeric_csv(int digits) {
  std::string text;
  for (int j = 1; j <= number_columns; ++j) text += fmt::format("x{},", j);
  text += "y\n";
  Random random(1);
  while (text.size() < file_bytes) {
    for (int j = 0; j < number_columns; ++j)
      text += fmt::format("{:.{}f},", 100 * uniform(random), digits);
    text += random() % 2 != 0 ? "1\n" : "0\n";
  }
  const std::string path = folder() + "/numbers.csv";
  std::ofstream(path, std::ios::binary) << text;
  return {path, "", number_schema(), text.size()};
}

/// Six numbers and eight categories of 2 to 42 levels, a blank after each comma: Adult's shape.
Table mixed_csv() {
  std::string toml = "label='y'\npositive='>50K'\n[columns]\n";
  std::string text;
  const std::vector<std::size_t> sizes = {9, 16, 7, 15, 6, 5, 2, 42};
  for (int j = 0; j < 6; ++j) {
    toml += fmt::format("n{}={{type='number',range=[0,100000]}}\n", j);
    text += fmt::format("n{}, ", j);
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    toml += fmt::format("c{}={{type='category',levels=[", k);
    for (std::size_t i = 0; i < sizes[k]; ++i) toml += fmt::format("'Level-of-{}-{}',", k, i);
    toml += "]}\n";
    text += fmt::format("c{}, ", k);
  }
  text += "y\n";
  Random random(2);
  while (text.size() < file_bytes) {
    for (int j = 0; j < 6; ++j) text += fmt::format("{}, ", random() % (j % 2 != 0 ? 100 : 100000));
    for (std::size_t k = 0; k < sizes.size(); ++k)
      text += fmt::format("Level-of-{}-{}, ", k, random() % sizes[k]);
    text += random() % 2 != 0 ? ">50K\n" : "<=50K\n";
  }
  const std::string path = folder() + "/mixed.csv";
  std::ofstream(path, std::ios::binary) << text;
  return {path, "", parse_schema(toml, "bench"), text.size()};
}

Table libsvm() {
  std::string text;
  Random random(3);
  while (text.size() < file_bytes) {
    text += random() % 2 != 0 ? "+1" : "-1";
    for (int j = 1; j <= number_columns; ++j) {
      text += fmt::format(" {}:{:.4f}", j, 100 * uniform(random));
    }
    text += "\n";
  }
  const std::string path = folder() + "/numbers.svm";
  std::ofstream(path, std::ios::binary) << text;
  return {path, "", number_schema(), text.size()};
}

Table npy(std::size_t bytes, std::size_t columns) {
  const std::size_t rows = bytes / (columns * sizeof(float));
  const auto write = [](const std::string& path, const std::string& shape,
                        const std::vector<float>& values) {
    const std::string header = fmt::format(
        "{:117}", fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape));
    std::ofstream(path, std::ios::binary)
        << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n'
        << std::string_view(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(float));
  };
  Random random(4);
  std::vector<float> x(rows * columns), y(rows);
  for (float& v : x) v = static_cast<float>(100 * uniform(random));
  for (float& v : y) v = static_cast<float>(random() % 2);
  const std::string path = folder() + "/x.npy", labels = folder() + "/y.npy";
  write(path, fmt::format("({}, {})", rows, columns), x);
  write(labels, fmt::format("({},)", rows), y);
  return {path, labels, number_schema(columns), x.size() * sizeof(float)};
}

/// Columns of float64 in memory, one batch, as a stream.
class Columns {
 public:
  Columns(std::size_t rows, std::size_t columns) : rows_(rows) {
    Random random(6);
    for (std::size_t j = 0; j <= columns; ++j) {
      std::vector<double>& values = values_.emplace_back(rows);
      for (double& v : values)
        v = j < columns ? 100 * uniform(random) : static_cast<double>(random() % 2);
      names_.push_back(j < columns ? fmt::format("x{}", j + 1) : "y");
    }
    for (std::size_t j = 0; j <= columns; ++j) {
      buffers_.push_back({nullptr, values_[j].data()});
      schemas_.push_back({"g", names_[j].c_str(), nullptr, 0, 0, nullptr, nullptr,
                          released<ArrowSchema>, nullptr});
    }
    for (std::size_t j = 0; j <= columns; ++j) {
      arrays_.push_back({static_cast<std::int64_t>(rows), 0, 0, 2, 0, buffers_[j].data(), nullptr,
                         nullptr, released<ArrowArray>, nullptr});
    }
    for (ArrowSchema& one : schemas_) schema_at_.push_back(&one);
    for (ArrowArray& one : arrays_) array_at_.push_back(&one);
  }
  [[nodiscard]] std::uint64_t bytes() const { return rows_ * values_.size() * sizeof(double); }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] const std::vector<std::vector<double>>& values() const { return values_; }

  ArrowArrayStream stream() {
    given_ = false;
    return {
        [](ArrowArrayStream* self, ArrowSchema* out) {
          Columns& of = *static_cast<Columns*>(self->private_data);
          const auto count = static_cast<std::int64_t>(of.schemas_.size());
          *out = {
              "+s",   "", nullptr, 0, count, of.schema_at_.data(), nullptr, released<ArrowSchema>,
              nullptr};
          return 0;
        },
        [](ArrowArrayStream* self, ArrowArray* out) {
          Columns& of = *static_cast<Columns*>(self->private_data);
          *out = {};
          if (of.given_) return 0;
          of.given_ = true;
          const auto count = static_cast<std::int64_t>(of.arrays_.size());
          *out = {static_cast<std::int64_t>(of.rows_),
                  0,
                  0,
                  1,
                  count,
                  &of.no_buffer_,
                  of.array_at_.data(),
                  nullptr,
                  released<ArrowArray>,
                  nullptr};
          return 0;
        },
        nullptr, [](ArrowArrayStream* self) { self->release = nullptr; }, this};
  }

 private:
  template <class Struct>
  static void released(Struct* self) {
    self->release = nullptr;
  }
  std::size_t rows_;
  bool given_ = false;
  const void* no_buffer_ = nullptr;
  std::vector<std::vector<double>> values_;
  std::vector<std::string> names_;
  std::vector<std::array<const void*, 2>> buffers_;
  std::vector<ArrowSchema> schemas_;
  std::vector<ArrowArray> arrays_;
  std::vector<ArrowSchema*> schema_at_;
  std::vector<ArrowArray*> array_at_;
};

void set_rates(benchmark::State& state, std::uint64_t bytes, std::uint64_t rows) {
  const auto iterations = static_cast<std::uint64_t>(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(iterations * bytes));
  state.SetItemsProcessed(static_cast<std::int64_t>(iterations * rows));
}

void read(benchmark::State& state, const std::function<Table()>& make, std::size_t threads = 1) {
  const Table table = make();
  std::uint64_t rows = 0;
  for (auto _ : state) {
    ReadOptions options;
    options.label_path = table.labels;
    options.threads = threads;
    const Dataset data = read_table(table.path, table.schema, options);
    benchmark::DoNotOptimize(data.y.data());  // rows may be dense or sparse
    rows = data.rows();
  }
  set_rates(state, table.bytes, rows);
  std::filesystem::remove(table.path);
}

// Float64 columns of `columns` numbers, or the same in C order, to rows; memcpy of the same bytes.
constexpr std::size_t in_memory_bytes = 400'000'000;

void read_columns(benchmark::State& state, std::size_t columns, std::size_t threads) {
  Columns table(in_memory_bytes / sizeof(double) / columns, columns);
  const Schema schema = number_schema(columns);
  for (auto _ : state) {
    ArrowArrayStream stream = table.stream();
    ReadOptions options;
    options.threads = threads;
    const Dataset data = read_arrow(stream, schema, options);
    benchmark::DoNotOptimize(data.dense().data());
  }
  set_rates(state, table.bytes(), table.rows());
}

void read_rows(benchmark::State& state, bool c_order, std::size_t threads) {
  constexpr std::size_t columns = 100, rows = in_memory_bytes / sizeof(double) / columns;
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(double));
  std::vector<double> x(rows * columns);
  Random random(6);
  for (double& v : x) v = 100 * uniform(random);
  const std::vector<double> y(rows, 1.0);
  const auto n = static_cast<std::ptrdiff_t>(rows), k = static_cast<std::ptrdiff_t>(columns);
  const ArrayView view{x.data(), ArrayView::Type::float64,  rows,
                       columns,  c_order ? k * size : size, c_order ? size : n * size};
  const Schema schema = number_schema(columns);
  for (auto _ : state) {
    ReadOptions options;
    options.threads = threads;
    const Dataset data = read_array(view, y, schema, options);
    benchmark::DoNotOptimize(data.dense().data());
  }
  set_rates(state, in_memory_bytes, rows);
}

void roof_memcpy(benchmark::State& state) {
  const std::vector<char> from(in_memory_bytes, 1);
  for (auto _ : state) {
    const auto to = std::make_unique_for_overwrite<char[]>(in_memory_bytes / 2);  // of floats
    for (std::size_t at = 0; at < in_memory_bytes; at += in_memory_bytes / 2)
      std::memcpy(to.get(), from.data() + at, in_memory_bytes / 2);
    benchmark::DoNotOptimize(to.get());
    benchmark::ClobberMemory();
  }
  set_rates(state, in_memory_bytes, 0);
}

// ---- The roofs, on the bytes of numeric_csv in memory -------------------------------------------

struct Counts {
  std::uint64_t rows = 0;
  double sum = 0;
};
void count_nothing(void*, std::size_t, void*) {}
void add_number(void* text, std::size_t size, void* counts) {
  double value = 0;
  const auto* const first = static_cast<const char*>(text);
  fast_float::from_chars(first, first + size, value);
  static_cast<Counts*>(counts)->sum += value;
}
void count_row(int, void* counts) { ++static_cast<Counts*>(counts)->rows; }

std::string numeric_text() {
  std::ifstream file(numeric_csv(4).path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void roof_libcsv(benchmark::State& state, void (*on_cell)(void*, std::size_t, void*)) {
  const std::string text = numeric_text();
  Counts counts;
  for (auto _ : state) {
    counts = {};
    csv_parser parser;
    csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI);
    constexpr std::size_t chunk = std::size_t{256} << 10;
    for (std::size_t at = 0; at < text.size(); at += chunk)
      csv_parse(&parser, text.data() + at, std::min(chunk, text.size() - at), on_cell, count_row,
                &counts);
    csv_fini(&parser, on_cell, count_row, &counts);
    csv_free(&parser);
    benchmark::DoNotOptimize(counts);
  }
  set_rates(state, text.size(), counts.rows);
}

void roof_memchr(benchmark::State& state) {
  const std::string text = numeric_text();
  std::uint64_t lines = 0;
  for (auto _ : state) {
    lines = 0;
    for (const char *at = text.data(), *const end = at + text.size(); at != end; ++lines)
      at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))) + 1;
    benchmark::DoNotOptimize(lines);
  }
  set_rates(state, text.size(), lines);
}

// ---- Clipping -----------------------------------------------------------------------------------

/// Rows of d floats, every second one too long.
void clip(benchmark::State& state) {
  const auto d = static_cast<std::size_t>(state.range(0));
  Random random(5);
  std::vector<float> row(d), copy(d);
  for (float& v : row) v = static_cast<float>(uniform(random));
  const double norm = std::sqrt(static_cast<double>(d) / 3);
  int turn = 0;
  for (auto _ : state) {
    std::copy(row.begin(), row.end(), copy.begin());
    benchmark::DoNotOptimize(clip_row_to_norm(copy, turn++ % 2 == 0 ? 2 * norm : norm / 2));
    benchmark::ClobberMemory();
  }
  set_rates(state, d * sizeof(float), 1);
}

BENCHMARK_CAPTURE(read, csv_numbers_4_digits, [] {
  return numeric_csv(4);
})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, csv_numbers_15_digits, [] {
  return numeric_csv(15);
})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, csv_mixed, mixed_csv)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, libsvm, libsvm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, npy, [] {
  return npy(file_bytes, number_columns);
})->Unit(benchmark::kMillisecond);
// 1,000,000 rows of 100 numbers, 400 MB: every row is clipped.
BENCHMARK_CAPTURE(read, npy_400_MB, [] { return npy(400'000'000, 100); })
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(
    read, npy_400_MB_all_threads, [] { return npy(400'000'000, 100); }, 0)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(read_columns, arrow_100_columns, 100, 1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(read_columns, arrow_100_columns_all_threads, 100, 0)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(read_columns, arrow_20_columns, 20, 1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(read_rows, array_c_order, true, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(read_rows, array_f_order, false, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(roof_memcpy)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(roof_libcsv, empty_callbacks, count_nothing)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(roof_libcsv, fast_float_only, add_number)->Unit(benchmark::kMillisecond);
BENCHMARK(roof_memchr)->Unit(benchmark::kMillisecond);
BENCHMARK(clip)->Arg(20)->Arg(108)->Arg(1000);

}  // namespace
}  // namespace gibbsite

BENCHMARK_MAIN();
