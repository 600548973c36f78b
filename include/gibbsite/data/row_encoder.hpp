#pragma once
// Rows in memory, through a schema.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Makes a Dataset of rows in memory: scaled, encoded and clipped as the readers of files do, with
/// the bits of read_csv for cells of text and of read_npy (float64) for numbers. One table's rows
/// are all text or all numbers, all with a label or all without (to be predicted); else BadInput.
///
/// Errors of a row are BadInput "rows: row I: column "NAME": ...", I from 1, where a file's reader
/// would refuse the cell (docs/reference/refusals.md; invalid = "middle" in the schema refuses
/// none). Rows to fit are not to be left out for what is in them, so a refusal is the end of the
/// table: whatever is called next throws BadInput too.
class RowEncoder {
 public:
  /// A row's cells are one a column of the schema, in its order; those of type "ignore" are not
  /// looked at. Throws BadInput when the schema is illegal.
  explicit RowEncoder(const Schema& schema);
  /// A row's cells are those of these columns, in this order: each of the schema's once, those of
  /// type "ignore" or not. Throws BadInput naming one that is unknown, twice there or lacking.
  RowEncoder(const Schema& schema, std::span<const std::string> columns);
  RowEncoder(const RowEncoder&) = delete;
  RowEncoder& operator=(const RowEncoder&) = delete;
  ~RowEncoder();

  /// About how many rows there will be: room for them is taken at once.
  void expect(std::uint64_t rows);

  /// Text as it stands in a cell of a CSV file, without quotes and blanks around it.
  void add(std::span<const std::string_view> cells, std::string_view label);
  void add(std::span<const std::string_view> cells);
  /// Numbers; in a category the number's shortest text ("3") is the level, and the label is
  /// compared with the schema's as a number, as in a .npy file.
  void add(std::span<const double> values, double label);
  void add(std::span<const double> values);

  /// The data set; nothing can be added any more. Throws BadInput when there are no rows.
  Dataset finish();

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace gibbsite
