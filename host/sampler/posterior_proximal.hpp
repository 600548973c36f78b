#pragma once
#include "gibbsite/sampler/posterior.hpp"

namespace gibbsite {

/// `sample_posterior` by the proximal sampler, options checked: every draw within options.tv of the
/// posterior.
PosteriorDraws sample_proximal(const Potential& potential, Backend& backend,
                               const PosteriorOptions& options);

}  // namespace gibbsite
