#include "gibbsite/release/evaluation_cells.hpp"

#include <span>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {

std::vector<std::uint32_t> evaluation_cells(const LinearModel& model, const EvaluationBins& bins,
                                            const Dataset& data) {
  if (model.schema.has_number_label()) {
    throw BadInput("model: predicts amounts, and a histogram is of probabilities; give another");
  }
  const std::uint64_t n = data.rows();
  if (data.y.size() != n) throw BadInput("data: has no labels; give a labeled table");
  std::vector<std::uint32_t> out(n);
  if (model.schema.label_kind == LabelKind::two_classes) {
    const std::vector<double> probabilities = predict_probabilities(model, data.view());
    for (std::size_t i = 0; i < n; ++i) out[i] = bins.cell(probabilities[i], data.y[i] > 0);
    return out;
  }
  const std::size_t classes = model.schema.classes.size();
  const std::vector<double> probabilities = predict_classes(model, data.view());
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const double> row(probabilities.data() + i * classes, classes);
    const std::size_t predicted = likeliest(row);
    out[i] = bins.cell(row[predicted], predicted == static_cast<std::size_t>(data.y[i]));
  }
  return out;
}

}  // namespace gibbsite
