#pragma once
// From a table's exact counts and a plan to a bought schema: the same function adds the noise, asks
// about ranges again and certifies.
#include <string>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/mechanism/bought_schema.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// The columns of a header that a schema is bought for: all but the label, in order. Those named
/// like an id, or that say how rows count, are not asked about. Throws BadInput if the label or
/// such a column is none of the header, or no column is left to ask about.
struct SchemaShape {
  BoughtSchema shape;              ///< without answers
  std::vector<std::string> asked;  ///< names of the columns that are counted
};
SchemaShape schema_shape(const std::vector<std::string>& header, const std::string& label,
                         const Label& target, const std::string& source,
                         const CountingColumns& counting = {});

/// Adds parts of dates that a person wants as columns, "hired=year,month,weekday" each (the last =
/// counts). Where no dates are found in the column there are none. Throws BadInput.
void want_parts(SchemaShape& shape, const std::vector<std::string>& texts);

/// Counts of shape.asked. With a column of people each is held to that many rows (hold_rows), which
/// reads the table once more. Throws as count_cells and hold_rows.
TableCells count_asked(const SchemaShape& shape, const CellSource& table,
                       std::uint64_t rows_per_person);
/// The problem of such a schema; rows: TableCells::rows, under add-remove the cap.
SchemaProblem problem_of(const SchemaShape& shape, std::uint64_t rows,
                         std::uint64_t rows_per_person);

/// Answers the plan's questions about a table, of which `cells` are the counts of `shape.asked`;
/// reads it up to twice more. Void when the key came from a seed. Uses the key up, also when it
/// throws: BadInput where the counts are not those of the plan, or on a plan whose numbers do not
/// verify. Of the options `ledger` is heeded, as by `fit`; BudgetSpent also where the schema would
/// take all of it, as no fit could follow by it.
SchemaRelease buy_schema(const SchemaShape& shape, const TableCells& cells, const CellSource& table,
                         const SchemaPlan& plan, Key&& key, const FitOptions& options = {});

/// What the schema's file says of its purchase (bought_toml), with the unit of its guarantee.
BoughtApart purchase_of(const SchemaRelease& made);

}  // namespace gibbsite
