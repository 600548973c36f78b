#pragma once
// Cells of Arrow's columns by their types, and what a thread that encodes them has of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/arrow_column.hpp"
#include "data/columns.hpp"
#include "data/encoder.hpp"
#include "data/number_rows.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/boolean.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite::arrow_rows {

/// How a bool reads: the first of its spellings that is listed.
template <class Listed>
std::string_view bool_text(bool value, const Listed& listed) {
  const auto& words = boolean_spellings(value);
  const auto found = std::find_if(words.begin(), words.end(), listed);
  return found != words.end() ? *found : words[0];
}

// Integers read as their digits; doubles take their shortest text, which are the same up to here.
inline constexpr std::int64_t most_exact = std::int64_t{1} << 53;

template <class T>
concept Whole = std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

inline bool is_class(const Schema& schema, std::string_view text) {
  if (const TwoClasses* const two = std::get_if<TwoClasses>(&schema.label))
    return text == two->positive || text == two->negative;
  const Classes* const several = std::get_if<Classes>(&schema.label);
  return several != nullptr && std::ranges::find(several->names, text) != several->names.end();
}

/// Sets a cell or a label to a value of whatever type it has.
class Setter {
 public:
  Setter(CellEncoder& rows, const Schema& schema) : rows_(rows), schema_(schema) {}

  void set(const Encoding& e, double value) const { rows_.set(e, value); }
  void set(const Encoding& e, std::string_view value) const { rows_.set(e, value); }
  template <Whole T>
  void set(const Encoding& e, T value) const {
    if (!e.is_person() && (e.is_number() || is_exact(value)))
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
    if (is_exact(value))
      rows_.set_label(static_cast<double>(value));
    else
      rows_.set_label(std::string_view(fmt::format_int(value).c_str()));
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

/// The text of a date or a timestamp as an id, in ISO 8601: "2026-11-28T18:53:00.25". It is exact,
/// where other columns have days: what is equal has one text, in whatever unit, and what is not has
/// two. The values are of such a type, the i-th is no null.
std::string instant_id(const ArrowValues& values, std::int64_t i);
/// A float's whole number as an id, or NaN, which is nobody's, of one that another part of the
/// table may have with more digits. Of float16 that is every one: 7.001 is 7 there.
double float_id(const ArrowValues& values, std::int64_t i);

/// Whether a type's values are ids by `set_id`, as they are not where they are features.
inline bool has_own_ids(const ArrowType& type) { return type.is_date() || type.is_short_float(); }
inline void set_id(CellEncoder& rows, const Encoding& e, const ArrowValues& values,
                   std::int64_t i) {
  if (values.type().is_date()) return rows.set(e, std::string_view(instant_id(values, i)));
  rows.set(e, float_id(values, i));
}

/// What a CSV file has for the i-th cell, which is no null: of dates and timestamps the day.
std::string cell_text(const ArrowValues& values, std::int64_t i);

/// A column that is used.
struct Field {
  std::int64_t child = 0;
  std::string name;
  ColumnTarget target;
  ArrowType type;                   // of its values, or of its indices
  std::optional<ArrowType> listed;  // dictionary: of what the indices are of

  [[nodiscard]] const ArrowType& values() const { return listed ? *listed : type; }
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

/// Sets the types of a column of that name and place. Throws MalformedArrow; `refused` may be.
void set_types(const ArrowSchema& column, Field& field);

/// Its values in one batch, whose rows are [first, last).
struct Part {
  Part(const Field& field, const ArrowArray& array, std::int64_t first, std::int64_t last)
      : values(field.type, array, last, field.listed.has_value()) {
    for (std::size_t k = 0; k < field.type.members.size(); ++k) {
      if (array.children[k] == nullptr) throw MalformedArrow{"a member of it is not there"};
      members.emplace_back(field.type.members[k], *array.children[k], values.place_in_member(last),
                           false);
    }
    if (!field.listed) return;
    dictionary.emplace(*field.listed, *array.dictionary, array.dictionary->length, false);
    // What is kept costs no more than the batch does.
    may_keep = dictionary->length() <= 4 * std::min(last - first, std::int64_t{1} << 20) + 1024;
    if (!may_keep) return;
    kept.resize(static_cast<std::size_t>(dictionary->length()));
    is_kept.resize(kept.size());
  }

  /// The place in a dictionary of an index.
  template <class T>
  [[nodiscard]] std::int64_t index(T at) const {
    if constexpr (Whole<T>) {
      if (std::cmp_greater_equal(at, 0) && std::cmp_less(at, dictionary->length()))
        return static_cast<std::int64_t>(at);
    }
    throw MalformedArrow{"an index outside of its dictionary"};
  }

  [[nodiscard]] bool is_mixed() const { return !members.empty(); }
  struct Cell {
    const ArrowValues& of;
    std::int64_t at;
    [[nodiscard]] bool is_null() const { return of.is_null(at); }
  };
  /// Where the i-th cell lies: in a member of a union, in a dictionary or here. Throws
  /// MalformedArrow.
  [[nodiscard]] Cell cell(std::int64_t i) const {
    if (is_mixed()) return {members[values.member(i)], values.place_in_member(i)};
    if (!dictionary || values.is_null(i)) return {values, i};
    return {*dictionary,
            values.visit([&](const auto& get) -> std::int64_t { return index(get(i)); })};
  }

  ArrowValues values;
  std::vector<ArrowValues> members;  // of mixed cells
  std::optional<ArrowValues> dictionary;
  bool may_keep = false;
  std::vector<CellEncoder::Kept> kept;  // of a dictionary's values, once they were met
  std::vector<unsigned char> is_kept;
};

/// The columns of a batch of a table that has so many. Throws MalformedArrow.
std::vector<Part> parts_of(const ArrowArray& batch, std::int64_t columns,
                           const std::vector<Field>& fields);

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
  CellEncoder::SparseRowsMade made;  // rows with interactions, on their way to dense ones
  std::vector<CellCounts> counts;    // of numbers [columns used]
  std::vector<float> room;           // for a row
  std::uint64_t clipped_rows = 0;
};

}  // namespace gibbsite::arrow_rows
