#pragma once
// Sums over all blocks from the sums that ranks have of their nodes.
#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/sharded/mark.hpp"
#include "engine/sharded/tree.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite::sharded {

/// Throws, on all ranks, Interrupted where one of them is asked to end, BadInput where one rank's
/// mark is not that of rank 0.
void require_same(std::span<const std::uint64_t> marks);

class NodeSums {
 public:
  /// Sums of more bytes than this, of all nodes, are added in slices: P - 1 + ceil(log2 P) messages
  /// more, for which each rank receives and adds P times fewer numbers. A message is worth 16 KiB:
  /// 2 us of receiving and adding at 8 GB/s. By public sizes alone, so the same on all ranks.
  static std::size_t most_gathered(std::size_t ranks) {
    constexpr std::size_t worth = std::size_t{1} << 14, least = std::size_t{1} << 18;
    return std::max(least,
                    worth * (ranks - 1 + static_cast<std::size_t>(std::bit_width(ranks - 1))));
  }
  /// Doubles of all ranks that are exchanged at a time.
  static constexpr std::size_t most_exchanged = std::size_t{1} << 25;

  /// Blocks [bounds[p], bounds[p + 1]) lie on rank p.
  NodeSums(Communicator& ranks, std::span<const std::size_t> bounds,
           const std::atomic<bool>* stop = nullptr);
  NodeSums(Communicator& ranks, std::span<const std::size_t> bounds, const std::atomic<bool>* stop,
           std::size_t most);

  /// The nodes of this rank.
  [[nodiscard]] std::span<const Node> mine() const {
    return std::span(nodes_).subspan(first_[ranks_.rank()], count(ranks_.rank()));
  }
  /// The sum [size] over all blocks, on every rank, until the next call; find(k, sum) is to write
  /// all of this rank's node k.
  std::span<const double> operator()(
      const Mark& mark, std::size_t size,
      const std::function<void(std::size_t, std::span<double>)>& find);

 private:
  [[nodiscard]] std::size_t count(std::size_t rank) const {
    return first_[rank + 1] - first_[rank];
  }
  void add(std::size_t size);
  void add_in_slices(std::size_t size);

  Communicator& ranks_;
  std::size_t most_;
  const std::atomic<bool>* stop_;
  std::vector<Node> nodes_;         // of all ranks
  std::vector<std::size_t> first_;  // of each rank's nodes, and the end
  std::vector<std::pair<std::size_t, std::size_t>> additions_;
  std::vector<double> mine_, all_, slice_, sum_;
  std::vector<double*> at_;  // of each node's sum
  std::vector<std::size_t> counts_, to_, from_;
  std::vector<std::uint64_t> marks_;
};

}  // namespace gibbsite::sharded
