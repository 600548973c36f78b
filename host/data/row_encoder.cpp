#include "gibbsite/data/row_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/encoder.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"

namespace gibbsite {

struct RowEncoder::Table {
  Table(const Schema& schema, std::span<const std::string> columns)
      : rows(schema, {}, nullptr, [this] { return fmt::format("rows: row {}", row); }) {
    for (const std::string& name : columns) {
      const Encoding* const found = first_of_cell(schema, name);
      if (found == nullptr) {
        throw BadInput(fmt::format(
            "columns: column {} is not in the schema; leave it out, or add it under [columns]",
            gibbsite::quoted(name)));
      }
      if (std::ranges::find(order, found) != order.end()) {
        throw BadInput(
            fmt::format("columns: column {} occurs twice; give it once", gibbsite::quoted(name)));
      }
      order.push_back(found);
    }
    for (const Encoding& e : rows.encodings()) {
      if (e.type == ColumnType::ignore) continue;
      const std::string& cell = schema.columns[e.column].cell_name();
      if (std::ranges::find(order, first_of_cell(schema, cell)) == order.end()) {
        throw BadInput(fmt::format(
            "columns: column {} of the schema is lacking; add it, or remove it from the schema",
            gibbsite::quoted(cell)));
      }
    }
  }

  // What reads the cells of that name first, or ignores them; null: they are not in the schema.
  [[nodiscard]] const Encoding* first_of_cell(const Schema& schema, std::string_view name) const {
    const Encoding* out = nullptr;
    for (const Encoding& e : rows.encodings()) {
      if (schema.columns[e.column].cell_name() != name) continue;
      if (e.type != ColumnType::ignore) return &e;
      out = &e;
    }
    return out;
  }

  // A row goes in whole or the table is over: half a row may be in the counts.
  template <class Cell>
  void add(std::span<const Cell> cells, const std::optional<Cell>& label) {
    require_open();
    const StandardArithmetic arithmetic;  // which rows are scaled and clipped in
    open = false;
    begin(std::is_same_v<Cell, double>, label.has_value());
    if (cells.size() != order.size()) {
      rows.fail(fmt::format("{} cells for {} columns; give one each", cells.size(), order.size()));
    }
    for (std::size_t j = 0; j < cells.size(); ++j) {
      if (order[j]->type == ColumnType::ignore) continue;
      for (const Encoding* e = order[j]; e != nullptr; e = e->next_of_cell) rows.set(*e, cells[j]);
    }
    if (label) rows.set_label(*label);
    rows.end_row();
    ++row;
    open = true;
  }

  void begin(bool numbers, bool labeled) {
    if (row == 1) {
      are_numbers = numbers;
      are_labeled = labeled;
      if (numbers) rows.compare_labels_as_numbers();
      if (!labeled) rows.leave_unlabeled();
    }
    if (numbers != are_numbers) {
      rows.fail("text and numbers in one table; give every row as those before it");
    }
    if (labeled != are_labeled) rows.fail("some rows have a label and some none; give all one");
  }

  void require_open() const {
    if (!open) {
      throw BadInput("rows: a row was refused, or the table is finished; begin another RowEncoder");
    }
  }

  CellEncoder rows;
  std::vector<const Encoding*> order;
  std::uint64_t row = 1;
  bool open = true, are_numbers = false, are_labeled = false;
};

namespace {

std::vector<std::string> names_of(const Schema& schema) {
  std::vector<std::string> out;
  for (const Column& column : schema.columns)
    if (column.of.empty()) out.push_back(column.name);
  return out;
}

}  // namespace

RowEncoder::RowEncoder(const Schema& schema) : RowEncoder(schema, names_of(schema)) {}
RowEncoder::RowEncoder(const Schema& schema, std::span<const std::string> columns)
    : table_(std::make_unique<Table>(schema, columns)) {}
RowEncoder::~RowEncoder() = default;

void RowEncoder::expect(std::uint64_t rows) { table_->rows.expect(rows); }

void RowEncoder::add(std::span<const std::string_view> cells, std::string_view label) {
  table_->add<std::string_view>(cells, label);
}
void RowEncoder::add(std::span<const std::string_view> cells) {
  table_->add<std::string_view>(cells, {});
}
void RowEncoder::add(std::span<const double> values, double label) {
  table_->add<double>(values, label);
}
void RowEncoder::add(std::span<const double> values) { table_->add<double>(values, {}); }

Dataset RowEncoder::finish() {
  const StandardArithmetic arithmetic;
  table_->require_open();
  table_->open = false;
  return table_->rows.finish();
}

}  // namespace gibbsite
