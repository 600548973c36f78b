// NumPy .npy, format versions 1 to 3 (NEP 1): magic, version, header length, a Python dictionary
// {'descr': '<f4', 'fortran_order': False, 'shape': (n, k), }, then the values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>

#include "core/format_message.hpp"
#include "data/columns.hpp"
#include "data/encoder.hpp"
#include "data/input.hpp"
#include "data/number_blocks.hpp"
#include "data/number_rows.hpp"
#include "data/parts.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

static_assert(std::endian::native == std::endian::little, ".npy values are read as they lie");

namespace {

struct ValueType {
  std::string_view descr;
  std::size_t bytes;
  void (*read)(const char*, std::span<double>);
};

template <class T>
constexpr ValueType value_type(std::string_view descr) {
  return {descr, sizeof(T), [](const char* at, std::span<double> values) {
            for (std::size_t j = 0; j < values.size(); ++j) {
              T value;
              std::memcpy(&value, at + j * sizeof value, sizeof value);
              values[j] = static_cast<double>(value);
            }
          }};
}

constexpr std::array value_types = {
    value_type<float>("<f4"),         value_type<double>("<f8"),
    value_type<std::int8_t>("|i1"),   value_type<std::uint8_t>("|u1"),
    value_type<std::uint8_t>("|b1"),  value_type<std::int16_t>("<i2"),
    value_type<std::uint16_t>("<u2"), value_type<std::int32_t>("<i4"),
    value_type<std::uint32_t>("<u4"), value_type<std::int64_t>("<i8"),
    value_type<std::uint64_t>("<u8"),
};

/// An open .npy file behind its header.
class NpyFile {
 public:
  NpyFile(const std::string& path, const Input::Progress& progress) : input_(path, progress) {
    std::array<char, 8> magic{};
    if (input_.read(magic.data(), 8) != 8 || std::memcmp(magic.data(), "\x93NUMPY", 6) != 0)
      fail("not a .npy file; write it with numpy.save");
    const auto version = static_cast<unsigned char>(magic[6]);
    if (version < 1 || version > 3) fail(fmt::format("unknown .npy version {}", version));
    std::array<unsigned char, 4> length{};
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    read_exactly(reinterpret_cast<char*>(length.data()), length_bytes);
    const std::size_t size = length[0] | static_cast<std::size_t>(length[1]) << 8 |
                             static_cast<std::size_t>(length[2]) << 16 |
                             static_cast<std::size_t>(length[3]) << 24;
    if (size > 1 << 20) fail("damaged .npy header; write the file again with numpy.save");
    header_.resize(size);
    read_exactly(header_.data(), size);

    const std::string_view descr = text_after("'descr':");
    if (!descr.starts_with('\'') || descr.find('\'', 1) == std::string_view::npos)
      fail("the values have no simple type; " + convert());
    type_name_ = descr.substr(1, descr.find('\'', 1) - 1);
    for (const ValueType& type : value_types)
      if (type.descr == type_name_) type_ = &type;
    if (type_ == nullptr)
      fail(fmt::format("values of type {}; {}", gibbsite::quoted(type_name_), convert()));
    const bool column_major = text_after("'fortran_order':").starts_with("True");
    read_shape(text_after("'shape':"));
    if (column_major && shape_.size() > 1) fail("Fortran order; " + convert());
    // Refuse a file cut short (or a made-up shape) before taking memory for it.
    double values = 1;
    for (const std::uint64_t extent : shape_) values *= static_cast<double>(extent);
    const std::size_t start = 8 + length_bytes + size;
    if (input_.size() > 0 &&
        values * static_cast<double>(type_->bytes) + static_cast<double>(start) !=
            static_cast<double>(input_.size()))
      fail("the file has fewer or more bytes than its header's shape needs; write it again");
  }

  [[noreturn]] void fail(const Message& what) const {
    throw BadInput(FilePosition{input_.path()}, what);
  }
  [[nodiscard]] const std::vector<std::uint64_t>& shape() const { return shape_; }
  [[nodiscard]] bool is_float() const { return is_single() || type_name_ == "<f8"; }
  [[nodiscard]] bool is_single() const { return type_name_ == "<f4"; }
  [[nodiscard]] std::size_t value_bytes() const { return type_->bytes; }
  [[nodiscard]] Input& input() { return input_; }
  static std::string convert() {
    return "convert with numpy.save(file, numpy.ascontiguousarray(a, dtype=\"<f4\"))";
  }

  /// The next values of the file in C order.
  void read(std::span<double> values) {
    bytes_.resize(values.size() * type_->bytes);
    read_exactly(bytes_.data(), bytes_.size());
    type_->read(bytes_.data(), values);
  }

