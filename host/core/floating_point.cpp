#include "gibbsite/core/floating_point.hpp"

#include <limits>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

// Results that differ in each other rounding mode, and without subnormal numbers. Volatile: they
// are computed when this runs, not when it is compiled.
template <class T>
bool computes_as_assumed() {
  using Limits = std::numeric_limits<T>;
  const volatile T one = 1, quarter = Limits::epsilon() / 4, most = 3 * Limits::epsilon() / 4;
  const volatile T half = T(0.5), smallest = Limits::min(), least = Limits::denorm_min();
  const volatile T below = one + quarter, above = one + most, negative = -one - quarter;
  const volatile T flushed = smallest * half, read = least * one;
  return below == 1 && above == 1 + Limits::epsilon() && negative == -1 && flushed != 0 &&
         read != 0;
}

}  // namespace

void set_standard_arithmetic() { std::fesetenv(FE_DFL_ENV); }

StandardArithmetic::StandardArithmetic() {
  std::fegetenv(&before_);
  set_standard_arithmetic();
  try {
    require();
  } catch (...) {
    std::fesetenv(&before_);
    throw;
  }
}

StandardArithmetic::~StandardArithmetic() { std::fesetenv(&before_); }

void StandardArithmetic::require() {
  if (computes_as_assumed<double>() && computes_as_assumed<float>()) return;
  throw BadInput(
      "floating point: this thread does not round to nearest, or takes subnormal numbers for 0, "
      "and no guarantee holds then; leave out what changes it (a library built with -ffast-math, "
      "fesetround)");
}

}  // namespace gibbsite
