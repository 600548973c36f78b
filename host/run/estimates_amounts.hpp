#pragma once
// Estimates of the coefficients of amounts and counts with their uncertainty, from the noisy
// answers of `whitened` (docs/theory/intervals.md, "Amounts and counts"). Sees no row: noisy
// answers and public numbers alone, so nothing here costs privacy.
#include <Eigen/Core>
#include <optional>

#include "gibbsite/model/estimates.hpp"
#include "gibbsite/model/schema.hpp"
#include "run/estimates.hpp"

namespace gibbsite {

/// The posterior of the coefficients that a fit of the same held scores without noise has in the
/// population: of amounts in tolerances, of counts in the log of the mean. `answers`: the last
/// gradient is the block, the sum of w psi z with psi the held slope; `information` is how fast it
/// grows, sum of w f'' z z^T where the slope is free. `scores`: sum of (w psi)^2 z z^T, with people
/// as AnsweredScores::scores has it, which is not read.
/// Takes O(k^3) time. None where the answers leave no finite posterior. Throws BadInput
/// where the shapes do not fit each other or the schema.
std::optional<Estimates> estimate_amounts(const AnsweredScores& answers,
                                          const AnsweredMoments& scores, const Schema& schema);

}  // namespace gibbsite
