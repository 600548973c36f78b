// What so many roundings cost at most.
#pragma once

#include <limits>

namespace gibbsite::support {

inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;

/// gamma_k of k roundings of at most u each (Higham 2002, Lemma 3.1).
inline constexpr double gamma_k(double k, double u = unit_roundoff) { return k * u / (1 - k * u); }

}  // namespace gibbsite::support
