#pragma once
// How good a model is on labeled rows, whatever its label is. Private: it reads the labels.
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <variant>

#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {

using ModelEvaluation = std::variant<Evaluation, ClassesEvaluation, AmountEvaluation>;

/// Scores what `predict` gives of rows [n x columns] against labels and weights [n], by evaluate,
/// evaluate_classes or evaluate_amounts, and throws as they do. `threshold`: the least probability
/// for which the positive of two classes is predicted.
ModelEvaluation evaluate_predictions(const Schema& schema, std::span<const double> predicted,
                                     std::span<const float> labels, std::span<const float> weights,
                                     double threshold = 0.5);
/// Scores predictions of the rows of a table that was read by the model's schema. Throws BadInput
/// also if it has other columns or no labels.
ModelEvaluation evaluate_model(const LinearModel& model, const Dataset& data,
                               double threshold = 0.5);

/// What `gibbsite evaluate --json` prints (docs/reference/formats.md). NaN, a number that does not
/// exist, becomes null when it is written.
nlohmann::json to_json(const ModelEvaluation& evaluation, const Schema& schema);

}  // namespace gibbsite
