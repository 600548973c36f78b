#pragma once
// Into one currency (docs/theory/gdp-fit.md): the pair (mu, delta0) that a ledger adds, for
// guarantees that are not Gaussian. A release is covered by it if on any two neighbors it tells no
// more than "with probability delta0 everything, else one draw of N(0, 1) against N(mu, 1)".
// Everything is rounded to the safe side.
#include <cstddef>
#include <functional>
#include <span>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The smallest mu', rounded up, that covers delta(epsilon) <= H(epsilon - epsilon0; mu)
/// (docs/theory/gdp-fit.md):
///   mu' = 2z with e^epsilon0 Phi(-z) = Phi(z - mu)
/// It is mu for epsilon0 = 0, and 2 Phi^-1(1/(1 + e^-epsilon0)) for mu = 0, the smallest possible.
/// mu, epsilon0 >= 0; mu may be infinite. The result is infinite for epsilon0 > 0 beyond mu = 60 or
/// epsilon0 = 650.
double gdp_cover_up(double mu, double epsilon0);
/// A guarantee without a pure part that covers `guarantee`: mu is larger, the rest unchanged. mu is
/// infinite if delta0 leaves nothing to promise.
Guarantee gdp_cover_up(const Guarantee& guarantee);

/// An upper bound of delta(epsilon) at one epsilon >= 0, for both directions and all neighbors.
struct ProfilePoint {
  double epsilon = 0;
  double delta = 1;
};
/// A privacy profile: delta as a function of epsilon >= 0.
using Profile = std::function<double(double epsilon)>;

/// True if every release with a profile below these points is covered by (mu, delta0). Chords of
/// the points are compared with tangents of the cover, in 50 digits. Points ascend in epsilon from
/// 0 or more, and the last one's delta is at most delta0. False if a point is none. mu > 0, delta0
/// in (0, 1).
bool gdp_covers(double mu, double delta0, std::span<const ProfilePoint> points);

/// A small mu with delta(epsilon) <= delta0 + (1 - delta0) H(epsilon; mu) for all epsilon, for
/// every release with a profile below these points, in any order. Infinite if none is found: no
/// delta is below delta0 up to epsilon = 600, or mu would exceed 40. delta0 in (0, 1).
double gdp_fit_up(std::span<const ProfilePoint> points, double delta0);
/// The mu that covers `points` values of `delta_up`, an upper bound of delta. The search uses the
/// cheaper function `about`, if it is given. Fewer points, at least 10, give a coarser mu.
inline constexpr std::size_t most_fit_points = 48;
double gdp_fit_up(const Profile& delta_up, double delta0, const Profile& about = {},
                  std::size_t points = most_fit_points);

}  // namespace gibbsite
