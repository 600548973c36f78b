#pragma once
// Rows of a network whose counts are those expected, rounded, rather than drawn one by one.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/network.hpp"
#include "gibbsite/core/random.hpp"

namespace gibbsite {

/// The levels [K][rows] of `rows` rows in random order. Column by column, of the m rows of one
/// configuration of its parents, each level gets m times its share, rounded down or up: the points
/// (u + i)/m are spread over its levels, where u is uniform and evenly spaced from one
/// configuration to the next. So the expectation of every cell is that of independent draws, and
/// its variance is less. A pure function of its arguments. `shares` are [K][cells].
/// Throws BadInput on more than 10^9 rows.
std::vector<std::vector<std::uint32_t>> drawn_levels(const Network& network,
                                                     std::span<const std::vector<double>> shares,
                                                     std::uint64_t rows, const StreamKey& stream,
                                                     std::uint64_t part = 0);

}  // namespace gibbsite
