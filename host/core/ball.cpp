#include "gibbsite/core/ball.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

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
  // docs/theory/ball.md, "The projection as computed". The margin also lets in_ball agree.
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
