#pragma once
// Predictions of a released model, and how good they are.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// Of classes: P(y = +1) for rows [n x d]: the mean over the released draws of the loss's
/// probability at x.theta, sigmoid for the logistic one, or of capped_probability where the model
/// has a link. Throws BadInput on a model of amounts or counts.
std::vector<double> predict_probabilities(const LinearModel& model, const Rows& x);

/// Of amounts and counts: the label predicted for rows [n x d], in its own unit and held in its
/// public range; the mean over the released draws. Throws BadInput on a model of classes.
std::vector<double> predict_amounts(const LinearModel& model, const Rows& x);

/// Between which P(y = +1) lies at Intervals::level: the probabilities of the two ends of the
/// score's interval.
struct ProbabilityInterval {
  double low = 0, high = 1;
};
/// One a row. Throws BadInput where the model has no intervals.
std::vector<ProbabilityInterval> predict_intervals(const LinearModel& model, const Rows& x);

/// Rows whose predicted probability lies in one tenth of [0, 1].
struct CalibrationBin {
  std::uint64_t rows = 0;
  double predicted = 0;  ///< mean probability of the positive class; NaN without rows
  double found = 0;      ///< fraction of them that are of it; NaN without rows
};

struct Evaluation {
  std::uint64_t rows = 0;
  double accuracy = 0;  ///< fraction
  double log_loss = 0;  ///< nats per row
  double auc = 0;       ///< ties count one half; NaN when there is one class
  double majority = 0;  ///< fraction of the larger class
  /// Rows by class and prediction: confusion[is][predicted], 1 the positive class.
  std::array<std::array<std::uint64_t, 2>, 2> confusion{};
  std::array<CalibrationBin, 10> calibration{};

  /// Of the rows predicted to be of that class the fraction that is; NaN when there are none.
  [[nodiscard]] double precision(std::size_t of) const;
  /// Of the rows of that class the fraction that is predicted; NaN when there are none.
  [[nodiscard]] double recall(std::size_t of) const;
};
/// The positive class is predicted from a probability of `threshold` on.
Evaluation evaluate(std::span<const double> probabilities, std::span<const float> labels,
                    double threshold = 0.5);

/// How good predicted amounts or counts are, in the label's own unit.
struct AmountEvaluation {
  std::uint64_t rows = 0;
  double rmse = 0;  ///< root mean square error
  double mae = 0;   ///< mean absolute error
  double r2 = 0;    ///< 1 - sum of squares/that about the labels' mean; NaN when all are equal
  /// Of counts: mean of 2 (y log(y/p) - y + p); NaN for amounts.
  double deviance = 0;
  double deviation = 0;  ///< root mean square of labels about their mean: rmse of predicting that
  double mean_deviance = 0;  ///< of predicting the labels' mean; NaN for amounts
};
/// `y` as rows keep it. Throws BadInput unless there is one a row and at least one.
AmountEvaluation evaluate_amounts(const Schema& schema, std::span<const double> predicted,
                                  std::span<const float> y);

}  // namespace gibbsite
