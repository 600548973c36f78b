#include "gibbsite/core/ball.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

// The projection as computed. project_on_ball (core/ball.hpp), u = 2⁻⁵³, d ≤ 2⁴⁰, 10⁻¹⁰⁰ ≤ B ≤
// 10¹⁰⁰. N = ‖θ‖, scaled by a power of two to a largest coordinate in [1, 2): squares do not
// overflow, and what underflows is below the last place.
//
// 1. The computed sum of squares is off by γ_d, its root by u more; times 1 + 1.01(d+4)u it is N̂
//    with N ≤ N̂ ≤ (1+(1.6d+8)u)N, since 1.01(d+4) ≥ 0.51d + 3.
// 2. N̂ ≤ B: θ stays. Then N ≤ B, so it is in K and Pθ = θ.
// 3. Otherwise θ' = θ · (B/N̂)(1−(2d+16)u), with four roundings: ‖θ'‖ ≤ B(1−(2d+10)u). So θ' ∈ K
//    in exact arithmetic, and N̂(θ') ≤ B: there is no loop.
// 4. The factor is off from B/N by (3.7d+29)u of it at most. N > B: ‖θ' − Pθ‖ ≤ (3.7d+29)uB. N ≤ B
//    < N̂: Pθ = θ, the exact factor is between 1 and N̂/N, and the same bound holds. Hence e_P =
//    5(d+16)uB.
// 5. A coordinate that is not finite makes θ' = 0, which no iterate of a plan meets.
constexpr double half_ulp = 0x1p-53;  // u

// ||theta|| = norm 2^exponent, norm rounded up by at most (1.6 d + 8) u of it, and from 1 to 2
// sqrt(d) where theta is not 0. NaN where a coordinate is not finite.
struct ScaledNorm {
  double norm_up = 0;
  int exponent = 0;
};

ScaledNorm scaled_norm_up(std::span<const double> theta) {
  double largest = 0;
  for (const double v : theta) {
    if (!std::isfinite(v)) return {std::nan(""), 0};
    largest = std::max(largest, std::fabs(v));
  }
  if (largest == 0) return {};
  const int exponent = std::ilogb(largest);
  double sum = 0;  // from 1 to 4d: what underflows is far below its last place
  for (const double v : theta) {
    const double scaled = std::ldexp(v, -exponent);
    sum += scaled * scaled;
  }
  return {std::sqrt(sum) * (1 + (static_cast<double>(theta.size()) + 4) * half_ulp * 1.01),
          exponent};
}

// A power of two changes nothing in what is rounded; balls are far from the ends of the range.
bool at_most(const ScaledNorm& norm, double ball) {
  return std::ldexp(norm.norm_up, norm.exponent) <= ball;
}

}  // namespace

void require_ball(double ball, const Name& name) {
  if (!(ball >= smallest_ball && ball <= largest_ball)) {
    throw BadInput(
        name.message(),
        fmt::format("must be a radius from {} to {}, got {}", smallest_ball, largest_ball, ball),
        "give one, or leave it out for no ball");
  }
}

bool in_ball(std::span<const double> theta, double ball) {
  return at_most(scaled_norm_up(theta), ball);
}

void project_on_ball(std::span<double> theta, double ball) {
  const ScaledNorm norm = scaled_norm_up(theta);
  if (at_most(norm, ball)) return;
  // "The projection as computed", above. The margin also lets in_ball agree.
  const double margin = 1 - (2 * static_cast<double>(theta.size()) + 16) * half_ulp;
  const double factor = std::isnan(norm.norm_up) ? 0.0 : ball / norm.norm_up * margin;
  for (double& v : theta) {
    v = factor == 0 ? 0.0 : std::ldexp(v, -norm.exponent) * factor;
  }
}

void project_on_ball(std::span<double> theta, double ball, double grid) {
  if (in_ball(theta, ball)) return;
  project_on_ball(theta, ball);
  for (double& v : theta) v = std::trunc(v / grid) * grid + 0.0;  // + 0.0 turns -0 into 0
}

double projection_error_up(std::uint64_t features, double ball) {
  return round_up(Wide(5) * (Wide(features) + 16) * Wide(half_ulp) * Wide(ball));
}

}  // namespace gibbsite
