#pragma once
// From the cells of held-out rows and a plan to a released evaluation: the same function counts,
// adds the noise and certifies.
#include <cstdint>
#include <span>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/histogram.hpp"
#include "gibbsite/model/evaluation_model.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Counts the rows' `cells` [n] (release/evaluation_cells.hpp), adds the plan's noise and certifies
/// them. A row adds its weight (`weights` [n], which the shape's schema has a column for), rounded
/// down to a multiple of 2^-20 so that sums are exact; without weights it adds 1. Void when the key
/// came from a seed. `shape` is the evaluation without counts, noise and
/// rows. Uses the key up, also when it throws: BadInput where cells are not of the plan's shape, or
/// on a plan whose numbers do not verify. Of the options `ledger` is heeded, as by `fit`.
EvaluationRelease release_evaluation(const EvaluationModel& shape,
                                     std::span<const std::uint32_t> cells,
                                     const HistogramPlan& plan, Key&& key,
                                     const FitOptions& options = {},
                                     std::span<const float> weights = {});

}  // namespace gibbsite
