#include "engine/sharded/sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/sharded.hpp"

namespace gibbsite::sharded {

void require_same(std::span<const std::uint64_t> marks) {
  if (std::ranges::find(marks, Mark::stop) != marks.end())
    throw Interrupted("interrupted; nothing was written");
  for (std::size_t p = 1; p < marks.size(); ++p) {
    if (marks[p] != marks[0]) {
      throw BadInput(fmt::format(
          "ranks: rank {} is not where rank 0 is: another question, step, theta or setting; start "
          "all with the same options and files",
          p));
    }
  }
}

NodeSums::NodeSums(Communicator& ranks, std::span<const std::size_t> bounds,
                   const std::atomic<bool>* stop)
    : NodeSums(ranks, bounds, stop, most_gathered(ranks.size())) {}

NodeSums::NodeSums(Communicator& ranks, std::span<const std::size_t> bounds,
                   const std::atomic<bool>* stop, std::size_t most)
    : ranks_(ranks), most_(most), stop_(stop), first_{0} {
  const std::size_t blocks = bounds.back();
  for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
    const std::vector<Node> of_rank = nodes_of(bounds[p], bounds[p + 1], blocks);
    nodes_.insert(nodes_.end(), of_rank.begin(), of_rank.end());
    first_.push_back(nodes_.size());
  }
  additions_ = additions(nodes_, blocks);
  at_.resize(nodes_.size());
  counts_.resize(ranks.size());
  to_.resize(ranks.size());
  from_.resize(ranks.size());
  marks_.resize(ranks.size());
}

std::span<const double> NodeSums::operator()(
    const Mark& mark, std::size_t size,
    const std::function<void(std::size_t, std::span<double>)>& find) {
  const std::size_t own = mine().size();
  mine_.resize(own * size + 1);
  for (std::size_t k = 0; k < own; ++k) find(k, std::span(mine_).subspan(1 + k * size, size));
  mine_[0] = std::bit_cast<double>(mark.value_or_stop(stop_));
  if (nodes_.size() * size * sizeof(double) <= most_) {
    add(size);
  } else {
    add_in_slices(size);
  }
  return {sum_.data(), size};
}

// Gathers each rank's mark and the sums of its nodes; each rank adds them.
void NodeSums::add(std::size_t size) {
  all_.resize(nodes_.size() * size + ranks_.size());
  for (std::size_t p = 0; p < ranks_.size(); ++p) {
    counts_[p] = (1 + count(p) * size) * sizeof(double);
  }
  ranks_.gather(std::as_bytes(std::span(mine_)), counts_, std::as_writable_bytes(std::span(all_)));
  double* at = all_.data();
  for (std::size_t p = 0; p < ranks_.size(); ++p) {
    marks_[p] = std::bit_cast<std::uint64_t>(*at++);
    for (std::size_t k = first_[p]; k < first_[p + 1]; ++k, at += size) at_[k] = at;
  }
  require_same(marks_);
  for (const auto& [left, right] : additions_) {
    for (std::size_t i = 0; i < size; ++i) at_[left][i] += at_[right][i];
  }
  sum_.assign(at_[0], at_[0] + size);
}

// Each rank is sent all nodes' numbers of a slice of coordinates, adds them and gives the slice to
// all.
void NodeSums::add_in_slices(std::size_t size) {
  marks_ = ranks_.gather(std::bit_cast<std::uint64_t>(mine_[0]));
  require_same(marks_);
  const std::size_t ranks = ranks_.size(), rank = ranks_.rank(), own = mine().size();
  const std::size_t step = std::max(most_exchanged / nodes_.size(), ranks);
  sum_.resize(size);
  for (std::size_t begin = 0; begin < size; begin += step) {
    const std::size_t n = std::min(step, size - begin);
    const auto low = [&](std::size_t p) { return n * p / ranks; };
    const auto width = [&](std::size_t p) { return low(p + 1) - low(p); };
    slice_.clear();
    for (std::size_t p = 0; p < ranks; ++p) {
      for (std::size_t k = 0; k < own; ++k) {
        const double* const from = mine_.data() + 1 + k * size + begin + low(p);
        slice_.insert(slice_.end(), from, from + width(p));
      }
      to_[p] = own * width(p) * sizeof(double);
      from_[p] = count(p) * width(rank) * sizeof(double);
      counts_[p] = width(p) * sizeof(double);
    }
    all_.resize(nodes_.size() * width(rank));
    ranks_.exchange(std::as_bytes(std::span(slice_)), to_, std::as_writable_bytes(std::span(all_)),
                    from_);
    for (std::size_t k = 0; k < nodes_.size(); ++k) at_[k] = all_.data() + k * width(rank);
    for (const auto& [left, right] : additions_) {
      for (std::size_t i = 0; i < width(rank); ++i) at_[left][i] += at_[right][i];
    }
    ranks_.gather(std::as_bytes(std::span(at_[0], width(rank))), counts_,
                  std::as_writable_bytes(std::span(sum_).subspan(begin, n)));
  }
}

}  // namespace gibbsite::sharded

namespace gibbsite {

SumTraffic sum_traffic(std::uint64_t rows, std::size_t ranks, std::size_t numbers) {
  SumTraffic out;
  if (ranks <= 1) return out;
  const std::vector<std::uint64_t> bounds = share_bounds(rows, ranks);
  const std::size_t blocks = (rows + row_block - 1) / row_block;
  for (std::size_t p = 0; p < ranks; ++p) {
    const auto block = [&](std::uint64_t row) { return (row + row_block - 1) / row_block; };
    out.nodes += sharded::nodes_of(block(bounds[p]), block(bounds[p + 1]), blocks).size();
  }
  const std::uint64_t number = sizeof(double), all = out.nodes * numbers * number;
  if (all <= sharded::NodeSums::most_gathered(ranks)) {
    out.gathers = 1;
    out.bytes = all + ranks * number;
    out.added = all;
    return out;
  }
  out.in_slices = true;
  out.gathers = 1;
  out.bytes = ranks * number;  // marks
  const std::size_t step = std::max(sharded::NodeSums::most_exchanged / out.nodes, ranks);
  for (std::size_t begin = 0; begin < numbers; begin += step) {
    const std::size_t n = std::min(step, numbers - begin);
    ++out.gathers;
    ++out.exchanges;
    const std::uint64_t of_slice = out.nodes * ((n + ranks - 1) / ranks);
    out.bytes += (of_slice + n) * number;
    out.added += of_slice * number;
  }
  return out;
}

}  // namespace gibbsite
