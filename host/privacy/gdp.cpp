#include "gibbsite/privacy/gdp.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/fraction.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include "core/wide_number.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

// Wide, as Boost's functions know it.
using Fifty = WideNumber::Number;

Fifty sqrt_two() { return boost::math::constants::root_two<Fifty>(); }
constexpr double rough_root_two_pi = 2.5066282746310002;
Fifty root_two_pi() { return sqrt_two() * boost::math::constants::root_pi<Fifty>(); }

// Phi(-x)
Fifty normal_upper_tail(const Fifty& x) { return boost::math::erfc(Fifty(x / sqrt_two())) / 2; }

// Phi(-x) / phi(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), for x > 8.
struct MillsFraction {
  using result_type = std::pair<Fifty, Fifty>;
  Fifty x;
  int k = 0;
  result_type operator()() { return {Fifty(k++), x}; }
};

// To 2^-166, said as a number: Boost makes a float of a number of bits, 0 here, and waits for a
// term that changes nothing, which at x > 1e25 takes x^2 2^-168 of them.
Fifty mills_ratio(const Fifty& x) {
  MillsFraction terms{x};
  return 1 / boost::math::tools::continued_fraction_b(terms, Fifty(ldexp(Fifty(1), -166)));
}

/// delta(eps; mu) with a bound on the error of its evaluation, and what its slopes are made of.
struct Delta {
  Fifty value;
  Fifty error;
  Fifty density;  // phi(x)
  Fifty second;   // e^eps Phi(-y)
};

// With x = eps/mu - mu/2 and y = eps/mu + mu/2, e^eps phi(y) = phi(x), so
//   delta = Phi(-x) - e^eps Phi(-y) = phi(x) [R(x) - R(y)],  R(x) = Phi(-x) / phi(x).
// R keeps full relative accuracy in tails where Phi underflows.
//
// For |x| < 40 each term has a relative error below 1e-42 in Wide: 1e-45 from erfc and the
// continued fraction, x^2 1e-50 from exp(-x^2/2). The subtraction loses about
// log10(eps/mu^2 + 1/mu) digits: at the root for delta in [1e-15, 0.1] and eps in [1e-3, 100] at
// most 5 of them, and 25 only when mu < 1e-25. The bound follows the terms, so the result is an
// upper bound for every mu.
Delta delta_of(const Fifty& epsilon, const Fifty& mu) {
  const Fifty x = epsilon / mu - mu / 2;
  const Fifty y = epsilon / mu + mu / 2;
  const Fifty density = exp(Fifty(-x * x / 2)) / root_two_pi();
  const Fifty first = x > 8 ? Fifty(density * mills_ratio(x)) : normal_upper_tail(x);
  const Fifty second =
      y > 8 ? Fifty(density * mills_ratio(y)) : Fifty(exp(epsilon) * normal_upper_tail(y));
  return {Fifty(first - second), Fifty((first + second) * Fifty(1e-42)), density, second};
}

double delta_up(double epsilon, double mu) {
  if (mu == 0) return 0;
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  const Fifty x = Fifty(epsilon) / mu - Fifty(mu) / 2;
  if (x > 40) return smallest;  // delta <= Phi(-x) <= exp(-x^2/2) < 1e-347
  if (x < -40) return 1;        // delta >= Phi(-x) - phi(x) > 1 - 1e-347
  const Delta delta = delta_of(epsilon, mu);
  // d delta / d mu = phi(x) <= 1/sqrt(2 pi), which bounds delta when the cancellation is total.
  const Fifty slope_bound = mu / root_two_pi();
  const Fifty bound = std::min(Fifty(delta.value + delta.error), slope_bound);
  return bound < smallest ? smallest : std::min(1.0, round_up(WideNumber::wide(bound)));
}

// Largest finite double >= 0 at which `holds`, which turns from true (assumed at 0) to false once.
// Walks over the bit patterns of the positive doubles, in steps that double, from `guess`: two
// evaluations when the guess is right, about 120 when it is useless.
template <class Predicate>
double last_that(double guess, Predicate holds) {
  constexpr auto infinity = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  auto at = [&](std::uint64_t bits) {
    return bits == 0 || (bits < infinity && holds(std::bit_cast<double>(bits)));
  };
  std::uint64_t yes = std::bit_cast<std::uint64_t>(guess);
  std::uint64_t no = yes;
  std::uint64_t step = 1;
  if (at(yes)) {
    for (no = yes + 1; at(no); no = std::min(infinity, yes + step)) yes = no, step *= 2;
  } else {
    for (yes = no - 1; !at(yes); yes = no > step ? no - step : 0) no = yes, step *= 2;
  }
  while (no - yes > 1) {
    const std::uint64_t middle = yes + (no - yes) / 2;
    (at(middle) ? yes : no) = middle;
  }
  return std::bit_cast<double>(yes);
}

// Phi(-x) / phi(x) in double precision; infinity far below 0.
double rough_mills_ratio(double x) {
  if (x <= 8)
    return std::erfc(x / std::numbers::sqrt2) / 2 * std::exp(x * x / 2) * rough_root_two_pi;
  double fraction = x;
  for (int k = 24; k > 0; --k) fraction = x + k / fraction;  // to 2^-53 from x = 8 on
  return 1 / fraction;
}

