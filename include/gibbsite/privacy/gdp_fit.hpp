#pragma once
// Into one currency (docs/theory/gdp-fit.md): the pair (mu, reveal) that a ledger adds, for
// guarantees that are not Gaussian. A release is covered by it if on any two neighbors it tells no
// more than "with probability reveal everything, else one draw of N(0, 1) against N(mu, 1)".
// Everything is rounded to the safe side.
#include <cstddef>
#include <functional>
#include <span>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The smallest mu' that covers delta(epsilon) <= H(epsilon - pure; mu), rounded up:
///   mu' = 2z with e^pure Phi(-z) = Phi(z - mu)
/// mu for pure = 0; 2 Phi^-1(1/(1 + e^-pure)) for mu = 0, smallest possible. mu, pure >= 0 (mu may
/// be infinite); infinite for pure > 0 beyond mu = 60 or pure = 650.
double gdp_cover_up(double mu, double pure);
/// A guarantee without a pure part that covers `guarantee`: mu is larger, the rest as it was. mu is
/// infinite if reveal leaves nothing to promise.
Guarantee gdp_cover_up(const Guarantee& guarantee);

/// A bound on delta(epsilon), epsilon >= 0, of both directions and all neighbors.
struct ProfilePoint {
  double epsilon = 0;
  double delta = 1;
};
/// delta of epsilon >= 0.
using Profile = std::function<double(double epsilon)>;

/// Whether whatever has a profile below these points is covered by (mu, reveal), tested in 50
/// digits: chords of the points against tangents of the cover. Points rise in epsilon from 0 or
/// more; the last one's delta is at most reveal. False where a point is none. mu > 0, reveal in
/// (0, 1).
bool gdp_covers(double mu, double reveal, std::span<const ProfilePoint> points);

/// A small mu with delta(epsilon) <= reveal + (1 - reveal) H(epsilon; mu) for all epsilon in both
/// directions, of whatever has a profile below these points, in any order. Infinite where none is
/// found: where no delta is below reveal up to epsilon = 600, or mu would be beyond 40. reveal in
/// (0, 1).
double gdp_fit_up(std::span<const ProfilePoint> points, double reveal);
/// The mu that fits some dozens of values of `delta_up`, which bounds delta from above. `about`, if
/// given, is near it and cheaper, and is searched with. Fewer `points`, at least 10, are coarser.
inline constexpr std::size_t most_fit_points = 48;
double gdp_fit_up(const Profile& delta_up, double reveal, const Profile& about = {},
                  std::size_t points = most_fit_points);

}  // namespace gibbsite
