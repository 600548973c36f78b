#pragma once
// Objective perturbation's profile as a pair that a ledger adds (docs/theory/gdp-fit.md).
#include <vector>

#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/privacy/objective.hpp"

namespace gibbsite {

/// Rows a person beyond which no fit is made.
inline constexpr unsigned most_fitted_rows = 1000;

/// Points above the profile of one draw for a person of who.rows_per_person rows, both directions,
/// to where delta is at most `reveal`, as far as it gets there: by the exact theorem, whatever
/// pair.calibration says. None beyond that many rows, or where a row's delta stays above. reveal in
/// (0, 1); throws BadInput as `objective_delta_up` does.
std::vector<ProfilePoint> objective_profile_up(const ObjectivePair& pair, const Neighbors& who,
                                               double reveal);
/// mu of `gdp_fit_up` for them; infinite where none is found.
double objective_fit_up(const ObjectivePair& pair, const Neighbors& who, double reveal);

}  // namespace gibbsite
