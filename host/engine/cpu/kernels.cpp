#include "engine/cpu/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/losses.hpp"

// Register tiles are arrays of vectors, which sizeless vectors (SVE, RVV) do not allow.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/atanh-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

template <class T>
using Wide = hn::ScalableTag<T>;
template <class T>
using Narrow = hn::CappedTag<T, 1>;  // rows shorter than a vector

template <class D>
using Lane = hn::TFromD<D>;
template <class T>
constexpr size_t most_lanes = HWY_MAX_BYTES / sizeof(T);

// Floats in memory as T.
template <class D>
HWY_INLINE hn::Vec<D> LoadAs(D d, const float* HWY_RESTRICT x) {
  if constexpr (sizeof(Lane<D>) == sizeof(float)) {
    return hn::LoadU(d, x);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
  }
}

// ---- residuals ----

// Exponents of T, and e^r = 1 + r + r^2 q(r) for |r| <= log(2) / 2: q is the minimax polynomial of
// the relative error, 3e-9 in float and 4e-18 in double (Remez exchange in 60 digits).
template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr int mantissa = 23;
  static constexpr float log2_high = 0.693359375f, log2_low = -2.12194440e-4f;  // high: 9 bits
  static constexpr float far = 87.33f;  // e^-far is the smallest normal number
  static constexpr float q[] = {0.4999999341f, 0.1666652011f, 0.04166839421f, 0.008368780411f,
                                0.001381446706f};
};
template <>
struct ExpConstants<double> {
  static constexpr int mantissa = 52;
  static constexpr double log2_high = 6.93147180369123816490e-01,  // 32 bits
      log2_low = 1.90821492927058770002e-10;
  static constexpr double far = 708.39;
  static constexpr double q[] = {0.5000000000000010721,    0.16666666666666410235,
                                 0.041666666666529188594,  0.0083333333334956237916,
                                 0.0013888888943922639616, 0.00019841269504765356436,
                                 2.4801492762795647439e-5, 2.7557587342203818353e-6,
                                 2.7630378620805180305e-7, 2.4999965343255922631e-8};
};

// e^v, |v| <= far. Not a number stays none.
template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> v) {
  using T = Lane<D>;
  using C = ExpConstants<T>;
  const hn::RebindToSigned<D> bits;
  // Adding 1.5 * 2^mantissa rounds to an integer, which is then in the low bits.
  const auto magic = hn::Set(d, T(1.5) * static_cast<T>(int64_t{1} << C::mantissa));
  const auto shifted = hn::MulAdd(v, hn::Set(d, T(1.442695040888963407359924681)), magic);
  const auto exponent = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(exponent, hn::Set(d, C::log2_high), v);
  r = hn::NegMulAdd(exponent, hn::Set(d, C::log2_low), r);
  const auto e = hn::Add(hn::MulAdd(Polynomial(d, r, C::q), hn::Mul(r, r), r), hn::Set(d, T{1}));
  return hn::BitCast(
      d, hn::Add(hn::BitCast(bits, e), hn::ShiftLeft<C::mantissa>(hn::BitCast(bits, shifted))));
}

// 1 / v for a v that is normal, as its reciprocal is. A division costs more than all of Exp; a
// guess of 12 bits or more (8 on NEON) doubles its digits at each step.
template <class D>
HWY_INLINE hn::Vec<D> Reciprocal(D d, hn::Vec<D> v) {
  const auto two = hn::Set(d, Lane<D>{2});
  const auto better = [&](hn::Vec<D> guess)
                          HWY_ATTR { return hn::Mul(guess, hn::NegMulAdd(v, guess, two)); };
  if constexpr (sizeof(Lane<D>) == sizeof(float)) {
    return better(better(hn::ApproximateReciprocal(v)));
  } else {
#if HWY_TARGET <= HWY_AVX3
    if constexpr (hn::MaxLanes(D()) == 8) {
      return better(better(hn::Vec<D>{_mm512_rcp14_pd(v.raw)}));
    }
#endif
    return hn::Div(hn::Set(d, 1.0), v);
  }
}

// f(z, y) lane by lane.
template <class D, class F>
HWY_INLINE hn::Vec<D> LaneByLane(D d, hn::Vec<D> z, hn::Vec<D> y, F f) {
  HWY_ALIGN Lane<D> logit[most_lanes<Lane<D>>], label[most_lanes<Lane<D>>];
  hn::Store(z, d, logit);
  hn::Store(y, d, label);
  for (size_t i = 0; i < hn::Lanes(d); ++i) logit[i] = f(logit[i], label[i]);
  return hn::Load(d, logit);
}

// A loss without a form for vectors.
template <class D, class Loss>
HWY_INLINE hn::Vec<D> Residual(D d, Loss /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  return LaneByLane(d, z, y,
                    [](Lane<D> logit, Lane<D> label) { return Loss::residual(logit, label); });
}

