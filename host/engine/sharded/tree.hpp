#pragma once
// The one tree of sums over all blocks (core/summation.hpp, cpu/pairwise.hpp), cut at the bounds of
// shares: each share is a few of its nodes, whose sums are added as they would be in one process.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gibbsite::sharded {

/// Blocks [first, last): a node, or what is there of the last one of a level.
struct Node {
  std::size_t first, last;
};

/// The nodes of `blocks` blocks that blocks [first, last) are, in order, as few as there are.
std::vector<Node> nodes_of(std::size_t first, std::size_t last, std::size_t blocks);

/// How the sums of nodes that together are all blocks, in order, become one: left += right, one
/// pair after another; then it is in node 0.
std::vector<std::pair<std::size_t, std::size_t>> additions(std::span<const Node> nodes,
                                                           std::size_t blocks);

}  // namespace gibbsite::sharded
