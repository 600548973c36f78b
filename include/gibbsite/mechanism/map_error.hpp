#pragma once
// The error of the computed step against the exact one, from public numbers.
#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// What a computed step can do, from public numbers (docs/theory/map-error.md derives it).
struct MapBounds {
  double map_error = 0;  ///< e: ||computed map - exact map|| at every theta that can be reached
  double iterate_norm =
      0;  ///< ||theta_k - theta0|| for every k <= T, whatever the data and the bits
};

/// Double arithmetic on float storage, chain started within `start_norm` of theta0; rounded up.
/// e enters the sensitivity as S h + 2 e. map_error is +inf when n, d or T is so large
/// that rounding could feed on itself. With a ball, theta0 in it, e is of a projection and a step
/// (docs/theory/ball.md).
MapBounds map_bounds_up(const Problem& constants, double beta, double prior_precision,
                        double step_size, double iterations, double start_norm = 0,
                        double ball = 0);

}  // namespace gibbsite
