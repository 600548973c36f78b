// Arrow's C stream interface. Rows of numbers without nulls go many at a time, shared among threads
// (number_blocks.hpp); others in blocks, column by column: a loop for each type.
#include "gibbsite/data/arrow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "data/arrow.hpp"
#include "data/arrow_column.hpp"
#include "data/columns.hpp"
#include "data/encoder.hpp"
#include "data/number_blocks.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {

namespace {

/// Released at the end, unless it was not given or is released already.
template <class Struct>
struct Released {
  Struct it{};
  Released() = default;
  ~Released() { release(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  void release() {
    if (it.release != nullptr) it.release(&it);
    it = {};
  }
};

/// A stream, released with this object.
class Stream {
 public:
  Stream(ArrowArrayStream& stream, std::string source)
      : stream_(stream), source_(std::move(source)) {
    if (stream_.release == nullptr || stream_.get_schema == nullptr || stream_.get_next == nullptr)
      fail("the stream was consumed already, or is none; make another");
  }
  ~Stream() {
    if (stream_.release != nullptr) stream_.release(&stream_);
    stream_.release = nullptr;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void get_schema(ArrowSchema& out) {
    check(stream_.get_schema(&stream_, &out));
    if (out.release == nullptr) malformed({"no schema"});
    if (out.n_children < 0 || (out.n_children > 0 && out.children == nullptr))
      malformed({"columns that are not there"});
    if (out.format == nullptr || std::string_view(out.format) != "+s")
      fail("not a table: its batches are no structs of columns; give a table or data frame");
    for (std::int64_t j = 0; j < out.n_children; ++j)
      if (out.children[j] == nullptr) malformed({"a column that is not there"});
  }
  /// False after the last one.
  bool get_next(ArrowArray& out) {
    check(stream_.get_next(&stream_, &out));
    return out.release != nullptr;
  }
  [[noreturn]] void malformed(const MalformedArrow& error) const {
    fail(fmt::format("the stream is malformed: {}; it breaks the Arrow C interface", error.what));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw BadInput(source_ + ": " + what); }
  void check(int error) const {
    if (error == 0) return;
    const char* const said =
        stream_.get_last_error != nullptr ? stream_.get_last_error(&stream_) : nullptr;
    fail(fmt::format(
        "cannot be read: {} (private: this line may quote the table)",
        said != nullptr && *said != 0 ? shown(said) : std::generic_category().message(error)));
  }

  ArrowArrayStream& stream_;
  std::string source_;
};

std::vector<std::string> names_in(const ArrowSchema& schema) {
  std::vector<std::string> names;
  for (std::int64_t j = 0; j < schema.n_children; ++j) {
    const char* const name = schema.children[j]->name;
    names.emplace_back(name != nullptr ? name : "");
  }
  return names;
}

constexpr std::array<std::string_view, 4> words_of_true{"true", "True", "TRUE", "1"},
    words_of_false{"false", "False", "FALSE", "0"};

/// How a bool reads: the first of its words that is listed.
template <class Listed>
std::string_view bool_text(bool value, const Listed& listed) {
  const auto& words = value ? words_of_true : words_of_false;
  const auto found = std::find_if(words.begin(), words.end(), listed);
  return found != words.end() ? *found : words[0];
}

// Integers read as their digits; doubles take their shortest text, which are the same up to here.
constexpr std::int64_t most_exact = std::int64_t{1} << 53;

template <class T>
concept Whole = std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

/// Sets a cell or a label to a value of whatever type it has.
class Setter {
 public:
  Setter(CellEncoder& rows, const Schema& schema) : rows_(rows), schema_(schema) {}

  void set(const Encoding& e, double value) const { rows_.set(e, value); }
  void set(const Encoding& e, std::string_view value) const { rows_.set(e, value); }
  template <Whole T>
  void set(const Encoding& e, T value) const {
    if (e.type == ColumnType::number || is_exact(value))
      rows_.set(e, static_cast<double>(value));
    else
      rows_.set(e, std::string_view(fmt::format_int(value).c_str()));
  }
  void set(const Encoding& e, bool value) const {
    if (e.type == ColumnType::number) return rows_.set(e, value ? 1.0 : 0.0);
    rows_.set(e, bool_text(value, [&](std::string_view text) {
                return e.levels.find(text) != e.levels.end();
              }));
  }

  void set_label(double value) const { rows_.set_label(value); }
  void set_label(std::string_view value) const { rows_.set_label(value); }
  template <Whole T>
  void set_label(T value) const {
    rows_.set_label(static_cast<double>(value));
  }
  void set_label(bool value) const {
    rows_.set_label(bool_text(value, [&](std::string_view text) {
      return text == schema_.positive || text == schema_.negative;
    }));
  }

 private:
  template <Whole T>
  static bool is_exact(T value) {
    if constexpr (std::is_signed_v<T>) {
      if (value < -most_exact) return false;
    }
    return value <= static_cast<T>(most_exact);
  }

  CellEncoder& rows_;
  const Schema& schema_;
};

/// A column that is used.
struct Field {
  std::int64_t child = 0;
  std::string name;
  Target target;
  ArrowType type;                   // of its values, or of its indices
  std::optional<ArrowType> listed;  // dictionary: of what the indices are of
};

/// Its values in one batch.
struct Part {
  Part(const Field& field, const ArrowArray& array) : values(field.type, array) {
    if (!field.listed) return;
    if (array.dictionary == nullptr) throw MalformedArrow{"indices without a dictionary"};
    dictionary.emplace(*field.listed, *array.dictionary);
    kept.resize(static_cast<std::size_t>(dictionary->length()));
    is_kept.resize(kept.size());
  }

  /// Of a dictionary, for its index.
  template <class T>
  [[nodiscard]] std::int64_t index(T at) const {
    if constexpr (Whole<T>) {
      if (std::cmp_greater_equal(at, 0) && std::cmp_less(at, dictionary->length()))
        return static_cast<std::int64_t>(at);
    }
    throw MalformedArrow{"an index outside of its dictionary"};
  }

  ArrowValues values;
  std::optional<ArrowValues> dictionary;
  std::vector<CellEncoder::Kept> kept;  // of a dictionary's values, once they were met
  std::vector<unsigned char> is_kept;
};

/// Numbers of a category are turned into text and looked up: not again for those just met.
class RecentNumbers {
 public:
  struct Seen {
    std::uint64_t bits = 0;
    bool there = false;
    CellEncoder::Kept kept;
  };
  Seen& at(std::uint64_t bits) {
    return seen_[static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15U) >> 56)];
  }

 private:
  std::array<Seen, 256> seen_{};
};

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::same_as<T, double>)
    return std::bit_cast<std::uint64_t>(value);
  else
    return static_cast<std::uint64_t>(value);
}

