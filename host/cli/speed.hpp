#pragma once
// How long one pass over the data takes on this machine, from rows made up for the purpose.
#include "gibbsite/core/constants.hpp"
#include "gibbsite/sampler/backend.hpp"

namespace gibbsite::cli {

/// Seconds that one gradient pass of one of `draws` chains over n x d takes: measured for about a
/// tenth of a second on made-up rows of that public shape (at most 32 MiB of them, scaled up to n).
double seconds_per_pass(Backend& backend, const ProblemConstants& constants, std::uint64_t draws);

}  // namespace gibbsite::cli
