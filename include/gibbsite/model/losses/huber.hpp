#pragma once
// Huber's loss of an amount, errors in tolerances: f(z, y) = r^2/2 for |r| <= 1, |r| - 1/2 beyond,
// r = z - y (sup |f'| = 1, phi = 1; docs/theory/losses.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/core/problem.hpp"

namespace gibbsite::losses {

struct huber {
  static constexpr const char* name = "huber";
  static constexpr LabelKind label = LabelKind::amount;
  static constexpr double max_abs_derivative = 1.0;
  static constexpr double curvature = 1.0;
  /// f'' jumps at |r| = 1.
  static constexpr double self_concordance = std::numeric_limits<double>::infinity();
  /// Upper bound of f(0, y): |y| - 1/2 for |y| >= 1, else at most 1/2. f = 0 at z = y.
  static double drop_from_zero(double label_bound) { return std::max(label_bound, 1.0) - 0.5; }

  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    using std::fabs;  // or that of the Real's own namespace
    const Real size = fabs(Real{z - y});
    return size <= 1 ? Real{size * size / Real{2}} : Real{size - Real{1} / Real{2}};
  }
  /// df/dz = r, clamped to [-1, 1].
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    const Real r = z - y;
    return r > 1 ? Real{1} : r < -1 ? Real{-1} : r;  // what is no number stays none
  }
  /// d2f/dz2: 1 for |r| <= 1, else 0.
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real y) {
    const Real r = z - y;
    if (r < -1 || r > 1) return Real{0};
    return r >= -1 ? Real{1} : r;
  }
  static constexpr const char* link_words =
      "z = x . coefficients of the encoded row x; the amount predicted is middle + tolerance z, "
      "held in the label's range";
};

}  // namespace gibbsite::losses