class ArrowReader {
 public:
  ArrowReader(Stream& stream, const Schema& schema, const ReadOptions& options,
              std::span<const double> labels, const std::string& source)
      : stream_(stream),
        schema_(schema),
        options_(options),
        labels_(labels),
        source_(source),
        rows_(
            schema, in_memory(options), nullptr,
            [this] { return in_rows_ ? fmt::format("{}: row {}", source_, row_ + 1) : source_; },
            source),
        set_(rows_, schema) {}

  Dataset read() {
    try {
      return read_batches();
    } catch (const MalformedArrow& error) {
      stream_.malformed(error);
    }
  }

 private:
  static ReadOptions in_memory(ReadOptions options) {
    options.cache = ReadOptions::Cache::never;
    return options;
  }

  Dataset read_batches() {
    Released<ArrowSchema> schema;
    stream_.get_schema(schema.it);
    match(schema.it);
    children_ = schema.it.n_children;
    in_rows_ = true;
    for (;;) {
      Released<ArrowArray> batch;
      if (!stream_.get_next(batch.it)) break;
      read_batch(batch.it);
    }
    in_rows_ = false;
    if (blocks_) blocks_->add_counts();
    if (!labels_.empty() && row_ != labels_.size()) wrong_labels(row_);
    return rows_.finish();
  }

