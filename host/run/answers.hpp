#pragma once
// What runs that ask questions about sums over rows share.
#include <Eigen/Core>
#include <span>

#include "gibbsite/core/matrix_view.hpp"
#include "gibbsite/core/problem.hpp"
#include "run/whitened_rule.hpp"

namespace gibbsite {

MatrixView<const double> view(const WhitenedRule::Metric& metric);

/// How far a computed sum of v v^T is off, in the Frobenius norm, rounded up
/// (docs/theory/whitened.md, "Rounding").
double moments_error_up(double clip, const Problem& problem);

/// How far a computed sum of logarithms of lengths is off, rounded up.
double lengths_error_up(const RowLengths& lengths, const Problem& problem);

/// The symmetric matrix [k x k] of that lower triangle.
Eigen::MatrixXd whole_matrix(std::span<const double> values, std::size_t k);

}  // namespace gibbsite
