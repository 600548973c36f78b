// Losses and their slopes on vectors. Compiled once per instruction set, as Highway wants it.
#if defined(GIBBSITE_ENGINE_CPU_LOSSES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GIBBSITE_ENGINE_CPU_LOSSES_INL_HPP
#undef GIBBSITE_ENGINE_CPU_LOSSES_INL_HPP
#else
#define GIBBSITE_ENGINE_CPU_LOSSES_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <numbers>

#include "engine/cpu/atanh-inl.hpp"
#include "engine/cpu/vectors-inl.hpp"
#include "kernels/losses.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

#if HWY_TARGET <= HWY_AVX3
// 1 / v as a division rounds it, so that AVX-512 has the bits of other sets, in less time. The
// guess is within 2^-14 of itself, the next within 2^-28, and `above` is the next one rounded up:
// at most one unit in the last place above 1 / v and 2^-55 of itself below. Then 1 - v above is
// exact, and the last step is correctly rounded (Markstein, IBM J. Res. Dev. 34 (1990), theorem
// 7.1, whose exception, a v of ones alone, has the right neighbour where the guess lies above).
HWY_INLINE __m512d Reciprocal8(__m512d v) {
  constexpr int up = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
  const __m512d one = _mm512_set1_pd(1), guess = _mm512_rcp14_pd(v);
  const __m512d near = _mm512_mul_pd(guess, _mm512_fnmadd_pd(v, guess, _mm512_set1_pd(2)));
  const __m512d above = _mm512_fmadd_round_pd(_mm512_fnmadd_pd(v, near, one), near, near, up);
  return _mm512_fmadd_pd(_mm512_fnmadd_pd(v, above, one), above, above);
}
#endif

// 1 / v for a v that is normal, as its reciprocal is. In double it is correctly rounded. In float a
// guess of 12 bits or more (8 on NEON) doubles its digits at each step: a division costs more than
// all of Exp.
template <class D>
HWY_INLINE hn::Vec<D> Reciprocal(D d, hn::Vec<D> v) {
  const auto two = hn::Set(d, Lane<D>{2});
  const auto better = [&](hn::Vec<D> guess)
                          HWY_ATTR { return hn::Mul(guess, hn::NegMulAdd(v, guess, two)); };
  if constexpr (sizeof(Lane<D>) == sizeof(float)) {
    return better(better(hn::ApproximateReciprocal(v)));
  } else {
#if HWY_TARGET <= HWY_AVX3
    if constexpr (hn::MaxLanes(D()) == 8) return hn::Vec<D>{Reciprocal8(v.raw)};
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
HWY_INLINE hn::Vec<D> Derivative(D d, Loss /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  return LaneByLane(d, z, y,
                    [](Lane<D> logit, Lane<D> label) { return Loss::derivative(logit, label); });
}

// f' = -y / (1 + e^(y z)): where |z| > far it differs from its value at far by less than the
// smallest normal number. Min and Max may drop what is not a number, so it is put back.
template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, losses::logistic /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  using T = Lane<D>;
  const auto far = hn::Set(d, ExpConstants<T>::far);
  const auto t = hn::Max(hn::Neg(far), hn::Min(far, hn::Mul(y, z)));
  const auto sum = hn::Add(hn::Set(d, T{1}), Exp(d, t));
  return hn::IfThenElse(hn::IsNaN(z), z, hn::Neg(hn::Mul(y, Reciprocal(d, sum))));
}

template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, losses::logistic_capped /*loss*/, hn::Vec<D> z,
                                 hn::Vec<D> y) {
  const auto most = hn::Set(d, Lane<D>{0.5});
  const auto held = hn::Max(hn::Neg(most), hn::Min(most, Derivative(d, losses::logistic(), z, y)));
  return hn::IfThenElse(hn::IsNaN(z), z, held);
}

// v held at -1 and 1; what is no number stays none.
template <class D>
HWY_INLINE hn::Vec<D> HeldAtOne(D d, hn::Vec<D> v) {
  const auto one = hn::Set(d, Lane<D>{1});
  return hn::IfThenElse(hn::IsNaN(v), v, hn::Max(hn::Neg(one), hn::Min(one, v)));
}

template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, losses::huber /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  return HeldAtOne(d, hn::Sub(z, y));
}

template <class D>
HWY_INLINE hn::Vec<D> Derivative(D /*d*/, losses::squared /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  return hn::Sub(z, y);
}

// r / sqrt(1 + r^2); where r^2 leaves T it is 1.
template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, losses::pseudo_huber /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto r = hn::Sub(z, y);
  const auto root = hn::Sqrt(hn::MulAdd(r, r, hn::Set(d, Lane<D>{1})));
  const auto far = hn::Gt(hn::Abs(r), hn::Set(d, static_cast<Lane<D>>(1e18F)));
  return hn::IfThenElse(far, hn::CopySign(hn::Set(d, Lane<D>{1}), r), hn::Div(r, root));
}

template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, losses::smoothed_hinge /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto room = hn::NegMulAdd(y, z, hn::Set(d, Lane<D>{1}));
  const auto held = hn::Max(hn::Zero(d), HeldAtOne(d, room));
  return hn::IfThenElse(hn::IsNaN(z), z, hn::Neg(hn::Mul(y, held)));
}

