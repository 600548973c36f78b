#pragma once
// Rows of automatic curves, once the plan has chosen them.
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// The rows of a table that was read under curve = "auto", as straight lines that are not clipped,
/// under `chosen` (with_knots of the schema of `lines`): bit for bit those of reading it with
/// `chosen`. Returns `lines` as they are if none of its curves is automatic. Throws BadInput if the
/// rows are in files of a cache, or memory cannot hold both tables.
Dataset with_curves(Dataset lines, const Schema& chosen);

}  // namespace gibbsite
