// Losses and their slopes, number by number.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "engine/clip.hpp"
#include "engine/cpu/kernels.hpp"
#include "engine/cpu/targets.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/model/losses/softmax.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/losses.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/losses-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i] = f(z[i], y[i]) of whole vectors only, so that a number's bits do not depend on its place.
template <class T, class F>
HWY_INLINE void ForEachLogit(const T* z, const float* y, size_t count, T* to, const F& f) {
  const Full<T> d;
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
void DerivativesOf(const LossChoice& loss, const T* z, const float* y, size_t count, T* r) {
  const Full<T> d;
  WithLoss(loss, [&](const auto& of) HWY_ATTR {
    ForEachLogit(z, y, count, r, [&](hn::Vec<Full<T>> logit, hn::Vec<Full<T>> label) HWY_ATTR {
      return Derivative(d, of, logit, label);
    });
  });
}
template void DerivativesOf(const LossChoice&, const double*, const float*, size_t, double*);
template void DerivativesOf(const LossChoice&, const float*, const float*, size_t, float*);

void Values(const LossChoice& loss, const double* z, const float* y, size_t count, double* f) {
  const Full<double> d;
  WithLoss(loss, [&](const auto& of) HWY_ATTR {
    ForEachLogit(z, y, count, f,
                 [&](hn::Vec<Full<double>> logit, hn::Vec<Full<double>> label)
                     HWY_ATTR { return Value(d, of, logit, label); });
  });
}
template <class T>
HWY_INLINE void AddOffsets(const RowTargets& y, size_t count, T* z) {
  for (size_t i = 0; y.offset != nullptr && i < count; ++i) z[i] += static_cast<T>(y.offset[i]);
}
template <class T>
HWY_INLINE void MultiplyRows(const RowTargets& y, size_t count, T* rows) {
  for (size_t i = 0; y.factor != nullptr && i < count; ++i) rows[i] *= static_cast<T>(y.factor[i]);
}
template <class T>
void SlopesOf(const LossChoice& loss, const RowTargets& y, size_t count, T* z) {
  AddOffsets(y, count, z);
  DerivativesOf(loss, z, y.y, count, z);
  MultiplyRows(y, count, z);
}
template void SlopesOf(const LossChoice&, const RowTargets&, size_t, double*);
template void SlopesOf(const LossChoice&, const RowTargets&, size_t, float*);
void ValuesOf(const LossChoice& loss, const RowTargets& y, size_t count, double* z) {
  AddOffsets(y, count, z);
  Values(loss, z, y.y, count, z);
  MultiplyRows(y, count, z);
}
void DerivativesDouble(const LossChoice& loss, const double* z, const float* y, size_t count,
                       double* r) {
  DerivativesOf(loss, z, y, count, r);
}
void DerivativesFloat(const LossChoice& loss, const float* z, const float* y, size_t count,
                      float* r) {
  DerivativesOf(loss, z, y, count, r);
}

// ---- several outputs: lanes along rows ----

// Sums of terms in the order they come: runs of eight, those pairwise, so that 1000 terms pass 14
// additions.
template <class D>
class TreeSum {
 public:
  HWY_INLINE explicit TreeSum(D d) : run_(hn::Zero(d)) {}
  HWY_INLINE void Add(D d, hn::Vec<D> v) {
    run_ = hn::Add(run_, v);
    if (++terms_ % 8 != 0) return;
    for (size_t runs = terms_ / 8; runs % 2 == 0; runs /= 2) run_ = hn::Add(nodes_[--depth_], run_);
    nodes_[depth_++] = run_;
    run_ = hn::Zero(d);
  }
  HWY_INLINE hn::Vec<D> Total() const {
    auto sum = run_;
    for (size_t k = depth_; k > 0; --k) sum = hn::Add(nodes_[k - 1], sum);
    return sum;
  }

 private:
  hn::Vec<D> run_, nodes_[16];
  size_t terms_ = 0, depth_ = 0;
};

// e^t, t <= 0: 0 where it is less than the smallest normal number. Not a number stays none.
template <class D>
HWY_INLINE hn::Vec<D> ExpBelow(D d, hn::Vec<D> t) {
  return hn::IfThenZeroElse(hn::Lt(t, hn::Set(d, -ExpConstants<Lane<D>>::far)), Exp(d, t));
}

// A vector of rows. z(k) loads output k's logits, put(k, v) takes its residuals.
// p - e_y, p = e / sum e: of the label's output minus the others' sum, so nothing cancels.
template <class D, class Load, class Store>
HWY_INLINE void SoftmaxDerivatives(D d, size_t outputs, hn::Vec<D> label, const Load& z,
                                   const Store& put) {
  using T = Lane<D>;
  auto most = z(0);
  for (size_t k = 1; k < outputs; ++k) most = hn::Max(most, z(k));
  TreeSum<D> sum(d);
  auto own = hn::Zero(d);
  for (size_t k = 0; k < outputs; ++k) {
    const auto e = ExpBelow(d, hn::Sub(z(k), most));
    const auto is_label = hn::Eq(label, hn::Set(d, static_cast<T>(k)));
    own = hn::IfThenElse(is_label, e, own);
    sum.Add(d, hn::IfThenZeroElse(is_label, e));
    put(k, e);
  }
  const auto others = sum.Total();
  // Rounded once: then no product with it of what is at most the sum rounds to more than 1.
  const auto scale = hn::Div(hn::Set(d, T{1}), hn::Add(others, own));
  const auto of_label = hn::Neg(others);
  for (size_t k = 0; k < outputs; ++k) {
    const auto is_label = hn::Eq(label, hn::Set(d, static_cast<T>(k)));
    put(k, hn::Mul(hn::IfThenElse(is_label, of_label, z(k)), scale));
  }
}

// f = log(1 + the sum of e^(z - max z) but for one largest) + (max z - z_y), neither negative.
// Gives what log1p is to be taken of, and the second part.
template <class D, class Load>
HWY_INLINE void SoftmaxValue(D d, size_t outputs, hn::Vec<D> label, const Load& z, hn::Vec<D>& rest,
                             hn::Vec<D>& gap) {
  auto most = z(0);
  for (size_t k = 1; k < outputs; ++k) most = hn::Max(most, z(k));
  TreeSum<D> sum(d);
  auto own = hn::Zero(d), found = hn::Zero(d);
  for (size_t k = 0; k < outputs; ++k) {
    const auto logit = z(k);
    own = hn::IfThenElse(hn::Eq(label, hn::Set(d, static_cast<double>(k))), logit, own);
    const auto is_first = hn::And(hn::Eq(logit, most), hn::Eq(found, hn::Zero(d)));
    found = hn::IfThenElse(is_first, hn::Set(d, 1.0), found);
    sum.Add(d, hn::IfThenZeroElse(is_first, ExpBelow(d, hn::Sub(logit, most))));
  }
  rest = sum.Total();
  gap = hn::Sub(most, own);
}

// f(vector of labels, load(k), store(k, v), rows of the vector, first row) for whole vectors of
// rows, the last of which may be filled up with zeros.
template <class T, class Logit, class F>
HWY_INLINE void ForEachRows(Logit* z, size_t stride, const float* y, size_t rows, const F& f) {
  constexpr bool writes = !std::is_const_v<Logit>;
  const Full<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    f(
        LoadAs(d, y + i), [&](size_t k) HWY_ATTR { return hn::LoadU(d, z + k * stride + i); },
        [&](size_t k, auto v) HWY_ATTR {
          if constexpr (writes) hn::StoreU(v, d, z + k * stride + i);
        },
        lanes, i);
  }
  if (i == rows) return;
  HWY_ALIGN float label[most_lanes<T>] = {};
  HWY_ALIGN T rest[most_lanes<T>] = {};
  std::copy_n(y + i, rows - i, label);
  f(
      LoadAs(d, label),
      [&](size_t k) HWY_ATTR {
        std::copy_n(z + k * stride + i, rows - i, rest);
        return hn::Load(d, rest);
      },
      [&](size_t k, auto v) HWY_ATTR {
        hn::Store(v, d, rest);
        if constexpr (writes) std::copy_n(rest, rows - i, z + k * stride + i);
      },
      rows - i, i);
}

