#pragma once
// How long a fit takes whose rows lie on several ranks: rows a rank reads, and what ranks send each
// other. A model of public numbers alone; docs/how-to/cluster.md, "How far it scales".
#include <cstdint>
#include <functional>
#include <optional>

namespace gibbsite {

/// Speed of one rank, in rows per second.
struct RankSpeed {
  double gradients = 0;  ///< of one chain's gradient: a step of `path`
  double capped = 0;     ///< of a capped gradient of `whitened`
  double caps = 0;       ///< of finding its caps, once
  double moments = 0;    ///< of second moments in a metric of all features
};

/// Between two ranks a message of b bytes takes latency + b/bandwidth (Hockney 1994).
struct RankLink {
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< bytes/s that a rank receives
};

/// Predicted seconds of P ranks. Collectives take what their usual algorithms do (Thakur,
/// Rabenseifner and Gropp 2005): gathering to all and a broadcast ceil(log2 P) messages one after
/// another, each with all its bytes; an exchange of every rank with every other P - 1.
struct ClusterTime {
  double rows = 0;      ///< seconds at work on rows
  double messages = 0;  ///< seconds between ranks, adding what came included

  [[nodiscard]] double seconds() const { return rows + messages; }
  [[nodiscard]] double message_share() const { return messages / seconds(); }
  ClusterTime& operator+=(const ClusterTime& other);
  friend ClusterTime operator*(double times, const ClusterTime& t) {
    return {times * t.rows, times * t.messages};
  }
};

/// A table whose rows are spread over ranks.
struct ClusterShape {
  std::uint64_t rows = 0;  ///< n, of all ranks
  std::uint64_t features = 0;
  std::uint64_t ranks = 1;
};

/// Time of one step of one chain of `path`: a gradient over all rows, its sum, and theta to all
/// ranks.
[[nodiscard]] ClusterTime step_time(const ClusterShape& shape, const RankSpeed& speed,
                                    const RankLink& link);
/// Time of a capped gradient of `whitened`: ranks compare the question, then add.
[[nodiscard]] ClusterTime capped_time(const ClusterShape& shape, const RankSpeed& speed,
                                      const RankLink& link);
/// Additional time of the first capped gradient, which finds the caps.
[[nodiscard]] ClusterTime caps_time(const ClusterShape& shape, const RankSpeed& speed);
/// Time of second moments: ranks compare the question, then add.
[[nodiscard]] ClusterTime moments_time(const ClusterShape& shape, const RankSpeed& speed,
                                       const RankLink& link);

/// The smallest number of ranks, at most `most`, at which messages take half of the time. Assumes
/// that messages grow with the ranks and the rows' time does not. None if messages take less than
/// half at `most`.
[[nodiscard]] std::optional<std::uint64_t> half_way(
    const std::function<ClusterTime(std::uint64_t ranks)>& time, std::uint64_t most);

}  // namespace gibbsite
