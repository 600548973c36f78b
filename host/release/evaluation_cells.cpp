#include "gibbsite/release/evaluation_cells.hpp"

#include <span>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {

std::vector<std::uint32_t> evaluation_cells(const LinearModel& model, const EvaluationBins& bins,
                                            const Dataset& data) {
  if (number_of(model.schema.label) != nullptr) {
    throw BadInput("model: predicts amounts, and a histogram is of probabilities; give another");
  }
  const std::uint64_t n = data.rows();
  if (data.y.size() != n) throw BadInput("data: has no labels; give a labeled table");
  std::vector<std::uint32_t> out(n);
  if (is<TwoClasses>(model.schema.label)) {
    const std::vector<double> probabilities = predict_probabilities(model, data.view());
    for (std::size_t i = 0; i < n; ++i) out[i] = bins.cell(probabilities[i], data.y[i] > 0);
    return out;
  }
  const std::size_t classes = class_names(model.schema.label).size();
  const std::vector<double> probabilities = predict_classes(model, data.view());
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const double> row(probabilities.data() + i * classes, classes);
    const std::size_t predicted = likeliest(row);
    out[i] = bins.cell(row[predicted], predicted == static_cast<std::size_t>(data.y[i]));
  }
  return out;
}

}  // namespace gibbsite
