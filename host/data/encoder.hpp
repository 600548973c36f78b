#pragma once
// From cells to the rows of a Dataset: what CSV, LIBSVM, .npy and rows in memory have in common.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/cache.hpp"
#include "data/input.hpp"
#include "data/person_ids.hpp"
#include "data/person_lookup.hpp"
#include "data/text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/interaction.hpp"
#include "model/column_type.hpp"

namespace gibbsite {

/// How the cells of one column become features.
struct Encoding {
  /// Levels are short: up to 16 bytes are mixed in a few instructions, of both ends.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      const std::size_t size = text.size(), part = std::min<std::size_t>(size, 8);
      if (size > 16) return std::hash<std::string_view>{}(text);
      std::uint64_t first = 0, last = 0;
      if (part == 8) {
        std::memcpy(&first, text.data(), 8);
        std::memcpy(&last, text.data() + size - 8, 8);
      } else if (part > 0) {
        std::memcpy(&first, text.data(), part);
      }
      std::uint64_t mixed = (first + size) * 0x9E3779B97F4A7C15U ^ last;
      mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93U;
      return mixed ^ mixed >> 32;
    }
  };
  static constexpr std::size_t none = ~std::size_t{0};

  /// What a cell becomes: an entry of the row, and that of the next feature, which only a curve
  /// has.
  struct Entry {
    float value = 0;
    std::uint32_t feature = 0;
    float next = 0;
    float scaled = 0;  ///< of a number: itself, which an interaction has hats of its own for

    /// A person whose place is looked up later: which of those that wait.
    static Entry awaited(std::size_t number) {
      return {0, static_cast<std::uint32_t>(number), 0, 1};
    }
    [[nodiscard]] bool is_awaited() const { return scaled != 0; }
    [[nodiscard]] bool is_zero() const { return value == 0 && next == 0; }
    /// Calls add(feature, value) for what is not zero, in the order of features.
    template <class Add>
    void each(const Add& add) const {
      if (value != 0) add(feature, value);
      if (next != 0) add(feature + 1, next);
    }
  };

  std::string name;
  std::size_t column = 0;  ///< place in the schema's columns
  ColumnType type = ColumnType::ignore;
  double lo = 0, hi = 1;
  std::size_t slot = 0;   ///< among the columns that are used
  std::size_t first = 0;  ///< first feature
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> levels;  ///< to features
  std::vector<std::string> missing_texts;     ///< marks of a missing cell; empty: there is none
  std::vector<std::string> missing_composed;  ///< these marks in normal form C
  std::vector<double> missing_numbers;        ///< their finite numbers, each once
  bool nan_is_missing = false;                ///< whether one of them is the number NaN
  std::size_t missing = none;                 ///< feature of a missing cell; none: no level
  std::size_t other = none;                   ///< feature of a level that is not listed
  bool has_missing_bin = false;               ///< Column::has_missing_bin
  std::optional<Hats> hats;                   ///< of a curve
  std::string date;                           ///< Column::date
  DatePart part = DatePart::none;             ///< Column::part
  const Encoding* next_of_cell = nullptr;     ///< what else reads the table's column, if anything
  NumberText numbers;                         ///< Schema::numbers_of
  bool takes_any_number = false;  ///< whether every finite number is a value in one feature

  /// The feature of a level, which a whole number matches however it is written, and a text however
  /// its accents are; `none`: not listed.
  [[nodiscard]] std::size_t level(std::string_view cell, char point) const {
    auto found = levels.find(cell);
    if (found == levels.end()) found = levels.find(whole_number(cell, point));
    if (found == levels.end() && !is_ascii(cell)) found = levels.find(composed(cell));
    return found == levels.end() ? none : found->second;
  }
  /// Whether a category's cell is missing, likewise.
  [[nodiscard]] bool is_missing_whole(std::string_view cell, char point) const {
    const std::string_view whole = whole_number(cell, point);
    for (const std::string& mark : missing_texts)
      if (whole == whole_number(mark)) return true;
    return is_missing_composed(cell);
  }
  /// Whether a cell is a mark of missing with its accents written another way.
  [[nodiscard]] bool is_missing_composed(std::string_view cell) const {
    return has_missing() && !is_ascii(cell) &&
           std::ranges::find(missing_composed, composed(cell)) != missing_composed.end();
  }
  [[nodiscard]] bool has_missing() const { return !missing_texts.empty(); }
  [[nodiscard]] bool is_missing(std::string_view cell) const {
    for (const std::string& mark : missing_texts)
      if (cell == mark) return true;
    return false;
  }
  [[nodiscard]] bool is_missing(double value) const {
    for (const double mark : missing_numbers)
      if (value == mark) return true;
    return nan_is_missing && std::isnan(value);
  }
  [[nodiscard]] bool is_number() const { return type == ColumnType::number || is_beside_rows(); }
  /// Whether a cell is no feature but a number that stands beside the row.
  [[nodiscard]] bool is_beside_rows() const { return gibbsite::is_beside_rows(type); }
  /// Whether a cell says whose the row is.
  [[nodiscard]] bool is_person() const { return type == ColumnType::person; }
  /// Whether its cells are dates, and the feature their days or a part of these.
  [[nodiscard]] bool is_date() const { return !date.empty(); }
  /// The number of a cell, of dates its days; none: it is no finite one.
  [[nodiscard]] std::optional<double> number(std::string_view cell) const {
    return is_date() ? parse_date(cell, date) : number_written(cell, numbers);
  }
  /// Whether a cell is one number in one feature, however it reads.
  [[nodiscard]] bool is_plain_number() const {
    return type == ColumnType::number && !has_missing_bin && !hats && missing == none &&
           part == DatePart::none;
  }
  /// What a number inside of the range becomes.
  [[nodiscard]] float scaled(double inside) const {
    return type == ColumnType::exposure ? Schema::scaled_exposure(inside, lo, hi)
           : type == ColumnType::weight ? Schema::scaled_weight_down(inside, lo, hi)
                                        : static_cast<float>((inside - lo) / (hi - lo));
  }
  /// The entry of a number as rows have it.
  [[nodiscard]] Entry entry_of(float scaled) const {
    if (!hats) return {scaled, static_cast<std::uint32_t>(first), 0, scaled};
    const Hat hat = hats->at(scaled);
    return {hat.value, static_cast<std::uint32_t>(first + hat.first), hat.next, scaled};
  }
  /// What a cell without a value is. A row without a weight counts as little as a row may.
  [[nodiscard]] float middle() const {
    return has_missing_bin                ? missing_bin_value
           : type == ColumnType::number   ? 0.5F
           : type == ColumnType::exposure ? scaled(lo + (hi - lo) / 2)
           : type == ColumnType::weight   ? scaled(lo)
                                          : 0.0F;
  }
};

