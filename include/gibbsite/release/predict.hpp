#pragma once
// Predictions of a released model, and how good they are.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// P(y = +1) for rows [n x d] of a model of two classes [n]. It is the mean over the released draws
/// of the loss's probability at x.theta, for the logistic loss the sigmoid. A model with a
/// LegacyCappedLink uses capped_probability instead. Throws BadInput on another kind of model.
std::vector<double> predict_probabilities(const LinearModel& model, const Rows& x);

/// True if scores x.theta of two classes are log-odds: P(y = +1) is their sigmoid.
bool scores_are_log_odds(const LinearModel& model);
/// Log-odds of predict_probabilities [n], finite. With one draw whose scores are log-odds, they are
/// x.theta itself, so no digit is lost if a probability is close to 1. Throws as
/// predict_probabilities.
std::vector<double> predict_log_odds(const LinearModel& model, const Rows& x);

/// The predicted amount or count for rows [n x d], averaged over the released draws [n]. It is in
/// the label's unit and clamped to its public range. Throws BadInput on a model of classes.
std::vector<double> predict_amounts(const LinearModel& model, const Rows& x);

/// P(class k) for rows [n x d] of a model of several classes, [n x K] row-major, with k a place in
/// the schema's list. It is the mean over the released draws of softmax(x.theta_1, ..., x.theta_K).
/// Throws BadInput on another kind of model.
std::vector<double> predict_classes(const LinearModel& model, const Rows& x);
/// The place of the largest of `probabilities` [K], the first of equals.
std::size_t likeliest(std::span<const double> probabilities);

/// An interval of a prediction at the level Estimates::level, by the ends of the score's interval.
struct PredictionInterval {
  double low = 0, high = 1;
};
/// Intervals for rows [n x d], one for each. For two classes they are of P(y = +1), for amounts and
/// counts of the mean of rows like it. The latter are in the label's unit and clamped to its public
/// range. Throws BadInput if the model has no intervals (docs/theory/intervals.md).
std::vector<PredictionInterval> predict_intervals(const LinearModel& model, const Rows& x);
/// Intervals [n x K] of the probability of each of several classes, at the level Estimates::level.
/// They follow from the interval of the class's log-odds against all others, linear in the
/// coefficients about the estimates. Throws BadInput if the model has no intervals or not several
/// classes.
std::vector<PredictionInterval> predict_class_intervals(const LinearModel& model, const Rows& x);

/// What a model says of rows, whatever its label is: [n x columns] row-major.
struct Predictions {
  std::size_t columns = 1;  ///< K of several classes: each one's probability. Else 1
  std::vector<double> values;
  std::vector<PredictionInterval> intervals{};  ///< of each value; empty if none were asked for
};
/// Predicts rows [n x d] by predict_probabilities, predict_classes or predict_amounts. Throws
/// BadInput if intervals are asked for and the model has none.
Predictions predict(const LinearModel& model, const Rows& x, bool with_intervals = false);

/// Throws BadInput "data: ..." unless rows have as many features as the model.
void require_same_features(const LinearModel& model, const Dataset& data);

/// How a table to predict is read: it needs no label, may be empty, and may have other columns. A
/// cell that the model cannot read counts as another level or a missing one, and is listed
/// (Dataset::unreadable).
ReadOptions reading_to_predict();
/// How a table to evaluate a model of that schema is read: labels are needed, and errors speak of
/// the model instead of its schema.
ReadOptions reading_to_evaluate(const Schema& schema);

/// Rows whose predicted probability lies in one tenth of [0, 1].
struct CalibrationBin {
  std::uint64_t rows = 0;
  double predicted = 0;  ///< mean probability of the class asked about; NaN without rows
  double found = 0;      ///< fraction of them that are of it; NaN without rows
};
using CalibrationBins = std::array<CalibrationBin, 10>;

/// If rows have weights, fractions, means and areas below are of weights. `confusion` and what
/// follows from it, and calibration, are of rows.
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
/// Scores probabilities [n] of the positive class against labels [n] of -1 and +1. The positive
/// class is predicted for probabilities of at least `threshold`. `weights` [n]: what each row
/// counts; empty: all the same. Throws BadInput if sizes differ, or nothing counts.
Evaluation evaluate(std::span<const double> probabilities, std::span<const float> labels,
                    double threshold = 0.5, std::span<const float> weights = {});

/// Scores of predicted probabilities of K > 2 classes; the likeliest class is predicted. Weights
/// are as in Evaluation.
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
  /// Precision and recall of class `of`, as in Evaluation.
  [[nodiscard]] double precision(std::size_t of) const;
  [[nodiscard]] double recall(std::size_t of) const;
};
/// Scores probabilities [n x K] row-major against labels [n], places of classes. Throws BadInput if
/// sizes differ, if there is no row, or if a label is no place of a class. `weights` are as in
/// `evaluate`.
ClassesEvaluation evaluate_classes(std::span<const double> probabilities,
                                   std::span<const float> labels, std::size_t classes,
                                   std::span<const float> weights = {});

/// Scores of predicted amounts or counts, in the label's own unit.
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
/// Scores predicted amounts or counts [n] against y [n], scaled as rows keep it. Throws BadInput if
/// sizes differ or there is no row. `weights` are as in `evaluate`: all means are then of weights.
AmountEvaluation evaluate_amounts(const Schema& schema, std::span<const double> predicted,
                                  std::span<const float> y, std::span<const float> weights = {});

}  // namespace gibbsite
