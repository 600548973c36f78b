#include "gibbsite/data/cell_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/arrow.hpp"
#include "data/person_ids.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/csv_columns.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite {
namespace {

std::size_t place_of(CellClass c) { return static_cast<std::size_t>(c); }

bool is_public_mark(std::string_view text) {
  const auto marks = public_marks();
  return std::ranges::find(marks, text) != marks.end();
}

// The finite number of a cell by its form, as the reader of numbers takes it.
std::optional<double> number_in(std::string_view text, Written form) {
  static const std::array<NumberText, number_forms> forms{numbers_written(Written::plain),
                                                          numbers_written(Written::comma),
                                                          numbers_written(Written::grouped)};
  return number_written(text, forms[static_cast<std::size_t>(form)]);
}

// "0,125" is no number of groups, as nobody writes 125 so.
bool begins_with_zero(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.starts_with('0');
}

// The class of a text that is no number and no date of ISO 8601.
std::size_t class_of_text(std::string_view text) {
  std::size_t place = first_date_class;
  for (const std::string_view format : date_formats) {
    if (parse_date(text, format)) return place;
    ++place;
  }
  for (const auto& [day_first, month_first] : paired_date_formats) {
    const bool day = parse_date(text, day_first).has_value();
    const bool month = parse_date(text, month_first).has_value();
    if (day || month) return place + (day && month ? 2 : month ? 1 : 0);
    place += 3;
  }
  return place_of(CellClass::text);
}

constexpr std::uint32_t whole_row = std::uint32_t{1} << weight_bits;
static_assert(std::uint64_t{1000} << weight_bits < std::uint64_t{1} << 53);

// floor(2^20 min(1, k/m)): m times it is at most 2^20 k.
std::uint32_t units_of_row(std::uint64_t k, std::uint64_t m) {
  return m <= k ? whole_row : static_cast<std::uint32_t>((k << weight_bits) / m);
}

[[noreturn]] void refuse_changed(const CellSource& table) {
  throw BadInput(FilePosition{table.name},
                 "changed while it was read; try again with one that stays");
}

// What the next row counts, of rows that come one after another.
class RowUnits {
 public:
  RowUnits(const CellSource& table, const PeopleRows* held) : table_(table), held_(held) {}

  std::uint32_t next() {
    ++rows_;
    if (held_ == nullptr) return 1;
    if (rows_ > held_->person.size()) refuse_changed(table_);
    return held_->units_of(rows_ - 1);
  }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  // After the last row.
  void require_all() const {
    if (held_ != nullptr && rows_ != held_->person.size()) refuse_changed(table_);
  }

 private:
  const CellSource& table_;
  const PeopleRows* held_;
  std::uint64_t rows_ = 0;
};

// Whether a text is UTF-8 of which JSON and TOML can say every sign.
bool can_be_written(std::string_view text) { return is_utf8(text) && shown(text) == text; }

}  // namespace

std::size_t class_of_cell(std::string_view text) {
  if (text.empty()) return place_of(CellClass::empty);
  if (is_public_mark(text)) return place_of(CellClass::mark);
  if (parse_date(text)) return place_of(CellClass::date);
  if (const auto value = number_in(text, Written::plain)) return number_class(*value);
  const auto grouped = number_in(text, Written::grouped);
  if (grouped && !begins_with_zero(text)) return number_class(*grouped, Written::grouped);
  if (const auto value = number_in(text, Written::comma))
    return number_class(*value, Written::comma);
  return class_of_text(text);
}

std::optional<double> number_of_cell(std::string_view text, const NumberText& written) {
  return is_public_mark(text) ? std::nullopt : number_written(text, written);
}

std::string level_of_cell(std::string_view text) {
  if (text.empty() || text.size() > longest_level || is_public_mark(text) || !can_be_written(text))
    return {};
  std::string out = composed(text);
  return out.size() > longest_level || is_public_mark(out) || !can_be_written(out) ? std::string()
                                                                                   : out;
}

CellSource::CellSource(std::string table,
                       std::function<void(const std::vector<std::string>&, const Row&)> cells)
    : name(std::move(table)), read(cells), read_ids(std::move(cells)) {}

CellSource::CellSource(const std::string& path)
    : CellSource(
          is_arrow_file(path)
              ? cells_of_arrow_file(path)
              : CellSource(path, [path](const std::vector<std::string>& columns, const Row& row) {
                  read_csv_columns(path, columns, row);
                })) {}

double TableCells::in_rows(std::uint64_t count) const {
  return std::ldexp(static_cast<double>(count), held ? -weight_bits : 0);
}