/// How the cells of several columns become the features of their interaction.
class InteractionEncoding {
 public:
  /// `encodings`: of all columns; `first`: its first feature.
  InteractionEncoding(const Schema& schema, const Interaction& interaction,
                      std::span<const Encoding> encodings, std::size_t first);
  /// Calls add(feature, value) for what is not zero, in the order of features. `entries`: of the
  /// row [columns used]. Nothing where one of the cells has no level.
  template <class Add>
  void each(std::span<const Encoding::Entry> entries, const Add& add) const {
    std::array<InteractionPlace, most_interacting> places;
    for (std::size_t c = 0; c < parts_.size(); ++c) {
      if (!place(parts_[c], entries[parts_[c].slot], places[c])) return;
    }
    interaction_products(std::span(places).first(parts_.size()), sizes_,
                         [&](std::size_t feature, float value) {
                           add(static_cast<std::uint32_t>(first_ + feature), value);
                         });
  }

 private:
  struct Part {
    std::size_t slot = 0, first = 0;
    std::size_t missing = Encoding::none;  // feature of a missing cell of a number
    std::optional<Hats> hats;              // of a number
  };
  static bool place(const Part& part, const Encoding::Entry& entry, InteractionPlace& out);

  std::vector<Part> parts_;
  std::vector<std::size_t> sizes_;
  std::size_t first_;
};

/// Between sparse and dense: the rows so far, once there are so many or so many entries.
inline constexpr std::uint64_t rows_that_choose = 1024, entries_that_choose = 1 << 20;
/// What CellEncoder decides of a table that begins with these rows, or is these.
bool is_sparse_by_head(const SparseRows& head, std::uint64_t features);

