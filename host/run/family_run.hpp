#pragma once
// The draws of a family, before they are certified. Internal to the run module.
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/run/fit_options.hpp"
#include "run/family_draws.hpp"

namespace gibbsite {

/// Throws BadInput if the data has not the plan's rows, levels or range.
void require_planned_family(const Dataset& data, const FamilyProblem& plan);

/// What the table says: the column, read through the problem's schema, in whole units.
FamilyStatistic family_statistic(const Dataset& data, const FamilyProblem& problem);

FamilyModel family_model_of(const Dataset& data, const FamilyPlan& plan, const StreamKey& stream,
                            const FitOptions& options);

}  // namespace gibbsite
