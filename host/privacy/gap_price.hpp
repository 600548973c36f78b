#pragma once
// What a total variation gap costs.
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// Of delta at that epsilon, for each unit of total variation: the law of either table is off.
inline Wide gap_price(const Wide& epsilon) { return 1 + exp(epsilon); }

}  // namespace gibbsite