/// Fills a Dataset row by row: set(...) for every column that is not ignored and set_label in any
/// order, then end_row. Or, where most columns of a row are absent (LIBSVM), absent_is once, then
/// set_present(...) in the schema's order for those of the row that are there, then end_row.
/// Where the options ask for a cache the Dataset is a buffer of rows on their way to its files.
class CellEncoder {
 public:
  /// Errors begin with what `where` returns: the file and the line or row. Without an input, for
  /// rows in memory, there is no cache, and what is said of all rows begins with `source`.
  CellEncoder(const Schema& schema, const ReadOptions& options, Input* input,
              std::function<Message()> where, std::string source = "rows");

  /// About how many rows there will be (0: unknown), so that room for them is taken, or a cache
  /// begun or BadInput thrown when memory cannot hold them, once their layout is known.
  void expect(std::uint64_t rows) { expected_ = rows; }

  /// One per column of the schema, in its order; none of the ignored ones may be set.
  [[nodiscard]] const std::vector<Encoding>& encodings() const { return encodings_; }

  /// ReadOptions::reads_weights of its schema.
  [[nodiscard]] bool reads_weights() const { return options_.reads_weights(data_.schema); }

  void set(const Encoding& encoding, std::string_view cell);
  void set(const Encoding& encoding, double value);
  /// The cell for every column of the schema that reads it, of which the first is given. None: it
  /// is not there.
  void set_all(const Encoding& first, std::optional<std::string_view> cell) {
    for (const Encoding* e = &first; e != nullptr; e = e->next_of_cell)
      cell ? set(*e, *cell) : set_null(*e);
  }
  /// A cell that is not there: missing where the schema says how a missing cell reads, else empty.
  void set_null(const Encoding& encoding);
  /// Columns that a row does not set read as this number.
  void absent_is(double value);
  void set_present(const Encoding& encoding, double value);
  /// Sets a cell whose text is no number.
  void set_present_unreadable(const Encoding& encoding, std::string_view text);
  void set_label(std::string_view text);
  void set_label(double value);
  /// value(0), value(1), ... in turn, up to one of which a class is not known yet: doubles of two
  /// classes, without a jump for each. Returns how many of the first `count` were set.
  template <class Value>
  std::size_t set_known_labels(std::size_t count, const Value& value);
  /// Drops the labels of the last rows, the first of which is refused: nothing of them is kept.
  void drop_labels(std::size_t count) { data_.y.resize(data_.y.size() - count); }
  /// What `set` made of a label, to be given to every equal one.
  struct KeptLabel {
    float y = 0;
    bool is_label = false;  ///< false: of none so far, or it made nothing
    bool unlisted = false, invalid = false, clamped = false;
  };
  template <class Set>
  KeptLabel keep_label(const Set& set);
  void set_label_again(const KeptLabel& label) {
    data_.counts.unlisted_labels += label.unlisted ? 1U : 0U;
    data_.counts.invalid_labels += label.invalid ? 1U : 0U;
    data_.counts.clamped_labels += label.clamped ? 1U : 0U;
    data_.y.push_back(label.y);
  }
  /// Sets a label: -1 or +1 for two classes, a place in the schema's list for several, else
  /// BadInput; the label itself for amounts and counts.
  void set_class(double label);
  /// This row has none: `why` is said where that is refused.
  void set_label_missing(const Message& why);
  /// The file holds no labels; throws BadInput when they are required.
  void set_unlabeled(const Message& why);
  /// Whether cells that cannot be read are marked now, where the options ask for it; else they are
  /// refused. Rows that go in many at a time end before such a row, which then goes in alone.
  void mark_unreadable(bool may) { may_mark_ = may; }
  /// None is asked for: the rows are to be predicted.
  void leave_unlabeled() { labeled_ = false; }
  /// Before the first label: LIBSVM and .npy compare numbers as numbers ("+1" is "1.0").
  void compare_labels_as_numbers();
  /// Clips the row, appends the intercept and stores what is not zero, or all of it.
  void end_row();

