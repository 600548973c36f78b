#pragma once
// Rows in memory, through a schema.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Makes a Dataset of rows in memory: scaled, encoded and clipped as readers of files do. Bits are
/// those of read_csv for text and of read_npy (float64) for numbers. The rows of one table are all
/// text or all numbers, all with a label or all without (to be predicted); else BadInput is thrown.
/// A cell that a file's reader would refuse throws BadInput "rows: row I: column "NAME": ...", I
/// from 1 (docs/reference/refusals.md). With invalid = "middle" none is refused. After an error
/// every call throws BadInput: rows must not be left out of a fit for what they contain.
class RowEncoder {
 public:
  /// Each row has one cell for each column of the schema, in its order, but for parts of another's
  /// date; cells of type "ignore" are not read. Throws BadInput if the schema is illegal.
  explicit RowEncoder(const Schema& schema);
  /// Each row has the cells of these columns, in this order: every column of the schema once; those
  /// of type "ignore" may be absent. Throws BadInput that names a column that is unknown, repeated
  /// or lacking.
  RowEncoder(const Schema& schema, std::span<const std::string> columns);
  RowEncoder(const RowEncoder&) = delete;
  RowEncoder& operator=(const RowEncoder&) = delete;
  ~RowEncoder();

  /// Sets the expected number of rows, for which room is taken at once.
  void expect(std::uint64_t rows);

  /// Adds a row of text, as in a CSV file, without quotes and blanks around cells.
  void add(std::span<const std::string_view> cells, std::string_view label);
  void add(std::span<const std::string_view> cells);
  /// Adds a row of numbers. The level of a category is the number's shortest text ("3"); the label
  /// is compared with the schema's as a number, as in a .npy file.
  void add(std::span<const double> values, double label);
  void add(std::span<const double> values);

  /// Returns the table; nothing can be added afterwards. Throws BadInput if there are no rows.
  Dataset finish();

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace gibbsite