// f' = -y / (1 + e^(y z)): where |z| > far it differs from its value at far by less than the
// smallest normal number. Min and Max may drop what is not a number, so it is put back.
template <class D>
HWY_INLINE hn::Vec<D> Residual(D d, losses::logistic /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  using T = Lane<D>;
  const auto far = hn::Set(d, ExpConstants<T>::far);
  const auto t = hn::Max(hn::Neg(far), hn::Min(far, hn::Mul(y, z)));
  const auto sum = hn::Add(hn::Set(d, T{1}), Exp(d, t));
  return hn::IfThenElse(hn::IsNaN(z), z, hn::Neg(hn::Mul(y, Reciprocal(d, sum))));
}

template <class D>
HWY_INLINE hn::Vec<D> Residual(D d, losses::logistic_capped /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto most = hn::Set(d, Lane<D>{0.5});
  const auto held = hn::Max(hn::Neg(most), hn::Min(most, Residual(d, losses::logistic(), z, y)));
  return hn::IfThenElse(hn::IsNaN(z), z, held);
}

// f in double, of a loss without a form for vectors.
template <class D, class Loss>
HWY_INLINE hn::Vec<D> Value(D d, Loss /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  return LaneByLane(d, z, y, [](double logit, double label) { return Loss::value(logit, label); });
}

// f = max(-y z, 0) + log(1 + e^-|y z|), stable for every z; beyond far it differs from that by less
// than the smallest normal number.
template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::logistic /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto t = hn::Mul(y, z);
  const auto near = hn::Min(hn::Abs(t), hn::Set(d, ExpConstants<double>::far));
  const auto e = Exp(d, hn::Neg(near));
  const auto log1p = TwiceAtanh(d, hn::Div(e, hn::Add(hn::Set(d, 2.0), e)));
  const auto f = hn::Add(hn::Max(hn::Neg(t), hn::Zero(d)), log1p);
  return hn::IfThenElse(hn::IsNaN(z), z, f);
}

template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::logistic_capped /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto t = hn::Mul(y, z);
  const auto held = hn::NegMulAdd(t, hn::Set(d, 0.5), hn::Set(d, std::numbers::ln2));
  return hn::IfThenElse(hn::Lt(t, hn::Zero(d)), held, Value(d, losses::logistic(), z, y));
}

// A loss that no kernel was compiled for.
template <class D>
HWY_INLINE hn::Vec<D> Value(D d, const Loss* loss, hn::Vec<D> z, hn::Vec<D> y) {
  return LaneByLane(d, z, y, [loss](double logit, double label) {
    const auto of_lane = static_cast<float>(label);
    return loss->value_sum({&logit, 1}, {&of_lane, 1});
  });
}
template <class D>
HWY_INLINE hn::Vec<D> Residual(D d, const Loss* loss, hn::Vec<D> z, hn::Vec<D> y) {
  constexpr size_t most = most_lanes<Lane<D>>;
  HWY_ALIGN Lane<D> lanes[most];
  double logit[most], residual[most];
  float label[most];
  hn::Store(z, d, lanes);
  std::copy_n(lanes, hn::Lanes(d), logit);
  hn::Store(y, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) label[i] = static_cast<float>(lanes[i]);
  loss->residuals({logit, hn::Lanes(d)}, {label, hn::Lanes(d)}, {residual, hn::Lanes(d)});
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<Lane<D>>(residual[i]);
  return hn::Load(d, lanes);
}

// visit(loss): a struct of scalar functions, or a Loss*.
template <class Visit>
void WithLoss(const LossChoice& loss, const Visit& visit) {
  if (loss.index == kernels::no_loss) return visit(loss.other);
  kernels::with_loss(
      loss.index, [&]<class Compiled>() HWY_ATTR { visit(Compiled()); }, Losses{});
}

// to[i] = f(z[i], y[i]) of whole vectors only, so that a number's bits do not depend on its place.
template <class T, class F>
HWY_INLINE void ForEachLogit(const T* z, const float* y, size_t count, T* to, const F& f) {
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(f(hn::LoadU(d, z + i), LoadAs(d, y + i)), d, to + i);
  }
  if (i == count) return;
  HWY_ALIGN T logit[most_lanes<T>] = {}, out[most_lanes<T>];
  HWY_ALIGN float label[most_lanes<T>] = {};
  std::copy_n(z + i, count - i, logit);
  std::copy_n(y + i, count - i, label);
  hn::Store(f(hn::Load(d, logit), LoadAs(d, label)), d, out);
  std::copy_n(out, count - i, to + i);
}