  using Entry = Encoding::Entry;
  /// The entry of the cell of this column that was set last.
  [[nodiscard]] Entry entry(const Encoding& e) const { return entries_[e.slot]; }
  /// How many entries a row has: one for each column that is not ignored.
  [[nodiscard]] std::size_t slots() const { return entries_.size(); }
  /// An entry with what was counted, to be given to every equal cell.
  struct Kept {
    Entry entry;
    std::uint64_t CellCounts::*count = nullptr;
  };
  template <class Set>
  Kept keep(const Encoding& e, const Set& set);
  void count_again(const Encoding& e, const Kept& kept) {
    if (kept.count != nullptr) ++(counts_[e.slot].*kept.count);
  }
  /// end_row for a row of which every column is there already [columns used].
  void end_row(std::span<const Entry> entries);
  /// Entries that were given before are not given again, but for those that were kept: people's
  /// places are looked up once a block of them waits. Rows that are set cell by cell say so by
  /// themselves.
  void end_entries() {
    if (lookup_ && lookup_->is_full()) begin_people();
  }
  /// Likewise with the features of its interactions, ascending.
  struct Product {
    std::uint32_t feature = 0;
    float value = 0;
  };
  void end_row(std::span<const Entry> entries, std::span<const Product> products);

  /// Rows on their way to `append`, made by another thread.
  struct SparseRowsMade {
    std::vector<std::uint64_t> sizes;  ///< entries of each
    std::vector<std::uint32_t> features;
    std::vector<float> values;
    std::uint64_t clipped_rows = 0;
  };
  /// What end_row makes of such a row.
  void add_row(std::span<const Entry> entries, SparseRowsMade& made) const;
  /// The first `rows` of those, where rows are sparse.
  void append(const SparseRowsMade& made, std::size_t rows);

  /// Whether it is decided if rows are dense.
  [[nodiscard]] bool is_decided() const { return layout_ != Layout::undecided; }
  /// Whether rows may be appended many at a time: `extend`, and, when they are written, `end_rows`.
  [[nodiscard]] bool is_dense() const { return layout_ == Layout::dense; }
  /// Room for so many more rows [rows x features], unset, without a count of them.
  float* extend(std::uint64_t rows);
  /// Keeps the first `rows` of the `extended` ones.
  void end_rows(std::uint64_t rows, std::uint64_t extended);
  /// What was counted in cells that were set [columns used].
  [[nodiscard]] std::span<const CellCounts> counts() const { return counts_; }
  /// What another counted in cells [columns used] of its rows.
  void add_counts(std::span<const CellCounts> cells, std::uint64_t clipped_rows);

  /// The data set. Throws BadInput when it has no rows.
  Dataset finish();

  /// Throws BadInput "WHERE: what".
  [[noreturn]] void fail(const Message& what) const;
  /// Fails with a line that quotes the rows, and says that this is private.
  [[noreturn]] void fail_quoting(const Message& what) const;
  /// Fails with a line that quotes nothing but tells of a row, and says that this is private.
  [[noreturn]] void fail_telling(const Message& what) const;

