#include "gibbsite/data/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "data/arrow_column.hpp"
#include "data/columns.hpp"
#include "data/number_blocks.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"

namespace gibbsite {

namespace {

/// What has no type of its own here.
struct Half {
  std::uint16_t bits;
  explicit operator double() const { return half_number(bits); }
};
struct Truth {
  unsigned char byte;
  explicit operator double() const { return byte != 0 ? 1 : 0; }
};

/// Calls f(T{}) for the type of the values.
template <class F>
decltype(auto) with_type(ArrayView::Type type, const F& f) {
  using Type = ArrayView::Type;
  switch (type) {
    case Type::float32:
      return f(float{});
    case Type::float64:
      return f(double{});
    case Type::float16:
      return f(Half{});
    case Type::int8:
      return f(std::int8_t{});
    case Type::int16:
      return f(std::int16_t{});
    case Type::int32:
      return f(std::int32_t{});
    case Type::int64:
      return f(std::int64_t{});
    case Type::uint8:
      return f(std::uint8_t{});
    case Type::uint16:
      return f(std::uint16_t{});
    case Type::uint32:
      return f(std::uint32_t{});
    case Type::uint64:
      return f(std::uint64_t{});
    case Type::boolean:
      return f(Truth{});
  }
  throw BadInput("array: values of an unknown type; give float32 or float64");
}

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

/// The array's own memory.
struct InPlace {
  [[nodiscard]] ArrayView rows(const ArrayView& x, std::uint64_t first, std::uint64_t count) const {
    ArrayView out = x;
    out.data =
        static_cast<const std::byte*>(x.data) + static_cast<std::ptrdiff_t>(first) * x.row_stride;
    out.rows = count;
    return out;
  }
  [[nodiscard]] static std::uint64_t most_rows(const ArrayView& x) { return x.rows; }
};

/// Copies of some rows of an array at a time, as they lie there or in C order.
class Staged {
 public:
  explicit Staged(RemoteMemory* memory) : memory_(memory) {}

  [[nodiscard]] static std::uint64_t most_rows(const ArrayView& x) {
    return std::max<std::uint64_t>(1, staged_bytes / std::max<std::uint64_t>(8 * x.cols, 1));
  }
  /// float32 or float64, until the next call.
  [[nodiscard]] ArrayView rows(const ArrayView& x, std::uint64_t first, std::uint64_t count) {
    ArrayView near = InPlace().rows(x, first, count);
    if (memory_ != nullptr) near = fetch(near);
    if (near.type == ArrayView::Type::float32 || near.type == ArrayView::Type::float64) return near;
    numbers_.resize(count * x.cols);
    with_type(near.type, [&]<class T>(T) {
      const ArrayRows<T> values(near);
      for (std::uint64_t i = 0; i < count; ++i)
        for (std::uint64_t j = 0; j < x.cols; ++j)
          numbers_[i * x.cols + j] = static_cast<double>(values.at(i, j));
    });
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(double));
    return {numbers_.data(),
            ArrayView::Type::float64,
            count,
            x.cols,
            static_cast<std::ptrdiff_t>(x.cols) * size,
            size};
  }

 private:
  static constexpr std::uint64_t staged_bytes = std::uint64_t{2} << 20;

  /// A copy in memory of our own, with the same strides or packed ones.
  ArrayView fetch(const ArrayView& far) {
    struct Axis {
      std::uint64_t count;
      std::ptrdiff_t stride;
      [[nodiscard]] std::size_t step() const {
        return static_cast<std::size_t>(stride < 0 ? -stride : stride);
      }
    };
    const std::size_t size = with_type(far.type, []<class T>(T) { return sizeof(T); });
    Axis inner{far.cols, far.col_stride}, outer{far.rows, far.row_stride};
    // Runs lie along the shorter stride.
    const bool swapped = far.rows == 1 || (far.cols > 1 && inner.step() > outer.step());
    if (swapped) std::swap(inner, outer);
    const auto* low = static_cast<const std::byte*>(far.data);
    for (const Axis& axis : {inner, outer})
      if (axis.stride < 0) low += static_cast<std::ptrdiff_t>(axis.count - 1) * axis.stride;
    const std::size_t run = (inner.count - 1) * inner.step() + size;  // of one outer index
    std::size_t inner_step = inner.step(), outer_step = run;
    if (outer.count > 1 && outer.step() < run) {  // runs overlap: all bytes from first to last
      outer_step = outer.step();
      const std::size_t all = (outer.count - 1) * outer_step + run;
      memory_->copy(room(all), low, all, all, 1);
    } else if (run <= most_spread * inner.count * size) {
      memory_->copy(room(run * outer.count), low, std::max(outer.step(), run), run, outer.count);
    } else {  // far apart: one value of each run at a time
      std::byte* const out = room(inner.count * outer.count * size);
      for (std::uint64_t k = 0; k < inner.count; ++k)
        memory_->copy(out + k * outer.count * size, low + k * inner.step(),
                      std::max(outer.step(), size), size, outer.count);
      inner_step = outer.count * size;
      outer_step = size;
    }
    ArrayView near = far;
    std::ptrdiff_t in = static_cast<std::ptrdiff_t>(inner_step),
                   out = static_cast<std::ptrdiff_t>(outer_step);
    std::ptrdiff_t start = 0;
    if (inner.stride < 0) start += static_cast<std::ptrdiff_t>(inner.count - 1) * in, in = -in;
    if (outer.stride < 0) start += static_cast<std::ptrdiff_t>(outer.count - 1) * out, out = -out;
    if (swapped) std::swap(in, out);
    near.data = bytes_.data() + start;
    near.row_stride = out;
    near.col_stride = in;
    return near;
  }
  std::byte* room(std::size_t bytes) {
    bytes_.resize(bytes);
    return bytes_.data();
  }

