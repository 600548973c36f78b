#include "mechanism/gap.hpp"

#include "core/format_message.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {
namespace {

constexpr double default_tv_share = 0.01;  // of delta, reserved for gamma

}  // namespace

AskedGap asked_gap(const Budget& asked, const Budget& left, const PlanOptions& plan_options) {
  const Wide price = gap_price(Wide(asked.epsilon));
  AskedGap out;
  out.tv = plan_options.tv ? *plan_options.tv
                           : round_down(Wide(default_tv_share) * Wide(asked.delta) / price);
  if (!(out.tv > 0)) {
    out.obstacle = "delta is too small to leave a gap; ask for a larger delta";
    return out;
  }
  out.delta = delta_left_down(left.delta, asked.epsilon, out.tv);
  if (!(out.delta > 0)) {
    const auto paid = static_cast<double>(price);
    out.obstacle = format_message(
        "a total variation gap of {:.3g} costs (1+e^epsilon) gamma = {:.3g}, more than delta; "
        "ask for {} below {:.3g}",
        out.tv, paid * out.tv, Field{"tv"}, left.delta / paid);
  }
  return out;
}

ChainError chain_error(const Problem& problem, const LangevinSteps& steps,
                       double start_gradient_norm, const Wide& spread) {
  const Wide m = steps.prior_precision, G = start_gradient_norm, K = steps.iterations,
             h = steps.step_size;
  // theta_hat = theta0 - (beta grad - g)/m.
  const double start = round_up((Wide(start_gradient_up(problem, steps.beta)) + G) / m + spread);
  const MapBounds bounds = map_bounds_up(problem, steps, start);
  ChainError out{bounds.map_error, 0};
  if (std::isfinite(bounds.map_error)) {
    out.rounding = Wide(bounds.map_error) * sqrt(Wide(K / (8 * h)));
  }
  return out;
}

}  // namespace gibbsite
