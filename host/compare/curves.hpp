#pragma once
// What predictions do over all thresholds, and over what is predicted. Private: reads labels; for
// the curator.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gibbsite {

/// Rows by class and prediction.
struct ConfusionCounts {
  std::uint64_t true_positives = 0, false_positives = 0, false_negatives = 0, true_negatives = 0;

  /// Fractions; NaN where there is nothing to divide by.
  [[nodiscard]] double recall() const;        ///< of the positive rows those predicted so
  [[nodiscard]] double false_alarms() const;  ///< of the negative rows those predicted positive
  [[nodiscard]] double precision() const;     ///< of those predicted positive the positive ones
  [[nodiscard]] double accuracy() const;
};

struct RocPoint {
  double false_alarms = 0, recall = 0;
};

/// Scores of positive rows and of the others, in their order.
class RankedScores {
 public:
  /// `scores` [n], none of them NaN.
  RankedScores(std::span<const double> scores, const std::function<bool(std::size_t)>& is_positive);

  /// Positive is predicted from a score of `threshold` on, as `evaluate` does.
  [[nodiscard]] ConfusionCounts at(double threshold) const;
  /// From (0, 0) to (1, 1), a point for each distinct score; at most about `most` of them, which
  /// then lie on the curve and are nowhere farther apart than 4/most along both axes together,
  /// but where equal scores make a longer step. None where one class has no rows.
  [[nodiscard]] std::vector<RocPoint> roc(std::size_t most) const;

 private:
  std::vector<double> positives_, negatives_;  // ascending
};

/// Rows that are predicted about the same.
struct PredictionBin {
  std::uint64_t rows = 0;
  double low = 0, high = 0;         ///< the least and the largest prediction
  double predicted = 0, found = 0;  ///< means
  double rmse = 0;                  ///< root mean square of predicted - found
};
/// About `bins` bins of as many rows each, by their predictions, ascending; rows that are predicted
/// the same are in one, so there may be fewer. `predicted` and `found` [n], n > 0.
std::vector<PredictionBin> bins_by_prediction(std::span<const double> predicted,
                                              std::span<const double> found, std::size_t bins);

}  // namespace gibbsite
