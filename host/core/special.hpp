#pragma once
// Distribution functions in 50 digits, for profiles and for draws by inversion.
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// I_x(a, b), the regularized incomplete beta function at x = 1 - y; both x and y are given, for
/// one of them may be lost in the other. a, b > 0, x in [0, 1].
Wide beta_cdf(const Wide& a, const Wide& b, const Wide& x, const Wide& y);
/// P(a, x) and Q(a, x) = 1 - P, the regularized incomplete gamma functions. a > 0; P is 0 at
/// x <= 0.
Wide gamma_lower(const Wide& a, const Wide& x);
Wide gamma_upper(const Wide& a, const Wide& x);
/// Phi(z), with its relative precision kept in the lower tail.
Wide normal_cdf(const Wide& z);
/// log Gamma(a), a > 0.
Wide log_gamma(const Wide& a);

/// beta_cdf and gamma_lower in double, to some 1e-10 for shapes up to 1e6; NaN where the library
/// gives up. To look with: no claim rests on them.
double beta_cdf_about(double a, double b, double x);
double gamma_lower_about(double a, double x);
double gamma_upper_about(double a, double x);

}  // namespace gibbsite
