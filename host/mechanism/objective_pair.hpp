#pragma once
// What of the settings of `objective` its profile is about.
#include "gibbsite/mechanism/objective.hpp"
#include "gibbsite/privacy/objective.hpp"

namespace gibbsite {

ObjectivePair objective_pair_of(const ObjectivePerturbation& settings, const Problem& problem);
/// 2g/(Lambda sigma_out), of one draw: what the minimizer is found to.
double objective_output_mu_up(const ObjectivePerturbation& settings);

}  // namespace gibbsite
