#pragma once
// Which cell of an evaluation's histogram each row is in.
#include <cstdint>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/evaluation_model.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// The cell of each row [n], by EvaluationBins::cell, for a table that was read by the model's
/// schema with its labels. Private: a row's cell depends on the model and on that row alone. Throws
/// BadInput on a model of amounts or counts, and on a table without labels.
std::vector<std::uint32_t> evaluation_cells(const LinearModel& model, const EvaluationBins& bins,
                                            const Dataset& data);

}  // namespace gibbsite
