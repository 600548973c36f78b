#pragma once
// From several columns and a plan to released moments: the same function adds noise and certifies.
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Noisy moments of the columns of `data` (read through covariance_schema), certified; void when
/// the key came from a seed. Uses the key up, also when it throws: BadInput when the data has
/// another shape than the plan, or on a plan whose numbers do not verify. `ledger` alone of the
/// options is heeded, as by `fit`.
CovarianceRelease fit_covariance(const Dataset& data, const CovariancePlan& plan, Key&& key,
                                 const FitOptions& options = {});

}  // namespace gibbsite
