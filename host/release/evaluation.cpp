#include "gibbsite/release/evaluation.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

json json_of(const CalibrationBins& calibration) {
  json bins = json::array();
  for (const CalibrationBin& bin : calibration)
    bins.push_back({{"rows", bin.rows}, {"predicted", bin.predicted}, {"found", bin.found}});
  return bins;
}

json json_of(const Evaluation& e, const Schema& schema) {
  return {{"rows", e.rows},
          {"accuracy", e.accuracy},
          {"log_loss", e.log_loss},
          {"auc", e.auc},  // NaN is written as null
          {"majority", e.majority},
          {"classes", class_names(schema.label)},
          {"confusion", e.confusion},
          {"precision", {e.precision(0), e.precision(1)}},
          {"recall", {e.recall(0), e.recall(1)}},
          {"calibration", json_of(e.calibration)}};
}

json json_of(const ClassesEvaluation& e, const Schema& schema) {
  json confusion, precision, recall;  // NaN is written as null
  for (std::size_t is = 0; is < e.classes; ++is) {
    const auto row = e.confusion.begin() + static_cast<std::ptrdiff_t>(is * e.classes);
    confusion.push_back(
        std::vector<std::uint64_t>(row, row + static_cast<std::ptrdiff_t>(e.classes)));
    precision.push_back(e.precision(is));
    recall.push_back(e.recall(is));
  }
  return {{"rows", e.rows},
          {"accuracy", e.accuracy},
          {"log_loss", e.log_loss},
          {"auc", e.mean_auc},
          {"majority", e.majority},
          {"classes", class_names(schema.label)},
          {"confusion", confusion},
          {"precision", precision},
          {"recall", recall},
          {"auc_by_class", e.auc},
          {"calibration", json_of(e.calibration)}};
}

json json_of(const AmountEvaluation& e, const Schema& schema) {
  json out = {{"rows", e.rows}, {"rmse", e.rmse}, {"mae", e.mae}, {"r2", e.r2}};
  if (is<Count>(schema.label)) out["deviance"] = e.deviance;
  return out;
}

}  // namespace

ModelEvaluation evaluate_predictions(const Schema& schema, std::span<const double> predicted,
                                     std::span<const float> labels, std::span<const float> weights,
                                     double threshold) {
  if (is<TwoClasses>(schema.label)) return evaluate(predicted, labels, threshold, weights);
  if (is<Classes>(schema.label))
    return evaluate_classes(predicted, labels, class_names(schema.label).size(), weights);
  return evaluate_amounts(schema, predicted, labels, weights);
}

ModelEvaluation evaluate_model(const LinearModel& model, const Dataset& data, double threshold) {
  require_same_features(model, data);
  if (!data.labeled()) throw BadInput("data: has no labels; read it with them");
  return evaluate_predictions(model.schema, predict(model, data.view()).values, data.y, data.weight,
                              threshold);
}

json to_json(const ModelEvaluation& evaluation, const Schema& schema) {
  return std::visit([&](const auto& of) { return json_of(of, schema); }, evaluation);
}

}  // namespace gibbsite
