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

/// Two classes: P(y = +1) for rows [n x d], the mean over the released draws of the loss's
/// probability at x.theta, which is the sigmoid for the logistic loss. A model with a
/// LegacyCappedLink has capped_probability instead. Throws BadInput on a model of anything else.
std::vector<double> predict_probabilities(const LinearModel& model, const Rows& x);

/// Whether scores x.theta of two classes are log-odds: P(y = +1) is their sigmoid.
bool scores_are_log_odds(const LinearModel& model);
/// Log-odds of predict_probabilities [n], finite: x.theta itself where there is one draw whose
/// scores are log-odds, so that no digit is lost where a probability is next to 1. Throws as it.
std::vector<double> predict_log_odds(const LinearModel& model, const Rows& x);

/// The amount or count predicted for rows [n x d], in its own unit and held in its public range:
/// the mean over the released draws. Throws BadInput on a model of classes.
std::vector<double> predict_amounts(const LinearModel& model, const Rows& x);

/// P(class k) of several classes for rows [n x d], [n x K] row-major, k a place in the schema's
/// list: the mean over the released draws of softmax(x.theta_1, ..., x.theta_K). Throws BadInput on
/// a model of anything else.
std::vector<double> predict_classes(const LinearModel& model, const Rows& x);
/// The place of the largest of `probabilities`, the first of equals.
std::size_t likeliest(std::span<const double> probabilities);

/// Ends of an interval of level Estimates::level: what the two ends of the score's interval say.
struct PredictionInterval {
  double low = 0, high = 1;
};
/// One a row: of two classes of P(y = +1), of amounts and counts of the mean of the rows that are
/// like it, in the label's unit and held in its public range. Throws BadInput where the model has
/// no intervals.
std::vector<PredictionInterval> predict_intervals(const LinearModel& model, const Rows& x);
/// [n x K] Between which the probability of each of several classes lies at Intervals::level: from
/// the interval of its log-odds against all others, linear in the coefficients about the estimates.
/// Throws BadInput where the model has no intervals or is of no several classes.
std::vector<PredictionInterval> predict_class_intervals(const LinearModel& model, const Rows& x);

/// Rows whose predicted probability lies in one tenth of [0, 1].
struct CalibrationBin {
  std::uint64_t rows = 0;
  double predicted = 0;  ///< mean probability of the class asked about; NaN without rows
  double found = 0;      ///< fraction of them that are of it; NaN without rows
};
using CalibrationBins = std::array<CalibrationBin, 10>;

struct Evaluation {
  std::uint64_t rows = 0;
  double accuracy = 0;  ///< fraction
  double log_loss = 0;  ///< nats per row
  double auc = 0;       ///< ties count one half; NaN when there is one class
  double majority = 0;  ///< fraction of the larger class
  /// Rows by class and prediction: confusion[is][predicted], 1 the positive class.
  std::array<std::array<std::uint64_t, 2>, 2> confusion{};
  CalibrationBins calibration{};  ///< of the positive class

  /// The fraction of the rows predicted to be of that class that is; NaN if there are none.
  [[nodiscard]] double precision(std::size_t of) const;
  /// The fraction of the rows of that class that is predicted to be; NaN if there are none.
  [[nodiscard]] double recall(std::size_t of) const;
};
/// The positive class is predicted from a probability of `threshold` on.
Evaluation evaluate(std::span<const double> probabilities, std::span<const float> labels,
                    double threshold = 0.5);

/// How good probabilities of K > 2 classes are; the likeliest is predicted.
struct ClassesEvaluation {
  std::size_t classes = 0;  ///< K
  std::uint64_t rows = 0;
  double accuracy = 0;                   ///< fraction
  double log_loss = 0;                   ///< nats per row
  double majority = 0;                   ///< fraction of the largest class
  std::vector<std::uint64_t> confusion;  ///< [K x K] rows of the class i predicted to be of k
  /// Area under the ROC curve of each class against all the others, by its probability [K]; NaN if
  /// one side has no rows.
  std::vector<double> auc;
  double mean_auc = 0;          ///< over the classes that have one; NaN where none has
  CalibrationBins calibration;  ///< of the class predicted

  [[nodiscard]] std::uint64_t rows_of(std::size_t is, std::size_t predicted) const {
    return confusion[is * classes + predicted];
  }
  /// Rows of that class.
  [[nodiscard]] std::uint64_t rows_of(std::size_t is) const;
  /// Places in `confusion` of the pairs that are taken for each other most often, at most `most`.
  [[nodiscard]] std::vector<std::size_t> most_confused(std::size_t most) const;
  /// As of Evaluation.
  [[nodiscard]] double precision(std::size_t of) const;
  [[nodiscard]] double recall(std::size_t of) const;
};
/// `probabilities` [n x K] row-major; labels [n] are places of classes. Throws BadInput unless
/// there is one a row and at least one, and where one is no place of a class.
ClassesEvaluation evaluate_classes(std::span<const double> probabilities,
                                   std::span<const float> labels, std::size_t classes);

/// How good predicted amounts or counts are, in the label's own unit.
struct AmountEvaluation {
  std::uint64_t rows = 0;
  double rmse = 0;  ///< root mean square error
  double mae = 0;   ///< mean absolute error
  double r2 = 0;    ///< 1 - sum of squares/that about the labels' mean; NaN when all are equal
  /// Mean Poisson deviance of counts, 2 (y log(y/p) - y + p); NaN for amounts.
  double deviance = 0;
  double deviation = 0;  ///< root mean square of labels about their mean: rmse of predicting that
  double mean_deviance = 0;  ///< of predicting the labels' mean; NaN for amounts
};
/// `y` as rows keep it. Throws BadInput unless there is one a row and at least one.
AmountEvaluation evaluate_amounts(const Schema& schema, std::span<const double> predicted,
                                  std::span<const float> y);

}  // namespace gibbsite
