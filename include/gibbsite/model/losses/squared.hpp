#pragma once
// The squared loss of an amount, errors in tolerances: f(z, y) = (z - y)^2/2 (phi = 1; f' = z - y
// has no bound but where |z| has one, which a ball gives: docs/theory/ball.md, "The squared loss").
#include <limits>

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/core/problem.hpp"

namespace gibbsite::losses {

struct squared {
  static constexpr const char* name = "squared";
  static constexpr LabelKind label = LabelKind::amount;
  static constexpr double max_abs_derivative = std::numeric_limits<double>::infinity();
  /// |f'(0, y)| = |y|.
  static double derivative_at_zero(double label_bound) { return label_bound; }
  static constexpr double curvature = 1.0;
  static constexpr double self_concordance = 0;  // f''' = 0
  /// f(0, y) = y^2/2, and f = 0 at z = y; 1 + 2^-50 is above the roundings of label_bound^2.
  static double drop_from_zero(double label_bound) {
    return label_bound * label_bound / 2 * (1 + 0x1p-50);
  }

  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    const Real r = z - y;
    return r * r / Real{2};
  }
  /// df/dz = z - y.
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    return z - y;
  }
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real /*y*/) {
    return z < 0 ? Real{1} : z >= 0 ? Real{1} : z;  // what is no number stays none
  }
  static constexpr const char* link_words =
      "z = x . coefficients of the encoded row x; the amount predicted is middle + tolerance z, "
      "held in the label's range";
};

}  // namespace gibbsite::losses
