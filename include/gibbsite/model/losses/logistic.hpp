#pragma once
// Logistic loss f(z, y) = log(1 + exp(-y z)), y in {-1, +1} (sup |f'| = 1, phi = 1/4).
#include <cmath>

#include "gibbsite/core/host_device.hpp"

namespace gibbsite::losses {

struct logistic {
  static constexpr const char* name = "logistic";
  static constexpr double max_abs_derivative = 1.0;
  static constexpr double curvature = 0.25;
  static constexpr double self_concordance = 1.0;               // f''' = f'' (1 - 2 sigmoid(z))
  static constexpr double drop_from_zero = 0.6931471805599454;  // log 2, rounded up
  static constexpr bool one_signed = true;

  /// The loss log(1 + exp(-y z)), stable for every finite z: softplus(t) = max(t, 0) +
  /// log1p(exp(-|t|)).
  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    using std::exp, std::fabs, std::log1p;  // or those of the Real's own namespace
    const Real t = -y * z;
    return (t > 0 ? t : Real{0}) + log1p(Real{exp(Real{-fabs(t)})});
  }
  /// df/dz = -y sigmoid(-y z); exp never sees a positive argument, so nothing overflows and the
  /// relative accuracy holds far in both tails.
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    const Real t = y * z;
    const Real e = std::exp(-std::fabs(t));
    return -y * ((t >= 0 ? e : Real{1}) / (Real{1} + e));
  }
  /// d2f/dz2 = sigmoid(z) sigmoid(-z).
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real /*y*/) {
    const Real e = std::exp(-std::fabs(z));
    return e / ((Real{1} + e) * (Real{1} + e));
  }
};

}  // namespace gibbsite::losses
