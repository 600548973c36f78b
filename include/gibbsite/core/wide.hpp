#pragma once
// Directed rounding by brute force: evaluate in 50 decimal digits, then round outward to a double.
//
// Every number that a certificate rests on goes through here. MPFR rounds every operation and every
// function to the nearest, so they are the same on every machine and `verify` recomputes a
// certificate to the bit.
//
// MPFR is seen by host/core/wide.cpp and two others alone: Boost's header for it costs a source 2
// seconds of a compiler.
#include <compare>
#include <concepts>
#include <cstddef>

namespace gibbsite {

/// A number of 50 decimal digits (168 bits) with exponents to 10^(3e8): no overflow or underflow in
/// any range used here.
class Wide {
 public:
  Wide() noexcept : Wide(0LL) {}
  Wide(double x) noexcept;  // exact; implicit, as are those of integers
  template <std::signed_integral I>
  Wide(I x) noexcept : Wide(static_cast<long long>(x)) {}
  template <std::unsigned_integral I>
  Wide(I x) noexcept : Wide(static_cast<unsigned long long>(x)) {}
  Wide(long long x) noexcept;
  Wide(unsigned long long x) noexcept;
  /// The nearest number to a decimal one such as "0.97".
  explicit Wide(const char* decimal);
  Wide(const Wide& other) noexcept;
  Wide& operator=(const Wide& other) noexcept;
  ~Wide() = default;

  /// The nearest double. No other conversion: an integer would go through a double unseen.
  template <std::same_as<double> T>
  explicit operator T() const {
    return nearest();
  }

  Wide& operator+=(const Wide& b);
  Wide& operator-=(const Wide& b);
  Wide& operator*=(const Wide& b);
  Wide& operator/=(const Wide& b);
  Wide operator-() const;
  friend Wide operator+(Wide a, const Wide& b) { return a += b; }
  friend Wide operator-(Wide a, const Wide& b) { return a -= b; }
  friend Wide operator*(Wide a, const Wide& b) { return a *= b; }
  friend Wide operator/(Wide a, const Wide& b) { return a /= b; }
  friend bool operator==(const Wide& a, const Wide& b) { return (a <=> b) == 0; }
  friend std::partial_ordering operator<=>(const Wide& a, const Wide& b) { return a.compare(b); }

 private:
  friend struct WideNumber;  // host/core/wide_number.hpp
  [[nodiscard]] double nearest() const;
  [[nodiscard]] std::partial_ordering compare(const Wide& b) const;

  alignas(8) std::byte number_[56];  // MPFR's number lives there
};

Wide abs(const Wide& x);
Wide fabs(const Wide& x);
Wide sqrt(const Wide& x);
Wide exp(const Wide& x);
Wide log(const Wide& x);
Wide log1p(const Wide& x);
Wide expm1(const Wide& x);
Wide pow(const Wide& x, const Wide& y);
Wide ldexp(const Wide& x, int exponent);
Wide floor(const Wide& x);
Wide ceil(const Wide& x);

/// Smallest double >= x; +inf on overflow. x is evaluated with relative error <= 1e-30: far above
/// 50-digit rounding, 1e-50 per operation, where a subtraction may cancel up to 18 digits, and far
/// below a double's 1.1e-16. delta(epsilon; mu) can cancel more and carries its own error bound
/// (privacy/gdp).
double round_up(const Wide& x);
/// Largest double <= x (x evaluated with relative error <= 1e-30).
double round_down(const Wide& x);

}  // namespace gibbsite

// The names by which Boost's users call them, so that one formula serves double and Wide.
namespace boost::math {
using gibbsite::expm1;
using gibbsite::log1p;
}  // namespace boost::math
