#pragma once
// Sums over all blocks from the sums that ranks have of their nodes.
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/sharded/tree.hpp"
#include "gibbsite/core/communicator.hpp"

namespace gibbsite::sharded {

/// What ranks must agree on before they add: a question and its arguments.
class Mark {
 public:
  explicit Mark(std::uint64_t question) { add(question); }
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  void add(double number);
  void add(std::span<const double> numbers) {
    for (const double v : numbers) add(v);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3;
};

/// Throws BadInput on all ranks where one rank's mark is not that of rank 0.
void require_same(std::span<const std::uint64_t> marks);

class NodeSums {
 public:
  /// Sums of more bytes than this, of all nodes, are added in slices.
  static constexpr std::size_t most_gathered = std::size_t{1} << 18;
  /// Doubles of all ranks that are exchanged at a time.
  static constexpr std::size_t most_exchanged = std::size_t{1} << 25;

  /// Blocks [bounds[p], bounds[p + 1]) lie on rank p.
  NodeSums(Communicator& ranks, std::span<const std::size_t> bounds,
           std::size_t most = most_gathered);

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
  std::vector<Node> nodes_;         // of all ranks
  std::vector<std::size_t> first_;  // of each rank's nodes, and the end
  std::vector<std::pair<std::size_t, std::size_t>> additions_;
  std::vector<double> mine_, all_, slice_, sum_;
  std::vector<double*> at_;  // of each node's sum
  std::vector<std::size_t> counts_, to_, from_;
  std::vector<std::uint64_t> marks_;
};

}  // namespace gibbsite::sharded
