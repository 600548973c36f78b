#pragma once
// What the total-variation schedules share.
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// Throws BadInput naming what is out of range.
inline void require_tv_target(double d, double m, double M, double tv, double gradient_norm) {
  require_at_least(d, 1, "features");
  require_finite_positive(m, Field{"prior_precision"});
  require_finite_positive(M, "smoothness");
  require_between(tv, 0, 0.5, Field{"tv"});
  require_finite_nonnegative(gradient_norm, "gradient_norm");
  if (!(m <= M)) throw BadInput(Field{"prior_precision"}, "exceeds the smoothness", "lower it");
}

/// A count below 2^53 is a double already; a larger one is rounded up.
inline double ceil_up(const Wide& x) {
  const Wide whole = ceil(x);
  return whole < Wide(0x1p53) ? static_cast<double>(whole) : round_up(whole);
}

}  // namespace gibbsite