  static constexpr std::size_t most_spread = 4;  // bytes copied for each that is used
  RemoteMemory* memory_;
  std::vector<std::byte> bytes_;
  std::vector<double> numbers_;
};

/// T: of the rows that `source` gives.
template <class T, class Source>
Dataset read_rows(const ArrayView& x, Source source, std::span<const double> labels,
                  const Schema& schema, const ReadOptions& options) {
  const StandardArithmetic arithmetic;
  std::uint64_t row = 0;
  ReadOptions in_memory = options;
  in_memory.cache = ReadOptions::Cache::never;
  CellEncoder rows(
      schema, in_memory, nullptr, [&] { return fmt::format("array: row {}", row + 1); }, "array");
  rows.compare_labels_as_numbers();
  const auto fail = [](const std::string& what) { throw BadInput("array: " + what); };
  const std::uint64_t n = x.rows, k = x.cols;
  const std::vector<const Encoding*> columns = array_columns(k, rows);
  if (k != columns.size())
    fail(
        fmt::format("{} columns where the schema has {}; list every column in the schema, in "
                    "the order of the array (count = N helps)",
                    k, columns.size()));
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

  std::uint64_t begin = 0, end = 0;  // the rows that can be read now
  std::optional<ArrayRows<T>> values;
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
    if (row == end) {
      begin = row;
      end = begin + std::min(n - begin, source.most_rows(x));
      values.emplace(source.rows(x, begin, end - begin));
    }
    if (blocks && blocks->may_read()) {
      const auto fetch = [&](std::size_t first, std::size_t count, std::byte* room,
                             const auto& encode) {
        const T* in = values->lying(row + first - begin);
        if (in == nullptr) {
          values->gather(row + first - begin, count, room);
          in = reinterpret_cast<const T*>(room);
        }
        return encode(in, count);
      };
      const std::uint64_t count = blocks->read(std::min(end - row, blocks->most_rows()), fetch);
      for (std::uint64_t i = 0; i < count; ++i, ++row)
        if (!labels.empty()) rows.set_class(labels[row]);
      report();
      if (count > 0) continue;
    }
    for (std::size_t j = 0; j < k; ++j)
      if (columns[j] != nullptr)
        rows.set(*columns[j], static_cast<double>(values->at(row - begin, j)));
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
  if (x.type == ArrayView::Type::float32)
    return read_rows<float>(x, InPlace(), labels, schema, options);
  if (x.type == ArrayView::Type::float64)
    return read_rows<double>(x, InPlace(), labels, schema, options);
  return read_rows<double>(x, Staged(nullptr), labels, schema, options);
}

Dataset read_array(const ArrayView& x, RemoteMemory& memory, std::span<const double> labels,
                   const Schema& schema, const ReadOptions& options) {
  return x.type == ArrayView::Type::float32
             ? read_rows<float>(x, Staged(&memory), labels, schema, options)
             : read_rows<double>(x, Staged(&memory), labels, schema, options);
}

std::vector<double> read_column(const ArrayView& x, RemoteMemory& memory) {
  if (x.cols != 1) throw BadInput("array: more columns than one; give one");
  Staged staged(&memory);
  std::vector<double> out;
  while (out.size() < x.rows) {
    const std::uint64_t first = out.size();
    const ArrayView some = staged.rows(x, first, std::min(x.rows - first, Staged::most_rows(x)));
    with_type(some.type, [&]<class T>(T) {
      const ArrayRows<T> values(some);
      for (std::uint64_t i = 0; i < some.rows; ++i)
        out.push_back(static_cast<double>(values.at(i, 0)));
    });
  }
  return out;
}

}  // namespace gibbsite
