#pragma once
// The bound on the search for the center of a proximal iteration (docs/theory/proximal.md).
#include <algorithm>
#include <cmath>

namespace gibbsite::support {

/// Passes that the search takes at most from ||grad|| <= `start`, whatever the data: a Newton step
/// that fails costs two beside the step of gradient descent that shrinks ||grad|| by q.
inline double proximal_search_up(double strong_convexity, double smoothness, double step_size,
                                 double start, double residual) {
  const double m = strong_convexity, M = smoothness;
  const double q = (M - m) / (M + m + 2 / step_size);
  return 1 + 3 * std::max(1.0, std::ceil(std::log(2 * start / residual) / -std::log(q)));
}

}  // namespace gibbsite::support
