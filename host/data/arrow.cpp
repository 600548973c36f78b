// Arrow's C stream interface. Rows go in pieces, shared among threads, column by column: numbers
// four columns at a time (number_rows.hpp), others by a loop for each type. A piece ends before a
// row that is refused; that one is said, and rows go before it is known whether they are dense, in
// blocks by one thread.
#include "gibbsite/data/arrow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <concepts>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "data/arrow.hpp"
#include "data/arrow_column.hpp"
#include "data/columns.hpp"
#include "data/encoder.hpp"
#include "data/input.hpp"
#include "data/number_rows.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "machine/crew.hpp"
#include "machine/processors.hpp"

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
    if (stream_.release != nullptr && stream_.get_schema != nullptr && stream_.get_next != nullptr)
      return;
    release();
    fail("the stream was consumed already, or is none; make another");
  }
  ~Stream() { release(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void get_schema(ArrowSchema& out) {
    check(stream_.get_schema(&stream_, &out), out);
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
    check(stream_.get_next(&stream_, &out), out);
    return out.release != nullptr;
  }
  [[noreturn]] void malformed(const MalformedArrow& error) const {
    fail(fmt::format("the stream is malformed: {}; it breaks the Arrow C interface", error.what));
  }

 private:
  void release() {
    if (stream_.release != nullptr) stream_.release(&stream_);
    stream_.release = nullptr;
  }
  [[noreturn]] void fail(const std::string& what) const { throw BadInput(source_ + ": " + what); }
  template <class Struct>
  void check(int error, Struct& out) const {
    if (error == 0) return;
    out.release = nullptr;  // after an error nothing was handed over, whatever lies there
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

bool is_class(const Schema& schema, std::string_view text) {
  return text == schema.positive || text == schema.negative ||
         std::find(schema.classes.begin(), schema.classes.end(), text) != schema.classes.end();
}

/// Sets a cell or a label to a value of whatever type it has.
class Setter {
 public:
  Setter(CellEncoder& rows, const Schema& schema) : rows_(rows), schema_(schema) {}

  void set(const Encoding& e, double value) const { rows_.set(e, value); }
  void set(const Encoding& e, std::string_view value) const { rows_.set(e, value); }
  template <Whole T>
  void set(const Encoding& e, T value) const {
    if (e.is_number() || is_exact(value))
      rows_.set(e, static_cast<double>(value));
    else
      rows_.set(e, std::string_view(fmt::format_int(value).c_str()));
  }
  void set(const Encoding& e, bool value) const {
    if (e.is_number()) return rows_.set(e, value ? 1.0 : 0.0);
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
    rows_.set_label(
        bool_text(value, [&](std::string_view text) { return is_class(schema_, text); }));
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

/// f(), with the column's name in what it throws.
template <class F>
decltype(auto) of_column(const std::string& name, const F& f) {
  try {
    return f();
  } catch (const MalformedArrow& error) {
    throw MalformedArrow{fmt::format("column {}: {}", gibbsite::quoted(name), error.what)};
  }
}

/// Its values in one batch, whose rows are [first, last).
struct Part {
  Part(const Field& field, const ArrowArray& array, std::int64_t first, std::int64_t last)
      : values(field.type, array, last, field.listed.has_value()) {
    if (!field.listed) return;
    dictionary.emplace(*field.listed, *array.dictionary, array.dictionary->length, false);
    // What is kept costs no more than the batch does.
    may_keep = dictionary->length() <= 4 * std::min(last - first, std::int64_t{1} << 20) + 1024;
    if (!may_keep) return;
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
  bool may_keep = false;
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

/// Encodes cells, column by column, for one thread.
struct Cells {
  Cells(CellEncoder& encoder, const Schema& schema, std::size_t fields)
      : rows(encoder), set(encoder, schema), recent(fields) {}

  CellEncoder& rows;
  Setter set;
  std::vector<std::unique_ptr<RecentNumbers>> recent;  // of a field
  std::uint64_t text_bytes = 0;
};

/// Columns of numbers that lie side by side in a row.
struct NumberGroup {
  NumberRows::Columns columns;
  std::array<std::size_t, NumberRows::Columns::most> fields{}, slots{};
  std::array<double, NumberRows::Columns::most> harmless{};  // in the range, and not missing
  std::size_t feature = 0;                                   // of the first one
};

/// A thread that encodes pieces of batches.
struct Worker {
  Worker(const Schema& schema, const ReadOptions& options, std::size_t fields, std::size_t used)
      : encoder(schema, options, nullptr, [] { return std::string(); }),
        cells(encoder, schema, fields),
        counts(used) {}

  CellEncoder encoder;  // of cells alone: it gets no rows
  Cells cells;
  std::uint64_t batch = 0;  // that `parts` are of
  std::vector<Part> parts;
  std::vector<double> numbers;  // of a group [columns x rows of a piece]
  std::vector<CellEncoder::Entry> block;
  std::vector<CellCounts> counts;  // of numbers [columns used]
  std::vector<float> room;         // for a row
  std::uint64_t clipped_rows = 0;
};

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
            [this] {
              return in_rows_ ? fmt::format("{}: row {}", source_, options_.rows_before + row_ + 1)
                              : source_;
            },
            source),
        may_clip_(schema.max_unclipped_norm() > schema.row_norm) {}

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
    for (const auto& worker : workers_) {
      if (!worker) continue;
      rows_.add_counts(worker->counts, worker->clipped_rows);
      rows_.add_counts(worker->encoder.counts(), 0);
    }
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
      of_column(names[j], [&] { set_types(column, field); });
      const ArrowType& values = field.listed ? *field.listed : field.type;
      row_bytes_ += static_cast<std::uint64_t>(std::max(field.type.bytes, 1));
      if (field.target.is_label) {
        if (values.kind == ArrowType::Kind::boolean) {
          if (schema_.has_number_label()) no_number(names[j]);
          require_word(names[j]);
        } else if (values.is_number()) {
          rows_.compare_labels_as_numbers();
        }
      } else {
        used_.push_back(*field.target.encoding);
      }
      fields_.push_back(std::move(field));
    }
    if (has_labels) rows_.expect(labels_.size());
    cells_.emplace(rows_, schema_, fields_.size());
    find_groups();
    const std::size_t threads =
        options_.threads > 0 ? options_.threads : static_cast<std::size_t>(usable_processors());
    crew_.emplace(std::clamp<std::size_t>(threads, 1, Crew::most_members));
    workers_.resize(crew_->members());
    // Whole vectors of rows.
    constexpr std::size_t lanes = NumberRows::most_lanes;
    const std::size_t fit = piece_bytes / std::max<std::size_t>(row_bytes_, 1);
    piece_rows_ = std::clamp<std::size_t>(fit / lanes, 1, 64) * lanes;
  }

  void find_groups() {
    std::vector<std::size_t> numbers;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const Field& field = fields_[f];
      if (field.target.is_label)
        label_ = f;
      else if (field.target.encoding->type == ColumnType::number && field.type.is_number() &&
               !field.listed)
        numbers.push_back(f);
      else
        others_.push_back(f);
    }
    const auto encoding = [this](std::size_t f) -> const Encoding& {
      return *fields_[f].target.encoding;
    };
    std::ranges::sort(numbers, {}, [&](std::size_t f) { return encoding(f).first; });
    for (const std::size_t f : numbers) {
      const Encoding& e = encoding(f);
      if (groups_.empty() || groups_.back().columns.count == NumberRows::Columns::most ||
          groups_.back().feature + groups_.back().columns.count != e.first) {
        groups_.emplace_back().feature = e.first;
      }
      NumberGroup& group = groups_.back();
      const std::size_t c = group.columns.count++;
      const double missing = e.missing_number.value_or(std::numeric_limits<double>::quiet_NaN());
      const std::array<double, 4> of = {e.lo, e.hi, e.hi - e.lo, missing};
      std::ranges::copy(of, group.columns.of[c]);
      if (c == 0)  // in place of columns that there are not
        for (auto& other : group.columns.of) std::ranges::copy(of, other);
      group.columns.any_missing = group.columns.any_missing || !std::isnan(missing);
      group.fields[c] = f;
      group.slots[c] = e.slot;
      group.harmless[c] = missing == e.lo ? e.hi : e.lo;
    }
  }

  [[noreturn]] void no_number(const std::string& name) const {
    rows_.fail(fmt::format(
        "label column {} is of type bool and the schema's label is {}; give a column of numbers, "
        "or name the class in `positive` in place of `range`",
        gibbsite::quoted(name), to_string(schema_.label_kind)));
  }

  // Bools have no other words: under any other every label would be of the negative class, or
  // unlisted.
  void require_word(const std::string& name) const {
    if (schema_.label_kind == LabelKind::classes) {
      const auto listed = [&](std::string_view word) { return is_class(schema_, word); };
      if (std::ranges::any_of(words_of_true, listed) && std::ranges::any_of(words_of_false, listed))
        return;
      rows_.fail(
          fmt::format("label column {} is of type bool and `classes` does not list \"true\" and "
                      "\"false\"; list both, or give the column as text",
                      gibbsite::quoted(name)));
    }
    for (const auto& words : {words_of_true, words_of_false})
      if (std::find(words.begin(), words.end(), schema_.positive) != words.end()) return;
    rows_.fail(
        fmt::format("label column {} is of type bool and `positive` is {}; set it to "
                    "\"true\" or \"false\", or give the column as text",
                    gibbsite::quoted(name), gibbsite::quoted(schema_.positive)));
  }

  void set_types(const ArrowSchema& column, Field& field) const {
    field.type = readable(column, field.name);
    if (column.dictionary == nullptr) return;
    if (field.type.kind < ArrowType::Kind::int8 || field.type.kind > ArrowType::Kind::uint64)
      throw MalformedArrow{"indices of a dictionary that are no integers"};
    if (column.dictionary->dictionary != nullptr)
      rows_.fail(fmt::format("column {}: a dictionary of dictionaries; give it decoded",
                             gibbsite::quoted(field.name)));
    field.listed = readable(*column.dictionary, field.name);
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
    if (batch.n_buffers > 1 || batch.dictionary != nullptr)
      throw MalformedArrow{"a batch that is no struct of columns"};
    const std::int64_t last = batch.offset + batch.length;
    whole_ = batch.n_buffers > 0 ? static_cast<const unsigned char*>(batch.buffers[0]) : nullptr;
    if (batch.null_count > 0 && whole_ == nullptr)
      throw MalformedArrow{"nulls without a buffer that says which"};
    std::vector<Part> parts;
    parts.reserve(fields_.size());
    for (const Field& field : fields_) {
      of_column(field.name, [&] {
        const ArrowArray* const child = batch.children[field.child];
        if (child == nullptr) throw MalformedArrow{"it is not there"};
        parts.emplace_back(field, *child, batch.offset, last);
      });
    }
    count_nulls(batch, parts, last);
    if (require_nulls(batch, whole_, batch.offset, last) == 0) whole_ = nullptr;
    const auto count = static_cast<std::uint64_t>(batch.length);
    if (!labels_.empty() && row_ + count > labels_.size()) wrong_labels(row_ + count);
    rows_.expect(std::max<std::uint64_t>({options_.expected_rows, labels_.size(), row_ + count}));
    ++batch_;
    std::int64_t at = batch.offset;
    while (at < last) {
      const std::int64_t shared = read_pieces(parts, at, last - at);
      at += shared > 0 ? shared : read_block(parts, at, last - at);
      report(false);
    }
    report(true);  // of a producer that is slow too
  }

  void count_nulls(const ArrowArray& batch, std::vector<Part>& parts, std::int64_t last) {
    std::vector<std::optional<MalformedArrow>> wrong(parts.size());
    const std::size_t tasks =
        std::min<std::size_t>(parts.size(), batch.length < 1 << 16 ? 1 : 4 * crew_->members());
    const auto count = [&](std::size_t task, std::size_t) {
      for (std::size_t f = task; f < parts.size(); f += tasks) {
        try {
          parts[f].values.require_nulls(*batch.children[fields_[f].child], batch.offset, last);
        } catch (const MalformedArrow& error) {
          wrong[f] = error;
        }
      }
    };
    if (tasks == 1)
      count(0, 0);
    else if (tasks > 1)
      crew_->each(tasks, count);
    for (std::size_t f = 0; f < parts.size(); ++f)
      if (wrong[f]) of_column(fields_[f].name, [&] { throw MalformedArrow(*wrong[f]); });
  }

  [[noreturn]] void wrong_labels(std::uint64_t rows) const {
    throw BadInput(
        fmt::format("{}: {} labels for {} rows or more (private under add-remove); give "
                    "one a row",
                    source_, labels_.size(), rows));
  }

  // The next rows in pieces, up to one that must be read alone. Returns how many: 0 where a block
  // is the way.
  std::int64_t read_pieces(const std::vector<Part>& parts, std::int64_t at, std::int64_t most) {
    if (used_.empty() || !rows_.is_decided() || has_exposure_) return 0;
    const std::size_t pieces = (static_cast<std::size_t>(most) + piece_rows_ - 1) / piece_rows_;
    const bool dense = rows_.is_dense();
    const std::size_t here = std::min(pieces, dense ? most_dense_pieces : most_pieces);
    const std::size_t count = std::min(static_cast<std::size_t>(most), here * piece_rows_);
    float* const out = dense ? rows_.extend(count) : nullptr;
    std::vector<std::size_t> done(here);
    if (!dense) made_.resize(here);
    // Rows of a task in a row: threads that began neighboring pieces would touch the same new page
    // of 2 MiB first, and each clear one.
    const std::size_t run =
        dense
            ? std::clamp<std::size_t>(run_bytes / (piece_rows_ * schema_features_ * sizeof(float)),
                                      1, std::max<std::size_t>(here / (4 * crew_->members()), 1))
            : 1;
    std::atomic<std::uint64_t> rows_done{0};
    std::atomic<bool> stopped{false};
    std::exception_ptr failed;
    std::mutex failing;
    const auto encode = [&](std::size_t piece, std::size_t member) {
      const std::size_t first = piece * piece_rows_, some = std::min(piece_rows_, count - first);
      const std::int64_t from = at + static_cast<std::int64_t>(first);
      Worker& worker = worker_of(member, parts);
      done[piece] = dense ? encode_dense(worker, from, some, out + first * schema_features_)
                          : encode_sparse(worker, from, some, made_[piece]);
      rows_done += some;
      if (member == 0) report(bytes_ + rows_done * row_bytes_, false);
      return done[piece] == some;
    };
    std::size_t labeled = 0;
    crew_->each(1 + (here + run - 1) / run, [&](std::size_t task, std::size_t member) {
      try {
        if (task == 0) labeled = set_known_labels(parts, at, count);
        for (std::size_t piece = (std::max<std::size_t>(task, 1) - 1) * run;
             piece < std::min(here, task * run); ++piece)
          if (stopped.load(std::memory_order_relaxed) || !encode(piece, member)) return;
      } catch (...) {
        stopped = true;
        const std::lock_guard lock(failing);
        if (!failed) failed = std::current_exception();
      }
    });
    if (failed) std::rethrow_exception(failed);
    std::size_t whole = 0;
    for (std::size_t piece = 0; piece < here; ++piece) {
      if (!dense) rows_.append(made_[piece], done[piece]);
      whole += done[piece];
      if (done[piece] < std::min(piece_rows_, count - piece * piece_rows_)) break;
    }
    if (dense) rows_.end_rows(whole, count);
    if (labeled > whole) rows_.drop_labels(labeled - whole);
    labeled = std::min(labeled, whole);
    row_ += labeled;
    set_labels(parts, at + static_cast<std::int64_t>(labeled), whole - labeled);
    bytes_ += whole * row_bytes_;
    for (const auto& worker : workers_)
      if (worker) bytes_ += std::exchange(worker->cells.text_bytes, 0);
    return static_cast<std::int64_t>(whole);
  }

  Worker& worker_of(std::size_t member, const std::vector<Part>& parts) {
    std::unique_ptr<Worker>& worker = workers_[member];
    if (!worker) {
      ReadOptions of_worker = in_memory(options_);
      of_worker.to_files = nullptr;
      worker = std::make_unique<Worker>(schema_, of_worker, fields_.size(), used_.size());
    }
    if (worker->batch != batch_) {
      worker->parts.clear();
      worker->parts.reserve(parts.size());
      for (const Part& part : parts) worker->parts.push_back(part);
      worker->batch = batch_;
    }
    return *worker;
  }

  // A piece of rows; returns how many come before one that is refused.
  std::size_t encode_dense(Worker& worker, std::int64_t at, std::size_t count, float* out) const {
    const std::size_t d = schema_features_, k = d - (schema_.intercept ? 1 : 0);
    std::size_t good = count;
    if (!others_.empty()) std::fill_n(out, count * d, 0.0F);
    for (const NumberGroup& group : groups_)
      good = std::min(good, encode_group(worker, group, at, good, out + group.feature));
    worker.block.resize(count);
    for (const std::size_t f : others_) {
      const CellEncoder::Entry* const entries = worker.block.data();
      good = fill_good(worker, f, at, good, worker.block.data(), 1);
      for (std::size_t i = 0; i < good; ++i)
        if (entries[i].value != 0) out[i * d + entries[i].feature] = entries[i].value;
    }
    for (std::size_t i = 0; i < good; ++i, out += d) {
      if (may_clip_ && NumberRows::clip({out, k}, true, schema_.row_norm, worker.room))
        ++worker.clipped_rows;
      if (k < d) out[k] = 1.0F;
    }
    return good;
  }

  std::size_t encode_sparse(Worker& worker, std::int64_t at, std::size_t count,
                            CellEncoder::SparseRowsMade& made) const {
    const std::size_t width = used_.size();
    worker.block.resize(count * width);
    std::size_t good = count;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (f == label_) continue;
      const std::size_t slot = fields_[f].target.encoding->slot;
      good = fill_good(worker, f, at, good, worker.block.data() + slot, width);
    }
    made.sizes.clear();
    made.features.clear();
    made.values.clear();
    made.clipped_rows = 0;
    for (std::size_t i = 0; i < good; ++i)
      worker.encoder.add_row({worker.block.data() + i * width, width}, made);
    worker.clipped_rows += made.clipped_rows;
    return good;
  }

  // The cells of a column, up to one that is refused: what it is, is said when its row is read
  // alone.
  std::size_t fill_good(Worker& worker, std::size_t f, std::int64_t at, std::size_t count,
                        CellEncoder::Entry* out, std::size_t stride) const {
    std::size_t row = 0;
    try {
      fill(worker.cells, f, worker.parts[f], at, count, out, stride, row);
    } catch (const BadInput&) {
      return row;
    } catch (const MalformedArrow&) {
      return row;
    }
    return count;
  }

  std::size_t encode_group(Worker& worker, const NumberGroup& group, std::int64_t at,
                           std::size_t count, float* out) const {
    constexpr std::size_t most = NumberRows::Columns::most;
    NumberRows::Columns columns = group.columns;
    const std::size_t d = schema_features_;
    bool any_null = false;
    std::array<bool, most> has_nulls{};
    for (std::size_t c = 0; c < columns.count; ++c) {
      const ArrowValues& values = worker.parts[group.fields[c]].values;
      has_nulls[c] = whole_ != nullptr || values.any_null(at, static_cast<std::int64_t>(count));
      any_null = any_null || has_nulls[c];
    }
    if (any_null || (!lie_as<float>(worker, group, at, columns) &&
                     !lie_as<double>(worker, group, at, columns))) {
      worker.numbers.resize(most * piece_rows_);
      columns.floats = false;
      for (std::size_t c = 0; c < columns.count; ++c) {
        double* const to = worker.numbers.data() + c * piece_rows_;
        gather(worker.parts[group.fields[c]], has_nulls[c], group.harmless[c], at, count, to);
        columns.values[c] = to;
      }
    }
    for (std::size_t c = columns.count; c < most; ++c) columns.values[c] = columns.values[0];
    std::array<std::uint64_t, most> clamped{};
    std::size_t good = count;
    if (NumberRows::scale(columns, count, out, d, clamped.data())) {
      for (std::size_t c = 0; c < columns.count; ++c) {
        CellCounts& counts = worker.counts[group.slots[c]];
        counts.clamped += clamped[c];
        if (has_nulls[c])
          good = std::min(good, put_nulls(worker.parts[group.fields[c]], fields_[group.fields[c]],
                                          at, good, out + c, counts));
      }
      return good;
    }
    for (std::size_t c = 0; c < columns.count; ++c) {
      const std::size_t f = group.fields[c];
      const auto put = [&](const auto* values) {
        good = std::min(good, put_cells(worker.parts[f], fields_[f], values, at, good, out + c,
                                        worker.counts[group.slots[c]]));
      };
      columns.floats ? put(static_cast<const float*>(columns.values[c]))
                     : put(static_cast<const double*>(columns.values[c]));
    }
    return good;
  }

  template <class T>
  static bool lie_as(const Worker& worker, const NumberGroup& group, std::int64_t at,
                     NumberRows::Columns& columns) {
    columns.floats = std::same_as<T, float>;
    for (std::size_t c = 0; c < columns.count; ++c) {
      columns.values[c] = worker.parts[group.fields[c]].values.template lying<T>(at);
      if (columns.values[c] == nullptr) return false;
    }
    return true;
  }

  // Values as doubles, `null` in place of nulls.
  void gather(const Part& part, bool has_nulls, double null, std::int64_t at, std::size_t count,
              double* out) const {
    part.values.visit([&](const auto& get) {
      using Value = std::decay_t<decltype(get(at))>;
      if constexpr (!std::same_as<Value, std::string_view>) {
        const auto last = static_cast<std::int64_t>(count);
        if (has_nulls) {
          for (std::int64_t i = 0; i < last; ++i)
            out[i] = is_null(part, at + i) ? null : static_cast<double>(get(at + i));
        } else {
          for (std::int64_t i = 0; i < last; ++i) out[i] = static_cast<double>(get(at + i));
        }
      }
    });
  }

  // A null becomes missing or no number. Returns how many rows come before one that is refused.
  bool put_null(const Encoding& e, float& out, CellCounts& counts) const {
    if (!e.missing_text && schema_.invalid == Invalid::refuse) return false;
    ++(e.missing_text ? counts.missing : counts.invalid);
    out = 0.5F;
    return true;
  }
  std::size_t put_nulls(const Part& part, const Field& field, std::int64_t at, std::size_t count,
                        float* out, CellCounts& counts) const {
    for (std::size_t i = 0; i < count; ++i, out += schema_features_)
      if (is_null(part, at + static_cast<std::int64_t>(i)) &&
          !put_null(*field.target.encoding, *out, counts))
        return i;
    return count;
  }
  // The same for a column with cells that are missing or not finite.
  template <class T>
  std::size_t put_cells(const Part& part, const Field& field, const T* values, std::int64_t at,
                        std::size_t count, float* out, CellCounts& counts) const {
    const Encoding& e = *field.target.encoding;
    for (std::size_t i = 0; i < count; ++i, out += schema_features_) {
      if (is_null(part, at + static_cast<std::int64_t>(i))) {
        if (!put_null(e, *out, counts)) return i;
        continue;
      }
      const auto value = static_cast<double>(values[i]);
      if (e.missing_number &&
          (value == *e.missing_number || (std::isnan(value) && std::isnan(*e.missing_number)))) {
        ++counts.missing;
        *out = 0.5F;
      } else if (!std::isfinite(value)) {
        if (schema_.invalid == Invalid::refuse) return i;
        ++counts.invalid;
        *out = 0.5F;
      } else {
        const double inside = value < e.lo ? e.lo : value > e.hi ? e.hi : value;
        counts.clamped += inside != value ? 1U : 0U;
        *out = static_cast<float>((inside - e.lo) / (e.hi - e.lo)) + 0.0F;
      }
    }
    return count;
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
        of_column(fields_[f].name, [&] {
          fill(*cells_, f, parts[f], at, good, block_.data() + fields_[f].target.encoding->slot,
               used_.size(), row);
        });
      } catch (const BadInput&) {
        good = row;
        refusal = std::current_exception();
      }
    }
    for (std::size_t i = 0; i < good; ++i) {
      set_labels(parts, at + static_cast<std::int64_t>(i), 1);
      rows_.end_row({block_.data() + i * used_.size(), used_.size()});
    }
    if (refusal) {
      refuse(parts, at + static_cast<std::int64_t>(good));
      std::rethrow_exception(refusal);
    }
    bytes_ += count * row_bytes_ + std::exchange(cells_->text_bytes, 0);
    return static_cast<std::int64_t>(count);
  }

  // The cells of one column, up to `count` or one that is refused, `row`.
  void fill(Cells& cells, std::size_t f, Part& part, std::int64_t at, std::size_t count,
            CellEncoder::Entry* out, std::size_t width, std::size_t& row) const {
    const Encoding& e = *fields_[f].target.encoding;
    CellEncoder& rows = cells.rows;
    const bool has_nulls =
        whole_ != nullptr || part.values.any_null(at, static_cast<std::int64_t>(count));
    const auto each = [&](const auto& set) {
      for (; row < count; ++row, out += width) {
        const std::int64_t i = at + static_cast<std::int64_t>(row);
        if (has_nulls && is_null(part, i)) {
          rows.set_null(e);
          *out = rows.entry(e);
        } else {
          *out = set(i);
        }
      }
    };
    part.values.visit([&](const auto& get) {
      using Value = std::decay_t<decltype(get(at))>;
      if (part.dictionary) {
        each([&](std::int64_t i) { return listed(cells, e, part, part.index(get(i))); });
      } else if constexpr (std::same_as<Value, std::string_view>) {
        each([&](std::int64_t i) {
          const std::string_view text = get(i);
          cells.text_bytes += text.size();
          rows.set(e, text);
          return rows.entry(e);
        });
      } else if (e.type == ColumnType::category) {
        std::unique_ptr<RecentNumbers>& recent = cells.recent[f];
        if (!recent) recent = std::make_unique<RecentNumbers>();
        each([&](std::int64_t i) {
          const Value value = get(i);
          RecentNumbers::Seen& seen = recent->at(bits_of(value));
          if (seen.there && seen.bits == bits_of(value)) {
            rows.count_again(e, seen.kept);
          } else {
            seen.there = false;
            seen.kept = rows.keep(e, [&] { cells.set.set(e, value); });
            seen.bits = bits_of(value);
            seen.there = true;
          }
          return seen.kept.entry;
        });
      } else {
        each([&](std::int64_t i) {
          cells.set.set(e, get(i));
          return rows.entry(e);
        });
      }
    });
  }

  // A dictionary's value, encoded once a batch.
  static CellEncoder::Entry listed(Cells& cells, const Encoding& e, Part& part,
                                   std::int64_t index) {
    const auto k = static_cast<std::size_t>(index);
    if (!part.may_keep) {
      set_listed(cells, e, part, index);
      return cells.rows.entry(e);
    }
    if (part.is_kept[k] != 0) {
      cells.rows.count_again(e, part.kept[k]);
    } else {
      part.kept[k] = cells.rows.keep(e, [&] { set_listed(cells, e, part, index); });
      part.is_kept[k] = 1;
    }
    return part.kept[k].entry;
  }
  static void set_listed(Cells& cells, const Encoding& e, const Part& part, std::int64_t index) {
    if (part.dictionary->is_null(index)) return cells.rows.set_null(e);
    part.dictionary->visit([&](const auto& get) { cells.set.set(e, get(index)); });
  }

  [[nodiscard]] bool is_null(const Part& part, std::int64_t i) const {
    return (whole_ != nullptr && (whole_[i >> 3] >> (i & 7) & 1) == 0) || part.values.is_null(i);
  }

  // The first of the next `count` labels that can be set while other threads make the rows, as
  // nothing can be said of them. Returns how many.
  std::size_t set_known_labels(const std::vector<Part>& parts, std::int64_t at, std::size_t count) {
    if (!labels_.empty() || label_ == none || whole_ != nullptr) return 0;
    const Part& part = parts[label_];
    if (part.dictionary || part.values.any_null(at, static_cast<std::int64_t>(count))) return 0;
    return part.values.visit([&](const auto& get) -> std::size_t {
      using Value = std::decay_t<decltype(get(at))>;
      if constexpr (Whole<Value> || std::same_as<Value, double>)
        return rows_.set_known_labels(
            count, [&](std::size_t i) { return get(at + static_cast<std::int64_t>(i)); });
      return 0;
    });
  }

  // Of the next rows, which begin at `at` of the batch.
  void set_labels(const std::vector<Part>& parts, std::int64_t at, std::size_t count) {
    const auto each = [&](const auto& set) {
      for (std::size_t i = 0; i < count; ++i, ++row_) set(at + static_cast<std::int64_t>(i));
    };
    if (!labels_.empty()) return each([&](std::int64_t) { rows_.set_class(labels_[row_]); });
    if (label_ == none) {
      row_ += count;
      return;
    }
    const Part& part = parts[label_];
    of_column(fields_[label_].name, [&] {
      if (part.dictionary) return set_listed_labels(part, each);
      const bool has_nulls =
          whole_ != nullptr || part.values.any_null(at, static_cast<std::int64_t>(count));
      part.values.visit([&](const auto& get) {
        using Value = std::decay_t<decltype(get(at))>;
        if constexpr (Whole<Value> || std::same_as<Value, double>) {
          if (!has_nulls) return set_number_labels(get, at, count);
        }
        each([&](std::int64_t i) {
          is_null(part, i) ? rows_.set_label(std::string_view()) : cells_->set.set_label(get(i));
        });
      });
    });
  }
  template <class Get>
  void set_number_labels(const Get& get, std::int64_t at, std::size_t count) {
    const std::int64_t last = at + static_cast<std::int64_t>(count);
    while (at < last) {
      const std::size_t known = rows_.set_known_labels(
          static_cast<std::size_t>(last - at),
          [&](std::size_t i) { return get(at + static_cast<std::int64_t>(i)); });
      at += static_cast<std::int64_t>(known);
      row_ += known;
      // One that is new, and others with it.
      for (int i = 0; i < 1024 && at < last; ++i, ++at, ++row_) cells_->set.set_label(get(at));
    }
  }
  // As their dictionary has them: each of its values once a batch.
  template <class Each>
  void set_listed_labels(const Part& part, const Each& each) {
    if (!part.may_keep) return each([&](std::int64_t i) { set_label(part, i); });
    if (labels_of_ != batch_) {
      kept_labels_.assign(part.kept.size(), {});
      labels_of_ = batch_;
    }
    part.values.visit([&](const auto& get) {
      each([&](std::int64_t i) {
        if (is_null(part, i)) return rows_.set_label(std::string_view());
        CellEncoder::KeptLabel& kept = kept_labels_[static_cast<std::size_t>(part.index(get(i)))];
        if (kept.is_label) return rows_.set_label_again(kept);
        kept = rows_.keep_label([&] { set_label(part, i); });
      });
    });
  }
  void set_label(const Part& part, std::int64_t i) {
    if (is_null(part, i)) return rows_.set_label(std::string_view());
    part.values.visit([&](const auto& get) {
      if (!part.dictionary) return cells_->set.set_label(get(i));
      const std::int64_t index = part.index(get(i));
      if (part.dictionary->is_null(index)) return rows_.set_label(std::string_view());
      part.dictionary->visit([&](const auto& value) { cells_->set.set_label(value(index)); });
    });
  }

  // A row cell by cell, in the table's order.
  void refuse(const std::vector<Part>& parts, std::int64_t i) {
    for (std::size_t f = 0; f < fields_.size(); ++f)
      of_column(fields_[f].name, [&] { set_cell(fields_[f], parts[f], i); });
  }
  void set_cell(const Field& field, const Part& part, std::int64_t i) {
    if (field.target.is_label) return set_label(part, i);
    const Encoding& e = *field.target.encoding;
    if (is_null(part, i)) return rows_.set_null(e);
    part.values.visit([&](const auto& get) {
      if (part.dictionary)
        set_listed(*cells_, e, part, part.index(get(i)));
      else
        cells_->set.set(e, get(i));
    });
  }

  void report(bool now) { report(bytes_, now); }
  void report(std::uint64_t bytes, bool now) {
    if (!now && bytes < reported_ + progress_bytes / 4) return;
    do {  // others may have done more pieces
      reported_ = std::max(reported_, std::min<std::uint64_t>(bytes, reported_ + progress_bytes));
      if (options_.progress && !options_.progress(reported_, 0))
        throw Interrupted(source_ + ": reading was stopped");
    } while (reported_ < bytes);
  }

  static constexpr std::size_t block_entries = 8192, none = ~std::size_t{0};
  // A piece of a row_bytes_ fits in a core's second cache, as the rows made of it.
  static constexpr std::size_t piece_bytes = progress_bytes / 32, most_pieces = 512,
                               most_dense_pieces = 8192, run_bytes = std::size_t{4} << 20;

  Stream& stream_;
  const Schema& schema_;
  const ReadOptions& options_;
  std::span<const double> labels_;
  const std::string& source_;
  bool in_rows_ = false;
  std::uint64_t row_ = 0;
  CellEncoder rows_;
  bool may_clip_;
  bool has_exposure_ = schema_.exposure() != nullptr;  // offsets are made row by row
  std::size_t schema_features_ = schema_.features();
  std::optional<Cells> cells_;
  std::int64_t children_ = 0;
  std::vector<Field> fields_;
  std::vector<Encoding> used_;                       // of the columns that are used, as they come
  std::size_t label_ = none;                         // its field
  std::vector<CellEncoder::KeptLabel> kept_labels_;  // of its dictionary
  std::uint64_t labels_of_ = 0;                      // the batch that they are of
  std::vector<NumberGroup> groups_;
  std::vector<std::size_t> others_;        // fields that are in no group
  std::vector<CellEncoder::Entry> block_;  // [rows x columns used]
  std::uint64_t batch_ = 0;
  std::size_t piece_rows_ = 0;
  std::optional<Crew> crew_;
  std::vector<std::unique_ptr<Worker>> workers_;  // of the crew
  std::vector<CellEncoder::SparseRowsMade> made_;
  const unsigned char* whole_ = nullptr;  // of a batch: which rows are there
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
