#pragma once
// Directed rounding by brute force: evaluate in 50 decimal digits, then round outward to a double.
//
// Every number that a certificate rests on goes through here. The software arithmetic is the same
// on every machine, so `verify` recomputes a certificate to the bit.
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

namespace gibbsite {

/// 50 decimal digits, exponents to 10^(6e8): no overflow or underflow in any range used here.
using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float_50::backend_type,
                                           boost::multiprecision::et_off>;

/// Relative error granted to an evaluation in Wide: far above 50-digit rounding (1e-50 per
/// operation; a subtraction may cancel up to 18 digits), far below a double's (1.1e-16).
/// delta(epsilon; mu) can cancel more and carries its own error bound (privacy/gdp).
inline const Wide wide_slack{"1e-30"};

/// Smallest double >= x (x evaluated with relative error <= 1e-30); +inf on overflow.
inline double round_up(const Wide& x) {
  const Wide bound = x + abs(x) * wide_slack;
  double r = static_cast<double>(bound);
  while (Wide(r) < bound) r = std::nextafter(r, std::numeric_limits<double>::infinity());
  return r;
}

/// Largest double <= x (x evaluated with relative error <= 1e-30).
inline double round_down(const Wide& x) {
  const Wide bound = x - abs(x) * wide_slack;
  double r = static_cast<double>(bound);
  while (Wide(r) > bound) r = std::nextafter(r, -std::numeric_limits<double>::infinity());
  return r;
}

}  // namespace gibbsite
