#pragma once
// Logistic loss f(z, y) = log(1 + exp(-y z)), y in {-1, +1} (THEORY 1: sup |f'| = 1, phi = 1/4).
#include <cmath>

namespace gibbsite::losses {

struct logistic {
  static constexpr const char* name = "logistic";
  static constexpr double max_abs_residual = 1.0;
  static constexpr double curvature = 0.25;

  /// log(1 + exp(-y z)), stable for every finite z: softplus(t) = max(t, 0) + log1p(exp(-|t|)).
  static double value(double z, double y) {
    const double t = -y * z;
    return (t > 0 ? t : 0.0) + std::log1p(std::exp(-std::fabs(t)));
  }
  /// df/dz = -y sigmoid(-y z); exp never sees a positive argument, so nothing overflows and the
  /// relative accuracy holds far in both tails.
  static double residual(double z, double y) {
    const double t = y * z;
    const double e = std::exp(-std::fabs(t));
    return -y * ((t >= 0 ? e : 1.0) / (1.0 + e));
  }
  /// d2f/dz2 = sigmoid(z) sigmoid(-z).
  static double second(double z, double /*y*/) {
    const double e = std::exp(-std::fabs(z));
    return e / ((1.0 + e) * (1.0 + e));
  }
};

}  // namespace gibbsite::losses
