#pragma once
// Draws of a network's tables by inversion, as of one column (docs/theory/network.md, "Drawn
// tables").
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Draw number `draw` of `draws` of every node's table [K][cells]: shares of each configuration.
/// counts [K][cells] are rows of the table. Words of (draw, step) of the key's stream, step
/// counting splits of rows of nodes. Of the options `stop` and `progress` are heeded. Throws
/// BadInput on counts of another shape, or a mechanism that draws no tables; Interrupted.
std::vector<std::vector<double>> tables_draw(const NetworkMechanism& mechanism,
                                             const NetworkProblem& problem, const Network& network,
                                             std::span<const std::vector<std::uint64_t>> counts,
                                             const StreamKey& key, std::uint32_t draw,
                                             std::uint64_t draws, const FitOptions& options);

}  // namespace gibbsite
