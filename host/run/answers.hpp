#pragma once
// Noisy answers to questions about sums over rows: what the samplers that ask share.
#include <Eigen/Core>
#include <span>
#include <vector>

#include "gibbsite/core/matrix_view.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/engine/engine.hpp"
#include "run/whitened_rule.hpp"

namespace gibbsite {

MatrixView<const double> view(const WhitenedRule::Metric& metric);

/// How far a computed sum of v v^T is off, in the Frobenius norm, rounded up (docs/theory/whitened.md,
/// "Rounding").
double moments_error_up(double clip, const Problem& problem);

/// How far a computed sum of logarithms of lengths is off, rounded up.
double lengths_error_up(const RowLengths& lengths, const Problem& problem);

/// The public number that is released of a sum: off its grid nothing is.
double answered(double sum, double noise, double deviation);

/// values [k (k + 1)/2], the lower triangle by rows: normals, which become noisy second moments in
/// the metric P [d x k], with noise of `deviation` on the diagonal and 1/sqrt(2) of it off.
void answer_moments(Engine& engine, MatrixView<const double> P, double clip, double deviation,
                    std::span<double> values);
/// values [k (k + 1)/2]: normals, which become the lower triangle of the symmetric `sums` [k x k]
/// with noise of `deviation` on the diagonal and 1/sqrt(2) of it off.
void answer_symmetric(MatrixView<const double> sums, double deviation, std::span<double> values);
/// The symmetric matrix [k x k] of that lower triangle.
Eigen::MatrixXd whole_matrix(std::span<const double> values, std::size_t k);

}  // namespace gibbsite
