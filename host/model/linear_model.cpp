#include "gibbsite/model/linear_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

double cap_of(double clip, double norm) { return norm > clip ? clip / norm : 1.0; }

double capped_probability(double z, double cap) {
  const double e = std::exp(-std::fabs(z)), s = e / (1 + e);
  const double losing = s > cap ? 0.5 : 1 - s > cap ? s / (cap + s) : s;
  // Where both sides are capped every z has the same: as close to it as leaves their order.
  const double below_half = 0.5 - 1e-6 * std::fabs(z) / (1 + std::fabs(z));
  const double least = std::min(losing, below_half);
  return z > 0 ? 1 - least : least;
}

std::span<const double> feature_means_of(const LinearModel& model) {
  if (model.estimates && !model.estimates->feature_means.empty())
    return model.estimates->feature_means;
  return model.feature_means;
}

std::vector<std::string> coefficient_names(const Schema& schema) {
  std::vector<std::string> features = schema.feature_names();
  const Classes* const several = std::get_if<Classes>(&schema.label);
  if (several == nullptr) return features;
  std::vector<std::string> out;
  out.reserve(features.size() * several->names.size());
  for (const std::string& name : several->names)
    for (const std::string& feature : features) out.push_back(fmt::format("{}: {}", name, feature));
  return out;
}

std::span<const double> coefficients_of(const Schema& schema, std::span<const double> theta,
                                        std::size_t k) {
  const std::size_t d = schema.features();
  return is<Classes>(schema.label) ? theta.subspan(k * d, d) : theta;
}

OriginalUnits original_units(const LinearModel& model, std::span<const double> theta) {
  const Schema& schema = model.schema;
  if (theta.size() != schema.features()) {
    throw BadInput(
        fmt::format("coefficients: got {}, but the schema has {} features; give one per "
                    "feature",
                    theta.size(), schema.features()));
  }
  OriginalUnits out;
  out.exact = schema.max_unclipped_norm() <= schema.row_norm;
  if (schema.intercept) out.intercept = theta.back();
  const std::vector<std::string> names = schema.feature_names();
  std::size_t j = 0;
  for (const Column& column : schema.terms()) {
    // x = (cell - lo) / (hi - lo): slope theta / (hi - lo), shift -theta lo / (hi - lo).
    std::size_t left = schema.features_of(column);
    if (column.type == ColumnType::number && !column.is_curve()) {
      const double slope = theta[j] / (column.hi - column.lo);
      out.intercept -= slope * column.lo;
      out.slopes.emplace_back(names[j++], slope);
      --left;
      if (left > 0) {  // a missing cell is 0 cells of the number, in whose place stands the level
        out.slopes.emplace_back(names[j], theta[j] + slope * column.lo), ++j, --left;
      }
    }
    for (; left > 0; --left, ++j) out.slopes.emplace_back(names[j], theta[j]);
  }
  const double unit = coefficient_unit(schema.label);
  for (auto& [name, slope] : out.slopes) slope *= unit;
  out.intercept = out.intercept * unit + label_middle(schema.label);
  if (is<Count>(schema.label))
    out.intercept += std::log(label_unit(schema.label) * loss_named(model.loss).predicted(0));
  if (const Column* const exposure = schema.exposure()) out.intercept -= std::log(exposure->hi);
  return out;
}

}  // namespace gibbsite