  void match(const ArrowSchema& schema) {
    const std::vector<std::string> names = names_in(schema);
    require_distinct(names, source_, "the table");
    const bool has_labels = !labels_.empty();
    const std::vector<Target> targets =
        match_columns(names, schema_, options_, "the table", has_labels, rows_);
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (targets[j].encoding == nullptr && !targets[j].is_label) continue;
      const ArrowSchema& column = *schema.children[j];
      Field field{static_cast<std::int64_t>(j), names[j], targets[j], {}, {}};
      field.type = readable(column, names[j]);
      if (column.dictionary != nullptr) {
        if (field.type.kind < ArrowType::Kind::int8 || field.type.kind > ArrowType::Kind::uint64)
          throw MalformedArrow{"indices of a dictionary that are no integers"};
        if (column.dictionary->dictionary != nullptr)
          rows_.fail(fmt::format("column {}: a dictionary of dictionaries; give it decoded",
                                 gibbsite::quoted(names[j])));
        field.listed = readable(*column.dictionary, names[j]);
      }
      const ArrowType& values = field.listed ? *field.listed : field.type;
      if (field.target.is_label) {
        if (values.kind == ArrowType::Kind::boolean) {
          if (schema_.label_kind != LabelKind::two_classes) no_number(names[j]);
          require_word(names[j]);
        } else if (values.is_number()) {
          rows_.compare_labels_as_numbers();
        }
      } else {
        row_bytes_ += static_cast<std::uint64_t>(std::max(field.type.bytes, 1));
        all_numbers_ = all_numbers_ && field.target.encoding->type == ColumnType::number &&
                       field.type.is_number() && !field.listed;
        used_.push_back(*field.target.encoding);
      }
      fields_.push_back(std::move(field));
    }
    if (has_labels) rows_.expect(labels_.size());
    recent_.resize(fields_.size());
    if (used_.empty() || !all_numbers_) return;
    blocks_.emplace(rows_, NumberRows(schema_, in_order()), used_.size() * sizeof(double),
                    options_.threads);
  }

  [[noreturn]] void no_number(const std::string& name) const {
    rows_.fail(fmt::format(
        "label column {} is of type bool and the schema's label is {}; give a column of numbers, "
        "or name the class in `positive` in place of `range`",
        gibbsite::quoted(name), to_string(schema_.label_kind)));
  }

  // Bools have no other words: under any other every label would be of the negative class.
  void require_word(const std::string& name) const {
    for (const auto& words : {words_of_true, words_of_false})
      if (std::find(words.begin(), words.end(), schema_.positive) != words.end()) return;
    rows_.fail(
        fmt::format("label column {} is of type bool and `positive` is {}; set it to "
                    "\"true\" or \"false\", or give the column as text",
                    gibbsite::quoted(name), gibbsite::quoted(schema_.positive)));
  }

  // As a row's features lie: the schema's columns, less those that are not used.
  std::vector<Encoding> in_order() const {
    std::vector<Encoding> out = used_;
    std::ranges::sort(out, {}, &Encoding::slot);
    return out;
  }

  ArrowType readable(const ArrowSchema& column, const std::string& name) const {
    ArrowType type = arrow_type(column);
    if (type.kind == ArrowType::Kind::refused)
      rows_.fail(fmt::format("column {}: {}", gibbsite::quoted(name), type.refusal));
    return type;
  }

  void read_batch(const ArrowArray& batch) {
    require_shape(batch);
    if (batch.n_children != children_)
      throw MalformedArrow{"a batch that has not the columns of the table"};
    const std::int64_t last = batch.offset + batch.length;
    std::vector<Part> parts;
    parts.reserve(fields_.size());
    for (const Field& field : fields_) {
      try {
        const ArrowArray* const child = batch.children[field.child];
        if (child == nullptr) throw MalformedArrow{"it is not there"};
        parts.emplace_back(field, *child);
        if (parts.back().values.length() < last)
          throw MalformedArrow{"it is shorter than its batch"};
      } catch (const MalformedArrow& error) {
        throw MalformedArrow{
            fmt::format("column {}: {}", gibbsite::quoted(field.name), error.what)};
      }
    }
    const auto count = static_cast<std::uint64_t>(batch.length);
    if (!labels_.empty() && row_ + count > labels_.size()) wrong_labels(row_ + count);
    rows_.expect(std::max<std::uint64_t>({options_.expected_rows, labels_.size(), row_ + count}));
    whole_ = nullptr;
    if (batch.null_count != 0 && batch.n_buffers > 0)
      whole_ = static_cast<const unsigned char*>(batch.buffers[0]);
    if (batch.null_count > 0 && whole_ == nullptr)
      throw MalformedArrow{"nulls without a buffer that says which"};
    std::int64_t at = batch.offset;
    while (at < last) {
      const std::int64_t numbers = read_numbers(parts, at, last - at);
      at += numbers > 0 ? numbers : read_block(parts, at, last - at);
      report(false);
    }
    report(batch.length == 0);
  }

  [[noreturn]] void wrong_labels(std::uint64_t rows) const {
    throw BadInput(
        fmt::format("{}: {} labels for {} rows or more (private under add-remove); give "
                    "one a row",
                    source_, labels_.size(), rows));
  }

  // Rows of numbers alone. Returns how many were read: 0 where a block is the way.
  std::int64_t read_numbers(const std::vector<Part>& parts, std::int64_t at, std::int64_t most) {
    if (!blocks_ || !blocks_->may_read() || whole_ != nullptr) return 0;
    const std::int64_t count = std::min(most, static_cast<std::int64_t>(blocks_->most_rows()));
    std::vector<const ArrowValues*> columns(used_.size());
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (fields_[f].target.is_label) continue;
      if (parts[f].values.any_null(at, count)) return 0;
      columns[fields_[f].target.encoding->slot] = &parts[f].values;
    }
    const auto fetch = [&](std::size_t first, std::size_t some, std::byte* room,
                           const auto& encode) {
      auto* const out = reinterpret_cast<double*>(room);
      for (std::size_t j = 0; j < columns.size(); ++j)
        gather(*columns[j], at + static_cast<std::int64_t>(first), some, out + j, columns.size());
      return encode(static_cast<const double*>(out), some);
    };
    const std::size_t done = blocks_->read(static_cast<std::size_t>(count), fetch);
    for (std::size_t i = 0; i < done; ++i, ++row_)
      set_label(parts, at + static_cast<std::int64_t>(i));
    bytes_ += done * row_bytes_;
    return static_cast<std::int64_t>(done);
  }

  static void gather(const ArrowValues& values, std::int64_t first, std::size_t count, double* out,
                     std::size_t stride) {
    values.visit([&](const auto& get) {
      using Value = std::decay_t<decltype(get(first))>;
      if constexpr (!std::same_as<Value, std::string_view>) {
        for (std::size_t i = 0; i < count; ++i)
          out[i * stride] = static_cast<double>(get(first + static_cast<std::int64_t>(i)));
      }
    });
  }

  // Some of the next rows, of any kind. Returns how many.
  std::int64_t read_block(std::vector<Part>& parts, std::int64_t at, std::int64_t most) {
    const std::size_t width = std::max<std::size_t>(used_.size(), 1);
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(
        most, static_cast<std::int64_t>(std::clamp<std::size_t>(block_entries / width, 16, 1024))));
    block_.resize(count * used_.size());
    // The first row of which a cell is refused, for whichever column; it is then said as in a file.
    std::size_t good = count;
    std::exception_ptr refusal;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (fields_[f].target.is_label) continue;
      std::size_t row = 0;
      try {
        fill(fields_[f], parts[f], recent_[f], at, good, row);
      } catch (const BadInput&) {
        good = row;
        refusal = std::current_exception();
      }
    }
    for (std::size_t i = 0; i < good; ++i, ++row_) {
      set_label(parts, at + static_cast<std::int64_t>(i));
      rows_.end_row({block_.data() + i * used_.size(), used_.size()});
    }
    if (refusal) {
      refuse(parts, at + static_cast<std::int64_t>(good));
      std::rethrow_exception(refusal);
    }
    bytes_ += count * row_bytes_;
    return static_cast<std::int64_t>(count);
  }

  // The cells of one column to the block, up to `count` or one that is refused, `row`.
  void fill(const Field& field, Part& part, std::unique_ptr<RecentNumbers>& recent, std::int64_t at,
            std::size_t count, std::size_t& row) {
    const Encoding& e = *field.target.encoding;
    const std::size_t width = used_.size();
    CellEncoder::Entry* out = block_.data() + e.slot;
    const bool has_nulls =
        whole_ != nullptr || part.values.any_null(at, static_cast<std::int64_t>(count));
    const auto each = [&](const auto& set) {
      for (; row < count; ++row, out += width) {
        const std::int64_t i = at + static_cast<std::int64_t>(row);
        if (has_nulls && is_null(part, i)) {
          rows_.set_null(e);
          *out = rows_.entry(e);
        } else {
          *out = set(i);
        }
      }
    };
    part.values.visit([&](const auto& get) {
      using Value = std::decay_t<decltype(get(at))>;
      if (part.dictionary) {
        each([&](std::int64_t i) { return listed(e, part, part.index(get(i))); });
      } else if constexpr (std::same_as<Value, std::string_view>) {
        each([&](std::int64_t i) {
          const std::string_view text = get(i);
          bytes_ += text.size();
          rows_.set(e, text);
          return rows_.entry(e);
        });
      } else if (e.type == ColumnType::category) {
        if (!recent) recent = std::make_unique<RecentNumbers>();
        each([&](std::int64_t i) {
          const Value value = get(i);
          RecentNumbers::Seen& seen = recent->at(bits_of(value));
          if (seen.there && seen.bits == bits_of(value)) {
            rows_.count_again(e, seen.kept);
          } else {
            seen.there = false;
            seen.kept = rows_.keep(e, [&] { set_.set(e, value); });
            seen.bits = bits_of(value);
            seen.there = true;
          }
          return seen.kept.entry;
        });
      } else {
        each([&](std::int64_t i) {
          set_.set(e, get(i));
          return rows_.entry(e);
        });
      }
    });
  }

  // A dictionary's value, encoded once a batch.
  CellEncoder::Entry listed(const Encoding& e, Part& part, std::int64_t index) {
    const auto k = static_cast<std::size_t>(index);
    if (part.is_kept[k] != 0) {
      rows_.count_again(e, part.kept[k]);
    } else {
      part.kept[k] = rows_.keep(e, [&] { set_listed(e, part, index); });
      part.is_kept[k] = 1;
    }
    return part.kept[k].entry;
  }
  void set_listed(const Encoding& e, const Part& part, std::int64_t index) {
    if (part.dictionary->is_null(index)) return rows_.set_null(e);
    part.dictionary->visit([&](const auto& get) { set_.set(e, get(index)); });
  }

  [[nodiscard]] bool is_null(const Part& part, std::int64_t i) const {
    return (whole_ != nullptr && (whole_[i >> 3] >> (i & 7) & 1) == 0) || part.values.is_null(i);
  }

  void set_label(const std::vector<Part>& parts, std::int64_t i) {
    if (!labels_.empty()) return rows_.set_class(labels_[row_]);
    for (std::size_t f = 0; f < fields_.size(); ++f)
      if (fields_[f].target.is_label) return set_label(parts[f], i);
  }
  void set_label(const Part& part, std::int64_t i) {
    if (is_null(part, i)) return rows_.set_label(std::string_view());
    part.values.visit([&](const auto& get) {
      if (!part.dictionary) return set_.set_label(get(i));
      const std::int64_t index = part.index(get(i));
      if (part.dictionary->is_null(index)) return rows_.set_label(std::string_view());
      part.dictionary->visit([&](const auto& value) { set_.set_label(value(index)); });
    });
  }

  // A row cell by cell, in the table's order.
  void refuse(const std::vector<Part>& parts, std::int64_t i) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const Part& part = parts[f];
      if (fields_[f].target.is_label) {
        set_label(part, i);
        continue;
      }
      const Encoding& e = *fields_[f].target.encoding;
      if (is_null(part, i)) {
        rows_.set_null(e);
        continue;
      }
      part.values.visit([&](const auto& get) {
        if (part.dictionary)
          set_listed(e, part, part.index(get(i)));
        else
          set_.set(e, get(i));
      });
    }
  }

  void report(bool now) {
    if (!now && bytes_ - reported_ < progress_bytes / 4) return;
    reported_ = bytes_;
    if (options_.progress && !options_.progress(bytes_, 0))
      throw Interrupted(source_ + ": reading was stopped");
  }

  static constexpr std::size_t block_entries = 8192;

  Stream& stream_;
  const Schema& schema_;
  const ReadOptions& options_;
  std::span<const double> labels_;
  const std::string& source_;
  bool in_rows_ = false;
  std::uint64_t row_ = 0;
  CellEncoder rows_;
  Setter set_;
  std::int64_t children_ = 0;
  std::vector<Field> fields_;
  std::vector<Encoding> used_;  // of the columns that are used, as they come
  bool all_numbers_ = true;
  std::optional<NumberBlocks> blocks_;
  std::vector<CellEncoder::Entry> block_;               // [rows x columns used]
  std::vector<std::unique_ptr<RecentNumbers>> recent_;  // of a column
  const unsigned char* whole_ = nullptr;                // of a batch: which rows are there
  std::uint64_t row_bytes_ = 0, bytes_ = 0, reported_ = 0;
};

}  // namespace

Dataset read_arrow(ArrowArrayStream& stream, const Schema& schema, const ReadOptions& options,
                   std::span<const double> labels, const std::string& source) {
  Stream owned(stream, source);
  return ArrowReader(owned, schema, options, labels, source).read();
}

std::vector<std::string> arrow_names(ArrowArrayStream& stream, const std::string& source) {
  Stream owned(stream, source);
  Released<ArrowSchema> schema;
  owned.get_schema(schema.it);
  std::vector<std::string> names = names_in(schema.it);
  require_distinct(names, source, "the table");
  return names;
}

}  // namespace gibbsite