// log delta(eps; mu) - target in double precision, which misses a tenth digit where delta is a
// difference of near numbers, and all of them where mu is below 1e-12: far below 0 there.
double rough_excess(double epsilon, double mu, double target) {
  const double x = epsilon / mu - mu / 2;
  const double y = epsilon / mu + mu / 2;
  const double ratio = rough_mills_ratio(x) - rough_mills_ratio(y);
  if (!(ratio > 0)) return -1e3;
  return std::min(std::log(ratio / rough_root_two_pi) - x * x / 2 - target, 1e3);
}

// Root of f between lo and hi in double precision; the end nearest to it when rounding hides the
// change of sign.
template <class F>
double rough_root(F f, double lo, double hi) {
  const double f_lo = f(lo);
  const double f_hi = f(hi);
  if (!(f_lo * f_hi < 0)) return std::fabs(f_lo) < std::fabs(f_hi) ? lo : hi;
  std::uintmax_t iterations = 100;
  const auto close = [](double a, double b) { return std::fabs(a - b) <= 1e-15 * std::fabs(a); };
  return boost::math::tools::toms748_solve(f, lo, hi, f_lo, f_hi, close, iterations).first;
}

// Newton's steps in 50 digits from a root in double precision, of which one is enough but for the
// tiniest mu. Whoever asks makes sure of the last bit: a root that is missed costs time alone.
template <class Step>
double polished_root(double rough, Step step) {
  if (!std::isfinite(rough)) return rough;
  Fifty root = rough;
  for (int i = 0; i < 60; ++i) {
    const Fifty next = root - step(root);
    if (!(next > 0 && next <= 2 * root)) break;  // nowhere near a root: the rough one is the better
    const bool close = abs(next - root) <= root * Fifty(1e-9);  // leaves a square of it
    root = next;
    if (close) break;
  }
  return static_cast<double>(root);
}

void require_delta(double delta) { require_between(delta, 0, 1, "delta"); }

}  // namespace

double gdp_delta_up(double epsilon, double mu) {
  require_finite_nonnegative(epsilon, "epsilon");
  require_finite_nonnegative(mu, "mu");
  return delta_up(epsilon, mu);
}

double gdp_epsilon_up(double mu, double delta) {
  require_finite_nonnegative(mu, "mu");
  require_delta(delta);
  if (delta_up(0, mu) <= delta) return 0;
  // With x = eps/mu - mu/2: delta is 1 at x = -40, and delta <= Phi(-x) <= exp(-x^2/2) for x > 0.
  const double target = std::log(delta);
  const double rough =
      rough_root([&](double epsilon) { return rough_excess(epsilon, mu, target); },
                 std::max(mu * mu / 2 - 40 * mu, 0.0), mu * mu / 2 + mu * std::sqrt(-2 * target));
  // d delta / d eps = -e^eps Phi(-y)
  const double guess = polished_root(rough, [&](const Fifty& epsilon) {
    const Delta at = delta_of(epsilon, mu);
    return Fifty((Fifty(delta) - at.value) / at.second);
  });
  const double too_small =
      last_that(guess, [&](double epsilon) { return delta_up(epsilon, mu) > delta; });
  return std::nextafter(too_small, std::numeric_limits<double>::infinity());
}

namespace {
double found_mu_down(double epsilon, double delta) {
  const double target = std::log(delta);
  const auto excess = [&](double log_mu) {
    return rough_excess(epsilon, std::exp(log_mu), target);
  };
  // Two lower bounds: mu^2/2 + mu t = eps (Chernoff, t^2 = 2 log 1/delta), and
  // delta <= Phi(mu/2) - Phi(-mu/2) <= mu / sqrt(2 pi).
  const double t = std::sqrt(-target / 2);
  const double lo = std::log(std::max(epsilon / (t + std::sqrt(t * t + epsilon / 2)), 2.5 * delta));
  double hi = lo + 1;
  while (excess(hi) < 0 && hi < 800) hi += 1;  // e^800 is no double
  // d delta / d mu = phi(x)
  const double guess = polished_root(std::exp(rough_root(excess, lo, hi)), [&](const Fifty& mu) {
    const Delta at = delta_of(epsilon, mu);
    return Fifty((at.value - Fifty(delta)) / at.density);
  });
  return last_that(guess, [&](double mu) { return delta_up(epsilon, mu) <= delta; });
}
}  // namespace

double gdp_mu_down(double epsilon, double delta) {
  require_finite_nonnegative(epsilon, "epsilon");
  require_delta(delta);
  // A plan asks for the same budget's many times.
  struct Known {
    double epsilon = -1, delta = 0, mu = 0;
  };
  thread_local std::array<Known, 8> known;
  thread_local std::size_t oldest = 0;
  for (const Known& one : known)
    if (one.epsilon == epsilon && one.delta == delta) return one.mu;
  const double mu = found_mu_down(epsilon, delta);
  known[oldest++ % known.size()] = {epsilon, delta, mu};
  return mu;
}

double gdp_compose_up(std::span<const double> mus) {
  Wide sum = 0;
  for (const double mu : mus) {
    require_finite_nonnegative(mu, "mu");
    sum += Wide(mu) * Wide(mu);
  }
  return round_up(sqrt(sum));
}

double gdp_split_down(double total, unsigned long long draws) {
  require_finite_nonnegative(total, "mu");
  if (draws < 1) throw BadInput("draws: must be at least 1, got 0; give the number of releases");
  return round_down(Wide(total) / sqrt(Wide(draws)));
}

}  // namespace gibbsite
