#include "engine/sharded/tree.hpp"

#include <algorithm>
#include <bit>

namespace gibbsite::sharded {
namespace {

// The sum of blocks [first, last) in the first of nodes [from, to).
void add_halves(std::span<const Node> nodes, std::size_t from, std::size_t to, std::size_t first,
                std::size_t last, std::vector<std::pair<std::size_t, std::size_t>>& out) {
  if (to - from <= 1) return;
  const std::size_t half = first + std::bit_ceil(last - first) / 2;
  std::size_t middle = from;
  while (nodes[middle].first < half) ++middle;
  add_halves(nodes, from, middle, first, half, out);
  add_halves(nodes, middle, to, half, last, out);
  out.emplace_back(from, middle);
}

}  // namespace

std::vector<Node> nodes_of(std::size_t first, std::size_t last, std::size_t blocks) {
  std::vector<Node> out;
  while (first < last) {
    // The largest one that begins here and does not pass the end.
    std::size_t size = first == 0 ? std::bit_ceil(blocks) : first & (~first + 1);
    while (std::min(first + size, blocks) > last) size /= 2;
    out.push_back({first, std::min(first + size, blocks)});
    first = out.back().last;
  }
  return out;
}

std::vector<std::pair<std::size_t, std::size_t>> additions(std::span<const Node> nodes,
                                                           std::size_t blocks) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  add_halves(nodes, 0, nodes.size(), 0, blocks, out);
  return out;
}

}  // namespace gibbsite::sharded