template <class T>
void ResidualsOf(const LossChoice& loss, const T* z, const float* y, size_t count, T* r) {
  const Wide<T> d;
  WithLoss(loss, [&](const auto& of) HWY_ATTR {
    ForEachLogit(z, y, count, r, [&](hn::Vec<Wide<T>> logit, hn::Vec<Wide<T>> label) HWY_ATTR {
      return Residual(d, of, logit, label);
    });
  });
}
void Values(const LossChoice& loss, const double* z, const float* y, size_t count, double* f) {
  const Wide<double> d;
  WithLoss(loss, [&](const auto& of) HWY_ATTR {
    ForEachLogit(z, y, count, f,
                 [&](hn::Vec<Wide<double>> logit, hn::Vec<Wide<double>> label)
                     HWY_ATTR { return Value(d, of, logit, label); });
  });
}
void ResidualsDouble(const LossChoice& loss, const double* z, const float* y, size_t count,
                     double* r) {
  ResidualsOf(loss, z, y, count, r);
}
void ResidualsFloat(const LossChoice& loss, const float* z, const float* y, size_t count,
                    float* r) {
  ResidualsOf(loss, z, y, count, r);
}

// ---- few chains ----

// f(offset in the row, offset in the packed vector) over the vectors of a row.
template <class D, class F>
HWY_INLINE void ForEachVector(D d, size_t features, F f) {
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  for (; j + lanes <= features; j += lanes) f(j, j);
  if (j < features) f(features - lanes, j);
}

template <class T>
struct FewChains {
  const T* HWY_RESTRICT theta;  // [C x packed]
  T* HWY_RESTRICT r;            // [C x rows]
  T* HWY_RESTRICT g;            // [C x packed]
  size_t rows, packed;
};

template <size_t R, size_t C, bool absolute, class D>
HWY_INLINE void DotRows(D d, const float* HWY_RESTRICT x, size_t features,
                        const FewChains<Lane<D>>& p, size_t row) {
  hn::Vec<D> sum[R][C];
  for (size_t i = 0; i < R; ++i) {
    for (size_t c = 0; c < C; ++c) sum[i][c] = hn::Zero(d);
  }
  ForEachVector(d, features, [&](size_t from, size_t packed) HWY_ATTR {
    hn::Vec<D> theta[C];
    for (size_t c = 0; c < C; ++c) theta[c] = hn::LoadU(d, p.theta + c * p.packed + packed);
    for (size_t i = 0; i < R; ++i) {
      auto v = LoadAs(d, x + i * features + from);
      if constexpr (absolute) v = hn::Abs(v);
      for (size_t c = 0; c < C; ++c) sum[i][c] = hn::MulAdd(v, theta[c], sum[i][c]);
    }
  });
  for (size_t i = 0; i < R; ++i) {
    for (size_t c = 0; c < C; ++c) {
      p.r[c * p.rows + row + i] = hn::GetLane(hn::SumOfLanes(d, sum[i][c]));
    }
  }
}

template <size_t R, size_t C, bool absolute = false, class D>
HWY_INLINE void Logits(D d, const float* HWY_RESTRICT x, size_t features,
                       const FewChains<Lane<D>>& p) {
  size_t i = 0;
  for (; i + R <= p.rows; i += R) DotRows<R, C, absolute>(d, x + i * features, features, p, i);
  for (; i < p.rows; ++i) DotRows<1, C, absolute>(d, x + i * features, features, p, i);
}

// Fetches the rows `ahead` floats further: the next call's, while this one computes.
template <size_t R, size_t C, class D>
HWY_INLINE void AddRows(D d, const float* HWY_RESTRICT x, size_t features,
                        const FewChains<Lane<D>>& p, size_t row, size_t ahead) {
  hn::Vec<D> weight[R][C];
  for (size_t i = 0; i < R; ++i) {
    for (size_t c = 0; c < C; ++c) weight[i][c] = hn::Set(d, p.r[c * p.rows + row + i]);
  }
  ForEachVector(d, features, [&](size_t from, size_t packed) HWY_ATTR {
    hn::Vec<D> sum[C];
    for (size_t c = 0; c < C; ++c) sum[c] = hn::LoadU(d, p.g + c * p.packed + packed);
    for (size_t i = 0; i < R; ++i) {
      const float* const at = x + i * features + from;
      hwy::Prefetch(at + ahead);
      const auto v = LoadAs(d, at);
      for (size_t c = 0; c < C; ++c) sum[c] = hn::MulAdd(v, weight[i][c], sum[c]);
    }
    for (size_t c = 0; c < C; ++c) hn::StoreU(sum[c], d, p.g + c * p.packed + packed);
  });
}

