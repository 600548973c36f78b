#pragma once
// Whether a minimizer can be found to within a public tolerance, whatever the data.
#include <cmath>

#include "core/rounding.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// True where rounding leaves three quarters of the tolerance, and an eighth over sqrt(kappa) of
/// the gradient in the norm in which damped Newton steps lower U: at any theta that they stop at.
/// And of their linear systems (12 d^2 u kappa by Higham 2002, Theorem 10.4, and n u kappa in the
/// Hessian), so that `minimizer_within` ends (docs/theory/proximal.md, "The start"). Where f''
/// jumps, that gradient descent comes to a quarter of the tolerance: kappa times the gradient's
/// error.
inline bool minimizer_in_reach(const Problem& constants, double beta, double strong_convexity,
                               double smoothness, double tolerance) {
  const Wide n = constants.most_weight_up(), d = constants.features, b = beta, m = strong_convexity;
  const Wide row = constants.full_row_norm_up(), kappa = Wide(smoothness) / m;
  const Wide far = 2 * Wide(constants.center_norm) +
                   Wide(constants.minimizer_distance_up(beta, strong_convexity)) +
                   Wide(tolerance) / m + Wide(constants.offset_bound) / row;
  const auto outputs = static_cast<double>(constants.outputs);
  const Wide derivative = derivative_roundings_of(outputs) - derivative_roundings;
  const Wide weights = outputs > 1 ? 8 * derivative + 100 : Wide(0);  // of a row's K x K Hessian
  const Wide error =
      b * n * row *
          (gamma_k(Wide(accumulation_depth(constants.most_rows())) + 20 + derivative) *
               Wide(constants.max_abs_derivative_up()) +
           Wide(constants.curvature) * gamma_k(d + 2) * row * far) +
      gamma_k(8) * m * far;
  if (!std::isfinite(constants.self_concordance)) {
    return 8 * (error * kappa + Wide(0x1p-50) * kappa * Wide(smoothness) * far) <= Wide(tolerance);
  }
  return 4 * error <= Wide(tolerance) && 8 * error * sqrt(kappa) <= Wide(tolerance) &&
         (gamma_k(12 * d * d) + gamma_k(Wide(constants.most_rows()) + weights)) * kappa <=
             Wide(0.125);
}

}  // namespace gibbsite
