#pragma once
// The ball ||theta|| <= B that iterates may be kept in (docs/theory/ball.md): its projection as it
// is computed, and what that is off by.
#include <cstdint>
#include <span>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

/// The smallest and the largest allowed radius: every intermediate number of `project_on_ball` is
/// then far from under- and overflow.
inline constexpr double smallest_ball = 1e-100, largest_ball = 1e100;

/// Throws BadInput "NAME: ..." unless smallest_ball <= ball <= largest_ball.
void require_ball(double ball, const Name& name);

/// Projects theta [d] on the ball, in place: theta min(1, B/||theta||), with ||theta|| <= B in
/// exact arithmetic for any input. A point whose norm, rounded up, is at most B does not change.
/// The result is 0 if a coordinate is not finite, which no iterate of a plan is. Needs a ball that
/// `require_ball` accepts and d <= 2^40.
void project_on_ball(std::span<double> theta, double ball);

/// Upper bound of ||project_on_ball(theta) - exact projection|| for every finite theta: 5(d + 16)
/// 2^-53 B, rounded up.
double projection_error_up(std::uint64_t features, double ball);

/// Projects theta, whose coordinates are on a grid of a power of two. They stay on the grid, none
/// grows, and the result is in the ball in exact arithmetic.
void project_on_ball(std::span<double> theta, double ball, double grid);

/// True if ||theta|| <= ball by a norm that is rounded up: true is a proof. It holds for every
/// result of `project_on_ball`.
bool in_ball(std::span<const double> theta, double ball);

}  // namespace gibbsite
