#pragma once
// The weights by which the levels of a category are averaged: their answered shares.
#include <cstddef>
#include <span>
#include <vector>

#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// Answered means of the features [d]; empty where the model has none.
inline std::span<const double> answered_means(const LinearModel& model) {
  if (model.estimates && !model.estimates->feature_means.empty())
    return model.estimates->feature_means;
  return model.feature_means;
}

/// Weights of the levels `first` to `first + count`, adding up to 1: their shares where those are
/// above 0, the same for all where none is.
inline std::vector<double> level_weights(std::span<const double> means, std::size_t first,
                                         std::size_t count) {
  std::vector<double> out(count, 1.0);
  double sum = 0;
  for (std::size_t l = 0; l < count && !means.empty(); ++l)
    sum += out[l] = means[first + l] > 0 ? means[first + l] : 0.0;
  if (!(sum > 0)) {
    out.assign(count, 1.0);
    sum = static_cast<double>(count);
  }
  for (double& weight : out) weight /= sum;
  return out;
}

}  // namespace gibbsite
