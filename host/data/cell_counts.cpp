#include "gibbsite/data/cell_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "data/arrow.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
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

std::optional<double> number_written(std::string_view text, const NumberText& written) {
  double value = 0;
  if (!parse_number(text, value, written.decimal) && !parse_grouped(text, value, written))
    return {};
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
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
    : name(std::move(table)), read(std::move(cells)) {}

CellSource::CellSource(const std::string& path)
    : CellSource(
          is_arrow_file(path)
              ? cells_of_arrow_file(path)
              : CellSource(path, [path](const std::vector<std::string>& columns, const Row& row) {
                  read_csv_columns(path, columns, row);
                })) {}

TableCells count_cells(const CellSource& table, const std::vector<std::string>& columns) {
  TableCells out;
  std::vector<std::unordered_map<std::string, std::uint64_t>> texts(columns.size());
  for (const std::string& name : columns) out.columns.push_back({name, {}, {}});
  table.read(columns, [&](std::span<const std::string> cells) {
    ++out.rows;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (cells[k].size() <= longest_level)
        ++texts[k][cells[k]];
      else
        ++out.columns[k].classes[class_of_cell(cells[k])];
    }
  });
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

std::vector<std::vector<double>> count_ranges(const CellSource& table,
                                              std::span<const RangeOfColumn> ranges,
                                              std::uint64_t rows) {
  std::uint64_t found = 0;
  std::vector<std::string> columns;
  std::vector<std::vector<double>> ends, out;
  for (const RangeOfColumn& one : ranges) {
    columns.push_back(one.column);
    ends.push_back(one.range.edges());
    out.emplace_back(refined_bins, 0.0);
  }
  table.read(columns, [&](std::span<const std::string> cells) {
    ++found;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (is_public_mark(cells[k])) continue;
      const RangeQuestion& question = ranges[k].range;
      const std::optional<double> value = question.dates.empty()
                                              ? number_in(cells[k], question.written)
                                              : parse_date(cells[k], question.dates);
      if (!value) continue;
      const auto above = std::upper_bound(ends[k].begin(), ends[k].end(), *value);
      const auto bin = above == ends[k].begin() ? 0 : above - ends[k].begin() - 1;
      ++out[k][std::min(static_cast<std::size_t>(bin), refined_bins - 1)];
    }
  });
  if (found != rows) {
    throw BadInput(FilePosition{table.name},
                   "changed while it was read; try again with one that stays");
  }
  return out;
}

}  // namespace gibbsite
