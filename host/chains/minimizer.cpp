#include "chains/minimizer.hpp"

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "chains/gradient_error.hpp"
#include "gibbsite/chains/potential.hpp"

namespace gibbsite {

// The minimizer θ̂ of U to within G (docs/theory/proximal.md, "The start"). minimize (Newton,
// Armijo's rule) goes first; where it stops short, damped Newton steps as above go on without a
// limit. Each lowers U by at least λ²((1−ρ)D log(1+D) − D + log(1+D))/D² > 0, λ² = gᵀH⁻¹g ≥ G²/M
// and ρ = ¼ what rounding may take of the gradient in the norm of H⁻¹. So they end for every
// table, also with steps from conjugate gradients (for which stepᵀH step = −g·step too). Where f''
// jumps (the capped loss) steps of gradient descent of length 1/M go on instead: ‖∇U‖ shrinks by 1
// − m/M at each (cocoercivity).
std::vector<double> minimizer_within(const Potential& u, double row_norm, double tolerance) {
  using Eigen::VectorXd;
  const std::size_t d = u.features();
  const auto size = static_cast<Eigen::Index>(d);
  VectorXd prior = VectorXd::Zero(size), gradient(size);
  if (!u.center.empty()) prior = Eigen::Map<const VectorXd>(u.center.data(), size);

  std::vector<double> at = minimize(u, tolerance / 4).theta;
  Eigen::Map<VectorXd> theta(at.data(), size);
  const bool kinked = !std::isfinite(u.loss().self_concordance());
  const double smoothness =
      (u.beta * static_cast<double>(u.engine->rows()) * u.loss().curvature() * row_norm * row_norm +
       u.prior_precision) *
      (1 + 8 * std::numeric_limits<double>::epsilon());
  const double offset = u.engine->largest_offset();
  for (;;) {
    u.engine->loss_gradients({at.data(), 1, d}, {gradient.data(), 1, d});
    gradient = u.beta * gradient + u.prior_precision * (theta - prior);
    const double far = theta.norm() + prior.norm();
    const double error =
        u.beta * loss_gradient_error(u.loss(), u.engine->rows(), d, row_norm, far, offset) +
        gamma_up(8) * u.prior_precision * far;
    if (gradient.norm() + error <= tolerance) return at;
    if (kinked) {  // Newton's steps need a curvature that changes slowly
      theta -= gradient / smoothness;
      continue;
    }
    const auto newton = newton_step(u, at, {gradient.data(), d});
    const Eigen::Map<const VectorXd> step(newton.data(), size);
    theta += damping(u.loss(), step.norm() * row_norm) * step;
  }
}

}  // namespace gibbsite
