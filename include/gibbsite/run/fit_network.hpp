#pragma once
// From a table and a plan to a released network: the same function draws and certifies.
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Chooses the structure where the plan says so, counts or draws the tables of `data` (read through
/// network_schema), and certifies them; void when the key came from a seed. Uses the key up, also
/// when it throws: BadInput when the data has another shape than the plan or on a plan whose
/// numbers do not verify; Interrupted when `options.stop` is set. Of the options `stop`,
/// `progress` and `ledger` are heeded, the last as by `fit`.
NetworkRelease fit_network(const Dataset& data, const NetworkPlan& plan, Key&& key,
                           const FitOptions& options = {});

}  // namespace gibbsite
