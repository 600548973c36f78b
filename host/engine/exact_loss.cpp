#include "engine/exact_loss.hpp"

#include <fmt/format.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses.hpp"

namespace gibbsite {
namespace {

template <class F>
Wide difference(const Rows& x, std::span<const float> y, std::span<const Wide> theta,
                std::span<const double> w) {
  Wide sum = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    Wide at_theta = 0, at_w = 0;
    x.for_each(i, [&](std::size_t j, float v) {
      at_theta += Wide(v) * theta[j];
      at_w += Wide(v) * Wide(w[j]);
    });
    sum += F::value(at_theta, Wide(y[i])) - F::value(at_w, Wide(y[i]));
  }
  return sum;
}

template <class... F>
Wide difference_of(LossList<F...>, const Loss& loss, const Rows& x, std::span<const float> y,
                   std::span<const Wide> theta, std::span<const double> w) {
  Wide sum = 0;
  const bool known =
      ((loss.name() == F::name && (sum = difference<F>(x, y, theta, w), true)) || ...);
  if (!known) {
    throw BadInput(
        fmt::format("loss: {} has no form in 50 digits; add it to the compiled ones", loss.name()));
  }
  return sum;
}

}  // namespace

Wide exact_loss_difference(const Loss& loss, const Rows& x, std::span<const float> y,
                           std::span<const Wide> theta, std::span<const double> w) {
  return difference_of(Losses{}, loss, x, y, theta, w);
}

}  // namespace gibbsite