template <class T>
void OutputDerivativesOf(size_t outputs, T* z, size_t stride, const RowTargets& y, size_t rows) {
  const Full<T> d;
  ForEachRows<T>(z, stride, y.y, rows,
                 [&](hn::Vec<Full<T>> label, const auto& load, const auto& store, size_t, size_t)
                     HWY_ATTR { SoftmaxDerivatives(d, outputs, label, load, store); });
  for (size_t k = 0; y.factor != nullptr && k < outputs; ++k) MultiplyRows(y, rows, z + k * stride);
}
template void OutputDerivativesOf(size_t, double*, size_t, const RowTargets&, size_t);
template void OutputDerivativesOf(size_t, float*, size_t, const RowTargets&, size_t);
template <class T>
HWY_INLINE void SlopesOfOutputs(const LossChoice& loss, T* z, size_t stride, const RowTargets& y,
                                size_t rows) {
  if (loss.outputs == 1) return SlopesOf(loss, y, rows, z);
  OutputDerivativesOf(loss.outputs, z, stride, y, rows);
}
void OutputDerivativesDouble(const LossChoice& loss, double* z, size_t stride, const RowTargets& y,
                             size_t rows) {
  SlopesOfOutputs(loss, z, stride, y, rows);
}
void OutputDerivativesFloat(const LossChoice& loss, float* z, size_t stride, const RowTargets& y,
                            size_t rows) {
  SlopesOfOutputs(loss, z, stride, y, rows);
}

