#pragma once
// J with noise b in its slope, which objective perturbation minimizes
// (docs/theory/objective-perturbation.md, docs/theory/objective-pure.md).
#include <cstdint>

#include "core/format_message.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// Why there is no offer.
inline Message unproved_outputs() {
  return format_message(
      "its proof for losses of several outputs is of softmax alone; use another {}, output or "
      "output-pure",
      Field{"mechanism"});
}
inline Message curvature_unpaid() {
  return format_message(
      "no noise is enough for what the curvature of one row changes; give a larger "
      "{}",
      Field{"prior_precision"});
}
inline Message slope_search_unfound() {
  return format_message("the minimizer cannot be computed well enough in double; give a larger {}",
                        Field{"prior_precision"});
}

/// K - 1 of K classes, else 1: the rank of a row's Hessian in its predictors.
std::uint64_t row_rank(const Problem& problem);
/// t = phi R^2/Lambda; of K classes R^2/(K Lambda), what the Hessian's trace leaves for each of
/// K - 1 directions. log det(I + H/Lambda) of one row is at most row_rank log(1 + t).
double curvature_ratio_up(const Problem& problem, double ridge);
/// Lambda where row_rank t is `share` of a row's epsilon, at most 1/2.
double curvature_ridge(const Problem& problem, const Neighbors& who, double epsilon, double share);
/// Why no noise in the slope makes up for this ridge, or for any; "" where some may.
Message ridge_refused(const Problem& problem, double ridge);
/// Throws BadInput where `unproved_outputs` says why.
void require_proved_outputs(const Problem& problem);

/// J with b in its slope, as computed. Needs a positive ridge.
struct NoisySlope {
  Problem about;  ///< J + b.theta is J about theta0 - b/Lambda, less a constant
  double ridge = 0;
  Wide off;  ///< how far the noise that the computed center stands for is from b

  /// ||b|| <= longest, and b is computed to within `noise_off`.
  NoisySlope(const Problem& problem, double ridge, const Wide& longest, const Wide& noise_off);

  /// What g, a bound on the exact gradient, leaves for the computed one.
  [[nodiscard]] double search_norm_down(double gradient_norm) const;
  /// Whether a search to this norm ends on every table.
  [[nodiscard]] bool found_to(double norm) const;

  struct Search {
    double gradient_norm = 0;  ///< g; 0 where double arithmetic has none
    bool found = false;
  };
  /// As far as `least` times Lambda/M, for its noise to stay a tenth of that of b where the data
  /// tell most; else as far as rounding lets it, up to `most`.
  [[nodiscard]] Search search(double least, double most) const;
};

}  // namespace gibbsite
