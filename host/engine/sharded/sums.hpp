#pragma once
// Sums over all blocks from the sums that ranks have of their nodes.
#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/sharded/tree.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/model/contrasts.hpp"

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
  /// In place of a mark, from a rank that is asked to end.
  static constexpr std::uint64_t stop = 0;
  [[nodiscard]] std::uint64_t value_or_stop(const std::atomic<bool>* asked) const {
    return asked != nullptr && *asked ? stop : value_;
  }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3;
};

/// That of Engine::log_lengths.
inline Mark mark_of_lengths(std::uint64_t question, const RowLengths& lengths) {
  Mark mark(question);
  mark.add(lengths.weight.size());
  mark.add(std::span<const double>(lengths.weight));
  mark.add(lengths.base);
  mark.add(std::span<const double>(lengths.center));
  mark.add(lengths.low);
  mark.add(lengths.high);
  return mark;
}

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
