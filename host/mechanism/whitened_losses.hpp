#pragma once
// Losses that `whitened` asks gradients of (docs/whitened.md, "Amounts and counts").
#include <string_view>

#include "gibbsite/model/loss.hpp"

namespace gibbsite {

/// Whether a model of that loss needs the metric and the clip for its probabilities (a CappedLink):
/// what amounts and counts predict follows from z alone.
inline bool whitened_links(std::string_view loss) { return unweighted_name(loss) == "logistic"; }

/// Whether the rule was found for that loss, and what it predicts is known where gradients are
/// capped.
inline bool whitened_takes(std::string_view loss) {
  return whitened_links(loss) || loss == "huber" || loss == "pseudo-huber" || loss == "poisson";
}

}  // namespace gibbsite
