#include <algorithm>
#include <cmath>

#include "gibbsite/schedule/plan.hpp"

namespace gibbsite {

DefaultChoice default_rule(const ProblemConstants& constants, const Budget& budget, double mu,
                           std::optional<double> prior_precision,
                           std::optional<double> iterations) {
  DefaultChoice out;
  out.prior_precision = prior_precision.value_or(0.0);
  const double n = static_cast<double>(constants.rows);
  const double gradients = budget.adjacency == Adjacency::replace_one ? 2 : 1;
  const double tau = 2 * n * mu / (gradients * static_cast<double>(budget.rows_per_person)) / 8;
  out.iterations = iterations.value_or(std::clamp(std::ceil(tau), 1.0, 5000.0));
  out.relative_step = std::min(1.0, std::max(tau / out.iterations, 0.1));
  return out;
}

}  // namespace gibbsite
