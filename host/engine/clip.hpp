#pragma once
// Clips rounded to the safe side: what every engine's answer is exact in. On a device too: IEEE
// operations rounded to nearest, nothing that a compiler may contract.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/core/matrix_view.hpp"
#include "gibbsite/model/losses/poisson.hpp"

namespace gibbsite {

class Loss;
struct ClassPair;
struct RowLengths;
struct ScoreLimits;

/// sup of the trace of grad_z^2 f: phi of one output.
double largest_trace_of(const Loss& loss);

/// Throws BadInput where P [d x k] has other rows or is not finite, or clip is negative.
void require_metric(MatrixView<const double> P, std::size_t d, double clip);
/// Throws also if an information limit is below 1/4: a row whose cap is 1 could exceed it; and if a
/// largest count is neither 0 nor at least 1.
void require_metric(MatrixView<const double> P, std::size_t d, const ScoreLimits& limits);

/// Throws BadInput unless they are of rows of d features and finite, low < high.
void require_lengths(const RowLengths& lengths, std::size_t d);

/// Whether the scores of that loss are weighted and not held: its derivative is p - t.
bool is_logistic(const Loss& loss);
/// Throws BadInput unless rows of that loss have an information that is limited.
void require_information(const Loss& loss, const ScoreLimits& limits);
/// Throws BadInput unless it is of several classes, the pair among them, and information is
/// limited.
void require_information(const Loss& loss, const ScoreLimits& limits, const ClassPair& pair);
/// N where slopes are weighted as those of counts up to N are, 0 elsewhere.
double counts_of(const Loss& loss, const ScoreLimits& limits);
/// sqrt(information) clip, rounded down: the norm of a row's v in CappedLoss::information.
double information_clip(const ScoreLimits& limits);
/// Square roots of rows' curvatures, as floats.
std::vector<float> information_factors(std::span<const double> curvatures);
/// Sizes of rows' scores, as floats.
std::vector<float> score_factors(std::span<const double> scores);

/// What a row of several classes is multiplied by for its v in CappedLoss::information_between. v
/// is u = P^T x times min(factor, share s), s the `shrinking` of u to `information_clip`.
struct PairFactor {
  float factor = 0;  ///< sqrt(w p_a p_b)
  /// sqrt(p_a p_b / pair_norm), rounded down: over all pairs its fourth powers add up to at most 1,
  /// so that ||v||^4 do to at most the clip's.
  float share = 0;
};
/// That of a row with probabilities p [K] and that cap. Both are 0 where p is not finite.
PairFactor pair_factor(std::span<const double> p, double cap, double limit, const ClassPair& pair);

/// Largest float <= v, for v >= 0; the largest finite one where v is more.
GIBBSITE_HD inline float float_below(double v) {
  constexpr float most = std::numeric_limits<float>::max();
  if (v >= static_cast<double>(most)) return most;
  const auto near = static_cast<float>(v);
  // One bit pattern less where it was rounded up: no branch, half of all are.
  const std::uint32_t up = static_cast<double>(near) > v ? 1 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) - up);
}

/// What multiplies a row's loss before class weights: the weight of its class times its own, both
/// in [0, 1], rounded down.
float row_factor(const Loss& loss, float y, float weight);
/// sqrt(weight), rounded down: what multiplies a row of weight in [0, 1] in second moments.
GIBBSITE_HD inline float root_weight(float weight) {
  const auto w = static_cast<double>(weight);
  const float root = float_below(std::sqrt(w));
  const auto r = static_cast<double>(root);  // whose square is exact
  return r * r <= w ? root : std::bit_cast<float>(std::bit_cast<std::uint32_t>(root) - 1);
}

/// min(factor, share s), rounded down.
GIBBSITE_HD inline float shared(float factor, float share, float s) {
  return std::min(factor, float_below(static_cast<double>(share) * static_cast<double>(s)));
}

/// v, or 0 where it is too small for its rounding to be relative.
GIBBSITE_HD inline float normal_or_zero(float v) {
  return std::fabs(v) < std::numeric_limits<float>::min() ? 0.0F : v;
}

/// s <= 1 such that floats s u_a, rounded and then normal_or_zero, have norm <= clip, for floats
/// u [k] whose squares (exact in double) add up to `squares` in any order. Roundings: k/2 units of
/// the norm, 2^-24 of each number; the slack is four times that.
GIBBSITE_HD inline float shrinking(double squares, std::size_t k, double clip) {
  // k 2^-51 is exact.
  const double norm = std::sqrt(squares) * (1 + 0x1p-22 + static_cast<double>(k) * 0x1p-51);
  return float_below(std::min(1.0, clip / norm));  // 1 for 0 / 0
}

/// Largest cap, up to rounding: cap * norm <= clip in exact arithmetic; `largest` where norm is 0,
/// 0 where it is not finite.
GIBBSITE_HD inline float cap_below(double clip, double norm, float largest) {
  if (norm == 0) return largest;
  if (!(norm <= std::numeric_limits<double>::max())) return 0;
  return std::min(largest, float_below(clip / norm * (1 - 0x1p-51)));
}

