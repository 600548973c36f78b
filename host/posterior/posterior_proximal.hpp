#pragma once
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/posterior/posterior.hpp"

namespace gibbsite {

/// `sample_posterior` by the proximal sampler, options checked: every draw within options.tv of the
/// posterior.
PosteriorDraws sample_proximal(const Potential& potential, const PosteriorOptions& options);

}  // namespace gibbsite
