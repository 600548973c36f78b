#pragma once
// The ball ||theta|| <= B that iterates may be kept in (docs/theory/ball.md): its projection as it is
// computed, and what that is off by.
#include <cstdint>
#include <span>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

/// Radii that every intermediate number of `project_on_ball` is far from under- and overflow for.
inline constexpr double smallest_ball = 1e-100, largest_ball = 1e100;

/// Throws BadInput "NAME: ..." unless smallest_ball <= ball <= largest_ball.
void require_ball(double ball, const Name& name);

/// theta min(1, B/||theta||), in place, inside the ball in exact arithmetic: ||theta|| <= B for
/// whatever theta came in; a point is left as it is where a norm rounded up is at most B. 0 where a
/// coordinate is not finite, which no iterate of a plan is. Needs a ball that `require_ball` takes
/// and d <= 2^40.
void project_on_ball(std::span<double> theta, double ball);

/// ||project_on_ball(theta) - exact projection|| is at most this whatever finite theta is:
/// 5(d + 16) 2^-53 B, rounded up.
double projection_error_up(std::uint64_t features, double ball);

/// The same for theta on the grid, a power of two: coordinates stay on it, none grows. In the ball
/// in exact arithmetic.
void project_on_ball(std::span<double> theta, double ball, double grid);

/// Whether ||theta|| <= ball, decided by a norm rounded up: true is a proof, and it is true of what
/// `project_on_ball` leaves.
bool in_ball(std::span<const double> theta, double ball);

}  // namespace gibbsite
