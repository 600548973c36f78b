#pragma once
// How right a model is about each row, for a choice among models (docs/theory/select.md).
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// A score from 0 to 1 of each labeled row [n], by that row and the model alone. accuracy: whether
/// the likeliest class is the row's (of two, probability 1/2 is the positive one). brier: 1 less
/// half the squared distance of the classes' probabilities to the row's class. Throws BadInput on
/// another score, a model of no classes, rows without labels and rows with weights.
std::vector<double> row_scores(const LinearModel& model, const Dataset& data,
                               std::string_view score);

/// Calls add(scores [points]) for each labeled row: at each of the coefficients theta [points][d]
/// its log-likelihood -log(1 + exp(-y x.theta)), by that row and theta alone. Throws BadInput on
/// rows without labels, with weights or offsets, or not of two classes.
void log_likelihoods(const Dataset& data, std::span<const std::vector<double>> points,
                     const std::function<void(std::span<const double>)>& add);

}  // namespace gibbsite
