#pragma once
// A count of steps as a paper prints it, for the tests that show its erratum.
#include <cmath>

namespace gibbsite::support {

/// The count that Minami et al. 2016 print in (17), with m to the first power: too few steps where
/// m < 1.
inline double dalalyan_iterations_as_printed(double features, double strong_convexity,
                                             double smoothness, double tv) {
  const double d = features, m = strong_convexity, M = smoothness;
  const double A = 4 * std::log(1 / tv) + d * std::log(M / m);
  return std::ceil(d * M * M * A * A / (4 * m * tv * tv));
}

}  // namespace gibbsite::support
