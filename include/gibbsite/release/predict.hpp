#pragma once
// Predictions of a released model, and how good they are.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// P(y = +1) for rows [n x d]: the mean over the released draws of the loss's probability
/// at x.theta, sigmoid for the logistic one, or of capped_probability where the model has a link.
std::vector<double> predict_probabilities(const LinearModel& model, const Rows& x);

/// Between which P(y = +1) lies at Intervals::level: the probabilities of the two ends of the
/// score's interval.
struct ProbabilityInterval {
  double low = 0, high = 1;
};
/// One a row. Throws BadInput where the model has no intervals.
std::vector<ProbabilityInterval> predict_intervals(const LinearModel& model, const Rows& x);

struct Evaluation {
  std::uint64_t rows = 0;
  double accuracy = 0;  ///< fraction
  double log_loss = 0;  ///< nats per row
  double auc = 0;       ///< ties count one half; NaN when there is one class
  double majority = 0;  ///< fraction of the larger class
};
Evaluation evaluate(std::span<const double> probabilities, std::span<const float> labels);

}  // namespace gibbsite