// e^u of u = z - log 10 <= 0: below -far less than the smallest normal number.
template <class D>
HWY_INLINE hn::Vec<D> PoissonMean(D d, hn::Vec<D> u) {
  const auto far = hn::Set(d, ExpConstants<Lane<D>>::far);
  const auto one = hn::Set(d, Lane<D>{1});
  return hn::Min(one, Exp(d, hn::Max(hn::Neg(far), hn::Min(u, hn::Zero(d)))));
}

template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, losses::poisson /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto u = hn::Sub(z, hn::Set(d, static_cast<Lane<D>>(losses::poisson::shift)));
  return hn::IfThenElse(hn::IsNaN(z), z, hn::Sub(PoissonMean(d, u), y));
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

template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::huber /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto half = hn::Set(d, 0.5), size = hn::Abs(hn::Sub(z, y));
  const auto near = hn::Mul(hn::Mul(size, size), half);
  return hn::IfThenElse(hn::Gt(size, hn::Set(d, 1.0)), hn::Sub(size, half), near);
}

template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::squared /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto r = hn::Sub(z, y);
  return hn::Mul(hn::Mul(r, r), hn::Set(d, 0.5));
}

template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::pseudo_huber /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto one = hn::Set(d, 1.0), size = hn::Abs(hn::Sub(z, y));
  const auto root = hn::Sqrt(hn::MulAdd(size, size, one));
  const auto near = hn::Mul(size, hn::Div(size, hn::Add(one, root)));
  return hn::IfThenElse(hn::Gt(size, hn::Set(d, static_cast<double>(1e18F))), size, near);
}

template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::smoothed_hinge /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto half = hn::Set(d, 0.5), one = hn::Set(d, 1.0);
  const auto room = hn::NegMulAdd(y, z, one), inside = hn::Max(room, hn::Zero(d));
  const auto near = hn::Mul(hn::Mul(inside, inside), half);
  const auto f = hn::IfThenElse(hn::Gt(room, one), hn::Sub(room, half), near);
  return hn::IfThenElse(hn::IsNaN(z), z, f);
}

template <class D>
HWY_INLINE hn::Vec<D> Value(D d, losses::poisson /*loss*/, hn::Vec<D> z, hn::Vec<D> y) {
  const auto u = hn::Sub(z, hn::Set(d, losses::poisson::shift));
  const auto held = hn::Gt(u, hn::Zero(d));
  const auto derivative = hn::IfThenElse(held, hn::Sub(hn::Set(d, 1.0), y), hn::Neg(y));
  const auto f = hn::MulAdd(derivative, u, PoissonMean(d, u));
  return hn::IfThenElse(hn::IsNaN(z), z, f);
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
HWY_INLINE hn::Vec<D> Derivative(D d, const Loss* loss, hn::Vec<D> z, hn::Vec<D> y) {
  constexpr size_t most = most_lanes<Lane<D>>;
  HWY_ALIGN Lane<D> lanes[most];
  double logit[most], derivative[most];
  float label[most];
  hn::Store(z, d, lanes);
  std::copy_n(lanes, hn::Lanes(d), logit);
  hn::Store(y, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) label[i] = static_cast<float>(lanes[i]);
  loss->derivatives({logit, hn::Lanes(d)}, {label, hn::Lanes(d)}, {derivative, hn::Lanes(d)});
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<Lane<D>>(derivative[i]);
  return hn::Load(d, lanes);
}

// visit(loss): a struct of scalar functions, or a Loss*.
template <class Visit>
HWY_INLINE void WithLoss(const LossChoice& loss, const Visit& visit) {
  if (loss.index == kernels::no_loss) return visit(loss.other);
  kernels::with_loss(
      loss.index, [&]<class Compiled>() HWY_ATTR { visit(Compiled()); }, Losses{});
}

// One of all losses, chosen vector by vector.
struct AnyLoss {
  LossChoice choice;
};
template <class D>
HWY_INLINE hn::Vec<D> Derivative(D d, const AnyLoss& any, hn::Vec<D> z, hn::Vec<D> y) {
  auto r = hn::Zero(d);
  WithLoss(any.choice, [&](const auto& loss) HWY_ATTR { r = Derivative(d, loss, z, y); });
  return r;
}

// Derivative of one row for chains in lanes, with the row's offset and factor.
template <class D, class Loss>
HWY_INLINE hn::Vec<D> SlopeOf(D d, const Loss& loss, const RowTargets& y, size_t row, hn::Vec<D> z,
                              hn::Vec<D> label) {
  if (y.offset != nullptr) z = hn::Add(z, hn::Set(d, static_cast<Lane<D>>(y.offset[row])));
  const auto r = Derivative(d, loss, z, label);
  if (y.factor == nullptr) return r;
  return hn::Mul(r, hn::Set(d, static_cast<Lane<D>>(y.factor[row])));
}

// Losses that the kernels with registers to lose are compiled for one by one: what is fitted most.
// Others take one kernel together, and a jump a vector.
using OwnKernels = LossList<losses::logistic, losses::logistic_capped>;

// visit(loss): one of OwnKernels, or AnyLoss.
template <class Visit>
void WithKernel(const LossChoice& loss, const Visit& visit) {
  const unsigned own = kernels::index_of_loss(loss.other->name(), OwnKernels{});
  if (own == kernels::no_loss) return visit(AnyLoss{loss});
  kernels::with_loss(
      own, [&]<class Compiled>() HWY_ATTR { visit(Compiled()); }, OwnKernels{});
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