template <size_t C, class D>
void RowsOf(D d, const RowGradient<Lane<D>>& p, size_t packed) {
  constexpr size_t R = C == 1 ? 8 : 4;
  const size_t features = p.x.cols, rows = p.x.rows;
  const FewChains<Lane<D>> few{p.theta, p.r, p.g, rows, packed};
  Logits<R, C>(d, p.x.data, features, few);
  for (size_t c = 0; c < C; ++c) {
    ResidualsOf(p.loss, p.r + c * rows, p.y, rows, p.r + c * rows);
  }
  const size_t ahead = rows * features;
  size_t i = 0;
  for (; i + R <= rows; i += R) AddRows<R, C>(d, p.x.data + i * features, features, few, i, ahead);
  for (; i < rows; ++i) AddRows<1, C>(d, p.x.data + i * features, features, few, i, ahead);
}

template <class D>
void RowGradientOf(D d, const RowGradient<Lane<D>>& p) {
  const size_t lanes = hn::Lanes(d), packed = (p.x.cols + lanes - 1) / lanes * lanes;
  RowGradient<Lane<D>> part = p;
  size_t c = 0;
  const auto next = [&](size_t chains) {
    part.chains = chains;
    part.theta = p.theta + c * packed;
    part.g = p.g + c * packed;
    c += chains;
  };
  if (p.chains - c >= 4) {
    next(4);
    RowsOf<4>(d, part, packed);
  }
  if (p.chains - c >= 2) {
    next(2);
    RowsOf<2>(d, part, packed);
  }
  if (p.chains - c >= 1) {
    next(1);
    RowsOf<1>(d, part, packed);
  }
}

template <class T>
HWY_INLINE void RowGradientAnyWidth(const RowGradient<T>& p) {
  if (p.x.cols < hn::Lanes(Wide<T>())) {
    RowGradientOf(Narrow<T>(), p);
  } else {
    RowGradientOf(Wide<T>(), p);
  }
}
void RowGradientDouble(const RowGradient<double>& p) { RowGradientAnyWidth(p); }
void RowGradientFloat(const RowGradient<float>& p) { RowGradientAnyWidth(p); }

template <class D>
void RowValuesOf(D d, const RowValues& p) {
  const size_t lanes = hn::Lanes(d), packed = (p.x.cols + lanes - 1) / lanes * lanes;
  const size_t rows = p.x.rows;
  const FewChains<double> few{p.theta, p.z, nullptr, rows, packed};
  switch (p.chains) {
    case 1:
      Logits<8, 1>(d, p.x.data, p.x.cols, few);
      break;
    case 2:
      Logits<4, 2>(d, p.x.data, p.x.cols, few);
      break;
    case 3:
      Logits<4, 3>(d, p.x.data, p.x.cols, few);
      break;
    default:
      Logits<4, 4>(d, p.x.data, p.x.cols, few);
  }
  for (size_t c = 0; c < p.chains; ++c) {
    double* const z = p.z + c * rows;
    Values(p.loss, z, p.y, rows, z);
    const Wide<double> wide;
    auto sum = hn::Zero(wide);
    size_t i = 0;
    for (; i + hn::Lanes(wide) <= rows; i += hn::Lanes(wide)) {
      sum = hn::Add(sum, hn::LoadU(wide, z + i));
    }
    p.value[c] = hn::GetLane(hn::SumOfLanes(wide, sum));
    for (; i < rows; ++i) p.value[c] += z[i];
  }
}
void RowValuesDouble(const RowValues& p) {
  p.x.cols < hn::Lanes(Wide<double>()) ? RowValuesOf(Narrow<double>(), p)
                                       : RowValuesOf(Wide<double>(), p);
}

// ---- one chain, in parts ----

// As Logits sums: each entry in the lane that would meet it, so with the same bits.
template <bool absolute, class D>
void EntryLogits(D d, const SparseRows& x, size_t features, const double* HWY_RESTRICT theta,
                 double* HWY_RESTRICT z) {
  const hn::CappedTag<double, 1> one;
  const size_t lanes = hn::Lanes(d), whole = features / lanes * lanes;
  HWY_ALIGN double sum[most_lanes<double>];
  for (size_t i = 0; i < x.rows; ++i) {
    hn::Store(hn::Zero(d), d, sum);
    for (std::uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
      const size_t j = x.feature[e];
      double* const at = sum + (j < whole ? j % lanes : j - (features - lanes));
      const auto value = static_cast<double>(absolute ? std::fabs(x.value[e]) : x.value[e]);
      hn::StoreU(hn::MulAdd(hn::Set(one, value), hn::LoadU(one, theta + j), hn::LoadU(one, at)),
                 one, at);
    }
    z[i] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sum)));
  }
}

