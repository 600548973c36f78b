#pragma once
// How far an engine's gradient may be from the exact one, for a problem at hand.
#include "core/rounding.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

/// k roundings to nearest, with room for second-order terms.
inline double gamma_up(double k) { return 1.01 * k * 0x1p-53; }

/// ||computed - exact|| of a loss gradient over n rows of norm `row_norm` at most, at theta of d
/// coordinates and ||theta|| = `theta_norm`, offsets of rows at most `offset`
/// (docs/theory/map-error.md, steps 2 and 3).
inline double loss_gradient_error(const Loss& loss, std::size_t rows, std::size_t features,
                                  double row_norm, double theta_norm, double offset) {
  const auto depth = static_cast<double>(accumulation_depth(rows));
  const double derivative = derivative_roundings_of(static_cast<double>(loss.outputs())) + 4;
  return static_cast<double>(rows) * row_norm *
         (gamma_up(depth + derivative) * loss.max_abs_derivative() +
          loss.curvature() * gamma_up(static_cast<double>(features) + 2) *
              (row_norm * theta_norm + offset));
}

}  // namespace gibbsite
