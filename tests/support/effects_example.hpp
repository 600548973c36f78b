#pragma once
// A model with estimates, made up: a number, two categories, odd names, correlated coefficients.
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "gibbsite/model/linear_model.hpp"

namespace gibbsite::support {

/// Features: age, hours-per-week, sex=Male, sex=Female, country=United-States, country=United,
/// country=it's, country=(missing), country=(other), (intercept).
inline Schema effects_schema() {
  Schema schema;
  schema.label_name = "income";
  schema.label = TwoClasses{.positive = ">50K", .negative = "<=50K"};
  schema.row_norm = 2;
  schema.intercept = true;
  schema.columns = {{"age", ColumnType::number, 17, 90},
                    {"hours-per-week", ColumnType::number, 0, 100},
                    {"id", ColumnType::ignore},
                    {"sex", ColumnType::category, 0, 1, {"Male", "Female"}},
                    {"country",
                     ColumnType::category,
                     0,
                     1,
                     {"United-States", "United", "it's"},
                     true,
                     true,
                     "?"}};
  return schema;
}

/// Estimates of `outputs` times the features of a schema: standard errors from .1 up, neighbors
/// correlated by a half, a prior of 2.5; the second number and every fifth coefficient unknown.
inline Estimates effects_estimates(const Schema& schema, std::size_t outputs = 1) {
  const std::size_t d = schema.features(), all = outputs * d;
  Estimates out;
  out.weights = {1};
  out.means.resize(1);
  for (std::size_t j = 0; j < all; ++j)
    out.means[0].push_back((j % 2 == 0 ? 1.0 : -0.7) + 0.2 * static_cast<double>(j % 7));
  std::vector<double> deviation(all);
  for (std::size_t j = 0; j < all; ++j)
    deviation[j] = j % 5 == 1 ? 2.4 : 0.1 + 0.02 * static_cast<double>(j % d);
  for (std::size_t i = 0; i < all; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      out.covariance.push_back((i == j ? 1 : i == j + 1 ? 0.45 : 0) * deviation[i] * deviation[j]);
  out.prior_deviation.assign(all, 2.5);
  for (std::size_t k = 0; k < outputs; ++k)
    if (schema.intercept)
      out.prior_deviation[(k + 1) * d - 1] = std::numeric_limits<double>::infinity();
  out.feature_means = {0.3, 0.4, 0.67, 0.33, 0.9, 0.05, 0.04, 0.012, -0.002, 1};
  out.feature_means.resize(d, 1);
  out.feature_deviations.assign(d, 0.3);
  return out;
}

inline LinearModel effects_model() {
  LinearModel model;
  model.loss = "logistic";
  model.schema = effects_schema();
  model.draws = {{0.9, -0.1, 0.2, -0.2, 0.05, 0.01, -0.02, 0, 0.03, -1.1}};
  model.estimates = effects_estimates(model.schema);
  model.feature_means = model.estimates->feature_means;
  return model;
}

/// Whether somebody is ill, by `columns`, `interactions` and a constant: coefficients and answered
/// means [features], and the estimates of `effects_estimates` if they are wished for.
inline LinearModel illness_model(std::vector<Column> columns, std::vector<Interaction> interactions,
                                 std::vector<double> coefficients, std::vector<double> means,
                                 bool with_estimates) {
  LinearModel model;
  model.loss = "logistic";
  Schema& schema = model.schema;
  schema.label_name = "ill";
  schema.label = TwoClasses{.positive = "yes", .negative = "no"};
  schema.intercept = true;
  schema.columns = std::move(columns);
  schema.interactions = std::move(interactions);
  schema.row_norm = schema.max_unclipped_norm();
  model.draws = {std::move(coefficients)};
  model.feature_means = std::move(means);
  if (with_estimates) {
    model.estimates = effects_estimates(schema);
    model.estimates->feature_means = model.feature_means;
  }
  return model;
}

/// A model with the coefficients of `effects_model` whose label is an amount, 0 to 100 with a
/// tolerance of 20.
inline LinearModel effects_of_amounts() {
  LinearModel model = effects_model();
  model.loss = "huber";
  model.schema.label = Amount{{.lo = 0, .hi = 100}, 20};
  return model;
}

}  // namespace gibbsite::support
