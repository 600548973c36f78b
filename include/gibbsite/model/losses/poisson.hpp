#pragma once
// Poisson's loss of a count with its mean held at the largest count N, in units of N: the mean is
// N q, q = min(e^(z - log 10), 1), and with y = count/N, f = e^u - y u for u = z - log 10 <= 0, its
// tangent 1 + u - y u beyond (sup |f'| = 1, phi = 1; docs/theory/losses.md). At z = 0 the mean is
// N/10.
#include <cmath>
#include <limits>

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/core/problem.hpp"

namespace gibbsite::losses {

struct poisson {
  static constexpr const char* name = "poisson";
  static constexpr LabelKind label = LabelKind::count;
  static constexpr double max_abs_derivative = 1.0;
  static constexpr double curvature = 1.0;
  /// f'' jumps at u = 0.
  static constexpr double self_concordance = std::numeric_limits<double>::infinity();
  /// f(0, y) - inf f = 1/10 + y log 10 - y + y log y, convex in y: largest at y = 1. Rounded up.
  static constexpr double drop_from_zero = 1.4025850929940460;
  static constexpr double shift = 2.302585092994045684;  // log 10

  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    using std::exp;                               // or that of the Real's own namespace
    const Real u = z - static_cast<Real>(shift);  // both terms are positive: nothing cancels
    return u > 0 ? Real{Real{1} + (Real{1} - y) * u} : Real{exp(u) - y * u};
  }
  /// df/dz = min(e^u, 1) - y.
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    const Real mean = std::exp(z - static_cast<Real>(shift));
    return (mean > 1 ? Real{1} : mean) - y;  // at most 1 whatever exp rounds to
  }
  /// d2f/dz2 = e^u for u <= 0, else 0.
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real /*y*/) {
    const Real u = z - static_cast<Real>(shift);
    return u > 0 ? Real{0} : Real{std::exp(u)};
  }
  /// min(1, cap / rho) of a slope that may be as long as `cap`, for counts up to N >= 1 with that
  /// mean, in units of N. rho is the longest slope of a count of at most one more than two of
  /// Poisson's deviations above the mean: max(m, 1 - m) for N = 1. It does not look at the count,
  /// so the slopes it weights have a mean near 0 at the truth, which held slopes have not
  /// (docs/theory/whitened.md, "Counts").
  GIBBSITE_HD static double weight(double mean, double cap, double N) {
    const double m = mean > 0 ? mean < 1 ? mean : 1 : 0;
    const double above = (1 + 2 * std::sqrt(N * m)) / N, rest = 1 - m;
    const double spread = above < rest ? above : rest, rho = m > spread ? m : spread;
    return cap < rho ? cap / rho : 1;
  }
  /// The predicted mean as a part of N.
  static double predicted(double z) { return z > shift ? 1.0 : std::exp(z - shift); }
  static constexpr const char* link_words =
      "z = x . coefficients of the encoded row x; the mean predicted is highest/10 exp(z), at most "
      "highest";
};

}  // namespace gibbsite::losses
