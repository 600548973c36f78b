#pragma once
// Dalalyan's schedule, corrected (THEORY 3.1): step size and iteration count for a TV target.

namespace gibbsite {

struct DalalyanSchedule {
  double step_size = 0;   ///< h
  double iterations = 0;  ///< K, a whole number; may exceed 2^64, so a double (rounded up)
  double tv_mixing = 0;   ///< gamma_1: the chain has not forgotten its start
  double tv_steps = 0;    ///< gamma_2: discretisation
};

/// h = 2 m g^2 / (d M^2 A), K = ceil(d M^2 A^2 / (4 m^2 g^2)), A = 4 log(1/g) + d log(M/m)
/// + G^2 (1/m + 1/M), started from N(theta_hat, I/M) with ||grad U(theta_hat)|| <= G.
/// Both errors are gamma/2 by this choice (docs/dalalyan.md). Needs gamma in (0, 1/2), 0 < m <= M.
DalalyanSchedule dalalyan_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm = 0);

/// The count that Minami et al. 2016 print in (17), with m to the first power: too few steps for m
/// < 1. Kept for the test that shows the erratum; nothing uses it.
double dalalyan_iterations_as_printed(double features, double strong_convexity, double smoothness,
                                      double tv);

}  // namespace gibbsite
