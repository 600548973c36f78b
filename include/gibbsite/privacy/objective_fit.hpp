#pragma once
// Objective perturbation's profile as a pair that a ledger adds (docs/gdp-fit.md).
#include "gibbsite/privacy/objective.hpp"

namespace gibbsite {

/// Rows a person beyond which no fit is made.
inline constexpr unsigned most_fitted_rows = 1000;

/// mu of `gdp_fit_up` for one draw and a person of who.rows_per_person rows: by the exact theorem,
/// whatever pair.calibration says. Infinite where none is found. reveal in (0, 1); throws BadInput
/// as `objective_delta_up` does.
double objective_fit_up(const ObjectivePair& pair, const Neighbors& who, double reveal);

}  // namespace gibbsite