template <bool absolute, class D>
void RowLogitsOf(D d, const RowsPart& rows, size_t features, const double* theta, double* z) {
  if (rows.x.data == nullptr) return EntryLogits<absolute>(d, rows.entries, features, theta, z);
  const size_t lanes = hn::Lanes(d), packed = (features + lanes - 1) / lanes * lanes;
  const FewChains<double> few{theta, z, nullptr, rows.x.rows, packed};
  Logits<8, 1, absolute>(d, rows.x.data, features, few);
}
void RowLogits(const RowsPart& rows, size_t features, const double* theta, bool absolute,
               double* z) {
  const auto of = [&](auto d) HWY_ATTR {
    absolute ? RowLogitsOf<true>(d, rows, features, theta, z)
             : RowLogitsOf<false>(d, rows, features, theta, z);
  };
  features < hn::Lanes(Wide<double>()) ? of(Narrow<double>()) : of(Wide<double>());
}

// r <- clamp(r, -cap, cap) of `count` residuals; the sum of curvature(i) where |r| < cap.
template <class D, class F>
HWY_INLINE hn::Vec<D> Hold(D d, size_t begin, size_t end, const float* HWY_RESTRICT cap,
                           double* HWY_RESTRICT r, hn::Vec<D> sum, const F& curvature) {
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto slope = hn::LoadU(d, r + i), most = LoadAs(d, cap + i), size = hn::Abs(slope);
    const auto free = hn::Lt(size, most);
    sum = hn::Add(sum, hn::IfThenElseZero(free, curvature(i, size)));
    hn::StoreU(hn::IfThenElse(free, slope, hn::CopySign(most, slope)), d, r + i);
  }
  return sum;
}
template <class F>
HWY_INLINE double HoldAll(size_t count, const float* cap, double* r, const F& curvature) {
  const Wide<double> d;
  const Narrow<double> one;
  const size_t whole = count / hn::Lanes(d) * hn::Lanes(d);
  const auto sum = Hold(d, 0, whole, cap, r, hn::Zero(d),
                        [&](size_t i, auto size) HWY_ATTR { return curvature(d, i, size); });
  const auto rest = Hold(one, whole, count, cap, r, hn::Zero(one),
                         [&](size_t i, auto size) HWY_ATTR { return curvature(one, i, size); });
  return hn::GetLane(hn::SumOfLanes(d, sum)) + hn::GetLane(rest);
}

// f'' = |f'| (1 - |f'|) of the logistic loss.
double HeldResiduals(const LossChoice& loss, const double* z, const float* y, const float* cap,
                     size_t count, double* r, double* w) {
  ResidualsOf(loss, z, y, count, r);
  bool logistic = false;
  WithLoss(loss, [&](const auto& of) {
    logistic = std::is_same_v<std::remove_cvref_t<decltype(of)>, losses::logistic>;
  });
  if (logistic) {
    return HoldAll(count, cap, r, [](auto d, size_t, auto size) HWY_ATTR {
      return hn::Mul(size, hn::Sub(hn::Set(d, 1.0), size));
    });
  }
  loss.other->curvatures({z, count}, {y, count}, {w, count});
  return HoldAll(count, cap, r,
                 [w](auto d, size_t i, auto) HWY_ATTR { return hn::LoadU(d, w + i); });
}

template <class D>
void AddRowsOf(D d, const RowsPart& rows, double* r, double* g) {
  const MatrixView<const float> x = rows.x;
  const size_t lanes = hn::Lanes(d), packed = (x.cols + lanes - 1) / lanes * lanes;
  const FewChains<double> few{nullptr, r, g, x.rows, packed};
  const size_t ahead = x.rows * x.cols;
  size_t i = 0;
  for (; i + 8 <= x.rows; i += 8) AddRows<8, 1>(d, x.data + i * x.cols, x.cols, few, i, ahead);
  for (; i < x.rows; ++i) AddRows<1, 1>(d, x.data + i * x.cols, x.cols, few, i, ahead);
}
void AddRowsTimes(const RowsPart& rows, double* r, double* g) {
  if (rows.x.data == nullptr) {
    const SparseRows& x = rows.entries;
    for (size_t i = 0; i < x.rows; ++i) {
      for (std::uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
        g[x.feature[e]] += r[i] * static_cast<double>(x.value[e]);
      }
    }
    return;
  }
  rows.x.cols < hn::Lanes(Wide<double>()) ? AddRowsOf(Narrow<double>(), rows, r, g)
                                          : AddRowsOf(Wide<double>(), rows, r, g);
}

// ---- many chains ----

constexpr bool many_registers = HWY_MAX_BYTES >= 64;
constexpr size_t tile_vectors = many_registers ? 4 : 2;
// Rows of a tile of V vectors: the accumulators, V of b and one broadcast fill the registers, and
// there are enough of them to hide the latency of two FMA units.
constexpr size_t RowsOfTile(size_t vectors) {
  if (!many_registers) return vectors == 1 ? 10 : 6;
  return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6;
}

size_t LanesDouble() { return hn::Lanes(Wide<double>()); }
size_t LanesFloat() { return hn::Lanes(Wide<float>()); }
size_t TileVectors() { return tile_vectors; }

