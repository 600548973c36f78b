#include "gibbsite/schedule/dalalyan.hpp"

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

void require_dalalyan(double d, double m, double M, double tv) {
  require_at_least(d, 1, "features");
  require_finite_positive(m, "--prior-precision");
  require_finite_positive(M, "smoothness");
  require_between(tv, 0, 0.5, "--tv");
  if (!(m <= M)) throw BadInput("--prior-precision: exceeds the smoothness; lower it");
}

// A count below 2^53 is a double already; a larger one is rounded up.
double ceil_up(const Wide& x) {
  const Wide whole = ceil(x);
  return whole < Wide(0x1p53) ? static_cast<double>(whole) : round_up(whole);
}

}  // namespace

DalalyanSchedule dalalyan_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm) {
  require_dalalyan(features, strong_convexity, smoothness, tv);
  require_finite_nonnegative(gradient_norm, "gradient_norm");
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
  require_dalalyan(features, strong_convexity, smoothness, tv);
  const Wide d = features, m = strong_convexity, M = smoothness, g = tv;
  const Wide A = 4 * log(1 / g) + d * log(M / m);
  return ceil_up(d * M * M * A * A / (4 * m * g * g));
}

}  // namespace gibbsite
