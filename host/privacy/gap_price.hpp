#pragma once
// What a total variation gap costs.
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// The price in delta at that epsilon of each unit of total variation: the law of either table is
/// off.
inline Wide gap_price(const Wide& epsilon) { return 1 + exp(epsilon); }

/// What of delta a gap of `tv` leaves at that epsilon, rounded down; below 0 where it is dearer.
inline double delta_left_down(double delta, const Wide& epsilon, const Wide& tv) {
  return round_down(Wide(delta) - gap_price(epsilon) * tv);
}

}  // namespace gibbsite