void Widen(std::span<const float> x, double* HWY_RESTRICT out) {
  const Wide<double> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes) hn::StoreU(LoadAs(d, &x[i]), d, out + i);
  for (; i < x.size(); ++i) out[i] = static_cast<double>(x[i]);
}

// out[r][w] (+)= sum_k a[r * row_stride + k * inner_stride] * b[k][w], r < R, k < inner in order,
// w < V vectors: X theta with strides (d, 1), X^T R with (1, d).
template <size_t R, size_t V, bool accumulate, class T>
HWY_INLINE void Tile(const T* HWY_RESTRICT a, size_t row_stride, size_t inner_stride, size_t inner,
                     const T* HWY_RESTRICT b, T* HWY_RESTRICT out) {
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  hn::Vec<Wide<T>> sum[R][V];
  for (size_t r = 0; r < R; ++r) {
    for (size_t v = 0; v < V; ++v) {
      sum[r][v] = accumulate ? hn::LoadU(d, out + r * width + v * lanes) : hn::Zero(d);
    }
  }
  for (size_t k = 0; k < inner; ++k) {
    hn::Vec<Wide<T>> chains[V];
    for (size_t v = 0; v < V; ++v) chains[v] = hn::LoadU(d, b + v * lanes);
    for (size_t r = 0; r < R; ++r) {
      const auto x = hn::Set(d, a[r * row_stride]);
      for (size_t v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(x, chains[v], sum[r][v]);
    }
    a += inner_stride;
    b += width;
  }
  for (size_t r = 0; r < R; ++r) {
    for (size_t v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, out + r * width + v * lanes);
  }
}

// f.operator()<R>(first) for tiles of R rows, then of 2 and 1.
template <size_t R, class F>
HWY_INLINE void ForEachTile(size_t rows, F f) {
  size_t row = 0;
  for (; row + R <= rows; row += R) f.template operator()<R>(row);
  for (; row + 2 <= rows; row += 2) f.template operator()<2>(row);
  for (; row < rows; ++row) f.template operator()<1>(row);
}

template <size_t V, class T, class Loss>
void PanelOf(const PanelGradient<T>& p, const Loss& loss) {
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  constexpr size_t R = RowsOfTile(V);
  ForEachTile<R>(p.rows, [&]<size_t rows>(size_t row) HWY_ATTR {
    T* HWY_RESTRICT r = p.r + row * width;
    Tile<rows, V, false>(p.x + row * p.features, p.features, 1, p.features, p.theta, r);
    for (size_t i = 0; i < rows; ++i) {  // what was just written is in the nearest cache
      const auto label = hn::Set(d, static_cast<T>(p.y[row + i]));
      for (size_t v = 0; v < V; ++v) {
        T* const at = r + i * width + v * lanes;
        hn::StoreU(Residual(d, loss, hn::LoadU(d, at), label), d, at);
      }
    }
  });
  ForEachTile<R>(p.features, [&]<size_t rows>(size_t row) HWY_ATTR {
    Tile<rows, V, true>(p.x + row, 1, p.features, p.rows, p.r, p.g + row * width);
  });
}

template <class T>
void PanelGradientOf(const PanelGradient<T>& p) {
  WithLoss(p.loss, [&](const auto& loss) HWY_ATTR {
    switch (p.width / hn::Lanes(Wide<T>())) {
      case 1:
        return PanelOf<1>(p, loss);
      case 2:
        return PanelOf<2>(p, loss);
      case 3:
        return PanelOf<std::min<size_t>(3, tile_vectors)>(p, loss);
      default:
        return PanelOf<tile_vectors>(p, loss);
    }
  });
}
void PanelGradientDouble(const PanelGradient<double>& p) { PanelGradientOf(p); }
void PanelGradientFloat(const PanelGradient<float>& p) { PanelGradientOf(p); }

// ---- sparse rows ----

template <class T>
void SparseRowsOf(const SparseRowGradient<T>& p) {
  const std::uint64_t* const begin = p.x.begin;
  for (size_t c = 0; c < p.chains; ++c) {
    const T* HWY_RESTRICT theta = p.theta + c * p.features;
    T* HWY_RESTRICT g = p.g + c * p.features;
    T* HWY_RESTRICT r = p.r + c * p.x.rows;
    for (size_t i = 0; i < p.x.rows; ++i) {
      T sum[4] = {};  // four sums hide the latency of an addition
      std::uint64_t e = begin[i];
      for (; e + 4 <= begin[i + 1]; e += 4) {
        for (size_t k = 0; k < 4; ++k) {
          sum[k] += static_cast<T>(p.x.value[e + k]) * theta[p.x.feature[e + k]];
        }
      }
      for (; e < begin[i + 1]; ++e) sum[0] += static_cast<T>(p.x.value[e]) * theta[p.x.feature[e]];
      r[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    ResidualsOf(p.loss, r, p.y, p.x.rows, r);
    for (size_t i = 0; i < p.x.rows; ++i) {
      for (std::uint64_t e = begin[i]; e < begin[i + 1]; ++e) {
        g[p.x.feature[e]] += r[i] * static_cast<T>(p.x.value[e]);
      }
    }
  }
}
void SparseRowsDouble(const SparseRowGradient<double>& p) { SparseRowsOf(p); }
void SparseRowsFloat(const SparseRowGradient<float>& p) { SparseRowsOf(p); }

constexpr size_t sparse_vectors = 2;
size_t SparseVectors() { return sparse_vectors; }

template <size_t V, class T, class Loss>
void SparsePanelOf(const SparsePanelGradient<T>& p, const Loss& loss) {
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  const std::uint64_t* const begin = p.x.begin;
  for (size_t i = 0; i < p.x.rows; ++i) {
    hn::Vec<Wide<T>> even[V], odd[V];  // of the entries: half the latency of one sum
    for (size_t v = 0; v < V; ++v) even[v] = odd[v] = hn::Zero(d);
    std::uint64_t e = begin[i];
    for (; e + 2 <= begin[i + 1]; e += 2) {
      const T* const first = p.theta + p.x.feature[e] * width;
      const T* const second = p.theta + p.x.feature[e + 1] * width;
      const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
      const auto x2 = hn::Set(d, static_cast<T>(p.x.value[e + 1]));
      for (size_t v = 0; v < V; ++v) {
        even[v] = hn::MulAdd(x, hn::LoadU(d, first + v * lanes), even[v]);
        odd[v] = hn::MulAdd(x2, hn::LoadU(d, second + v * lanes), odd[v]);
      }
    }
    if (e < begin[i + 1]) {
      const T* const last = p.theta + p.x.feature[e] * width;
      const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
      for (size_t v = 0; v < V; ++v) {
        even[v] = hn::MulAdd(x, hn::LoadU(d, last + v * lanes), even[v]);
      }
    }
    const auto label = hn::Set(d, static_cast<T>(p.y[i]));
    hn::Vec<Wide<T>> r[V];
    for (size_t v = 0; v < V; ++v) r[v] = Residual(d, loss, hn::Add(even[v], odd[v]), label);
    for (e = begin[i]; e < begin[i + 1]; ++e) {
      T* const g = p.g + p.x.feature[e] * width;
      const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
      for (size_t v = 0; v < V; ++v) {
        T* const at = g + v * lanes;
        hn::StoreU(hn::MulAdd(x, r[v], hn::LoadU(d, at)), d, at);
      }
    }
  }
}

template <class T>
void SparsePanelGradientOf(const SparsePanelGradient<T>& p) {
  WithLoss(p.loss, [&](const auto& loss) HWY_ATTR {
    p.width == hn::Lanes(Wide<T>()) ? SparsePanelOf<1>(p, loss)
                                    : SparsePanelOf<sparse_vectors>(p, loss);
  });
}
void SparsePanelDouble(const SparsePanelGradient<double>& p) { SparsePanelGradientOf(p); }
void SparsePanelFloat(const SparsePanelGradient<float>& p) { SparsePanelGradientOf(p); }

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(TargetName);
HWY_EXPORT(LanesDouble);
HWY_EXPORT(LanesFloat);
HWY_EXPORT(TileVectors);
HWY_EXPORT(ResidualsDouble);
HWY_EXPORT(ResidualsFloat);
HWY_EXPORT(Values);
HWY_EXPORT(RowValuesDouble);
HWY_EXPORT(RowGradientDouble);
HWY_EXPORT(RowGradientFloat);
HWY_EXPORT(RowLogits);
HWY_EXPORT(HeldResiduals);
HWY_EXPORT(AddRowsTimes);
HWY_EXPORT(Widen);
HWY_EXPORT(PanelGradientDouble);
HWY_EXPORT(PanelGradientFloat);
HWY_EXPORT(SparseVectors);
HWY_EXPORT(SparseRowsDouble);
HWY_EXPORT(SparseRowsFloat);
HWY_EXPORT(SparsePanelDouble);
HWY_EXPORT(SparsePanelFloat);

namespace {

template <class T>
std::size_t lanes() {
  return sizeof(T) == sizeof(double) ? HWY_DYNAMIC_DISPATCH(LanesDouble)()
                                     : HWY_DYNAMIC_DISPATCH(LanesFloat)();
}

// Lanes of the packed vectors of d features.
template <class T>
std::size_t row_lanes(std::size_t d) {
  return d < lanes<T>() ? 1 : lanes<T>();
}

}  // namespace

std::string instruction_set() {
  const std::string name = HWY_DYNAMIC_DISPATCH(TargetName)();
  return name.starts_with("AVX3") ? "AVX-512" : name;
}

template <class T>
std::size_t packed_size(std::size_t d) {
  const std::size_t l = row_lanes<T>(d);
  return (d + l - 1) / l * l;
}

template <class T>
void pack(std::span<const double> v, T* packed) {
  const std::size_t d = v.size(), l = row_lanes<T>(d), whole = d / l * l;
  for (std::size_t j = 0; j < whole; ++j) packed[j] = static_cast<T>(v[j]);
  if (whole == d) return;
  // The tail vector holds features d - l ... d - 1; those before `whole` are in already.
  const std::size_t overlap = l - (d - whole);
  std::fill_n(packed + whole, overlap, T{0});
  for (std::size_t j = whole; j < d; ++j) packed[j + overlap] = static_cast<T>(v[j]);
}

template <class T>
void unpack(const double* packed, std::span<double> v) {
  const std::size_t d = v.size(), whole = d / row_lanes<T>(d) * row_lanes<T>(d);
  std::copy_n(packed, whole, v.begin());
  std::copy_n(packed + packed_size<T>(d) - (d - whole), d - whole,
              v.begin() + static_cast<std::ptrdiff_t>(whole));
}

template <class T>
std::size_t max_panel_width() {
  return HWY_DYNAMIC_DISPATCH(TileVectors)() * lanes<T>();
}

template <class T>
std::size_t panel_width(std::size_t chains) {
  return std::min(max_panel_width<T>(), (chains + lanes<T>() - 1) / lanes<T>() * lanes<T>());
}

template <class T>
std::size_t max_sparse_width() {
  return HWY_DYNAMIC_DISPATCH(SparseVectors)() * lanes<T>();
}

template std::size_t packed_size<double>(std::size_t);
template std::size_t packed_size<float>(std::size_t);
template void pack(std::span<const double>, double*);
template void pack(std::span<const double>, float*);

template void unpack<double>(const double*, std::span<double>);
template void unpack<float>(const double*, std::span<double>);
template std::size_t max_sparse_width<double>();
template std::size_t max_sparse_width<float>();
template std::size_t max_panel_width<double>();
template std::size_t max_panel_width<float>();
template std::size_t panel_width<double>(std::size_t);
template std::size_t panel_width<float>(std::size_t);

LossChoice choose_loss(const Loss& loss) {
  return {kernels::index_of_loss(loss.name(), Losses{}), &loss};
}

void row_values(const RowValues& rows) { HWY_DYNAMIC_DISPATCH(RowValuesDouble)(rows); }
void row_gradient(const RowGradient<double>& rows) {
  HWY_DYNAMIC_DISPATCH(RowGradientDouble)(rows);
}
void row_gradient(const RowGradient<float>& rows) { HWY_DYNAMIC_DISPATCH(RowGradientFloat)(rows); }

void row_logits(const RowsPart& rows, std::size_t features, const double* theta, bool absolute,
                double* z) {
  HWY_DYNAMIC_DISPATCH(RowLogits)(rows, features, theta, absolute, z);
}
double held_residuals(const LossChoice& loss, std::span<const double> z, const float* y,
                      const float* cap, double* r, double* w) {
  return HWY_DYNAMIC_DISPATCH(HeldResiduals)(loss, z.data(), y, cap, z.size(), r, w);
}
void add_rows(const RowsPart& rows, double* r, double* g) {
  HWY_DYNAMIC_DISPATCH(AddRowsTimes)(rows, r, g);
}

void widen(std::span<const float> x, double* out) { HWY_DYNAMIC_DISPATCH(Widen)(x, out); }
void panel_gradient(const PanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelGradientDouble)(panel);
}
void panel_gradient(const PanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelGradientFloat)(panel);
}

void sparse_row_gradient(const SparseRowGradient<double>& rows) {
  HWY_DYNAMIC_DISPATCH(SparseRowsDouble)(rows);
}
void sparse_row_gradient(const SparseRowGradient<float>& rows) {
  HWY_DYNAMIC_DISPATCH(SparseRowsFloat)(rows);
}
void sparse_panel_gradient(const SparsePanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelDouble)(panel);
}
void sparse_panel_gradient(const SparsePanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelFloat)(panel);
}

void values(const LossChoice& loss, std::span<const double> z, std::span<const float> y,
            std::span<double> f) {
  HWY_DYNAMIC_DISPATCH(Values)(loss, z.data(), y.data(), z.size(), f.data());
}
void residuals(const LossChoice& loss, std::span<const double> z, std::span<const float> y,
               std::span<double> r) {
  HWY_DYNAMIC_DISPATCH(ResidualsDouble)(loss, z.data(), y.data(), z.size(), r.data());
}
void residuals(const LossChoice& loss, std::span<const float> z, std::span<const float> y,
               std::span<float> r) {
  HWY_DYNAMIC_DISPATCH(ResidualsFloat)(loss, z.data(), y.data(), z.size(), r.data());
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
