#include "compare/curves.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gibbsite {
namespace {

// 0/0 is NaN.
double share(std::uint64_t part, std::uint64_t rest) {
  return static_cast<double>(part) / static_cast<double>(part + rest);
}

std::uint64_t from(const std::vector<double>& ascending, double threshold) {
  return static_cast<std::uint64_t>(ascending.end() -
                                    std::ranges::lower_bound(ascending, threshold));
}

}  // namespace

double ConfusionCounts::recall() const { return share(true_positives, false_negatives); }
double ConfusionCounts::false_alarms() const { return share(false_positives, true_negatives); }
double ConfusionCounts::precision() const { return share(true_positives, false_positives); }
double ConfusionCounts::accuracy() const {
  return share(true_positives + true_negatives, false_positives + false_negatives);
}

RankedScores::RankedScores(std::span<const double> scores,
                           const std::function<bool(std::size_t)>& is_positive) {
  for (std::size_t i = 0; i < scores.size(); ++i)
    (is_positive(i) ? positives_ : negatives_).push_back(scores[i]);
  std::ranges::sort(positives_);
  std::ranges::sort(negatives_);
}

ConfusionCounts RankedScores::at(double threshold) const {
  ConfusionCounts out;
  out.true_positives = from(positives_, threshold);
  out.false_positives = from(negatives_, threshold);
  out.false_negatives = positives_.size() - out.true_positives;
  out.true_negatives = negatives_.size() - out.false_positives;
  return out;
}

std::vector<RocPoint> RankedScores::roc(std::size_t most) const {
  std::vector<RocPoint> out;
  if (positives_.empty() || negatives_.empty()) return out;
  const auto up = static_cast<double>(positives_.size()),
             across = static_cast<double>(negatives_.size());
  // Keeps the first point and the last of each of `most`/2 stretches along the curve.
  const double stretches = std::max(1.0, static_cast<double>(most) / 4);
  const auto stretch = [&](const RocPoint& p) {
    return std::floor((p.false_alarms + p.recall) * stretches);
  };
  RocPoint last;
  out.push_back(last);
  auto p = positives_.rbegin();
  auto n = negatives_.rbegin();
  while (p != positives_.rend() || n != negatives_.rend()) {
    const double score = p == positives_.rend()   ? *n
                         : n == negatives_.rend() ? *p
                                                  : std::max(*p, *n);
    while (p != positives_.rend() && *p == score) ++p;
    while (n != negatives_.rend() && *n == score) ++n;
    const RocPoint next{static_cast<double>(n - negatives_.rbegin()) / across,
                        static_cast<double>(p - positives_.rbegin()) / up};
    if (stretch(next) != stretch(last)) {
      if (last.false_alarms != out.back().false_alarms || last.recall != out.back().recall)
        out.push_back(last);
      out.push_back(next);
    }
    last = next;
  }
  if (out.back().false_alarms != 1 || out.back().recall != 1) out.push_back(last);
  return out;
}

std::vector<PredictionBin> bins_by_prediction(std::span<const double> predicted,
                                              std::span<const double> found, std::size_t bins) {
  const std::size_t n = predicted.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return predicted[i]; });
  std::vector<PredictionBin> out;
  std::size_t first = 0;
  for (std::size_t k = 1; k <= bins; ++k) {
    std::size_t end = n * k / bins;
    while (end > 0 && end < n && predicted[order[end]] == predicted[order[end - 1]]) ++end;
    if (end <= first) continue;
    PredictionBin& bin = out.emplace_back();
    bin.rows = end - first;
    bin.low = predicted[order[first]];
    bin.high = predicted[order[end - 1]];
    const auto rows = static_cast<double>(bin.rows);
    double squares = 0;
    for (; first < end; ++first) {
      const double p = predicted[order[first]], y = found[order[first]];
      bin.predicted += p / rows;
      bin.found += y / rows;
      squares += (p - y) * (p - y) / rows;
    }
    bin.rmse = std::sqrt(squares);
  }
  return out;
}

}  // namespace gibbsite