 private:
  [[noreturn]] void fail(const Encoding& encoding, const Message& what) const;
  /// Behind "fix the cell": what the schema can do about it, unless it is a published one.
  [[nodiscard]] Message or_else(const Message& in_schema) const;
  [[nodiscard]] Message missing_label_words() const;
  static std::string schema_has(std::string_view cell, const std::string& what,
                                const std::vector<std::string>& names);
  [[nodiscard]] Message number_advice(const Encoding& encoding, std::string_view cell) const;
  [[nodiscard]] Message level_advice(const Encoding& encoding, std::string_view cell) const;
  /// A cell that is no cell of this column: refused, or made one, as the schema says.
  void set_invalid(const Encoding& encoding, std::string_view cell);
  /// set_in_range for `takes_any_number`.
  void set_value(const Encoding& e, double value) {
    const double inside = clamped(e, value);
    const auto scaled = static_cast<float>((inside - e.lo) / (e.hi - e.lo));
    entries_[e.slot] = {scaled, static_cast<std::uint32_t>(e.first), 0, scaled};
  }
  void set_in_range(const Encoding& e, double value) { set_number(e, e.scaled(clamped(e, value))); }
  /// The value inside of the range, counted where it was not.
  double clamped(const Encoding& e, double value) {
    const double inside = value < e.lo ? e.lo : value > e.hi ? e.hi : value;
    counts_[e.slot].clamped += inside != value ? 1 : 0;
    return inside;
  }
  /// A number as rows have it.
  void set_number(const Encoding& e, float scaled) { entries_[e.slot] = e.entry_of(scaled); }
  void set_one(const Encoding& e, std::size_t feature) {
    entries_[e.slot] = {1.0F, static_cast<std::uint32_t>(feature), 0};
  }
  [[nodiscard]] std::string source() const { return input_ != nullptr ? input_->path() : source_; }
  bool add_label(std::string_view label);
  /// What a number is called among labels: the class that it is where text is compared.
  [[nodiscard]] std::string label_text(double value) const;
  bool add_class(std::string_view label);
  void add_number_label(double value, std::string_view text);
  void set_missing(const Encoding& encoding);
  void set_level(const Encoding& encoding, std::string_view cell);
  /// A part of a date: its text, or its days.
  void set_part(const Encoding& encoding, std::string_view cell);
  void set_part(const Encoding& encoding, double days);
  /// The entry of a person's cell is their place, or that they wait for one, as a feature of no
  /// value.
  void set_person(const Encoding& encoding, std::string_view id);
  void set_person(const Encoding& encoding, double id);
  void set_nobody(const Encoding& encoding);
  /// Begins another block of people who wait, whom no entry of before is.
  void begin_people();
  /// The entry of a person's cell that outlives those of its block.
  void place_now(const Encoding& encoding);
  void gather(std::size_t slot);
  void add_beside_row(std::span<const Entry> entries);
  // Appends the entries of all columns but the weight and the exposure.
  void gather_entries(std::span<const Entry> entries, std::vector<float>& values,
                      std::vector<std::uint32_t>& features) const;
  void gather_products(std::span<const Entry> entries, std::vector<float>& values,
                       std::vector<std::uint32_t>& features) const;
  void store_row();
  bool end_row(std::size_t begin, std::vector<float>& values,
               std::vector<std::uint32_t>& features) const;
  void gather_row();
  void store_sparse();
  void store_dense(std::span<const std::uint32_t> features, std::span<const float> values);
  void choose_layout();
  void sum_counts();
  /// Takes room for this many rows, or begins a cache; throws BadInput when memory
  /// cannot hold them and there may be no cache.
  void reserve(std::uint64_t rows);
  void link_cells();
  void begin_cache();
  void drain();

  // What a column that is absent adds to the row and to the counts.
  struct Absent {
    Entry entry;
    CellCounts counts{};
    std::uint64_t present = 0;          // rows so far that have the column
    const Encoding* refused = nullptr;  // the absent number is no cell of this column
  };

  Dataset data_;
  std::size_t features_;
  std::vector<Encoding> encodings_;
  std::vector<InteractionEncoding> interactions_;
  // Slots of columns that are no entries: the row's offset, weight and person.
  std::size_t exposure_ = Encoding::none, weight_ = Encoding::none, person_ = Encoding::none;
  bool may_clip_;
  std::vector<Entry> entries_;      // of the row [columns used]
  std::vector<CellCounts> counts_;  // of cells that were there [columns used]
  // The entries of the row that are not zero, ascending.
  std::vector<float> row_values_;
  std::vector<std::uint32_t> row_features_;

  std::optional<double> absent_number_;
  std::vector<Absent> absent_;               // [columns used], where there is an absent number
  std::vector<std::size_t> absent_matters_;  // those that are not zero, or refused
  std::vector<std::size_t> present_;         // of this row, ascending

  std::uint64_t rows_ = 0, expected_ = 0;
  enum class Layout { undecided, sparse, dense } layout_ = Layout::undecided;

  bool labeled_ = true, labels_are_numbers_ = false, may_mark_ = true;
  std::string positive_, negative_;  // as compared; negative_ is empty when any other is
  std::string composed_positive_, composed_negative_;
  // A number that was a label of each class before: most labels are one of two.
  struct KnownLabel {
    std::uint64_t bits;
    bool unlisted;
  };
  std::optional<KnownLabel> known_labels_[2];
  // y of several classes by its name, as compared, and by a number that was a label before.
  std::unordered_map<std::string, float, Encoding::Hash, std::equal_to<>> classes_;
  std::unordered_map<std::uint64_t, float> known_classes_;
  // Classes as listed by the number that they are, in its shortest form.
  std::unordered_map<std::string, std::string> names_of_numbers_;
  std::vector<double> missing_labels_;  // numbers of the table's marks of missing
  float middle_label_;

