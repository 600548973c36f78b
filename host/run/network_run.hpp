#pragma once
// What a network's plan makes of rows. Internal to the run module.
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Throws BadInput where the data has another shape than the plan.
void require_planned_network(const Dataset& data, const NetworkPlan& plan);

/// The structure and the tables that are released. Answers have the first places of the stream.
NetworkModel network_model_of(const Dataset& data, const NetworkPlan& plan, const StreamKey& stream,
                              const FitOptions& options);

}  // namespace gibbsite
