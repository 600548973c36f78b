#pragma once
// The prior of one parameter. Its minus log density is smooth, and lies below a quadratic that
// touches it anywhere, so that Newton's steps with that quadratic's curvature go down.
#include <cmath>
#include <limits>

namespace gibbsite {

/// A normal prior, or Student's t, whose tails are heavier: with r = (theta - center)/scale the
/// density is proportional to exp(-r^2/2), or to (1 + r^2/degrees)^(-(degrees + 1)/2).
struct Prior {
  double center = 0;
  double scale = 1;                                          ///< above 0
  double degrees = std::numeric_limits<double>::infinity();  ///< of freedom, above 0; infinite:
                                                             ///< normal

  [[nodiscard]] bool is_normal() const { return std::isinf(degrees); }
  /// Minus the log density, 0 at the center.
  [[nodiscard]] double value(double theta) const {
    const double r = (theta - center) / scale;
    return is_normal() ? r * r / 2 : (degrees + 1) / 2 * std::log1p(r * r / degrees);
  }
  /// The derivative of the value with respect to theta.
  [[nodiscard]] double derivative(double theta) const {
    return (theta - center) * curvature(theta);
  }
  /// Curvature of the quadratic about the center that touches the value at theta, is nowhere below
  /// it, and is above 0: the second derivative of a normal's, and (degrees + 1)/(degrees + r^2) /
  /// scale^2 of a t's, whose own second derivative is below 0 where r^2 > degrees. (log(1 + v) is
  /// concave in v = r^2/degrees, so it is below its tangent.) At the center the two are equal.
  [[nodiscard]] double curvature(double theta) const {
    const double r = (theta - center) / scale;
    return (is_normal() ? 1 : (degrees + 1) / (degrees + r * r)) / (scale * scale);
  }
};

}  // namespace gibbsite
