#pragma once
// The loss in 50 digits, for decisions that double arithmetic leaves open.
#include <span>

#include "gibbsite/core/wide.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

/// sum + sum_i f(x_i . theta, y_i) - f(x_i . w, y_i), one row after another, for theta, w [d], of K
/// outputs [K x d]. Throws BadInput on a loss that was not compiled in, or a label that is none of
/// softmax's classes, of a row that `before` others precede.
Wide exact_loss_difference(const Loss& loss, const Rows& x, std::span<const float> y,
                           std::span<const Wide> theta, std::span<const double> w,
                           const Wide& sum = 0, std::size_t before = 0);

}  // namespace gibbsite
