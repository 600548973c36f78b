#include "engine/exact_loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/clip.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/model/losses/softmax.hpp"

namespace gibbsite {
namespace {

template <class F>
Wide difference(const Rows& x, std::span<const float> y, const Loss& loss,
                std::span<const Wide> theta, std::span<const double> w, Wide sum) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    Wide at_theta = 0, at_w = 0;
    x.for_each(i, [&](std::size_t j, float v) {
      at_theta += Wide(v) * theta[j];
      at_w += Wide(v) * Wide(w[j]);
    });
    if (x.offset != nullptr) {
      at_theta += Wide(x.offset_of(i));
      at_w += Wide(x.offset_of(i));
    }
    sum += Wide(row_factor(loss, y[i], x.weight == nullptr ? 1 : x.weight[i])) *
           (F::value(at_theta, Wide(y[i])) - F::value(at_w, Wide(y[i])));
  }
  return sum;
}

// log sum_k e^{z_k} - z_y = (max z - z_y) + log(1 + sum_{k != argmax} e^{z_k - max z})
Wide softmax_value(const std::vector<Wide>& z, std::size_t label) {
  const auto most = std::max_element(z.begin(), z.end());
  Wide others = 0;
  for (auto v = z.begin(); v != z.end(); ++v) {
    if (v != most) others += exp(*v - *most);
  }
  return (*most - z[label]) + log1p(others);
}

Wide softmax_difference(const Rows& x, std::span<const float> y, std::size_t classes,
                        const Loss& loss, std::span<const Wide> theta, std::span<const double> w,
                        Wide sum, std::size_t before) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::vector<Wide> at_theta(classes), at_w(classes);
    x.for_each(i, [&](std::size_t j, float v) {
      for (std::size_t k = 0; k < classes; ++k) {
        at_theta[k] += Wide(v) * theta[k * x.cols + j];
        at_w[k] += Wide(v) * Wide(w[k * x.cols + j]);
      }
    });
    const std::size_t label = losses::class_of(y[i], classes);
    if (label == classes) {
      throw BadInput(
          fmt::format("data: the label of row {} is none of {} classes; give their places, "
                      "from 0",
                      before + i, classes));
    }
    sum += Wide(row_factor(loss, y[i], x.weight == nullptr ? 1 : x.weight[i])) *
           (softmax_value(at_theta, label) - softmax_value(at_w, label));
  }
  return sum;
}

template <class... F>
Wide difference_of(LossList<F...>, const Loss& loss, const Rows& x, std::span<const float> y,
                   std::span<const Wide> theta, std::span<const double> w, Wide sum) {
  const bool known = ((loss.unweighted().name() == F::name &&
                       (sum = difference<F>(x, y, loss, theta, w, sum), true)) ||
                      ...);
  if (!known) {
    throw BadInput(
        fmt::format("loss: {} has no form in 50 digits; add it to the compiled ones", loss.name()));
  }
  return sum;
}

}  // namespace

Wide exact_loss_difference(const Loss& loss, const Rows& x, std::span<const float> y,
                           std::span<const Wide> theta, std::span<const double> w, const Wide& sum,
                           std::size_t before) {
  if (const auto* const softmax = dynamic_cast<const losses::Softmax*>(&loss.unweighted())) {
    return softmax_difference(x, y, softmax->outputs(), loss, theta, w, sum, before);
  }
  return difference_of(Losses{}, loss, x, y, theta, w, sum);
}

}  // namespace gibbsite
