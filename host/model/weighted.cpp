#include "gibbsite/model/losses/weighted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses/softmax.hpp"

namespace gibbsite {

float class_weight(std::span<const float> weights, float y) {
  if (weights.empty()) return 1;
  const std::size_t classes = weights.size();
  const std::size_t at = classes == 2 && y == -1 ? 0 : losses::class_of(y, classes);
  return at < classes ? weights[at] : std::numeric_limits<float>::quiet_NaN();
}

namespace losses {

std::string weighted_name(std::string_view name, std::span<const float> weights) {
  return fmt::format("{}({})", name, fmt::join(weights, ","));
}

std::vector<float> scaled_class_weights(std::span<const double> weights) {
  double largest = 0;
  for (const double w : weights) {
    if (!std::isfinite(w) || !(w > 0)) {
      throw BadInput(fmt::format("class_weights: {} is no weight; give numbers above 0", w));
    }
    largest = std::max(largest, w);
  }
  std::vector<float> out;
  for (const double w : weights) {
    out.push_back(static_cast<float>(w / largest));
    if (!(out.back() >= least_class_weight)) {
      throw BadInput(fmt::format(
          "class_weights: {} is less than {:g} of the largest, {}; a class of so little "
          "weight is not learned, leave its rows out by what is public",
          w, least_class_weight, largest));
    }
  }
  if (std::ranges::all_of(out, [](float w) { return w == 1; })) out.clear();
  return out;
}

Weighted::Weighted(const Loss& loss, std::vector<float> weights)
    : loss_(loss), weights_(std::move(weights)), name_(weighted_name(loss.name(), weights_)) {
  const bool of_classes =
      loss.label() == LabelKind::two_classes || loss.label() == LabelKind::classes;
  const std::size_t classes = std::max<std::size_t>(loss.outputs(), 2);
  if (!of_classes || !loss.class_weights().empty() || weights_.size() != classes ||
      std::ranges::any_of(weights_, [](float w) { return !(w >= least_class_weight && w <= 1); }) ||
      std::ranges::max(weights_) != 1) {
    throw BadInput(fmt::format(
        "loss: {} is none; a loss of classes takes a weight from {:g} to 1 for each, the largest 1",
        name_, least_class_weight));
  }
}

void Weighted::multiply(std::span<const float> y, std::span<double> rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] *= static_cast<double>(class_weight(weights_, y[i % y.size()]));
  }
}

double Weighted::value_sum(std::span<const double> z, std::span<const float> y) const {
  const std::size_t outputs = loss_.outputs(), n = y.size();
  double sum = 0;
  std::vector<double> row(outputs);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < outputs; ++k) row[k] = z[k * n + i];
    sum +=
        static_cast<double>(class_weight(weights_, y[i])) * loss_.value_sum(row, y.subspan(i, 1));
  }
  return sum;
}

void Weighted::derivatives(std::span<const double> z, std::span<const float> y,
                           std::span<double> r) const {
  loss_.derivatives(z, y, r);
  multiply(y, r);
}
void Weighted::curvatures(std::span<const double> z, std::span<const float> y,
                          std::span<double> w) const {
  loss_.curvatures(z, y, w);
  multiply(y, w);
}
void Weighted::curvature_products(std::span<const double> z, std::span<const float> y,
                                  std::span<const double> v, std::span<double> out) const {
  loss_.curvature_products(z, y, v, out);
  multiply(y, out);
}

}  // namespace losses
}  // namespace gibbsite
