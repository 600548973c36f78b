#include "gibbsite/data/cell_counts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "data/text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/csv_columns.hpp"

namespace gibbsite {
namespace {

std::size_t place_of(CellClass c) { return static_cast<std::size_t>(c); }

bool is_public_mark(std::string_view text) {
  const auto marks = public_marks();
  return std::ranges::find(marks, text) != marks.end();
}

// "2020-05-01", or that with "T..." or " ..." behind it: a day that there is.
bool is_iso_date(std::string_view text) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return false;
  if (text.size() > 10 && text[10] != 'T' && text[10] != ' ') return false;
  const auto number = [&](std::size_t from, std::size_t digits) {
    int out = 0;
    for (const char c : text.substr(from, digits)) {
      if (c < '0' || c > '9') return -1;
      out = 10 * out + (c - '0');
    }
    return out;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  const int last = month == 2 ? (leap ? 29 : 28)
                              : (month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31);
  return day <= last;
}

// A finite number as the reader of numbers takes it.
bool finite_number(std::string_view text, double& value) {
  return parse_number(text, value) && std::isfinite(value);
}

// Whether a text is UTF-8 of which JSON and TOML can say every sign.
bool can_be_written(std::string_view text) { return is_utf8(text) && shown(text) == text; }

}  // namespace

std::size_t class_of_cell(std::string_view text) {
  double value = 0;
  if (text.empty()) return place_of(CellClass::empty);
  if (is_public_mark(text)) return place_of(CellClass::mark);
  if (is_iso_date(text)) return place_of(CellClass::date);
  if (finite_number(text, value)) return number_class(value);
  return place_of(CellClass::text);
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
    : CellSource(path, [path](const std::vector<std::string>& columns, const Row& row) {
        read_csv_columns(path, columns, row);
      }) {}

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
      double value = 0;
      if (is_public_mark(cells[k]) || !finite_number(cells[k], value)) continue;
      const auto above = std::upper_bound(ends[k].begin(), ends[k].end(), value);
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
