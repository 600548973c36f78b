#pragma once
// The question for second moments, which a metric follows from: what its askers share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {

// Coefficients follow from answers that lie on grids of their own: any grid is fine enough, and
// private.
inline constexpr double answered_coefficient_grid = 0x1p-32;

inline bool in_moment_range(double v) { return v > 1e-50 && v < 1e50; }

/// R1: what a typical row reaches, from public ranges, where that is known; any clip is allowed.
inline double first_clip_of(const Problem& problem) {
  const double most = problem.full_row_norm_up();
  return problem.typical_row_norm > 0 ? std::min(problem.typical_row_norm, most) : most;
}

/// Deviation on the diagonal that makes a sum of u u^T, ||u|| <= clip, cost `mu`, rounded up: its
/// Frobenius sensitivity k sqrt(2) clip^2 (replace-one) or k clip^2, and 2 error, over mu
/// (docs/theory/whitened.md).
inline double moment_deviation_up(const Wide& mu, const Neighbors& who, double clip, double error) {
  const Wide R = clip, replaced = who.adjacency == Adjacency::replace_one ? 2 : 1;
  const Wide change = Wide(who.rows_per_person) * sqrt(replaced) * R * R + 2 * Wide(error);
  return round_up(change / mu);
}

/// kappa for N = `signal`: what rows are clipped to, in root mean squares of a row in the metric.
inline double clip_factor_of(double signal, std::uint64_t features) {
  return std::clamp(0.35 * std::cbrt(signal / (8 * static_cast<double>(features))), 0.25, 1.0);
}

/// Numbers of one symmetric matrix.
inline double moment_numbers(std::uint64_t features) {
  const auto d = static_cast<double>(features);
  return d * (d + 1) / 2;
}

/// What stands in the way of the question; "" where nothing does. `resolved`: its settings' sums.
inline Message moments_obstacle(const Problem& problem, bool resolved) {
  if (problem.row_features() > most_metric_features) {
    return fmt::format("{} features have too many second moments (at most {} features)",
                       problem.row_features(), most_metric_features);
  }
  return resolved ? "" : fmt::format("sums over {} rows are not resolved in double", problem.rows);
}

/// Work of a question for moments, in passes: a row's cost d^2 of arithmetic in place of d, and
/// their eigenpairs d^3 whatever the rows (measured: docs/reference/performance.md).
inline double moments_work(const Problem& problem) {
  const auto d = static_cast<double>(problem.row_features());
  return 1 + 0.06 * d + 200 * d * d / static_cast<double>(problem.rows);
}

}  // namespace gibbsite
