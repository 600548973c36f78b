#pragma once
// delta(eps; mu) written as it stands in the paper, in 100 digits: nothing in common with the
// implementation (no Mills ratio, no continued fraction) but the formula.
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

namespace gibbsite::testing {

using Oracle = boost::multiprecision::number<boost::multiprecision::cpp_bin_float_100::backend_type,
                                             boost::multiprecision::et_off>;

inline Oracle normal_cdf(const Oracle& x) {
  return boost::math::erfc(Oracle(-x / sqrt(Oracle(2)))) / 2;
}

/// Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu); mu > 0.
inline Oracle oracle_delta(const Oracle& epsilon, const Oracle& mu) {
  return normal_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu);
}

}  // namespace gibbsite::testing
