#include "gibbsite/mechanism/dalalyan.hpp"

#include <cmath>

#include "gibbsite/core/wide.hpp"
#include "mechanism/tv_target.hpp"

namespace gibbsite {

DalalyanSchedule dalalyan_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm) {
  require_tv_target(features, strong_convexity, smoothness, tv, gradient_norm);
  const Wide d = features, m = strong_convexity, M = smoothness, g = tv, G = gradient_norm;
  const Wide A = 4 * log(1 / g) + d * log(M / m) + G * G * (1 / m + 1 / M);
  DalalyanSchedule out;
  out.step_size = round_down(2 * m * g * g / (d * M * M * A));
  // A shorter step needs more of them: K h = A / (2 m) with the h that is used.
  const Wide h = out.step_size;
  out.iterations = ceil_up(A / (2 * m * h));
  const Wide time = Wide(out.iterations) * h;
  out.tv_mixing = round_up(
      Wide(exp(Wide(d / 4 * log(M / m) + G * G * (1 / m + 1 / M) / 4 - time * m / 2)) / 2));
  out.tv_steps = round_up(Wide(M * sqrt(Wide(d * time * h)) / 2));
  return out;
}

double dalalyan_iterations_as_printed(double features, double strong_convexity, double smoothness,
                                      double tv) {
  require_tv_target(features, strong_convexity, smoothness, tv, 0);
  const Wide d = features, m = strong_convexity, M = smoothness, g = tv;
  const Wide A = 4 * log(1 / g) + d * log(M / m);
  return ceil_up(d * M * M * A * A / (4 * m * g * g));
}

}  // namespace gibbsite
