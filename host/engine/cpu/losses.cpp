// Losses and their slopes, number by number.
#include <algorithm>
#include <type_traits>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/targets.hpp"

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
template void ResidualsOf(const LossChoice&, const double*, const float*, size_t, double*);
template void ResidualsOf(const LossChoice&, const float*, const float*, size_t, float*);

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

// f'' of a loss whose slope is free, from its size: of logistic |f'| (1 - |f'|), of huber 1, of
// pseudo-huber (1 - f'^2)^(3/2).
template <class D>
HWY_INLINE hn::Vec<D> FreeCurvature(D d, losses::logistic /*loss*/, hn::Vec<D> size) {
  return hn::Mul(size, hn::Sub(hn::Set(d, 1.0), size));
}
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
    std::is_same_v<Loss, losses::logistic> || std::is_same_v<Loss, losses::huber> ||
    std::is_same_v<Loss, losses::pseudo_huber>;

double HeldResiduals(const LossChoice& loss, const double* z, const float* y, const float* cap,
                     size_t count, double* r, double* w) {
  ResidualsOf(loss, z, y, count, r);
  double sum = 0;
  WithLoss(loss, [&]<class Of>(const Of& of) HWY_ATTR {
    if constexpr (has_free_curvature<Of>) {
      sum = HoldAll(count, cap, r,
                    [&](auto d, size_t, auto size) HWY_ATTR { return FreeCurvature(d, of, size); });
    } else {
      loss.other->curvatures({z, count}, {y, count}, {w, count});
      sum = HoldAll(count, cap, r,
                    [w](auto d, size_t i, auto) HWY_ATTR { return hn::LoadU(d, w + i); });
    }
  });
  return sum;
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(ResidualsDouble);
HWY_EXPORT(ResidualsFloat);
HWY_EXPORT(Values);
HWY_EXPORT(HeldResiduals);

LossChoice choose_loss(const Loss& loss) {
  return {kernels::index_of_loss(loss.name(), Losses{}), &loss};
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

double held_residuals(const LossChoice& loss, std::span<const double> z, const float* y,
                      const float* cap, double* r, double* w) {
  return HWY_DYNAMIC_DISPATCH(HeldResiduals)(loss, z.data(), y, cap, z.size(), r, w);
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
