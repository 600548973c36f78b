#include "gibbsite/mechanism/noise_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"

namespace gibbsite {
namespace {

// Lemma 1 of docs/theory/noise-law.md, second part: the radius, taken at the middle of its word.
// Where r ≥ 1 it is off by at most 2^{−B}/2 · |dr/dU| ≤ 1/(2w) on a word w ≥ 1.
// - On average, B = 64: E|r − r̂| ≤ 4.9·2⁻⁶⁴. On a word the mean is at most half of the word's
//   probability times the change of the monotone r. This telescopes to 2⁻⁶⁵ · 9.419 for all words
//   but w = 0. There r − 9.419 is exponential with mean below 0.11, and the middle is 0.074 in:
//   0.19 · 2⁻⁶⁴ more.
// - Mostly, B = 128: at most 2^{−j−1} but with a probability of (2^j+1)2⁻¹²⁸ a pair, j ≤ 62. For
//   that holds on words w > 2^j, and below r = 1 a word moves r by at most √(2⁻¹²⁸/0.6).
// - Across an edge t of a cell: given the angle, t/cos a must lie in the word of r, with r on its
//   far side from the middle. That has probability half a word at most, and the sign of cos a must
//   fit: 2^{−B−2}.

// Lemma 2 of docs/theory/noise-law.md.
// Proof. The radius moves a coordinate into another cell only across an edge: Lemma 1, for at most
// 2ρσ/g + 1 edges within reach of words w ≥ 1, twice because cells are widened or narrowed below,
// and 2^{−B} for all beyond together (w = 0). The rest moves it by at most s. For a set E of cells
// let E⁺ and E⁻ have every cell widened and narrowed by s. Then P(X̂ ∈ E) ≤ P(Y ∈ E⁺) ≤ e^ε' P'(Y'
// ∈ E⁺) + …, Y the exact sum, and for the Gaussian Y' given the past
//   P'(Y' ∈ E⁺) ≤ Π_j (1 + 4s/w · e^{slope (w+2s)}) P'(Y' ∈ E⁻) + d P(|ξ| > ρ)
//   P'(Y' ∈ E⁻) ≤ P'(X̂' ∈ E)
// coordinate by coordinate: the four strips of width s weigh no more than 4s/w of the part of the
// narrowed cell of width w beside them, times what the log density changes over both. Both costs
// add over coordinates and draws. ∎

// Constants of a pair of normals, in units of its deviation, u a multiple of 2^-64
// (docs/theory/noise-law.md).
const Wide word = ldexp(Wide(1), -64);
const Wide mean_shift = Wide("4.9") * word;  // E|r - r at the middle of its word|
const Wide smoothed = Wide("0.39895");       // TV of N(0,1) and N(x,1) is at most this times x
const Wide beyond_range = Wide("2.2e-21");   // P(|N(0,1)| > 9.5)
const Wide beyond_norm = Wide("2.6e-20");    // P(||N(0,I_d)|| > sqrt(d) + 9.5) <= exp(-9.5^2/2)
constexpr double range = 9.5;
// Roundings of sigma xi: the normal's own, and those of sigma and of the product.
constexpr int product_roundings = normal_roundings + 4;

// Variance of the last noise.
Wide last_variance(const ChainNoise& c) { return 2 * Wide(c.step_size); }
Wide last_variance(const ProposalNoise& c) {
  const Wide h = c.schedule.step_size, m = c.strong_convexity;
  return h == 0 ? Wide(1 / m) : Wide(1 / (m + 1 / h));
}
Wide last_variance(const AddedNoise& c) { return Wide(c.deviation) * Wide(c.deviation); }
Wide last_variance(const LaplaceNoise& c) {
  return (Wide(c.features) + 1) / (Wide(c.rate) * Wide(c.rate));
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
  const Wide infinity = std::numeric_limits<double>::infinity();
  if (!(2 * shift < grid)) return infinity;
  const Wide beside = std::min(Wide(grid - 2 * shift), Wide(1 / slope));
  const Wide gained = 4 * shift / beside * exp(slope * (beside + 2 * shift));
  return gained < infinity ? Wide(d * boost::math::log1p(gained)) : infinity;
}

struct Expense {
  Wide tv, epsilon;
};

// A chain, docs/theory/noise-law.md.
// Noise-dependent errors pass to the next step. Let Y_{k+1} = b_k + √(2h) ξ_k with the exact ξ_k,
// X̂ as computed, ε_k = X̂_{k+1} − Y_{k+1}. The drift b_k is a function of the words before step
// k, hence of Y_1 … Y_k. And b_k = φ(Y_k) + p_k, where p_k collects the drift's own error at X̂_k
// and at most c‖ε_{k−1}‖ (c ≤ 1 contracts). So Y is a chain with exactly Gaussian noise and
// perturbations p_k that are known before the noise of their step. With ‖p_k‖ ≤ e its privacy is
// that of the theorem with Sh + 2e: shifted interpolation (Bok, Su, Altschuler 2024) compares
// whole histories step by step and lets a drift depend on all of the past. The shift charged to a
// step is, given the history, a mixture of shifts within the bound, which is no easier to tell
// apart (joint convexity). The TV certificates take e by the chain rule of KL, where this holds
// too. e includes 16u √(2h)‖ξ‖ for the normals (map_bounds_up). For odd d the last pair's second
// normal belongs to the history and has one law on all tables.

// path, dalalyan, averaged: sigma = sqrt(2h). What a radius is off shifts the next step's mean, and
// that step's noise hides it.
Expense chain_cost(const Wide& d, const ChainNoise& c, const Wide& grid) {
  const Wide K = c.outputs, pairs = K * ceil(Wide(d / K / 2));  // of an odd number one is half used
  const Wide sigma = sqrt(last_variance(c)), T = c.iterations;
  const Wide shift = gamma_k(Wide(product_roundings)) * sigma * Wide(max_abs_normal);
  Expense out;
  out.tv = T * pairs * mean_shift * smoothed + d * (crossing(sigma, grid) + beyond_range);
  if (c.random_start) {
    // The start's noise, scale 1/sqrt(M), is forgotten by c^K before the steps' noise hides it:
    // sqrt((1 - c^2)/(2h)) c^K of it, c^K <= exp(-K h m).
    const Wide h = c.step_size, m = c.strong_convexity;
    const Wide start =
        (pairs * mean_shift + gamma_k(Wide(product_roundings)) * sqrt(d) * Wide(max_abs_normal)) /
        sqrt(Wide(c.smoothness));
    out.tv += smoothed * start * exp(Wide(-T * h * m)) * sqrt(Wide(1 / (2 * h)));
  }
  const Wide slope = (Wide(range) + (grid + 2 * shift) / sigma) / sigma;
  out.epsilon = cell_loss(d, shift, grid, slope);
  return out;
}

// The proximal sampler, with s = 1/(m+1/η), A = M − m and p the acceptance:
// - y off by x: the law of θ' given y is e^{−F} with F 1/s-strongly convex, so KL ≤ (s/2)(x/η)²;
//   of the radius TV ≤ ½ E|r − r̂| a pair.
// - The draw off by x shifts the next y: KL ≤ x²/(2η), TV ≤ 0.39895 x/√η; conditioned on
//   acceptance, over p.
// Decisions (docs/theory/noise-law.md). |∇ log P(accept)| = β‖∇Σℓ(x) − ∇Σℓ(w)‖ ≤ A‖x − w‖. The
// radius changes a decision with probability at most A E[‖x − w‖ |r − r̂|√s] a pair, over p.
// Roundings tilt the accepted law by e^L, |L| ≤ A‖x − w‖ · 20u‖x − mean‖, so KL = ∫₀¹ t Var_t(L)
// dt ≤ ½ · 1.01 E L² while |L| ≤ 0.005. For the 1/s-strongly log-concave accepted law with mode
// x*, E‖x − x*‖⁴ ≤ s² d(d+2) (the generator of its Langevin diffusion applied to ‖x − x*‖⁴), ‖w −
// x*‖ ≤ o and ‖mean − x*‖ ≤ 2o with o = ‖mean − w‖; Cauchy–Schwarz: √(E L²) ≤ A (q+o)(q+2o) · 20u,
// q⁴ = s² d(d+2). Part of tv_rounding, by Pinsker. (For odd d the unused normal of the last pair
// enters the angle's part: at d = 1 E(6.28|ξ₂|+13|ξ₁|)²ξ₁² ≤ 760, where 20² · 3 is allowed. The
// tangent's own rounding is at most a quarter of the tolerance, by proximal_error.)
// proximal, rejection: a radius that is off shifts y, the draw, and the decision about it.
Expense proposal_cost(const Wide& d, const ProposalNoise& c, const Wide& grid) {
  const Wide pairs = ceil(Wide(d / 2)), k = c.schedule.iterations;
  const Wide s = last_variance(c), sigma = sqrt(s), acceptance = c.acceptance;
  const Wide A = Wide(c.smoothness) - Wide(c.strong_convexity), offset = c.offset;
  const bool exact = c.schedule.step_size == 0;
  if (!(acceptance > 0)) {
    const Wide infinity = std::numeric_limits<double>::infinity();
    return {infinity, infinity};
  }
  const Wide decision =
      A * sigma * (sigma * (sqrt(d) + 10) + offset) + (exact ? Wide(0) : smoothed);
  Expense out;
  out.tv = k * (pairs * mean_shift * ((exact ? Wide(0) : Wide(0.5)) + decision / acceptance) +
                beyond_norm / acceptance) +
           (exact ? Wide(0) : Wide(2 * smoothed * pairs * mean_shift)) +
           d * crossing(sigma, grid) / acceptance;
  const Wide shift = gamma_k(Wide(product_roundings)) * sigma * Wide(max_abs_normal);
  const Wide far = sigma * (sqrt(d) + Wide(range)) + offset + 2 * sqrt(d) * grid;
  out.epsilon = cell_loss(d, shift, grid, far / s + A * far);
  return out;
}

// One vector sigma xi, added last: nothing hides its radius but the grid.
Expense added_cost(const Wide& d, const AddedNoise& c, const Wide& grid) {
  const Wide sigma = c.deviation;
  const Wide shift = gamma_k(Wide(product_roundings)) * sigma * Wide(max_abs_normal);
  const Wide slope = (Wide(range) + (grid + 2 * shift) / sigma) / sigma;
  return {d * (crossing(sigma, grid) + beyond_range), cell_loss(d, shift, grid, slope)};
}

// Constants of normals with 128 bits of the radius: a word, and P(|N(0,1)| > 13.4).
const Wide word_128 = ldexp(Wide(1), -128);
const Wide range_128 = Wide("13.4");

// What ||zeta|| of fill_laplace, the thrown-away half of its last pair included, exceeds with a
// probability of e^(-13.4^2/2) < beyond_length at most.
Wide longest(const LaplaceNoise& c) { return sqrt(Wide(c.features) + 2) + range_128; }
const Wide beyond_length = Wide("1.1e-39");

// Pure noise (docs/theory/noise-law.md). b = ‖ζ‖ξ/γ (output-pure.md), B = 128. ‖ζ‖ is summed in 50
// digits. Three vectors on one space: b exact, of Lemma 1; b̃ with every radius at the middle of
// its word, angles exact; b̂ computed. Let F be ‖ζ̃‖ with the unused half of its last pair, over
// γ.
//
// - From b̃ to b̂. A pair of normals is off by 16u r, so ‖ζ̂‖/γ by 16u F, which is rounded once;
//   the product is rounded once more: |b̂_j − b̃_j| ≤ γ₃₄ F r, where γ₃₆ is charged (the sum's own
//   rounding leaves 63/64 of a cell). F is no larger than (√(d+2)+13.4)/γ but with probability
//   e^{−13.4²/2} < 1.1·10⁻³⁹: the Chernoff bound for χ² (Laurent & Massart 2000, Lemma 1) holds
//   for r̃² too, as r̃² ≤ E(r² | word) (−log is convex).
// - From b to b̃, one radius after the other, the others fixed. |b_j| grows with every radius, so
//   an edge of a cell is one threshold for it, and the radius lies on the far side of that from
//   the middle of its word with probability half a word at most. Edges within reach are 26.8
//   E‖ζ‖/(γg) + 1 for ξ's radius, E‖ζ‖ ≤ √(d+1), and 13.4 E|ξ_j|/(γg) + 1 for one of ζ's; each is
//   two edges, of a cell widened and narrowed; 2⁻¹²⁸ is for the first word, all beyond. With
//   ⌈(d+1)/2⌉ radii of ζ
// b = ||zeta|| xi/rate. Its log density has a slope of `rate` everywhere. Each radius moves each
// coordinate through boundaries that lie 1/grid apart, two of a cell widened and narrowed, with
// half a word's probability each: the 26.8 sqrt(d + 1)/rate that xi's can reach, and 13.4/rate that
// one of zeta's can.
Expense laplace_cost(const LaplaceNoise& c, const Wide& grid) {
  const Wide d = c.features, rate = c.rate, pairs = ceil(Wide((d + 1) / 2));
  const Wide xi = 2 * range_128 * sqrt(d + 1) / (rate * grid) + 2;
  const Wide zeta = range_128 / (rate * grid) + 2;
  // Roundings of xi and of zeta, as long as its whole pairs, and those of its length and the
  // product.
  const Wide shift =
      gamma_k(Wide(2 * normal_roundings + 4)) * longest(c) * Wide(max_abs_answer_normal) / rate;
  return {d * word_128 * (xi + pairs * zeta) + beyond_length, cell_loss(d, shift, grid, rate)};
}

// A radius of 128 bits: the same, with words of 2^-128 and numbers up to max_abs_answer_normal. In
// units of sigma the narrowest cell is 1/16, 63/64 of it after the sum's rounding, and a cell twice
// as wide loses no more: the part beside the strips is 1/slope wide at most.
Expense answered_cost(const Wide& numbers) {
  const Wide narrow = Wide(63) / 1024, wide = Wide(1) / 8;
  const Wide boundaries = 2 * range_128 / narrow + 1;
  const Wide beyond = Wide("6.1e-41");  // P(|N(0,1)| > 13.4)
  const Wide shift = gamma_k(Wide(product_roundings)) * Wide(max_abs_answer_normal);
  const Wide slope = range_128 + wide + 2 * shift;
  return {numbers * (word_128 / 2 * boundaries + word_128 + beyond),
          cell_loss(numbers, shift, narrow, slope)};
}

NoiseCost of_all(const Expense& one, std::uint64_t draws) {
  const Wide k = draws;
  return {round_up(k * one.tv), round_up(k * one.epsilon)};
}

constexpr NoiseCost unbounded{std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::infinity()};

// 2^(floor(log2 sqrt(variance)) - 8), not below 16 accumulated errors.
double grid_of(const Wide& variance, const Wide& accumulated_error) {
  const auto rounded = static_cast<double>(variance);
  if (!std::isnormal(rounded)) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = std::ilogb(rounded);
  const int noise = (exponent >= 0 ? exponent : exponent - 1) / 2 - 8;
  int accumulated = 0;
  const double error = round_up(Wide(16) * accumulated_error);
  if (!std::isfinite(error)) return std::numeric_limits<double>::quiet_NaN();
  const double fraction = std::frexp(error, &accumulated);
  if (fraction == 0.5) --accumulated;
  return std::ldexp(1.0, error > 0 ? std::max(noise, accumulated) : noise);
}

// What `steps` steps add up to when each forgets `gap` of what was before.
Wide accumulated(double map_error, double iterations, const Wide& gap) {
  Wide steps = iterations;
  if (gap > 0 && gap * steps > 1) steps = 1 / gap;
  return Wide(map_error) * steps;
}

}  // namespace

NoiseCost noise_cost_up(const ChainNoise& c, std::uint64_t features, std::uint64_t draws) {
  const double grid = release_grid(c);
  if (!std::isfinite(grid)) return unbounded;
  return of_all(chain_cost(Wide(features), c, Wide(grid)), draws);
}

NoiseCost noise_cost_up(const ProposalNoise& c, std::uint64_t features, std::uint64_t draws) {
  const double grid = release_grid(c);
  if (!std::isfinite(grid)) return unbounded;
  return of_all(proposal_cost(Wide(features), c, Wide(grid)), draws);
}

NoiseCost noise_cost_up(const AddedNoise& c, std::uint64_t features, std::uint64_t draws) {
  const double grid = release_grid(c);
  if (!std::isfinite(grid)) return unbounded;
  return of_all(added_cost(Wide(features), c, Wide(grid)), draws);
}

NoiseCost noise_cost_up(const LaplaceNoise& c, std::uint64_t draws) {
  const double grid = release_grid(c);
  if (!std::isfinite(grid)) return unbounded;
  return of_all(laplace_cost(c, Wide(grid)), draws);
}

NoiseCost noise_cost_up(const AnsweredNoise& c, std::uint64_t draws) {
  return of_all(answered_cost(Wide(c.numbers)), draws);
}

double answer_grid(double deviation) {
  require_finite_positive(deviation, "deviation");
  return std::ldexp(1.0, std::ilogb(deviation) - 3);
}

double answer_reach(double deviation) {
  return deviation * max_abs_answer_normal + answer_grid(deviation);
}

// A sum and its noise are at most rows s + 14 sigma with sigma >= s/mu, s the most that a row adds:
// 128 roundings u of that are to be within the grid, which is above sigma/16, for a cell has two
// ends.
bool answers_resolve(double rows, double mu) {
  const Wide largest = Wide(rows) * Wide(mu) + 14;
  return 128 * 16 * ldexp(largest, -53) <= 1;
}

double release_grid(const ChainNoise& c) {
  if (!std::isfinite(c.map_error)) return std::numeric_limits<double>::quiet_NaN();
  const Wide h = c.step_size;
  const Wide gap = std::min(Wide(h * Wide(c.strong_convexity)), Wide(2 - h * Wide(c.smoothness)));
  return grid_of(last_variance(c), accumulated(c.map_error, c.iterations, gap));
}

double release_grid(const ProposalNoise& c) {
  if (!std::isfinite(c.map_error)) return std::numeric_limits<double>::quiet_NaN();
  const Wide variance = last_variance(c);
  const Wide gap = c.schedule.step_size == 0 ? Wide(1) : Wide(Wide(c.strong_convexity) * variance);
  return grid_of(variance, accumulated(c.map_error, c.schedule.iterations, gap));
}

// A sum is rounded before it comes to the grid: a cell as narrow as half of it would gain twice.
double release_grid(const AddedNoise& c) {
  const Wide largest = Wide(c.reach) + Wide(c.deviation) * Wide(max_abs_normal);
  return grid_of(last_variance(c), Wide(8) * ldexp(Wide(1), -53) * largest);
}

double release_grid(const LaplaceNoise& c) {
  const Wide largest = Wide(c.reach) + longest(c) * Wide(max_abs_answer_normal) / Wide(c.rate);
  return grid_of(last_variance(c), Wide(8) * ldexp(Wide(1), -53) * largest);
}

}  // namespace gibbsite
