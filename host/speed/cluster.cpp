#include "gibbsite/speed/cluster.hpp"

#include <algorithm>
#include <bit>

#include "gibbsite/engine/sharded.hpp"

namespace gibbsite {
namespace {

// Rounds of a tree or of recursive doubling among them all.
double rounds(std::uint64_t ranks) { return static_cast<double>(std::bit_width(ranks - 1)); }

// The largest share is the last to be done.
double rows_seconds(const ClusterShape& shape, double rate) {
  const std::vector<std::uint64_t> bounds = share_bounds(shape.rows, shape.ranks);
  std::uint64_t most = 0;
  for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
    most = std::max(most, bounds[p + 1] - bounds[p]);
  }
  return static_cast<double>(most) / rate;
}

// Bytes of nodes' numbers that one core adds; 14 to 40 GB/s were measured, by where they lie.
constexpr double bytes_added_a_second = 0x1p34;

double sum_seconds(const ClusterShape& shape, std::uint64_t numbers, const RankLink& link) {
  const SumTraffic traffic = sum_traffic(shape.rows, shape.ranks, numbers);
  const double messages =
      static_cast<double>(traffic.gathers) * rounds(shape.ranks) +
      static_cast<double>(traffic.exchanges) * static_cast<double>(shape.ranks - 1);
  return messages * link.latency + static_cast<double>(traffic.bytes) / link.bandwidth +
         static_cast<double>(traffic.added) / bytes_added_a_second;
}

// Seconds of gathering a mark of each rank.
double mark_seconds(const ClusterShape& shape, const RankLink& link) {
  if (shape.ranks == 1) return 0;
  return rounds(shape.ranks) * link.latency +
         static_cast<double>(shape.ranks * sizeof(std::uint64_t)) / link.bandwidth;
}

}  // namespace

ClusterTime& ClusterTime::operator+=(const ClusterTime& other) {
  rows += other.rows;
  messages += other.messages;
  return *this;
}

ClusterTime step_time(const ClusterShape& shape, const RankSpeed& speed, const RankLink& link) {
  const double theta = static_cast<double>(shape.features * sizeof(double));
  return {rows_seconds(shape, speed.gradients),
          sum_seconds(shape, shape.features, link) +
              rounds(shape.ranks) * (link.latency + theta / link.bandwidth)};
}

ClusterTime capped_time(const ClusterShape& shape, const RankSpeed& speed, const RankLink& link) {
  return {rows_seconds(shape, speed.capped),
          mark_seconds(shape, link) + sum_seconds(shape, shape.features + 1, link)};
}

ClusterTime caps_time(const ClusterShape& shape, const RankSpeed& speed) {
  return {rows_seconds(shape, speed.caps), 0};
}

ClusterTime moments_time(const ClusterShape& shape, const RankSpeed& speed, const RankLink& link) {
  const std::uint64_t numbers = shape.features * (shape.features + 1) / 2;
  return {rows_seconds(shape, speed.moments),
          mark_seconds(shape, link) + sum_seconds(shape, numbers, link)};
}

std::optional<std::uint64_t> half_way(const std::function<ClusterTime(std::uint64_t)>& time,
                                      std::uint64_t most) {
  const auto is_half = [&](std::uint64_t ranks) {
    const ClusterTime at = time(ranks);
    return at.messages >= at.rows;
  };
  std::uint64_t few = 1, many = 1;  // not at few
  while (!is_half(many)) {
    if (many == most) return {};
    few = many;
    many = std::min(2 * many, most);
  }
  while (many - few > 1) {
    const std::uint64_t middle = few + (many - few) / 2;
    (is_half(middle) ? many : few) = middle;
  }
  return many;
}

}  // namespace gibbsite