 private:
  void read_exactly(char* out, std::size_t n) {
    if (input_.read(out, n) != n) fail("the file ends too early; write it again");
  }
  std::string_view text_after(std::string_view key) const {
    const std::string_view header = header_;
    const std::size_t at = header.find(key);
    if (at == std::string_view::npos)
      fail(fmt::format("damaged .npy header: no {}; write the file again", key));
    const std::size_t value = header.find_first_not_of(' ', at + key.size());
    return value == std::string_view::npos ? std::string_view() : header.substr(value);
  }
  void read_shape(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + std::min(text.find(')'), text.size());
    while (at != end) {
      if (*at == '(' || *at == ',' || *at == ' ') {
        ++at;
        continue;
      }
      const auto [next, error] = std::from_chars(at, end, shape_.emplace_back());
      if (error != std::errc()) fail("damaged .npy header: shape; write the file again");
      at = next;
    }
  }

  Input input_;
  std::string header_;
  std::string type_name_;
  const ValueType* type_ = nullptr;
  std::vector<std::uint64_t> shape_;
  std::vector<char> bytes_;
};

}  // namespace

namespace {
/// Rows [first, last) of those there are.
Dataset read_rows(const std::string& path, const Schema& schema, const ReadOptions& options,
                  RowRange range) {
  NpyFile x(path, options.progress);
  std::uint64_t row = range.first;
  CellEncoder rows(schema, options, &x.input(),
                   [&] { return fmt::format("{}: row {}", path, row + 1); });
  rows.compare_labels_as_numbers();
  if (!x.is_float()) x.fail("values must be '<f4' or '<f8'; " + NpyFile::convert());
  if (x.shape().size() != 2)
    x.fail(fmt::format("a table has 2 dimensions, got {}; reshape it", x.shape().size()));
  const std::uint64_t n = std::min(x.shape()[0], range.last);
  const std::uint64_t k = x.shape()[1];
  const std::vector<const Encoding*> columns = array_columns(k, rows);
  if (k != columns.size())
    x.fail(
        fmt::format("{} columns where the schema has {}; list every column in the schema, in "
                    "the order of the file (count = N helps)",
                    k, columns.size()));

  std::optional<NpyFile> y;
  if (!options.label_path.empty()) {
    y.emplace(options.label_path, nullptr);
    const bool vector = y->shape().size() == 1 || (y->shape().size() == 2 && y->shape()[1] == 1);
    if (!vector || y->shape()[0] != x.shape()[0])
      y->fail(fmt::format("labels must be a vector of one value per row of {}", path));
  } else if (options.labels != ReadOptions::Labels::optional) {
    x.fail(format_message("a .npy table holds no labels; give theirs with {} FILE.npy",
                          Field{"labels"}));
  } else {
    rows.set_unlabeled("");
  }

  rows.expect(n - range.first);
  const std::size_t row_bytes = x.value_bytes() * k;
  x.input().skip(range.first * row_bytes);
  if (y) y->input().skip(range.first * y->value_bytes());
  std::optional<NumberBlocks> blocks;
  if (NumberRows::fit(schema))
    blocks.emplace(rows, NumberRows(schema, rows.encodings()), row_bytes, options.threads);
  const auto fetch = [&](std::size_t first, std::size_t count, std::byte* room,
                         const auto& encode) {
    const std::size_t got =
        x.input().read_ahead(first * row_bytes, reinterpret_cast<char*>(room), count * row_bytes) /
        row_bytes;
    return x.is_single() ? encode(reinterpret_cast<const float*>(room), got)
                         : encode(reinterpret_cast<const double*>(room), got);
  };
  std::vector<double> values(k);
  const auto set_label = [&] {
    if (!y) return;
    double label = 0;
    y->read({&label, 1});
    rows.set_label(label);
  };
  while (row < n) {
    if (blocks && blocks->may_read() && x.input().reads_ahead()) {
      const std::uint64_t count = blocks->read(std::min(n - row, blocks->most_rows()), fetch);
      x.input().skip(count * row_bytes);
      for (std::uint64_t i = 0; i < count; ++i, ++row) set_label();
      if (count > 0) continue;
    }
    x.read(values);
    for (std::size_t j = 0; j < values.size(); ++j)
      if (columns[j] != nullptr) rows.set(*columns[j], values[j]);
    set_label();
    rows.end_row();
    ++row;
  }
  if (blocks) blocks->add_counts();
  return rows.finish();
}
}  // namespace

Dataset read_npy(const std::string& path, const Schema& schema, const ReadOptions& options) {
  return read_rows(path, schema, options, {0, ~std::uint64_t{0}});
}

Dataset read_npy_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                      RowRange range) {
  return read_rows(path, schema, options, range);
}

std::uint64_t npy_rows(const std::string& path) {
  const NpyFile x(path, nullptr);
  return x.shape().size() == 2 ? x.shape()[0] : 1;  // else refused by who reads it
}

}  // namespace gibbsite
