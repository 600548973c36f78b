// Cells of Arrow tables as texts: what a CSV file of the same table has.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/arrow_cells.hpp"
#include "data/arrow_stream.hpp"
#include "data/person_ids.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite {
namespace arrow_rows {
namespace {

// As the encoder of rows has it where a column's numbers are levels.
std::string cell_text(double value) { return number_text(value); }
std::string cell_text(bool value) { return std::string(boolean_levels[value ? 1 : 0]); }
std::string cell_text(std::string_view value) { return std::string(value); }
template <Whole T>
std::string cell_text(T value) {
  return fmt::format_int(value).str();
}

// A day in ISO 8601; beyond the years that has, its number.
std::string day_text(std::int64_t number) {
  const auto day = static_cast<double>(number);
  return day >= first_day && day <= last_day ? date_text(day) : cell_text(number);
}

// What a cell is read for: a date's or a timestamp's day, or what tells people apart.
enum class CellReading { days, ids };

std::string cell_text(const ArrowValues& values, std::int64_t i, CellReading of) {
  const bool is_id = of == CellReading::ids;
  if (is_id && values.type().is_date()) return instant_id(values, i);
  if (is_id && values.type().is_short_float()) return person_id(float_id(values, i));
  return values.visit([&](const auto& get) {
    if constexpr (std::is_same_v<decltype(get(i)), double>) {
      if (is_id) return person_id(get(i));
    }
    if constexpr (std::is_same_v<decltype(get(i)), std::int64_t>) {
      if (values.type().is_date()) return day_text(get(i));
    }
    return cell_text(get(i));
  });
}

std::string cell_text(const Part::Cell& cell, CellReading of) {
  return cell.is_null() ? std::string() : cell_text(cell.of, cell.at, of);
}

std::vector<Field> fields_of(const ArrowSchema& schema, const std::vector<std::string>& columns,
                             const std::string& source) {
  const std::vector<std::string> names = names_in(schema);
  std::vector<Field> out;
  for (const std::string& name : columns) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw BadInput(FilePosition{source}, fmt::format("has no column {}", gibbsite::quoted(name)),
                     "give a table with the columns that were named");
    }
    Field& field = out.emplace_back();
    field.name = name;
    field.child = found - names.begin();
    of_column(name, [&] { set_types(*schema.children[field.child], field); });
    if (field.values().kind == ArrowType::Kind::refused) {
      throw BadInput(FilePosition{source},
                     fmt::format("column {} is {}", gibbsite::quoted(name), field.values().refusal),
                     "or leave the column out");
    }
  }
  return out;
}

void read_texts(Stream& stream, const std::vector<std::string>& columns, const std::string& source,
                const CellSource::Row& row, CellReading of) {
  Released<ArrowSchema> schema;
  stream.get_schema(schema.it);
  const std::vector<Field> fields = fields_of(schema.it, columns, source);
  std::vector<std::string> cells(columns.size());
  for (;;) {
    Released<ArrowArray> batch;
    if (!stream.get_next(batch.it)) return;
    const ArrowArray& rows = batch.it;
    const std::vector<Part> parts = parts_of(rows, schema.it.n_children, fields);
    const auto* const whole =
        rows.n_buffers > 0 ? static_cast<const unsigned char*>(rows.buffers[0]) : nullptr;
    const std::int64_t last = rows.offset + rows.length;
    for (std::int64_t i = rows.offset; i < last; ++i) {
      const bool is_there = whole == nullptr || (whole[i >> 3] >> (i & 7) & 1) != 0;
      for (std::size_t k = 0; k < fields.size(); ++k)
        cells[k] = is_there ? cell_text(parts[k].cell(i), of) : std::string();
      row(cells);
    }
  }
}

// As a source of cells asks for them.
auto texts_of(const std::string& source, CellStream open, CellReading of) {
  return [source, open = std::move(open), of](const std::vector<std::string>& columns,
                                              const CellSource::Row& row) {
    ArrowArrayStream given = open(columns);
    Stream stream(given, source);
    try {
      read_texts(stream, columns, source, row, of);
    } catch (const MalformedArrow& error) {
      stream.malformed(error);
    }
  };
}

}  // namespace

std::string cell_text(const ArrowValues& values, std::int64_t i) {
  return cell_text(values, i, CellReading::days);
}

double float_id(const ArrowValues& values, std::int64_t i) {
  const bool is_half = values.type().kind == ArrowType::Kind::float16;
  const double value = values.visit([&](const auto& get) {
    if constexpr (std::is_same_v<decltype(get(i)), double>) return get(i);
    return std::numeric_limits<double>::quiet_NaN();  // no type of floats
  });
  const bool is_own = !is_half && value == std::trunc(value) && std::fabs(value) < 0x1p24;
  return is_own ? value : std::numeric_limits<double>::quiet_NaN();
}

std::string instant_id(const ArrowValues& values, std::int64_t i) {
  constexpr std::int64_t hours = 24, minutes = 60, seconds = 60;
  const std::int64_t at = values.units_since_1970(i), per_day = values.type().per_day;
  const std::int64_t rest = (at % per_day + per_day) % per_day;
  std::string out = day_text(at / per_day - (at % per_day < 0 ? 1 : 0));
  if (rest == 0) return out;
  const std::int64_t per_second = per_day / (hours * minutes * seconds);
  const std::int64_t second = rest / per_second;
  out += fmt::format("T{:02}:{:02}:{:02}", second / (minutes * seconds), second / seconds % minutes,
                     second % seconds);
  if (rest % per_second == 0) return out;
  std::string part = fmt::format(".{}", per_second + rest % per_second);  // ".1", then the digits
  part.erase(1, 1);
  return out + part.substr(0, part.find_last_not_of('0') + 1);
}

}  // namespace arrow_rows

CellSource cells_of_arrow(const std::string& source, CellStream open) {
  CellSource out(source, arrow_rows::texts_of(source, open, arrow_rows::CellReading::days));
  out.read_ids = arrow_rows::texts_of(source, std::move(open), arrow_rows::CellReading::ids);
  return out;
}

}  // namespace gibbsite
