#pragma once
// Logistic loss with its slope held at 1/2 on the losing side: f(z, y) = log(1 + exp(-y z)) where
// y z >= 0, log 2 - y z/2 where it is not (sup |f'| = 1/2, phi = 1/4; docs/theory/metric.md, "The
// capped loss").
#include <cmath>
#include <limits>

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/model/losses/logistic.hpp"

namespace gibbsite::losses {

struct logistic_capped {
  static constexpr const char* name = "logistic-capped";
  static constexpr double max_abs_derivative = 0.5;
  static constexpr double curvature = 0.25;
  /// f'' jumps at 0.
  static constexpr double self_concordance = std::numeric_limits<double>::infinity();
  static constexpr double drop_from_zero = logistic::drop_from_zero;
  static constexpr bool one_signed = true;

  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    using std::log;  // or that of the Real's own namespace
    const Real t = y * z;
    return t < 0 ? Real{log(Real{2})} - t / Real{2} : logistic::value(z, y);
  }
  /// df/dz = -y min(sigmoid(-y z), 1/2).
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    return y * z < 0 ? Real{-y / Real{2}} : logistic::derivative(z, y);  // no number stays none
  }
  /// d2f/dz2; at y z = 0 it is the curvature of the winning side, 1/4.
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real y) {
    return y * z < 0 ? Real{0} : logistic::second_derivative(z, y);
  }
  /// The P(y = +1) for which z minimizes the expected loss: the losing side has s/(1/2 + s), s =
  /// sigmoid(-|z|).
  static double probability(double z) {
    const double e = std::exp(-std::fabs(z)), s = e / (1 + e);
    const double losing = s / (0.5 + s);
    return z > 0 ? 1 - losing : losing;
  }
  static constexpr const char* link_words =
      "z = x . coefficients of the encoded row x; s = 1/(1 + exp(|z|)). The class that z speaks "
      "against has probability s/(1/2 + s). z > 0 speaks for the second of classes";
};

}  // namespace gibbsite::losses
