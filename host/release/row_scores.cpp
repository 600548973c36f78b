#include "gibbsite/release/row_scores.hpp"

#include <fmt/format.h>

#include <span>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {

std::vector<double> row_scores(const LinearModel& model, const Dataset& data,
                               std::string_view score) {
  if (score != "accuracy" && score != "brier") {
    throw BadInput(Field{"score"},
                   fmt::format("{} is none of accuracy, brier", gibbsite::quoted(score)));
  }
  if (number_of(model.schema.label) != nullptr)
    throw BadInput("models: one predicts amounts, and scores are of classes");
  if (model.schema.weight() != nullptr)
    throw BadInput("models: one has weights of rows, and a choice counts rows alike");
  const std::uint64_t n = data.rows();
  if (data.y.size() != n) throw BadInput("data: has no labels; give a labeled table");
  std::vector<double> out(n);
  const bool accuracy = score == "accuracy";
  if (is<TwoClasses>(model.schema.label)) {
    const std::vector<double> p = predict_probabilities(model, data.view());
    for (std::size_t i = 0; i < n; ++i) {
      const bool positive = data.y[i] > 0;
      const double off = positive ? 1 - p[i] : p[i];
      out[i] = accuracy ? ((p[i] >= 0.5) == positive ? 1 : 0) : 1 - off * off;
    }
    return out;
  }
  const std::size_t classes = class_names(model.schema.label).size();
  const std::vector<double> p = predict_classes(model, data.view());
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const double> row(p.data() + i * classes, classes);
    const auto found = static_cast<std::size_t>(data.y[i]);
    double squares = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double off = row[k] - (k == found ? 1 : 0);
      squares += off * off;
    }
    out[i] = accuracy ? (likeliest(row) == found ? 1 : 0) : 1 - squares / 2;
  }
  return out;
}

void log_likelihoods(const Dataset& data, std::span<const std::vector<double>> points,
                     const std::function<void(std::span<const double>)>& add) {
  const Rows rows = data.view();
  if (data.y.size() != rows.rows) throw BadInput("data: has no labels; give a labeled table");
  if (!is<TwoClasses>(data.schema.label) || rows.has_more_than_labels())
    throw BadInput("data: rows must be of two classes, without weights; give others");
  std::vector<double> scores(points.size());
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const double y = data.y[i] > 0 ? 1 : -1;
    for (std::size_t c = 0; c < points.size(); ++c)
      scores[c] = -losses::logistic::value(rows.dot(i, points[c]), y);
    add(scores);
  }
}

}  // namespace gibbsite
