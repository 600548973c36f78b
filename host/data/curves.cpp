#include "gibbsite/data/curves.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "data/encoder.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/model/curve.hpp"

namespace gibbsite {
namespace {

// The cells of a row of straight lines, as entries under another schema of the same columns.
class LineRow {
 public:
  LineRow(const Schema& lines, std::span<const Encoding> encodings)
      : schema_(lines), encodings_(encodings), cells_(encodings.size()) {
    std::size_t feature = 0;
    for (std::size_t j = 0; j < lines.columns.size(); ++j) {
      for (std::size_t k = lines.features_of(lines.columns[j]); k > 0; --k, ++feature) {
        column_of_.push_back(j);
        place_.push_back(lines.features_of(lines.columns[j]) - k);
      }
    }
    for (const Encoding& e : encodings) {
      if (e.type != ColumnType::ignore) entries_.emplace_back();
    }
    for (const Interaction& interaction : lines.interactions)
      interacting_ += lines.features_of(interaction);
  }

  std::span<const CellEncoder::Entry> entries(const Rows& rows, std::size_t i) {
    std::ranges::fill(cells_, Cell{});
    rows.for_each(i, [this](std::size_t feature, float value) {
      if (value == 0 || feature >= column_of_.size()) return;  // interactions, the intercept
      Cell& cell = cells_[column_of_[feature]];
      if (cell.value == 0)
        cell = {value, 0, place_[feature]};
      else
        cell.next = value;
    });
    for (std::size_t j = 0; j < cells_.size(); ++j) {
      const Encoding& e = encodings_[j];
      if (e.type == ColumnType::ignore) continue;
      if (e.is_beside_rows()) {
        const double value = e.type == ColumnType::exposure ? rows.offset_of(i) : rows.weight_of(i);
        entries_[e.slot] = {static_cast<float>(value), 0, 0};
      } else {
        entries_[e.slot] = entry(e, schema_.columns[j], cells_[j]);
      }
    }
    return entries_;
  }

  /// Features of the row's interactions, from `first` on: no choice changes them.
  std::span<const CellEncoder::Product> products(const Rows& rows, std::size_t i,
                                                 std::size_t first) {
    products_.clear();
    const std::size_t begin = column_of_.size();
    if (interacting_ == 0) return products_;
    rows.for_each(i, [&](std::size_t feature, float value) {
      if (value == 0 || feature < begin || feature >= begin + interacting_) return;
      products_.push_back({static_cast<std::uint32_t>(first + feature - begin), value});
    });
    return products_;
  }
  [[nodiscard]] std::size_t interacting() const { return interacting_; }

 private:
  struct Cell {
    float value = 0, next = 0;
    std::size_t place = 0;  // among the column's features
  };

  static CellEncoder::Entry entry(const Encoding& e, const Column& line, const Cell& cell) {
    if (line.automatic_curve) {
      // A straight line with a missing cell is 0, and its level 1.
      if (cell.place == 0) return e.entry_of(cell.value);
      return {1, static_cast<std::uint32_t>(e.missing), 0};
    }
    return {cell.value, static_cast<std::uint32_t>(e.first + cell.place), cell.next};
  }

  const Schema& schema_;
  std::span<const Encoding> encodings_;
  std::vector<std::size_t> column_of_, place_;  // of the features of lines' columns
  std::size_t interacting_ = 0;                 // features of interactions, which come next
  std::vector<CellEncoder::Product> products_;  // of the row
  std::vector<Cell> cells_;                     // [columns]
  std::vector<CellEncoder::Entry> entries_;     // [columns used]
};

}  // namespace

Dataset with_curves(Dataset lines, const Schema& chosen, ReadOptions::Layout layout) {
  if (automatic_curves(lines.schema) == 0) return lines;
  Schema back = chosen;
  for (std::size_t j = 0; j < std::min(back.columns.size(), lines.schema.columns.size()); ++j) {
    if (lines.schema.columns[j].automatic_curve) back.columns[j] = lines.schema.columns[j];
  }
  if (back != lines.schema || automatic_curves(chosen) > 0) {
    throw BadInput("curves: were chosen for another schema; choose them for that of the rows");
  }
  const Rows rows = lines.view();
  if (!rows.in_memory) {
    throw BadInput(
        "curve = \"auto\": is chosen once the rows are counted, and these are in files of a cache; "
        "give a number of knots, such as curve = 8");
  }
  const StandardArithmetic arithmetic;
  ReadOptions options;
  options.cache = ReadOptions::Cache::never;
  options.may_be_empty = true;
  options.layout = layout;
  options.holds_people = true;
  CellEncoder encoder(chosen, options, nullptr, [] { return Message("rows"); });
  encoder.leave_unlabeled();
  encoder.expect(rows.rows);
  LineRow row(lines.schema, encoder.encodings());
  const std::size_t first =
      chosen.features() - (chosen.intercept ? 1 : 0) - row.interacting();  // of interactions
  for (std::size_t i = 0; i < rows.rows; ++i)
    encoder.end_row(row.entries(rows, i), row.products(rows, i, first));
  Dataset out = encoder.finish();
  out.y = std::move(lines.y);
  if (chosen.person() != nullptr) {
    out.weight = std::move(lines.weight);
    out.person = std::move(lines.person);
    out.people = lines.people;
    out.rows_of_person = lines.rows_of_person;
    out.rows_counted = lines.rows_counted;
  }
  const std::uint64_t clipped = out.counts.clipped_rows;
  out.counts = std::move(lines.counts);
  out.counts.clipped_rows = clipped;
  out.unreadable = std::move(lines.unreadable);
  return out;
}

ReadOptions::Layout layout_of(const Schema& schema) {
  std::size_t entries = schema.intercept ? 1 : 0;
  for (const Column& column : schema.columns) {
    if (schema.features_of(column) > 0) entries += column.is_curve() ? 2U : 1U;
  }
  for (const Interaction& interaction : schema.interactions) {
    std::size_t of_row = 1;
    for (const Interaction::Part& part : interaction.parts) of_row *= part.knots.empty() ? 1U : 2U;
    entries += of_row;
  }
  return static_cast<double>(entries) <=
                 most_sparse_density * static_cast<double>(schema.features())
             ? ReadOptions::Layout::sparse
             : ReadOptions::Layout::dense;
}

}  // namespace gibbsite
