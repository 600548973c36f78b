#pragma once
// Objective perturbation's profile as a pair that a ledger adds (docs/theory/gdp-fit.md).
#include <vector>

#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/privacy/objective.hpp"

namespace gibbsite {

/// The largest number of rows per person for which a fit is made.
inline constexpr unsigned most_fitted_rows = 1000;

/// Points above the profile of one draw for a person of who.rows_per_person rows, both directions,
/// by the exact theorem, whatever pair.calibration says. They end at the epsilon where delta is at
/// most delta0, if one is reached. Empty beyond most_fitted_rows, or if one row's delta stays
/// above delta0, which is in (0, 1). Throws BadInput as objective_delta_up does.
std::vector<ProfilePoint> objective_profile_up(const ObjectivePair& pair, const Neighbors& who,
                                               double delta0);
/// The mu of gdp_fit_up for these points; infinite if none is found.
double objective_fit_up(const ObjectivePair& pair, const Neighbors& who, double delta0);

}  // namespace gibbsite
