#pragma once
// From a column and a plan to released draws: the same function draws and certifies.
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Draws from the posterior that the plan says, given the one column of `data` (read through
/// family_schema), and certifies them; void when the key came from a seed. Uses the key up, also
/// when it throws: BadInput when the data has another shape than the plan, when a count is not
/// whole (unless the schema refuses nothing: then the nearest one is taken), or on a plan whose
/// numbers do not verify; Interrupted when `options.stop` is set. Of the options `stop`,
/// `progress` (draws done, in all) and `ledger` are heeded, the last as by `fit`.
FamilyRelease fit_family(const Dataset& data, const FamilyPlan& plan, Key&& key,
                         const FitOptions& options = {});

}  // namespace gibbsite
