#pragma once
// Estimates of the coefficients of several classes with their uncertainty, from the noisy answers
// of `whitened` (docs/theory/intervals.md, "Several classes"). Sees no row: noisy answers and
// public numbers alone, so nothing here costs privacy.
#include <cstddef>
#include <optional>

#include "gibbsite/model/estimates.hpp"
#include "gibbsite/model/schema.hpp"
#include "run/estimates.hpp"

namespace gibbsite {

/// The posterior of the coefficients of the plain softmax model of K = `classes` classes. Those of
/// one feature add up to 0 over the classes. `answers`: points and gradients are [K x k], class
/// after class; information has a block [k x k] for each pair of classes, in the order of
/// `class_pairs`, of sums of w p_a p_b z z^T; scores, if any, is of K - 1 orthonormal contrasts of
/// the classes (`class_contrasts`), one [k] behind the other. Takes O(((K - 1) k)^3) time. None
/// where the answers leave no finite posterior. Throws BadInput where the shapes do not fit each
/// other or the schema.
std::optional<Estimates> estimate_classes(const AnsweredScores& answers, std::size_t classes,
                                          const Schema& schema);

}  // namespace gibbsite