void OutputValues(const LossChoice& loss, const double* z, size_t stride, const RowTargets& y,
                  size_t rows, double* f) {
  const size_t outputs = loss.outputs;
  if (outputs == 1) {
    std::copy_n(z, rows, f);
    return ValuesOf(loss, y, rows, f);
  }
  const Full<double> d;
  ForEachRows<double>(z, stride, y.y, rows,
                      [&](hn::Vec<Full<double>> label, const auto& load, const auto&, size_t count,
                          size_t first) HWY_ATTR {
                        auto rest = hn::Zero(d), gap = hn::Zero(d);
                        SoftmaxValue(d, outputs, label, load, rest, gap);
                        HWY_ALIGN double terms[most_lanes<double>], gaps[most_lanes<double>];
                        hn::Store(rest, d, terms);
                        hn::Store(gap, d, gaps);
                        for (size_t i = 0; i < count; ++i)
                          f[first + i] = std::log1p(terms[i]) + gaps[i];
                      });
  MultiplyRows(y, rows, f);
}

double LossSum(const LossChoice& loss, const double* z, size_t stride, const RowTargets& y,
               size_t rows, double* f) {
  OutputValues(loss, z, stride, y, rows, f);
  return SumOfRows(f, rows);
}

// Scores of a vector of rows of several classes, in the place of their derivatives r = p - e_y:
// w r with w = min(1, cap / largest, limit cap^2 / pair_norm), the largest ||p - e_k|| of any class
// k (engine/clip.hpp). Gives the curvature w tr(diag p - p p^T). With o = 1 - p_y = -r_y, p_k =
// r_k, and the others' sum of squares Q:
//   |r|^2 = o^2 + Q,   largest^2 = 1 + |p|^2 - 2 min p,   1 - |p|^2 = o (2 - o) - Q.
template <class D, class Load, class Store>
HWY_INLINE hn::Vec<D> HoldOutputs(D d, size_t outputs, hn::Vec<D> label, hn::Vec<D> cap,
                                  double limit, double most, const Load& r, const Store& put) {
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0), two = hn::Set(d, 2.0);
  auto own = zero, least = two;
  TreeSum<D> squares(d);
  for (size_t k = 0; k < outputs; ++k) {
    const auto derivative = r(k), square = hn::Mul(derivative, derivative);
    const auto is_label = hn::Eq(label, hn::Set(d, static_cast<double>(k)));
    own = hn::IfThenElse(is_label, hn::Neg(derivative), own);
    squares.Add(d, hn::IfThenZeroElse(is_label, square));
    least = hn::Min(least, hn::IfThenElse(is_label, two, derivative));
  }
  const auto others = squares.Total(), rest = hn::Sub(one, own);
  const auto of_label = hn::MulAdd(own, own, others);
  const auto of_any =
      hn::Sub(hn::Add(one, hn::MulAdd(rest, rest, others)), hn::Mul(two, hn::Min(least, rest)));
  // The row's own length is among them: the larger holds it exactly whatever was rounded.
  const auto all = hn::Max(of_label, of_any);
  const auto length = hn::Mul(hn::Sqrt(all), hn::Set(d, length_above(1, outputs)));  // the factor
  const auto free = hn::Le(length, cap);
  auto held =
      hn::IfThenElseZero(hn::Gt(cap, zero), hn::IfThenElse(free, one, hn::Div(cap, length)));
  if (limit < std::numeric_limits<double>::infinity()) {
    auto before = zero, pairs = zero;
    for (size_t k = 0; k < outputs; ++k) {
      const auto is_label = hn::Eq(label, hn::Set(d, static_cast<double>(k)));
      const auto p = hn::IfThenElse(is_label, rest, r(k)), square = hn::Mul(p, p);
      pairs = hn::MulAdd(before, square, pairs);
      before = hn::Add(before, square);
    }
    const auto norm = hn::Sqrt(pairs), bound = hn::Mul(hn::Mul(hn::Set(d, limit), cap), cap);
    held = hn::Min(held, hn::IfThenElse(hn::Lt(bound, norm), hn::Div(bound, norm), one));
  }
  const auto trace = hn::NegMulAdd(own, own, hn::Sub(hn::Add(own, own), others));
  for (size_t k = 0; k < outputs; ++k) put(k, hn::Mul(r(k), held));
  const auto found = hn::Mul(held, trace);
  return hn::Min(hn::Max(found, zero), hn::Set(d, most));
}

