#pragma once
// The three Gaussian vectors of a network-tree, and the model that is fitted to them.
#include "engine/contingency.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// What is released of these rows by the settings, for neighbors `who`. Answers k, K and K + 1 + t
/// of the key are the counts of column k, the scores, and the counts of chosen table t. Of the
/// options `stop` and `progress` are heeded. Throws Interrupted.
TreeRelease tree_release(const LevelRows& rows, const NetworkProblem& problem,
                         const NetworkTree& mechanism, const Neighbors& who, const StreamKey& key,
                         const FitOptions& options);

}  // namespace gibbsite
