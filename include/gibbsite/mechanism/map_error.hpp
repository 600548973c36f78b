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

/// Langevin Monte Carlo about theta0, public numbers.
struct LangevinSteps {
  double beta = 0, prior_precision = 0;  ///< beta; m
  double step_size = 0, iterations = 0;  ///< h; T: whole, may exceed 2^64
  double ball = 0;                       ///< B: every iterate is in ||theta|| <= B; 0: in none
};

/// Double arithmetic on float storage, chain started within `start_norm` of theta0; rounded up.
/// e enters the sensitivity as S h + 2 e. map_error is +inf when n, d or T is so large
/// that rounding could feed on itself. With a ball, theta0 in it, e is of a projection and a step
/// (docs/theory/ball.md).
MapBounds map_bounds_up(const Problem& constants, const LangevinSteps& steps,
                        double start_norm = 0);

}  // namespace gibbsite