double HeldOutputs(const LossChoice& loss, double* z, size_t stride, const RowTargets& y,
                   const float* cap, double limit, size_t rows) {
  const Full<double> d;
  const double most = largest_trace_of(*loss.other);
  double sum = 0;
  ForEachRows<double>(
      z, stride, y.y, rows,
      [&](hn::Vec<Full<double>> label, const auto& load, const auto& store, size_t count,
          size_t first) HWY_ATTR {
        SoftmaxDerivatives(d, loss.outputs, label, load, store);
        HWY_ALIGN float caps[most_lanes<double>] = {};
        HWY_ALIGN double traces[most_lanes<double>];
        std::copy_n(cap + first, count, caps);
        hn::Store(HoldOutputs(d, loss.outputs, label, LoadAs(d, caps), limit, most, load, store), d,
                  traces);
        MultiplyRows(y.from(first), count, traces);
        for (size_t i = 0; i < count; ++i) sum += traces[i];
      });
  for (size_t k = 0; y.factor != nullptr && k < loss.outputs; ++k)
    MultiplyRows(y, rows, z + k * stride);
  return sum;
}

// r <- held_weight clamp(r, -cap, cap) of `count` residuals, w the curvatures: held_weight
// curvature(i) where |r| < cap. Gives the sum of these.
template <class D, class F>
HWY_INLINE hn::Vec<D> Hold(D d, size_t begin, size_t end, const float* HWY_RESTRICT cap,
                           double limit, double* HWY_RESTRICT r, double* w, hn::Vec<D> sum,
                           const F& curvature) {
  const auto one = hn::Set(d, 1.0), of_all = hn::Set(d, limit);
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto derivative = hn::LoadU(d, r + i), most = LoadAs(d, cap + i),
               size = hn::Abs(derivative);
    const auto free = hn::Lt(size, most);
    const auto of_limit = hn::Mul(hn::Mul(of_all, most), most);
    const auto weight = hn::IfThenElse(hn::Lt(of_limit, one), of_limit, one);
    const auto left = hn::IfThenElseZero(free, hn::Mul(curvature(i, size), weight));
    sum = hn::Add(sum, left);
    hn::StoreU(left, d, w + i);
    const auto held = hn::IfThenElse(free, derivative, hn::CopySign(most, derivative));
    hn::StoreU(hn::Mul(held, weight), d, r + i);
  }
  return sum;
}
// The sum of what of(d, begin, end) gives in lanes, for the rows that fill lanes and for the rest.
template <class F>
HWY_INLINE double SumInLanes(size_t count, const F& of) {
  const Full<double> d;
  const Narrow<double> one;
  const size_t whole = count / hn::Lanes(d) * hn::Lanes(d);
  const auto sum = of(d, size_t{0}, whole);
  const auto rest = of(one, whole, count);
  return hn::GetLane(hn::SumOfLanes(d, sum)) + hn::GetLane(rest);
}
template <class F>
HWY_INLINE double HoldAll(size_t count, const float* cap, double limit, double* r, double* w,
                          const F& curvature) {
  return SumInLanes(count, [&](auto d, size_t begin, size_t end) HWY_ATTR {
    return Hold(d, begin, end, cap, limit, r, w, hn::Zero(d),
                [&](size_t i, auto size) HWY_ATTR { return curvature(d, i, size); });
  });
}

