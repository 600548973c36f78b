#pragma once
// U(theta) = beta sum_i l(theta; x_i, y_i) + (m/2) ||theta - theta0||^2, or with a prior of each
// parameter in place of the last term.
#include <memory>
#include <span>
#include <vector>

#include "gibbsite/chains/prior.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// The potential U on the rows and the loss of an engine. Sums are plain sums in double, with the
/// same bits on every engine.
struct Potential {
  std::shared_ptr<RowSums> engine;
  double beta = 1.0;                 ///< inverse temperature
  double prior_precision = 1.0;      ///< m
  std::span<const double> center{};  ///< theta0 [d]; empty means 0
  /// A prior of each parameter [d], in place of m and theta0, for draws that certify nothing
  /// (posterior/posterior.hpp); empty: m and theta0. What certifies takes none.
  std::span<const Prior> priors{};

  [[nodiscard]] const Loss& loss() const { return engine->loss(); }
  [[nodiscard]] std::size_t features() const { return engine->features(); }
  [[nodiscard]] double value(std::span<const double> theta) const;
  /// Writes grad U(theta) to out [d].
  void gradient(std::span<const double> theta, std::span<double> out) const;

  // The part of the prior, minus its log density up to a constant.
  [[nodiscard]] double prior_value(std::span<const double> theta) const;
  [[nodiscard]] double prior_derivative(std::size_t j, double theta) const {
    if (!priors.empty()) return priors[j].derivative(theta);
    return prior_precision * (theta - prior_center(j));
  }
  /// Above 0 if m is; of Student's t it is not the second derivative (Prior::curvature).
  [[nodiscard]] double prior_curvature(std::size_t j, double theta) const {
    return priors.empty() ? prior_precision : priors[j].curvature(theta);
  }
  [[nodiscard]] double prior_center(std::size_t j) const {
    return !priors.empty() ? priors[j].center : center.empty() ? 0.0 : center[j];
  }
  /// The least curvature that any parameter's prior has at its center.
  [[nodiscard]] double least_precision() const;
};

/// The Hessian of U [d x d]: grad^2 U(theta) = beta X^T diag(f'') X + m I, or with the curvature of
/// each prior in place of m. Work n d^2 / 2.
std::vector<double> hessian(const Potential& potential, std::span<const double> theta);
/// The diagonal of the Hessian of U [d]. Work n d.
std::vector<double> hessian_diagonal(const Potential& potential, std::span<const double> theta);

/// The Newton step -(grad^2 U(theta))^-1 gradient [d], for m > 0. It uses the dense Hessian up to
/// 1000 features, and beyond that conjugate gradients to a thousandth of the gradient.
std::vector<double> newton_step(const Potential& potential, std::span<const double> theta,
                                std::span<const double> gradient);
/// The damping t = log(1 + D)/D of a Newton step that moves no logit by more than `logits_moved`. D
/// = c logits_moved with |f'''| <= c f''. Curvature grows along the step by at most e^(tD), so U
/// falls and its slope keeps its sign from any start (docs/theory/proximal.md, "Finding w"; Sun,
/// Tran-Dinh 2019). 0 if the loss's curvature jumps.
double damping(const Loss& loss, double logits_moved);

/// An approximate minimizer of U and the norm of the gradient there.
struct Minimum {
  std::vector<double> theta;  ///< [d]
  double gradient_norm = 0;   ///< ||grad U(theta)||, rounding error of its evaluation not included
  int iterations = 0;
};

/// Minimizes U by Newton's method with backtracking: with the dense Hessian up to 1000 features and
/// if m = 0, else with conjugate gradients. It stops if ||grad U|| <= tolerance, or if rounding
/// stops progress: read gradient_norm. Throws BadInput if m = 0 and the loss has no minimum
/// (separable classes).
Minimum minimize(const Potential& potential, double tolerance);

}  // namespace gibbsite
