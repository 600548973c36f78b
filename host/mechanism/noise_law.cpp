#include "gibbsite/mechanism/noise_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/proximal.hpp"
#include "mechanism/planning.hpp"

namespace gibbsite {
namespace {

// Of a pair of normals, in units of its deviation, u a multiple of 2^-64 (docs/noise-law.md).
const Wide word = ldexp(Wide(1), -64);
const Wide mean_shift = Wide("4.9") * word;  // E|r - r at the middle of its word|
const Wide smoothed = Wide("0.39895");       // TV of N(0,1) and N(x,1) is at most this times x
const Wide beyond_range = Wide("2.2e-21");   // P(|N(0,1)| > 9.5)
const Wide beyond_norm = Wide("2.6e-20");    // P(||N(0,I_d)|| > sqrt(d) + 9.5) <= exp(-9.5^2/2)
constexpr double range = 9.5;
// Of sigma xi: the normal's own, and those of sigma and of the product.
constexpr int product_roundings = normal_roundings + 4;

bool rejects(const CertificatePlan& c) {
  return c.kind == CertificateKind::proximal || c.kind == CertificateKind::rejection;
}

// Variance of the last noise.
Wide last_variance(const CertificatePlan& c) {
  const Wide h = c.step_size, m = c.prior_precision;
  if (!rejects(c)) return 2 * h;
  return c.step_size == 0 ? Wide(1 / m) : Wide(1 / (m + 1 / h));
}

// A coordinate of the last draw ends in another cell of the grid than its exact twin, because its
// radius is that of the middle of its word: an edge lies between them with probability 2^-66, each
// of the 19 sigma/grid + 1 boundaries within reach has two (of a cell widened and narrowed), and
// 2^-64 is for all beyond.
Wide crossing(const Wide& sigma, const Wide& grid) {
  return ldexp(Wide(1), -65) * (19 * sigma / grid + 1) + word;
}

// d log of what a cell can gain when both its ends move by `shift`: four strips of that width,
// against the part of the cell beside them in which the log density, of slope `slope` at most,
// falls by 1 at most.
Wide cell_loss(const Wide& d, const Wide& shift, const Wide& grid, const Wide& slope) {
  if (!(2 * shift < grid)) return std::numeric_limits<double>::infinity();
  const Wide beside = std::min(Wide(grid - 2 * shift), Wide(1 / slope));
  return d * boost::math::log1p(Wide(4 * shift / beside * exp(slope * (beside + 2 * shift))));
}

struct Cost {
  Wide tv, epsilon;
};

// path, dalalyan, averaged: sigma = sqrt(2h). What a radius is off shifts the next step's mean, and
// that step's noise hides it.
Cost langevin_cost(const Wide& d, const CertificatePlan& c, const Wide& grid) {
  const Wide sigma = sqrt(last_variance(c)), pairs = ceil(Wide(d / 2)), T = c.iterations;
  const Wide shift = gamma_k(Wide(product_roundings)) * sigma * Wide(max_abs_normal);
  Cost out;
  out.tv = T * pairs * mean_shift * smoothed + d * (crossing(sigma, grid) + beyond_range);
  if (c.kind == CertificateKind::dalalyan) {
    // The start's noise, scale 1/sqrt(M), is forgotten by c^K before the steps' noise hides it:
    // sqrt((1 - c^2)/(2h)) c^K of it, c^K <= exp(-K h m).
    const Wide h = c.step_size, m = c.prior_precision;
    const Wide start =
        (pairs * mean_shift + gamma_k(Wide(product_roundings)) * sqrt(d) * Wide(max_abs_normal)) /
        sqrt(Wide(c.smoothness));
    out.tv += smoothed * start * exp(Wide(-T * h * m)) * sqrt(Wide(1 / (2 * h)));
  }
  const Wide slope = (Wide(range) + (grid + 2 * shift) / sigma) / sigma;
  out.epsilon = cell_loss(d, shift, grid, slope);
  return out;
}

// proximal, rejection: a radius that is off shifts y, the draw, and the decision about it.
Cost rejection_cost(const Problem& constants, const CertificatePlan& c, const Wide& grid) {
  const ProximalSchedule schedule{c.step_size, c.iterations, c.proposals,
                                  c.rounds,    c.residual,   c.gradients};
  const double G = c.gradients > 0 ? start_gradient_up(constants, c.beta) : c.start_gradient_norm;
  const ProximalError error =
      proximal_error(constants, c.beta, c.prior_precision, c.smoothness, schedule, G);
  const Wide d = constants.features, pairs = ceil(Wide(d / 2)), k = c.iterations;
  const Wide s = last_variance(c), sigma = sqrt(s), acceptance = error.acceptance;
  const Wide A = Wide(c.smoothness) - Wide(c.prior_precision), offset = error.offset;
  const bool exact = c.step_size == 0;
  if (!(acceptance > 0)) {
    const Wide infinity = std::numeric_limits<double>::infinity();
    return {infinity, infinity};
  }
  const Wide decision =
      A * sigma * (sigma * (sqrt(d) + 10) + offset) + (exact ? Wide(0) : smoothed);
  Cost out;
  out.tv = k * (pairs * mean_shift * ((exact ? Wide(0) : Wide(0.5)) + decision / acceptance) +
                beyond_norm / acceptance) +
           (exact ? Wide(0) : Wide(2 * smoothed * pairs * mean_shift)) +
           d * crossing(sigma, grid) / acceptance;
  const Wide shift = gamma_k(Wide(product_roundings)) * sigma * Wide(max_abs_normal);
  const Wide far = sigma * (sqrt(d) + Wide(range)) + offset + 2 * sqrt(d) * grid;
  out.epsilon = cell_loss(d, shift, grid, far / s + A * far);
  return out;
}

}  // namespace

NoiseCost noise_cost_up(const Problem& constants, const CertificatePlan& c, std::uint64_t draws) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(c.map_error)) return {infinity, infinity};
  const Wide grid = release_grid(c), k = draws;
  const Cost one = rejects(c) ? rejection_cost(constants, c, grid)
                              : langevin_cost(Wide(constants.features), c, grid);
  return {round_up(k * one.tv), round_up(k * one.epsilon)};
}

double release_grid(const CertificatePlan& c) {
  if (!std::isfinite(c.map_error)) {
    throw Infeasible(
        "release grid: the rounding error of this run is not bounded; ask for fewer iterations");
  }
  const Wide h = c.step_size, m = c.prior_precision;
  const Wide variance = last_variance(c);
  // How much of an error each step forgets (1 - c, when positive).
  Wide gap = std::min(Wide(h * m), Wide(2 - h * Wide(c.smoothness)));
  if (rejects(c)) gap = c.step_size == 0 ? Wide(1) : Wide(m * variance);
  // floor(log2 sqrt(variance)) = floor(floor(log2 variance) / 2).
  const int exponent = std::ilogb(static_cast<double>(variance));
  const int noise = (exponent >= 0 ? exponent : exponent - 1) / 2 - 8;
  Wide steps = c.iterations;
  if (gap > 0 && gap * steps > 1) steps = 1 / gap;
  int accumulated = 0;
  const double error = round_up(Wide(16) * Wide(c.map_error) * steps);
  const double fraction = std::frexp(error, &accumulated);
  if (fraction == 0.5) --accumulated;
  return std::ldexp(1.0, error > 0 ? std::max(noise, accumulated) : noise);
}

}  // namespace gibbsite