/// The score of one row of two classes and the curvature that is left of it
/// (docs/theory/whitened.md).
struct WeightedScore {
  double score = 0;      ///< |score| <= cap exactly
  double curvature = 0;  ///< in [0, phi]: [0, 1/4] of two classes, [0, 1] of counts
};
/// The derivative r = p - t of the logistic loss, weighted so that neither label could exceed the
/// cap: w = min(1, cap / max(p, 1 - p), limit cap^2 / (p (1 - p))), score w r, curvature
/// w p (1 - p). As w does not look at the label t, the score has mean 0 at the true coefficients.
/// The last term holds w p (1 - p) ||z||^2 <= limit clip^2, since ||z|| <= clip / cap where
/// cap < 1; it says nothing where limit is infinite. Where r is not a number the score is the cap.
GIBBSITE_HD inline WeightedScore weighted_score(double r, double cap, double limit) {
  const double size = std::fabs(r), other = 1 - size;
  const double curvature = size * other;
  // The smaller of two quotients by one division. No comparison is true of infinity * 0.
  const double largest = size > other ? size : other, most = limit * cap * cap;
  const bool limited = most * largest < cap * curvature;
  const double above = limited ? most : cap, below = limited ? curvature : largest;
  const double w = above < below ? above / below : 1;
  const double score = r * w;
  return {std::fabs(score) <= cap ? score : std::copysign(cap, r), size <= 1 ? curvature * w : 0};
}

/// The score of the slope r = m - y of a count y up to N, in units of N, weighted by
/// losses::poisson::weight of its mean, before what `held_weight` takes: at most cap exactly. Where
/// r is not a number it is the cap.
GIBBSITE_HD inline WeightedScore count_score(double r, double y, double second, double cap,
                                             double N) {
  const double weight = losses::poisson::weight(r + y, cap, N), score = r * weight;
  return {std::fabs(score) <= cap ? score : std::copysign(cap, r),
          second >= 0 ? (second < 1 ? second : 1) * weight : 0};
}

/// The square root of the sum of (p_a p_b)^2 over the pairs of K classes: the norm of a row's
/// curvatures p_a p_b.
GIBBSITE_HD inline double pair_norm(const double* p, std::size_t K) {
  double before = 0, sum = 0;
  for (std::size_t k = 0; k < K; ++k) {
    const double square = p[k] * p[k];
    sum += before * square;
    before += square;
  }
  return std::sqrt(sum);
}
/// min(1, limit cap^2 / norm); 1 where limit is infinite.
GIBBSITE_HD inline double limited_weight(double norm, double cap, double limit) {
  const double most = limit * cap * cap;  // no comparison is true of infinity * 0
  return most < norm ? most / norm : 1;
}
/// The weight of a row whose slope is held at its cap: min(1, limit cap^2), so that ||z||^2 times
/// it is at most limit clip^2, since ||z|| <= clip / cap. It does not look at the label. 1 where
/// limit is infinite.
GIBBSITE_HD inline double held_weight(double cap, double limit) {
  const double most = limit * cap * cap;  // no number where the cap is 0, and so is the score
  return most < 1 ? most : 1;
}

/// ||r|| from above, of K numbers whose squares were rounded and added in any order.
GIBBSITE_HD inline double length_above(double squares, std::size_t K) {
  return std::sqrt(squares) * (1 + static_cast<double>(K + 16) * 0x1p-52);
}

/// s <= 1 such that numbers s r_k, rounded, of r [K] with that length_above have norm <= cap in
/// exact arithmetic. Roundings are K/2 + 4 units of the norm, the slack is four times that; where
/// squares are too small for a double the norm is below every float but 0.
GIBBSITE_HD inline double holding(double length, float cap) {
  if (cap == 0) return 0;
  return length <= static_cast<double>(cap) ? 1 : static_cast<double>(cap) / length;
}

/// ||P^T x|| from above, of u = P^T x in double [k] with sum_a u_a^2 = squares, and of
/// sizes = sum_j |x_j| ||P_j||, both summed in any order: in coordinate a
/// |u - P^T x| <= gamma_m sum_j |x_j P_ja| for a column of m entries that are not 0 (Higham 2002,
/// (3.5); a fused multiply-add rounds once), so no more than gamma_m sizes in norm.
struct NormBound {
  double roundings = 0, slack = 1, underflow = 0;
  [[nodiscard]] GIBBSITE_HD double norm(double squares, double sizes) const {
    return (std::sqrt(squares) + roundings * sizes) * slack + underflow;
  }
};
/// That of P, and sizes[d]: ||P_j|| off by an ulp for each number, 0 where it is.
NormBound bound_norms(MatrixView<const double> P, std::span<double> sizes);

}  // namespace gibbsite
