#pragma once
// The noisy answers that a schema is bought with. Internal to the run module.
#include <string>

#include "gibbsite/core/random.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/mechanism/bought_schema.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/run/buy_schema.hpp"

namespace gibbsite {

/// Throws BadInput where an exposure is named beside a label that is no count.
void require_exposure_of_counts(const CountingColumns& counting, const Label& label);

/// Throws BadInput if the counts are not those of the shape, or have not the problem's rows and
/// columns. Under add-remove rows may be fewer.
void require_planned_counts(const SchemaShape& shape, const TableCells& cells,
                            const SchemaProblem& problem, const Neighbors& who);

/// Answers all questions, also of rows where they have noise: what leaves is noisy and on its grid.
/// Noise of answers has places of its own in the stream, which no fit takes.
BoughtSchema answered_schema(BoughtSchema shape, const TableCells& cells, const CellSource& table,
                             const SchemaQuestions& questions, const StreamKey& key);

}  // namespace gibbsite