  Input* input_;
  std::string source_;
  ReadOptions options_;
  std::unique_ptr<CacheWriter> own_cache_;
  CacheWriter* cache_ = nullptr;       // that, or of the options
  std::uint64_t drained_entries_ = 0;  // in the cache's files
  std::function<Message()> where_;
  std::unique_ptr<PersonIds> own_people_;
  std::optional<PersonLookup> lookup_;  // in that, or in the options' table, if people are read
  std::string id_room_;
};

inline void CellEncoder::set(const Encoding& e, std::string_view cell) {
  double number = 0;
  if (e.takes_any_number && parse_number(cell, number, e.numbers.decimal) && std::isfinite(number))
    return set_value(e, number);
  if (e.is_person()) return set_person(e, cell);
  if (e.is_missing(cell)) {
    set_missing(e);
  } else if (e.part != DatePart::none) {
    set_part(e, cell);
  } else if (e.is_number()) {
    if (const std::optional<double> value = e.number(cell))
      e.is_missing(*value) ? set_missing(e) : set_in_range(e, *value);
    else
      e.is_missing_composed(cell) ? set_missing(e) : set_invalid(e, cell);
  } else {
    set_level(e, cell);
  }
}

inline void CellEncoder::set(const Encoding& e, double value) {
  if (e.takes_any_number && std::isfinite(value))
    set_value(e, value);
  else if (e.is_person())
    set_person(e, value);
  else if (e.is_missing(value))
    set_missing(e);
  else if (!std::isfinite(value))
    set_invalid(e, number_text(value));
  else if (e.part != DatePart::none)
    set_part(e, value);
  else if (e.is_number())
    set_in_range(e, value);
  else
    set_level(e, number_text(value));
}

template <class Value>
std::size_t CellEncoder::set_known_labels(std::size_t count, const Value& value) {
  if (!labeled_ || !known_labels_[0] || !known_labels_[1]) return 0;
  const KnownLabel negative = *known_labels_[0], positive = *known_labels_[1];
  std::vector<float>& y = data_.y;
  constexpr std::size_t most = 1024;
  for (std::size_t done = 0; done < count;) {
    const std::size_t some = std::min(count - done, most), before = y.size();
    y.resize(before + some);
    std::uint64_t positives = 0, negatives = 0;
    for (std::size_t i = 0; i < some; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(value(done + i)));
      positives += bits == positive.bits ? 1U : 0U;
      negatives += bits == negative.bits ? 1U : 0U;
      y[before + i] = bits == positive.bits ? 1.0F : -1.0F;
    }
    if (positives + negatives != some) {
      y.resize(before);
      return done;
    }
    data_.counts.unlisted_labels +=
        (positive.unlisted ? positives : 0) + (negative.unlisted ? negatives : 0);
    done += some;
  }
  return count;
}

template <class Set>
CellEncoder::KeptLabel CellEncoder::keep_label(const Set& set) {
  const IngestCounts& counts = data_.counts;
  const std::uint64_t unlisted = counts.unlisted_labels, invalid = counts.invalid_labels,
                      clamped = counts.clamped_labels;
  const std::size_t labels = data_.y.size();
  set();
  if (data_.y.size() == labels) return {};
  return {data_.y.back(), true, counts.unlisted_labels != unlisted,
          counts.invalid_labels != invalid, counts.clamped_labels != clamped};
}

template <class Set>
CellEncoder::Kept CellEncoder::keep(const Encoding& e, const Set& set) {
  const CellCounts before = counts_[e.slot];
  set();
  if (e.is_person()) place_now(e);
  Kept kept{entry(e), nullptr};
  for (const auto count :
       {&CellCounts::clamped, &CellCounts::missing, &CellCounts::other, &CellCounts::invalid})
    if (counts_[e.slot].*count != before.*count) kept.count = count;
  return kept;
}

}  // namespace gibbsite
