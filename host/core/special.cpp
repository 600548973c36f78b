#include "core/special.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <exception>

#include "core/wide_number.hpp"

namespace gibbsite {
namespace {

using Number = WideNumber::Number;
// Ends of their domain are numbers here, and series are as long as they must be.
using Policy = boost::math::policies::policy<
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::max_series_iterations<100'000'000>>;

// Without long double it is five times faster.
using Double = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
template <class F>
double about(F f) {
  try {
    return f();
  } catch (const std::exception&) {  // Boost gives up on some arguments
    return std::nan("");
  }
}

}  // namespace

Wide beta_cdf(const Wide& a, const Wide& b, const Wide& x, const Wide& y) {
  if (!(x > 0)) return 0;
  if (!(y > 0)) return 1;
  return x <= y ? WideNumber::wide(boost::math::ibeta(WideNumber::of(a), WideNumber::of(b),
                                                      WideNumber::of(x), Policy()))
                : WideNumber::wide(boost::math::ibetac(WideNumber::of(b), WideNumber::of(a),
                                                       WideNumber::of(y), Policy()));
}

Wide gamma_lower(const Wide& a, const Wide& x) {
  if (!(x > 0)) return 0;
  return WideNumber::wide(boost::math::gamma_p(WideNumber::of(a), WideNumber::of(x), Policy()));
}

Wide gamma_upper(const Wide& a, const Wide& x) {
  if (!(x > 0)) return 1;
  return WideNumber::wide(boost::math::gamma_q(WideNumber::of(a), WideNumber::of(x), Policy()));
}

Wide normal_cdf(const Wide& z) {
  static const Number root = sqrt(Number(2));
  return WideNumber::wide(boost::math::erfc(Number(-WideNumber::of(z) / root), Policy()) / 2);
}

double beta_cdf_about(double a, double b, double x) {
  return about([&] { return boost::math::ibeta(a, b, std::clamp(x, 0.0, 1.0), Double()); });
}

double gamma_lower_about(double a, double x) {
  return about([&] { return boost::math::gamma_p(a, std::max(x, 0.0), Double()); });
}

double gamma_upper_about(double a, double x) {
  return about([&] { return boost::math::gamma_q(a, std::max(x, 0.0), Double()); });
}

Wide log_gamma(const Wide& a) {
  return WideNumber::wide(boost::math::lgamma(WideNumber::of(a), Policy()));
}

}  // namespace gibbsite
