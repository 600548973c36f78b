#pragma once
// Rows of automatic curves, once the plan has chosen them.
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// The rows of a table that was read under curve = "auto", as straight lines that are not clipped,
/// under `chosen` (with_knots of the schema of `lines`): bit for bit those of reading it with
/// `chosen` in that layout. Shares of one table need one that no row decides, `layout_of`. Returns
/// `lines` as they are if none of its curves is automatic. Throws BadInput if the rows are in files
/// of a cache, or memory cannot hold both tables.
Dataset with_curves(Dataset lines, const Schema& chosen,
                    ReadOptions::Layout layout = ReadOptions::Layout::automatic);

/// Dense or sparse by the schema alone: sparse if the most entries that a row can have are at most
/// most_sparse_density of its features.
ReadOptions::Layout layout_of(const Schema& schema);

}  // namespace gibbsite
