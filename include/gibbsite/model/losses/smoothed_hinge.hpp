#pragma once
// The hinge loss with its corner rounded over a band of 1: with v = y z, f = 0 for v >= 1,
// (1 - v)^2/2 for 0 <= v <= 1, 1/2 - v below (sup |f'| = 1, phi = 1; docs/theory/losses.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "gibbsite/core/host_device.hpp"

namespace gibbsite::losses {

struct smoothed_hinge {
  static constexpr const char* name = "smoothed-hinge";
  static constexpr double max_abs_derivative = 1.0;
  static constexpr double curvature = 1.0;
  /// f'' jumps at the ends of the band.
  static constexpr double self_concordance = std::numeric_limits<double>::infinity();
  static constexpr double drop_from_zero = 0.5;
  static constexpr bool one_signed = true;

  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    const Real room = Real{1} - y * z;
    if (room >= 1) return Real{room - Real{1} / Real{2}};
    return room > 0 ? Real{room * room / Real{2}} : room <= 0 ? Real{0} : room;
  }
  /// df/dz = -y clip(1 - v, 0, 1).
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    const Real room = Real{1} - y * z;
    const Real held = room >= 1 ? Real{1} : room <= 0 ? Real{0} : room;
    return -y * held;
  }
  /// d2f/dz2: 1 within the band and at its ends, else 0.
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real y) {
    const Real v = y * z;
    if (v < 0 || v > 1) return Real{0};
    return v >= 0 ? Real{1} : v;
  }
  /// The P(y = +1) for which z minimizes the expected loss: the losing side has (1 - |z|)/(2 -
  /// |z|). For |z| near or above 1, the loss does not determine a probability, and 1/1000 is taken.
  static double probability(double z) {
    const double room = std::max(1 - std::fabs(z), 0.0);
    const double losing = std::max(room / (1 + room), 0.001);
    return z > 0 ? 1 - losing : losing;
  }
  static constexpr const char* link_words =
      "z = x . coefficients of the encoded row x; m = max(1 - |z|, 0). The class that z speaks "
      "against has probability m/(1 + m), or 1/1000 where that is less. z > 0 speaks for the "
      "second of classes";
};

}  // namespace gibbsite::losses
