#pragma once
#include <vector>

#include "gibbsite/chains/potential.hpp"

namespace gibbsite {

/// A theta [d] with ||grad U(theta)|| <= tolerance, rounding included: the gradient is the
/// engine's, whose error is bounded for any number of rows of norm `row_norm` at most
/// (docs/theory/map-error.md, steps 2 and 3). m > 0. Comes to an end for every data set where
/// `minimizer_in_reach` (mechanism/minimizer_reach.hpp) holds: `minimize` goes first, and damped
/// Newton steps, which lower U from wherever they begin, finish what it leaves; of a loss whose
/// curvature jumps steps of gradient descent.
std::vector<double> minimizer_within(const Potential& potential, double row_norm, double tolerance);

}  // namespace gibbsite
