// Cells of Arrow tables as texts: what a CSV file of the same table has.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/arrow_cells.hpp"
#include "data/arrow_stream.hpp"
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
std::string cell_text(bool value) {
  return std::string(value ? words_of_true[0] : words_of_false[0]);
}
std::string cell_text(std::string_view value) { return std::string(value); }
template <Whole T>
std::string cell_text(T value) {
  return fmt::format_int(value).str();
}

// A date is its day in ISO 8601; beyond the years that has, the number of the day.
std::string cell_text(const ArrowValues& values, std::int64_t i) {
  return values.visit([&](const auto& get) {
    if constexpr (std::is_same_v<decltype(get(i)), std::int64_t>) {
      const auto day = static_cast<double>(get(i));
      if (values.type().is_date() && day >= first_day && day <= last_day) return date_text(day);
    }
    return cell_text(get(i));
  });
}

std::string cell_text(const Part& part, std::int64_t i) {
  if (part.values.is_null(i)) return {};
  if (!part.dictionary) return cell_text(part.values, i);
  const std::int64_t at =
      part.values.visit([&](const auto& get) -> std::int64_t { return part.index(get(i)); });
  if (part.dictionary->is_null(at)) return {};
  return cell_text(*part.dictionary, at);
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
    const ArrowSchema& column = *schema.children[field.child];
    of_column(name, [&] {
      field.type = arrow_type(column);
      if (column.dictionary != nullptr) field.listed = arrow_type(*column.dictionary);
    });
    const ArrowType& of_values = field.listed ? *field.listed : field.type;
    if (of_values.kind == ArrowType::Kind::refused) {
      throw BadInput(FilePosition{source},
                     fmt::format("column {} is {}", gibbsite::quoted(name), of_values.refusal),
                     "or leave the column out");
    }
  }
  return out;
}

void read_texts(Stream& stream, const std::vector<std::string>& columns, const std::string& source,
                const CellSource::Row& row) {
  Released<ArrowSchema> schema;
  stream.get_schema(schema.it);
  const std::vector<Field> fields = fields_of(schema.it, columns, source);
  std::vector<std::string> cells(columns.size());
  for (;;) {
    Released<ArrowArray> batch;
    if (!stream.get_next(batch.it)) return;
    const ArrowArray& rows = batch.it;
    require_shape(rows);
    if (rows.n_children != schema.it.n_children || rows.dictionary != nullptr || rows.n_buffers > 1)
      throw MalformedArrow{"a batch that is no struct of the table's columns"};
    const auto* const whole =
        rows.n_buffers > 0 ? static_cast<const unsigned char*>(rows.buffers[0]) : nullptr;
    const std::int64_t last = rows.offset + rows.length;
    std::vector<Part> parts;
    parts.reserve(fields.size());
    for (const Field& field : fields) {
      of_column(field.name, [&] {
        if (rows.children[field.child] == nullptr) throw MalformedArrow{"it is not there"};
        parts.emplace_back(field, *rows.children[field.child], rows.offset, last);
      });
    }
    for (std::int64_t i = rows.offset; i < last; ++i) {
      const bool is_there = whole == nullptr || (whole[i >> 3] >> (i & 7) & 1) != 0;
      for (std::size_t k = 0; k < fields.size(); ++k)
        cells[k] = is_there ? cell_text(parts[k], i) : std::string();
      row(cells);
    }
  }
}

}  // namespace
}  // namespace arrow_rows

CellSource cells_of_arrow(const std::string& source, CellStream open) {
  return {source, [source, open = std::move(open)](const std::vector<std::string>& columns,
                                                   const CellSource::Row& row) {
            ArrowArrayStream given = open(columns);
            arrow_rows::Stream stream(given, source);
            try {
              arrow_rows::read_texts(stream, columns, source, row);
            } catch (const MalformedArrow& error) {
              stream.malformed(error);
            }
          }};
}

}  // namespace gibbsite
