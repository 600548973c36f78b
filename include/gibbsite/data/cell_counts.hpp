#pragma once
// Exact counts of a table's cells by kind and by text, which a schema is bought from. They are as
// private as the rows: only their noisy answers leave (run/buy_schema.hpp).
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/data/arrow_abi.hpp"
#include "gibbsite/model/bought_schema.hpp"

namespace gibbsite {

/// The class of a cell, by its text alone (model/bought_schema.hpp), by newest_questions. Dates are
/// ISO 8601 or in a further format, with or without a time. Numbers are those that a fit reads in
/// one of the forms; one that is a number in several is of the first of plain, grouped (unless it
/// begins with 0), comma.
std::size_t class_of_cell(std::string_view text);
/// The finite number of a cell that is written so, as a fit reads it; none of a mark of missing
/// cells.
std::optional<double> number_of_cell(std::string_view text, const NumberText& written);
/// The level that a cell counts for, its text in Unicode's normal form; empty if it can be none:
/// empty cells, marks of missing ones, long texts and texts that are not UTF-8.
std::string level_of_cell(std::string_view text);

/// Whose the rows of a table are, and what each counts of people held to k rows. Private.
struct PeopleRows {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  /// [rows] A place among people in the order in which they came (Dataset::person).
  std::vector<std::uint32_t> person;
  /// [people] What each of their rows counts, in units of 2^-weight_bits, at most 1: m rows of a
  /// person add up to at most k.
  std::vector<std::uint32_t> units;

  [[nodiscard]] std::uint64_t people() const { return units.size(); }
  /// 0 of a row without an id.
  [[nodiscard]] std::uint32_t units_of(std::size_t row) const {
    return person[row] == nobody ? 0 : units[person[row]];
  }
};

/// Counts of one column's cells, in the table's units.
struct ColumnCells {
  std::string name;
  std::array<std::uint64_t, cell_classes> classes{};
  /// By text, ascending, so that nothing depends on the order of rows.
  std::vector<std::pair<std::string, std::uint64_t>> levels;
};
struct TableCells {
  std::uint64_t rows = 0;  ///< n; with held rows how many people
  std::vector<ColumnCells> columns;
  std::optional<PeopleRows> held{};  ///< none: each row counts one

  /// A count as a number of rows: exact, below 2^33 of them.
  [[nodiscard]] double in_rows(std::uint64_t count) const;
  /// What all rows count together.
  [[nodiscard]] double sum() const;
};

/// A table's cells as texts, which may be asked for again and are then the same.
struct CellSource {
  using Row = std::function<void(std::span<const std::string>)>;

  std::string name;  ///< in errors
  /// row(cells) for each row, with the text of these columns in that order.
  std::function<void(const std::vector<std::string>& columns, const Row& row)> read;
  /// As `read`, of columns of ids: a timestamp's text is exact, where `read` has its day.
  std::function<void(const std::vector<std::string>& columns, const Row& row)> read_ids;

  /// Reads cells, ids too, by that function.
  CellSource(std::string name,
             std::function<void(const std::vector<std::string>&, const Row&)> read);
  /// A CSV file's, by read_csv_columns, or a Parquet or Arrow file's, by cells_of_arrow.
  CellSource(const std::string& path);  // NOLINT: a path is a table
};

/// Makes a stream with at least these columns.
using CellStream = std::function<ArrowArrayStream(const std::vector<std::string>& columns)>;
/// An Arrow table's, of which `open` makes a stream whenever it is asked: a cell's text is what a
/// CSV file would have, a null's is empty, a number's its shortest digits, "true" or "false" of a
/// truth. Reading throws BadInput as read_arrow, and on a column of a type that is not read.
CellSource cells_of_arrow(const std::string& source, CellStream open);

/// Counts the cells of `columns` in one pass. Every cell of a column is in one class
/// and counts for at most one level. Throws BadInput as read_csv_columns; no cell is refused.
TableCells count_cells(const CellSource& table, const std::vector<std::string>& columns);

/// The id that a purchase of a schema takes a cell for, and so does every release by that schema,
/// whatever else was written into it: with a decimal point, nobody's where the cell is a mark of
/// missing that is public.
std::string purchased_id(std::string_view cell);

/// What rows count by a column of ids, in one pass: of a person with m rows each min(1, k/m),
/// rounded down. All rows with the id are counted, whatever their other cells. Ids are read as a
/// fit reads them under a bought schema. 1 <= k <= 1000. Throws BadInput if nobody has a row, and
/// as read_csv_columns.
PeopleRows hold_rows(const CellSource& table, const std::string& person, std::uint64_t k);
/// As count_cells: a cell counts what its row does. Throws BadInput if the table no longer has
/// those rows.
TableCells count_cells(const CellSource& table, const std::vector<std::string>& columns,
                       PeopleRows held);

/// A column and a range of it.
struct RangeOfColumn {
  std::string column;
  RangeQuestion range;
};
/// Counts of the finite numbers of each column, as the question says they are written, or of its
/// dates, in the range's bins [ranges x refined_bins], in one pass; each cell counts once at most,
/// and one outside counts in the first or the last. Throws BadInput as read_csv_columns, and
/// if the table no longer has `rows` rows, or those that are held.
std::vector<std::vector<double>> count_ranges(const CellSource& table,
                                              std::span<const RangeOfColumn> ranges,
                                              std::uint64_t rows, const PeopleRows* held = nullptr);
/// As above, for the table that those counts are of.
std::vector<std::vector<double>> count_ranges(const CellSource& table,
                                              std::span<const RangeOfColumn> ranges,
                                              const TableCells& cells);

}  // namespace gibbsite
