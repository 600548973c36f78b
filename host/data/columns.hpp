#pragma once
// Columns of a table that names them, and those of the schema.
#include <string>
#include <vector>

#include "data/encoder.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Throws BadInput when a name is there twice; `where` and `what` ("the header") say of which
/// table.
void require_distinct(const std::vector<std::string>& names, const std::string& where,
                      const std::string& what);

/// What becomes of a column of the table: a cell of the schema's column, a label, or neither.
struct ColumnTarget {
  const Encoding* encoding = nullptr;
  bool is_label = false;
};
/// One for each name. Throws BadInput where a name is not in the schema, unless the options ignore
/// those, where a column that the schema uses is lacking, and where the label is and is required.
/// has_labels: they come from elsewhere, and a column of the label's name is skipped.
std::vector<ColumnTarget> match_columns(const std::vector<std::string>& names, const Schema& schema,
                                        const ReadOptions& options, const std::string& what,
                                        bool has_labels, CellEncoder& rows);

/// Throws BadInput where a column is a part of a date: tables of numbers have a column for each of
/// the schema's.
void require_no_parts(const CellEncoder& rows);

/// One for each column of a table of numbers, in its order; null: it is skipped. The schema's
/// columns, without the weight's where that is not read and the table has fewer `columns`.
std::vector<const Encoding*> array_columns(std::size_t columns, const CellEncoder& rows);

}  // namespace gibbsite
