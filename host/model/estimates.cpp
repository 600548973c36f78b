// STAND-IN for tests until the real one is merged: drop at merge.
#include "gibbsite/model/estimates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

EffectEstimate Estimates::combination(std::span<const double> c) const {
  if (c.size() != prior_deviation.size()) {
    throw BadInput(fmt::format("combination: has {} coefficients, the estimates {}; give as many",
                               c.size(), prior_deviation.size()));
  }
  EffectEstimate out;
  double within = 0, prior = 0, square = 0;
  for (std::size_t i = 0, at = 0; i < c.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j, ++at)
      within += (i == j ? 1 : 2) * c[i] * c[j] * covariance[at];
    if (c[i] != 0) prior += c[i] * c[i] * prior_deviation[i] * prior_deviation[i];
  }
  for (std::size_t m = 0; m < weights.size(); ++m) {
    double mean = 0;
    for (std::size_t i = 0; i < c.size(); ++i) mean += c[i] * means[m][i];
    out.estimate += weights[m] * mean;
    square += weights[m] * mean * mean;
  }
  out.standard_error = std::sqrt(std::max(within + square - out.estimate * out.estimate, 0.0));
  out.lower = out.estimate - 1.959963984540054 * out.standard_error;
  out.upper = out.estimate + 1.959963984540054 * out.standard_error;
  out.p_value = std::erfc(std::fabs(out.estimate) / out.standard_error / std::sqrt(2.0));
  out.hidden = out.standard_error > 0.8 * std::sqrt(prior);
  return out;
}

namespace {

std::vector<double> empty_combination(const Estimates& estimates) {
  return std::vector<double>(estimates.prior_deviation.size());
}

}  // namespace

EffectEstimate feature_effect(const Estimates& estimates, const Schema& schema, std::size_t j,
                              std::size_t k) {
  std::vector<double> c = empty_combination(estimates);
  const std::size_t base = k * schema.features();
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    const std::size_t count = schema.features_of(column);
    if (column.type == ColumnType::category && j >= first && j < first + count) {
      double sum = 0;
      for (std::size_t l = first; l < first + count; ++l)
        sum += std::max(estimates.feature_means[l], 0.0);
      for (std::size_t l = first; l < first + count; ++l)
        c[base + l] -= std::max(estimates.feature_means[l], 0.0) / sum;
    }
    first += count;
  }
  c[base + j] += 1;
  return estimates.combination(c);
}

EffectEstimate level_against(const Estimates& estimates, const Schema& schema, std::size_t level,
                             std::size_t reference, std::size_t k) {
  std::vector<double> c = empty_combination(estimates);
  c[k * schema.features() + level] += 1;
  c[k * schema.features() + reference] -= 1;
  return estimates.combination(c);
}

}  // namespace gibbsite