double TableCells::sum() const {
  if (!held) return static_cast<double>(rows);
  std::uint64_t out = 0;
  for (std::size_t row = 0; row < held->person.size(); ++row) out += held->units_of(row);
  return in_rows(out);
}

std::string purchased_id(std::string_view cell) {
  std::string id = person_id(cell);
  const bool nobody = is_public_mark(cell) || is_public_mark(id) || is_public_mark(composed(cell));
  return nobody ? std::string() : id;
}

PeopleRows hold_rows(const CellSource& table, const std::string& person, std::uint64_t k) {
  PeopleRows out;
  PersonIds ids;
  std::vector<std::uint64_t> rows_of;  // [people]
  table.read_ids({person}, [&](std::span<const std::string> cells) {
    const std::string id = purchased_id(cells[0]);
    if (id.empty()) return out.person.push_back(PeopleRows::nobody);
    const std::uint32_t place = ids.place(id);
    if (place == rows_of.size()) rows_of.push_back(0);
    ++rows_of[place];
    out.person.push_back(place);
  });
  if (rows_of.empty()) {
    throw BadInput(FilePosition{table.name},
                   fmt::format("column {}: nobody has a row (private: this tells of the table)",
                               gibbsite::quoted(person)),
                   "fill the column of people");
  }
  for (const std::uint64_t rows : rows_of) out.units.push_back(units_of_row(k, rows));
  return out;
}

namespace {

TableCells counted_cells(const CellSource& table, const std::vector<std::string>& columns,
                         std::optional<PeopleRows> held) {
  TableCells out;
  out.held = std::move(held);
  RowUnits units(table, out.held ? &*out.held : nullptr);
  std::vector<std::unordered_map<std::string, std::uint64_t>> texts(columns.size());
  for (const std::string& name : columns) out.columns.push_back({name, {}, {}});
  table.read(columns, [&](std::span<const std::string> cells) {
    const std::uint32_t one = units.next();
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (cells[k].size() <= longest_level)
        texts[k][cells[k]] += one;
      else
        out.columns[k].classes[class_of_cell(cells[k])] += one;
    }
  });
  units.require_all();
  out.rows = out.held ? out.held->people() : units.rows();
  for (std::size_t k = 0; k < columns.size(); ++k) {
    ColumnCells& column = out.columns[k];
    std::unordered_map<std::string, std::uint64_t> levels;  // several texts may be one in form C
    for (const auto& [text, count] : texts[k]) {
      column.classes[class_of_cell(text)] += count;
      if (std::string level = level_of_cell(text); !level.empty())
        levels[std::move(level)] += count;
    }
    texts[k] = {};
    column.levels.assign(levels.begin(), levels.end());
    std::ranges::sort(column.levels);
  }
  return out;
}

}  // namespace

TableCells count_cells(const CellSource& table, const std::vector<std::string>& columns) {
  return counted_cells(table, columns, {});
}

TableCells count_cells(const CellSource& table, const std::vector<std::string>& columns,
                       PeopleRows held) {
  return counted_cells(table, columns, std::move(held));
}

std::vector<std::vector<double>> count_ranges(const CellSource& table,
                                              std::span<const RangeOfColumn> ranges,
                                              const TableCells& cells) {
  const PeopleRows* const held = cells.held ? &*cells.held : nullptr;
  return count_ranges(table, ranges, held != nullptr ? held->person.size() : cells.rows, held);
}

std::vector<std::vector<double>> count_ranges(const CellSource& table,
                                              std::span<const RangeOfColumn> ranges,
                                              std::uint64_t rows, const PeopleRows* held) {
  RowUnits units(table, held);
  std::vector<std::string> columns;
  std::vector<std::vector<double>> ends, out;
  for (const RangeOfColumn& one : ranges) {
    columns.push_back(one.column);
    ends.push_back(one.range.edges());
    out.emplace_back(refined_bins, 0.0);
  }
  table.read(columns, [&](std::span<const std::string> cells) {
    const double counts = std::ldexp(units.next(), held != nullptr ? -weight_bits : 0);
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (is_public_mark(cells[k])) continue;
      const RangeQuestion& question = ranges[k].range;
      const std::optional<double> value = question.dates.empty()
                                              ? number_in(cells[k], question.written)
                                              : parse_date(cells[k], question.dates);
      if (!value) continue;
      const auto above = std::upper_bound(ends[k].begin(), ends[k].end(), *value);
      const auto bin = above == ends[k].begin() ? 0 : above - ends[k].begin() - 1;
      out[k][std::min(static_cast<std::size_t>(bin), refined_bins - 1)] += counts;
    }
  });
  if (units.rows() != rows) refuse_changed(table);
  return out;
}

}  // namespace gibbsite
