#pragma once
// The smooth form of Huber's loss: f(z, y) = sqrt(1 + r^2) - 1, r = z - y in tolerances
// (sup |f'| = 1, phi = 1; docs/theory/losses.md).
#include <algorithm>
#include <cmath>

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/model/losses/huber.hpp"

namespace gibbsite::losses {

struct pseudo_huber {
  static constexpr const char* name = "pseudo-huber";
  static constexpr LabelKind label = LabelKind::amount;
  static constexpr double max_abs_derivative = 1.0;
  static constexpr double curvature = 1.0;
  static constexpr double self_concordance = 1.5;  // |f'''|/f'' = 3 |r|/(1 + r^2)
  static double drop_from_zero(double label_bound) { return std::max(label_bound, 1.0); }

  /// The loss as r^2/(1 + sqrt(1 + r^2)), in which nothing cancels.
  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    using std::fabs, std::sqrt;  // or those of the Real's own namespace
    const Real size = fabs(Real{z - y});
    // r^2 overflows only where 1 is far below r's last place.
    if (size > Real{1e18F}) return size;
    const Real root = sqrt(Real{Real{1} + size * size});
    return size * (size / (Real{1} + root));
  }
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    const Real r = z - y;
    if (std::fabs(r) > Real{1e18F}) return r > 0 ? Real{1} : Real{-1};
    return r / std::sqrt(Real{1} + r * r);
  }
  /// d2f/dz2 = (1 + r^2)^(-3/2).
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real y) {
    const Real r = z - y;
    if (std::fabs(r) > Real{1e18F}) return Real{0};
    const Real w = Real{1} / (Real{1} + r * r);
    return w * std::sqrt(w);
  }
  static constexpr const char* link_words = huber::link_words;
};

}  // namespace gibbsite::losses