// weighted_score of `count` derivatives r in their place, their curvatures in w; gives the sum of
// these times the rows' factors.
template <class D>
HWY_INLINE hn::Vec<D> Weigh(D d, size_t begin, size_t end, const float* HWY_RESTRICT cap,
                            const float* factor, double limit, double* HWY_RESTRICT r,
                            double* HWY_RESTRICT w, hn::Vec<D> sum) {
  const auto one = hn::Set(d, 1.0), of_all = hn::Set(d, limit);
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto derivative = hn::LoadU(d, r + i), most = LoadAs(d, cap + i),
               size = hn::Abs(derivative);
    const auto other = hn::Sub(one, size), curvature = hn::Mul(size, other);
    const auto largest = hn::IfThenElse(hn::Gt(size, other), size, other);
    const auto of_limit = hn::Mul(hn::Mul(of_all, most), most);
    const auto limited = hn::Lt(hn::Mul(of_limit, largest), hn::Mul(most, curvature));
    const auto above = hn::IfThenElse(limited, of_limit, most),
               below = hn::IfThenElse(limited, curvature, largest);
    const auto weight = hn::IfThenElse(hn::Lt(above, below), hn::Div(above, below), one);
    const auto score = hn::Mul(derivative, weight);
    hn::StoreU(hn::IfThenElse(hn::Le(hn::Abs(score), most), score, hn::CopySign(most, derivative)),
               d, r + i);
    auto left = hn::IfThenElseZero(hn::Le(size, one), hn::Mul(curvature, weight));
    if (factor != nullptr) left = hn::Mul(left, LoadAs(d, factor + i));
    hn::StoreU(left, d, w + i);
    sum = hn::Add(sum, left);
  }
  return sum;
}
double WeighAll(size_t count, const float* cap, const float* factor, double limit, double* r,
                double* w) {
  return SumInLanes(count, [&](auto d, size_t begin, size_t end) HWY_ATTR {
    return Weigh(d, begin, end, cap, factor, limit, r, w, hn::Zero(d));
  });
}

