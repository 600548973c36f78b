#include "gibbsite/core/wide.hpp"

#include <boost/math/tools/precision.hpp>
#include <cmath>
#include <limits>

#include "core/wide_number.hpp"

namespace gibbsite {
namespace {

using Number = WideNumber::Number;

const Number& of(const Wide& x) { return WideNumber::of(x); }
Wide wide(const Number& x) { return WideNumber::wide(x); }

/// Relative error granted to an evaluation.
const Number& slack() {
  static const Number value("1e-30");
  return value;
}

// Boost fills these at their first use, without a lock: its own initializer is of another number's.
[[maybe_unused]] const bool limits_are_ready = [] {
  using Limits = std::numeric_limits<Number>;
  (void)(Limits::min)(), (void)(Limits::max)(), (void)Limits::epsilon();
  (void)Limits::infinity(), (void)Limits::quiet_NaN();
  (void)boost::math::tools::log_min_value<Number>(),
      (void)boost::math::tools::log_max_value<Number>();
  return true;
}();

}  // namespace

Wide::Wide(double x) noexcept { WideNumber::make(*this, x); }
Wide::Wide(long long x) noexcept { WideNumber::make(*this, x); }
Wide::Wide(unsigned long long x) noexcept { WideNumber::make(*this, x); }
Wide::Wide(const char* decimal) { WideNumber::make(*this, decimal); }
Wide::Wide(const Wide& other) noexcept { WideNumber::make(*this, of(other)); }
// NOLINTNEXTLINE(bugprone-unhandled-self-assignment): the number handles it
Wide& Wide::operator=(const Wide& other) noexcept {
  WideNumber::of(*this) = of(other);
  return *this;
}

Wide& Wide::operator+=(const Wide& b) {
  WideNumber::of(*this) += of(b);
  return *this;
}
Wide& Wide::operator-=(const Wide& b) {
  WideNumber::of(*this) -= of(b);
  return *this;
}
Wide& Wide::operator*=(const Wide& b) {
  WideNumber::of(*this) *= of(b);
  return *this;
}
Wide& Wide::operator/=(const Wide& b) {
  WideNumber::of(*this) /= of(b);
  return *this;
}
Wide Wide::operator-() const { return wide(-of(*this)); }

double Wide::nearest() const { return static_cast<double>(of(*this)); }
std::partial_ordering Wide::compare(const Wide& other) const {
  const Number &a = of(*this), &b = of(other);
  if (a < b) return std::partial_ordering::less;
  if (a > b) return std::partial_ordering::greater;
  return a == b ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
}

Wide abs(const Wide& x) { return wide(abs(of(x))); }
Wide fabs(const Wide& x) { return wide(abs(of(x))); }
Wide sqrt(const Wide& x) { return wide(sqrt(of(x))); }
// exp of a finite number, neither 0 nor infinite, so that a bound on it stays on its side.
Wide exp(const Wide& x) {
  using Limits = std::numeric_limits<Number>;
  const Number y = exp(of(x));
  if (y < (Limits::min)() && of(x) > -Limits::infinity()) return wide((Limits::min)());
  if (y > (Limits::max)() && of(x) < Limits::infinity()) return wide((Limits::max)());
  return wide(y);
}
Wide log(const Wide& x) { return wide(log(of(x))); }
Wide log1p(const Wide& x) { return wide(boost::math::log1p(of(x))); }
Wide expm1(const Wide& x) { return wide(boost::math::expm1(of(x))); }
Wide pow(const Wide& x, const Wide& y) { return wide(pow(of(x), of(y))); }
Wide ldexp(const Wide& x, int exponent) { return wide(ldexp(of(x), exponent)); }
Wide floor(const Wide& x) { return wide(floor(of(x))); }
Wide ceil(const Wide& x) { return wide(ceil(of(x))); }

double round_up(const Wide& x) {
  const Number bound = of(x) + abs(of(x)) * slack();
  double r = static_cast<double>(bound);
  while (Number(r) < bound) r = std::nextafter(r, std::numeric_limits<double>::infinity());
  return r;
}

double round_down(const Wide& x) {
  const Number bound = of(x) - abs(of(x)) * slack();
  double r = static_cast<double>(bound);
  while (Number(r) > bound) r = std::nextafter(r, -std::numeric_limits<double>::infinity());
  return r;
}

}  // namespace gibbsite
