// Clipping: the stored float row has norm <= R in exact arithmetic (docs/reference/data.md,
// Clipping).
#include "data/clip.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"

// Plain loops, compiled for every kind of vector register.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/clip.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gibbsite::clip::HWY_NAMESPACE {

/// sum_i row[i]^2 in double, rounded: the square of a float is exact in double, so only the d
/// additions round, fused or not. Eight lanes so that it vectorizes.
double SumOfSquares(const float* HWY_RESTRICT row, size_t size) {
  double lane[8] = {}, rest = 0;
  size_t i = 0;
  for (; i + 8 <= size; i += 8)
    for (size_t k = 0; k < 8; ++k) {
      const double v = row[i + k];
      lane[k] += v * v;
    }
  for (; i < size; ++i) {
    const double v = row[i];
    rest += v * v;
  }
  return rest + (((lane[0] + lane[4]) + (lane[1] + lane[5])) +
                 ((lane[2] + lane[6]) + (lane[3] + lane[7])));
}

void Scale(float* HWY_RESTRICT row, size_t size, double factor) {
  for (size_t i = 0; i < size; ++i)
    row[i] = static_cast<float>(static_cast<double>(row[i]) * factor);
}

}  // namespace gibbsite::clip::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite {
namespace clip {
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(Scale);
}  // namespace clip

namespace {

/// Whether sum_i row[i]^2 <= norm^2 exactly: the sign of an exact sum of doubles by Shewchuk's
/// Grow-Expansion (1997, Theorem 10): components that do not overlap, the last one decides.
/// Needs norm^2 in [1e-200, 1e300].
bool inside_exactly(std::span<const float> row, double norm) {
  std::vector<double> parts;
  const auto add = [&parts](double b) {
    std::size_t kept = 0;
    for (const double a : parts) {
      const double s = a + b;  // TwoSum: s + error = a + b exactly
      const double bb = s - a;
      const double error = (a - (s - bb)) + (b - bb);
      if (error != 0) parts[kept++] = error;
      b = s;
    }
    parts.resize(kept);
    if (b != 0) parts.push_back(b);
  };
  const double square = norm * norm;
  add(-square);
  add(-std::fma(norm, norm, -square));
  for (const float v : row)
    if (v != 0) add(static_cast<double>(v) * static_cast<double>(v));
  return parts.empty() || parts.back() < 0;
}

}  // namespace

double clip_factor(std::span<const float> row, double row_norm) {
  // The features of a Schema lie in [0,1] and its row_norm in [1e-6, 1e6]; the proof needs no more
  // than this.
  if (!(row_norm >= 1e-30 && row_norm <= 1e30))
    throw BadInput("row_norm: must be between 1e-30 and 1e30; fix the schema");
  using namespace clip;
  const double sum = HWY_DYNAMIC_DISPATCH(SumOfSquares)(row.data(), row.size());
  if (!(sum < std::numeric_limits<double>::infinity()))
    throw BadInput("row: every value must be finite; fix the row");
  // u = 2^-53. sum (1 - 2(d+4)u) <= S <= sum (1 + 2(d+4)u) for the exact S, products rounded.
  const double slack = static_cast<double>(row.size() + 4) * 0x1p-52;
  const double square = row_norm * row_norm;  // relative error u, inside the slack
  const double upper = sum * (1 + slack);
  if (upper <= square) return 1;
  if (sum * (1 - slack) <= square && inside_exactly(row, row_norm)) return 1;
  // S <= upper; quotient, root and products round by at most u each, to float by 2^-24 (or by
  // 2^-150 where subnormal): the factor leaves norm < R (1 - 2^-32).
  return row_norm / std::sqrt(upper) * (1 - 0x1p-24 - 0x1p-30);
}

void scale_row(std::span<float> row, double factor) {
  using namespace clip;
  HWY_DYNAMIC_DISPATCH(Scale)(row.data(), row.size(), factor);
}

// The proof of docs/reference/data.md, "Clipping". u = 2⁻⁵³. The square of a float is exact
// in double, so the computed sum s only suffers its d − 1 additions of nonnegative terms, in
// whatever order: s(1 + u)^-(d−1) ≤ S ≤ s(1 − u)^-(d−1) for the exact sum S. Put σ = 2(d + 4)u,
// and t = fl(R·R), within a factor 1 ± u of R².
//
// 1. fl(s(1 + σ)) ≤ t implies S ≤ R², since (1 − u)^d (1 + 2(d + 4)u) ≥ 1 + u. Nothing is done.
// 2. fl(s(1 − σ)) > t implies S > R², in the same way. The row is scaled.
// 3. In between, the sign of S − R² is computed exactly: R² = t + fma(R, R, −t) and the squares
//    are doubles, and their sum is kept as an expansion of doubles that do not overlap (Shewchuk
//    1997, Grow-Expansion), whose last component has the sign of the whole.
// 4. Scaling: p = fl(s(1 + σ)) ≥ S, and y_i = float(x_i f) with f = (R/√p)(1 − 2⁻²⁴ − 2⁻³⁰). Root,
//    quotient and products round by at most u each, so ‖xf‖ ≤ R(1 − 2⁻²⁴ − 2⁻³⁰)(1 + 5u). Rounding
//    to float adds at most a factor 1 + 2⁻²⁴, and 2⁻¹⁵⁰ per subnormal value, so √d·2⁻¹⁵⁰ ≤ R·2⁻³¹
//    in the norm for d ≤ 2³⁸ (R > 2⁻¹⁰⁰). Together ‖y‖ < R(1 − 2⁻³²). Below, the loss is at most
//    2·2⁻²⁴ + 2⁻³⁰ and (d + 20)u for s and p. |y_i| ≤ |x_i| because f < 1 and x_i is a float. ∎
bool clip_row_to_norm(std::span<float> row, double row_norm) {
  const double factor = clip_factor(row, row_norm);
  if (factor == 1) return false;
  scale_row(row, factor);
  return true;
}

}  // namespace gibbsite
#endif  // HWY_ONCE