// count_score of derivatives r of counts up to N in their place, times the held_weight; second
// derivatives w become the curvatures that are left. Gives the sum of these times rows' factors.
template <class D>
HWY_INLINE hn::Vec<D> WeighCounts(D d, size_t begin, size_t end, const RowTargets& targets,
                                  const float* HWY_RESTRICT cap, const ScoreLimits& limits,
                                  double* HWY_RESTRICT r, double* HWY_RESTRICT w) {
  auto sum = hn::Zero(d);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0), of_all = hn::Set(d, limits.information),
             N = hn::Set(d, limits.largest_count);
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto slope = hn::LoadU(d, r + i), most = LoadAs(d, cap + i), second = hn::LoadU(d, w + i);
    const auto found = hn::Add(slope, LoadAs(d, targets.y + i));
    const auto mean =
        hn::IfThenElseZero(hn::Gt(found, zero), hn::IfThenElse(hn::Lt(found, one), found, one));
    const auto deviation = hn::Sqrt(hn::Mul(N, mean)), rest = hn::Sub(one, mean);
    const auto above = hn::Div(hn::Add(one, hn::Add(deviation, deviation)), N);
    const auto spread = hn::IfThenElse(hn::Lt(above, rest), above, rest);
    const auto rho = hn::IfThenElse(hn::Gt(mean, spread), mean, spread);
    const auto weight = hn::IfThenElse(hn::Lt(most, rho), hn::Div(most, rho), one);
    const auto of_limit = hn::Mul(hn::Mul(of_all, most), most);
    const auto limited = hn::IfThenElse(hn::Lt(of_limit, one), of_limit, one);
    const auto score = hn::Mul(slope, weight);
    const auto held =
        hn::IfThenElse(hn::Le(hn::Abs(score), most), score, hn::CopySign(most, slope));
    hn::StoreU(hn::Mul(held, limited), d, r + i);
    const auto curvature = hn::IfThenElse(hn::Lt(second, one), second, one);
    auto left =
        hn::IfThenElseZero(hn::Ge(second, zero), hn::Mul(hn::Mul(curvature, weight), limited));
    if (targets.factor != nullptr) left = hn::Mul(left, LoadAs(d, targets.factor + i));
    hn::StoreU(left, d, w + i);
    sum = hn::Add(sum, left);
  }
  return sum;
}
double WeighAllCounts(const RowTargets& targets, size_t count, const float* cap,
                      const ScoreLimits& limits, double* r, double* w) {
  return SumInLanes(count, [&](auto d, size_t begin, size_t end) HWY_ATTR {
    return WeighCounts(d, begin, end, targets, cap, limits, r, w);
  });
}

// f'' of a loss whose slope is free, from its size: of huber 1, of pseudo-huber (1 - f'^2)^(3/2).
template <class D>
HWY_INLINE hn::Vec<D> FreeCurvature(D d, losses::huber /*loss*/, hn::Vec<D> /*size*/) {
  return hn::Set(d, 1.0);
}
template <class D>
HWY_INLINE hn::Vec<D> FreeCurvature(D d, losses::pseudo_huber /*loss*/, hn::Vec<D> size) {
  const auto w = hn::NegMulAdd(size, size, hn::Set(d, 1.0));
  return hn::Mul(w, hn::Sqrt(w));
}
template <class Loss>
constexpr bool has_free_curvature =
    std::is_same_v<Loss, losses::huber> || std::is_same_v<Loss, losses::pseudo_huber>;

