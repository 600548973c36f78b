// The default (T, m, a) from public numbers (docs/theory/default-rule.md has how it was found and
// measured).
#include <algorithm>
#include <cmath>

#include "gibbsite/mechanism/plan.hpp"
#include "mechanism/candidates.hpp"

namespace gibbsite {
namespace {

constexpr double most_iterations = 5000;
constexpr double most_relative_step = 1.9;  // h < 2/M: beyond, the steepest direction oscillates
constexpr double stretch_above = 500;       // longer runs take longer steps instead of more of them

}  // namespace

double signal_of(const Problem& problem, const Neighbors& who, double mu) {
  const double gradients = who.adjacency == Adjacency::replace_one ? 2 : 1;
  return 2 * static_cast<double>(problem.rows) * mu /
         (gradients * static_cast<double>(who.rows_per_person));
}

DefaultChoice default_rule(const Problem& constants, const Budget& budget, double mu,
                           std::optional<double> prior_precision, std::optional<double> iterations,
                           double ball) {
  const double signal =
      signal_of(constants, budget.neighbors(), mu) / constants.max_abs_derivative_up(ball);
  // tau = a T, the time to descend: longer with more signal, shorter with more directions to keep
  // noise out of, longer by what an intercept adds to the norm that the step must be safe for.
  const double tau = std::clamp(0.2 * std::pow(signal, 1.2) *
                                    std::pow(static_cast<double>(constants.features), -0.4) *
                                    constants.full_row_norm_up() / constants.row_norm,
                                1e-6, most_relative_step * most_iterations);
  DefaultChoice out;
  out.prior_precision = prior_precision.value_or(0.0);
  if (iterations) {
    out.iterations = *iterations;
    out.relative_step = std::min(tau / *iterations, most_relative_step);
  } else {
    const double step = std::clamp(tau / stretch_above, 1.0, most_relative_step);
    out.iterations = std::clamp(std::ceil(tau / step), 1.0, most_iterations);
    out.relative_step = std::min(tau, step);
  }
  return out;
}

}  // namespace gibbsite
