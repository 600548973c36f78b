#include "gibbsite/data/array.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "data/number_blocks.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {

namespace {

/// Rows of an array whose values have type T, which need not be aligned.
template <class T>
class ArrayRows {
 public:
  explicit ArrayRows(const ArrayView& x)
      : at_(static_cast<const std::byte*>(x.data)),
        cols_(x.cols),
        row_(x.row_stride),
        col_(x.col_stride) {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    in_order_ = (cols_ == 1 || col_ == size) && row_ == static_cast<std::ptrdiff_t>(cols_) * size &&
                reinterpret_cast<std::uintptr_t>(at_) % alignof(T) == 0;
  }

  [[nodiscard]] T at(std::uint64_t i, std::uint64_t j) const {
    T value;
    std::memcpy(&value, place(i, j), sizeof value);
    return value;
  }
  /// Where rows from the first on lie as the encoder reads them, or null.
  [[nodiscard]] const T* lying(std::uint64_t first) const {
    return in_order_ ? reinterpret_cast<const T*>(place(first, 0)) : nullptr;
  }
  /// Rows [first, first + count) in C order; along whichever stride is the shorter.
  void gather(std::uint64_t first, std::size_t count, std::byte* out) const {
    const auto put = [&](std::size_t i, std::size_t j) {
      std::memcpy(out + (i * cols_ + j) * sizeof(T), place(first + i, j), sizeof(T));
    };
    if ((col_ < 0 ? -col_ : col_) <= (row_ < 0 ? -row_ : row_)) {
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < cols_; ++j) put(i, j);
    } else {
      for (std::size_t j = 0; j < cols_; ++j)
        for (std::size_t i = 0; i < count; ++i) put(i, j);
    }
  }

 private:
  [[nodiscard]] const std::byte* place(std::uint64_t i, std::uint64_t j) const {
    return at_ + static_cast<std::ptrdiff_t>(i) * row_ + static_cast<std::ptrdiff_t>(j) * col_;
  }

  const std::byte* at_;
  std::uint64_t cols_;
  std::ptrdiff_t row_, col_;
  bool in_order_;
};

template <class T>
Dataset read_rows(const ArrayView& x, std::span<const double> labels, const Schema& schema,
                  const ReadOptions& options) {
  std::uint64_t row = 0;
  ReadOptions in_memory = options;
  in_memory.cache = ReadOptions::Cache::never;
  CellEncoder rows(
      schema, in_memory, nullptr, [&] { return fmt::format("array: row {}", row + 1); }, "array");
  rows.compare_labels_as_numbers();
  const auto fail = [](const std::string& what) { throw BadInput("array: " + what); };
  const std::uint64_t n = x.rows, k = x.cols;
  if (k != schema.columns.size())
    fail(
        fmt::format("{} columns where the schema has {}; list every column in the schema, in "
                    "the order of the array (count = N helps)",
                    k, schema.columns.size()));
  if (n > 0 && x.data == nullptr) fail("there are rows and no values; give an array");
  if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double) / k)
    fail("more values than memory can hold; give its true shape");
  if (!labels.empty() && labels.size() != n)
    fail(fmt::format("{} labels for {} rows (private under add-remove); give one a row",
                     labels.size(), n));
  if (labels.empty()) {
    if (options.labels != ReadOptions::Labels::optional)
      fail("an array holds no labels; give theirs");
    rows.leave_unlabeled();
  }

  const ArrayRows<T> values(x);
  const std::size_t row_bytes = sizeof(T) * k;
  rows.expect(n);
  std::optional<NumberBlocks> blocks;
  if (NumberRows::fit(schema))
    blocks.emplace(rows, NumberRows(schema, rows.encodings()), row_bytes, options.threads);
  std::uint64_t reported = 0;
  const auto report = [&] {
    if ((row - reported) * row_bytes < progress_bytes / 4 && row != n) return;
    reported = row;
    if (options.progress && !options.progress(row * row_bytes, n * row_bytes))
      throw Interrupted("array: reading was stopped");
  };
  while (row < n) {
    if (blocks && blocks->may_read()) {
      const auto fetch = [&](std::size_t first, std::size_t count, std::byte* room,
                             const auto& encode) {
        const T* in = values.lying(row + first);
        if (in == nullptr) {
          values.gather(row + first, count, room);
          in = reinterpret_cast<const T*>(room);
        }
        return encode(in, count);
      };
      const std::uint64_t count = blocks->read(std::min(n - row, blocks->most_rows()), fetch);
      for (std::uint64_t i = 0; i < count; ++i, ++row)
        if (!labels.empty()) rows.set_class(labels[row]);
      report();
      if (count > 0) continue;
    }
    for (std::size_t j = 0; j < k; ++j)
      if (const Encoding& e = rows.encodings()[j]; e.type != ColumnType::ignore)
        rows.set(e, static_cast<double>(values.at(row, j)));
    if (!labels.empty()) rows.set_class(labels[row]);
    rows.end_row();
    ++row;
    report();
  }
  if (blocks) blocks->add_counts();
  return rows.finish();
}

}  // namespace

Dataset read_array(const ArrayView& x, std::span<const double> labels, const Schema& schema,
                   const ReadOptions& options) {
  return x.type == ArrayView::Type::float32 ? read_rows<float>(x, labels, schema, options)
                                            : read_rows<double>(x, labels, schema, options);
}

}  // namespace gibbsite