double HeldDerivatives(const LossChoice& loss, const double* z, const RowTargets& targets,
                       const float* cap, const ScoreLimits& limits, size_t count, double* r,
                       double* w) {
  if (targets.offset != nullptr) {
    std::copy_n(z, count, w);
    AddOffsets(targets, count, w);
    z = w;
  }
  const float* const y = targets.y;
  DerivativesOf(loss, z, y, count, r);
  const auto times_factor = [factor = targets.factor](auto d, size_t i, auto v) HWY_ATTR {
    return factor == nullptr ? v : hn::Mul(v, LoadAs(d, factor + i));
  };
  double sum = 0;
  const double limit = limits.information;
  WithLoss(loss, [&]<class Of>(const Of& of) HWY_ATTR {
    if constexpr (std::is_same_v<Of, losses::logistic>) {
      sum = WeighAll(count, cap, targets.factor, limit, r, w);
    } else if constexpr (has_free_curvature<Of>) {
      sum = HoldAll(count, cap, limit, r, w, [&](auto d, size_t i, auto size) HWY_ATTR {
        return times_factor(d, i, FreeCurvature(d, of, size));
      });
    } else {
      loss.other->curvatures({z, count}, {y, count}, {w, count});
      if (counts_of(*loss.other, limits) > 0) {
        sum = WeighAllCounts(targets, count, cap, limits, r, w);
      } else {
        sum = HoldAll(count, cap, limit, r, w, [&](auto d, size_t i, auto) HWY_ATTR {
          return times_factor(d, i, hn::LoadU(d, w + i));
        });
      }
    }
  });
  MultiplyRows(targets, count, r);
  return sum;
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(DerivativesDouble);
HWY_EXPORT(DerivativesFloat);
HWY_EXPORT(Values);
HWY_EXPORT(HeldDerivatives);
HWY_EXPORT(HeldOutputs);
HWY_EXPORT(OutputDerivativesDouble);
HWY_EXPORT(OutputDerivativesFloat);
HWY_EXPORT(OutputValues);
HWY_EXPORT(LossSum);

std::vector<float> row_factors(const Loss& loss, std::span<const float> y, const float* weight) {
  if (loss.class_weights().empty() && weight == nullptr) return {};
  std::vector<float> out(y.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = row_factor(loss, y[i], weight == nullptr ? 1 : weight[i]);
  return out;
}

LossChoice choose_loss(const Loss& weighted) {
  const Loss& loss = weighted.unweighted();
  if (loss.outputs() > 1 && dynamic_cast<const losses::Softmax*>(&loss) == nullptr) {
    throw std::logic_error("the cpu backend has no kernel of that loss");
  }
  return {kernels::index_of_loss(loss.name(), Losses{}), &loss, loss.outputs()};
}

void output_derivatives(const LossChoice& loss, double* z, std::size_t stride, const RowTargets& y,
                        std::size_t rows) {
  HWY_DYNAMIC_DISPATCH(OutputDerivativesDouble)(loss, z, stride, y, rows);
}
void output_derivatives(const LossChoice& loss, float* z, std::size_t stride, const RowTargets& y,
                        std::size_t rows) {
  HWY_DYNAMIC_DISPATCH(OutputDerivativesFloat)(loss, z, stride, y, rows);
}
void output_values(const LossChoice& loss, const double* z, std::size_t stride, const RowTargets& y,
                   std::size_t rows, double* f) {
  HWY_DYNAMIC_DISPATCH(OutputValues)(loss, z, stride, y, rows, f);
}
double loss_sum(const LossChoice& loss, const double* z, std::size_t stride, const RowTargets& y,
                std::size_t rows, double* f) {
  return HWY_DYNAMIC_DISPATCH(LossSum)(loss, z, stride, y, rows, f);
}

namespace {

// `derivatives` of several outputs.
template <class T>
bool found_for_outputs(const LossChoice& loss, std::span<const T> z, std::span<const float> y,
                       std::span<T> r) {
  if (loss.outputs == 1) return false;
  if (r.data() != z.data()) std::ranges::copy(z, r.begin());
  output_derivatives(loss, r.data(), y.size(), y.data(), y.size());
  return true;
}

}  // namespace

void values(const LossChoice& loss, std::span<const double> z, std::span<const float> y,
            std::span<double> f) {
  if (loss.outputs > 1) {
    return output_values(loss, z.data(), y.size(), y.data(), y.size(), f.data());
  }
  HWY_DYNAMIC_DISPATCH(Values)(loss, z.data(), y.data(), z.size(), f.data());
}
void derivatives(const LossChoice& loss, std::span<const double> z, std::span<const float> y,
                 std::span<double> r) {
  if (found_for_outputs(loss, z, y, r)) return;
  HWY_DYNAMIC_DISPATCH(DerivativesDouble)(loss, z.data(), y.data(), z.size(), r.data());
}
void derivatives(const LossChoice& loss, std::span<const float> z, std::span<const float> y,
                 std::span<float> r) {
  if (found_for_outputs(loss, z, y, r)) return;
  HWY_DYNAMIC_DISPATCH(DerivativesFloat)(loss, z.data(), y.data(), z.size(), r.data());
}

double held_outputs(const LossChoice& loss, double* z, std::size_t stride, const RowTargets& y,
                    const float* cap, double limit, std::size_t rows) {
  return HWY_DYNAMIC_DISPATCH(HeldOutputs)(loss, z, stride, y, cap, limit, rows);
}
double held_derivatives(const LossChoice& loss, std::span<const double> z, const RowTargets& y,
                        const float* cap, const ScoreLimits& limits, double* r, double* w) {
  return HWY_DYNAMIC_DISPATCH(HeldDerivatives)(loss, z.data(), y, cap, limits, z.size(), r, w);
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
