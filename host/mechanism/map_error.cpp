#include "gibbsite/mechanism/map_error.hpp"

#include <algorithm>
#include <limits>

#include "core/rounding.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {
namespace {

// Several outputs, docs/theory/map-error.md.
// 1. Logits. |ẑ_k − z_k| ≤ γ_d R‖θ_k‖, so ‖ẑ − z‖ ≤ γ_d R‖θ‖.
// 2. Residuals: host/model/softmax.cpp.
// 3. Sum over rows. Σ_i |r_i||x_i|ᵀ, entry by entry, has norm Σ‖r_i‖‖x_i‖ ≤ nR sup|f'| at most:
//    γ_{D+1} of that. That a computed ‖r̂‖ may exceed √2 by γ_{16+4K} of it is a product of
//    roundings.

// Operations between a gradient coordinate and the new coordinate, sqrt(2h) included.
constexpr int update_roundings = 8;

}  // namespace

MapBounds map_bounds_up(const Problem& constants, const LangevinSteps& steps, double start_norm) {
  const double ball = steps.ball;
  const Wide n = constants.most_weight_up();
  const Wide d = constants.features;
  const Wide row = constants.full_row_norm_up();
  // Where nothing holds a slope as computed it is off by the predictor's d roundings and its own.
  const Wide derivative =
      Wide(constants.max_abs_derivative_up(ball)) *
      (constants.bounded() ? Wide(1) : 1 + gamma_k(Wide(constants.features) + 2));
  const Wide h = steps.step_size;
  const Wide m = steps.prior_precision;
  const Wide slack = 1 + Wide("1e-9");  // second-order products of roundings
  const Wide center = constants.center_norm;

  // One exact step: |1 - hm| ||theta - theta0|| + drift + noise.
  const Wide drift = h * Wide(steps.beta) * n * derivative * row;
  const Wide noise = sqrt(2 * h * d) * Wide(max_abs_normal);
  const Wide factor = abs(1 - h * m);
  const Wide T = steps.iterations;
  const Wide remembered = factor < 1 ? Wide(std::min(T, Wide(1 / (1 - factor)))) : T;

  // e <= fixed + growth * ||theta - theta0||: logits (d terms), residuals, the sum over rows,
  // update.
  const Wide sum = gamma_k(Wide(accumulation_depth(constants.most_rows())) + 1);
  const bool offsets = constants.offset_bound > 0;  // one more term, of that size
  const Wide terms = offsets ? Wide(d + 1) : d;
  const Wide logit = gamma_k(terms) * row;  // per unit of ||theta||
  const Wide curvature = constants.curvature;
  const Wide loss_part = h * Wide(steps.beta) * n * row * slack;
  // Roundings of a derivative by loss, of which 16 are counted (docs/theory/map-error.md, step 2):
  // - huber rounds z − y once, which moves f' by u|z − y| where |z − y| ≤ 1 and not at all beyond;
  //   smoothed-hinge rounds 1 − yz once.
  // - pseudo-huber has the difference (|r|f'' < 0.4), the square, the sum, a root and a quotient,
  //   below 5u.
  // - poisson rounds z − log 10 (|v|e^v ≤ 1/e below 0), an exp of 8u and a difference of numbers in
  //   [0, 1], below 10u.
  const Wide derivative_error =
      (sum + gamma_k(Wide(derivative_roundings_of(static_cast<double>(constants.outputs))))) *
      derivative;
  const Wide update = gamma_k(update_roundings) * slack;
  const Wide growth = loss_part * curvature * logit + update * (1 + h * m);
  const Wide projection = ball > 0 ? Wide(projection_error_up(constants.features, ball)) : Wide(0);
  const Wide offset_error = gamma_k(terms) * Wide(constants.offset_bound);
  const Wide fixed = projection + loss_part * (derivative_error + curvature * offset_error) +
                     update * (drift + noise) + gamma_k(normal_roundings) * slack * noise +
                     (growth - update * h * m) * center;

  // Computed iterates: B = start + steps (drift + noise + e), e = fixed + growth B.
  const Wide feedback = growth * remembered;
  const Wide infinity = std::numeric_limits<double>::infinity();
  if (ball > 0 && gamma_k(d) < Wide(0.01)) {  // ||theta_k|| <= ball, whatever came before
    const Wide reach = Wide(ball) + center;
    return {round_up(fixed + growth * reach), round_up(reach)};
  }
  if (!(feedback < Wide(0.5)) || !(gamma_k(d) < Wide(0.01))) {
    return {static_cast<double>(infinity), static_cast<double>(infinity)};
  }
  const Wide reach = Wide(start_norm) + remembered * (drift + noise);
  const Wide e = (fixed + growth * reach) / (1 - feedback);
  return {round_up(e), round_up(Wide(reach + remembered * e))};
}

}  // namespace gibbsite
