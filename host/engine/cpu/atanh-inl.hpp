// 2 atanh(s), by which both log(1 + v) and -log(1 - v) keep their relative accuracy. Compiled once
// per instruction set, as Highway wants it.
#if defined(GIBBSITE_BACKEND_CPU_ATANH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GIBBSITE_BACKEND_CPU_ATANH_INL_HPP
#undef GIBBSITE_BACKEND_CPU_ATANH_INL_HPP
#else
#define GIBBSITE_BACKEND_CPU_ATANH_INL_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {

/// c[0] + c[1] x + ...: even and odd powers side by side, half the latency.
template <class D, size_t terms>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Polynomial(D d, hwy::HWY_NAMESPACE::Vec<D> x,
                                                 const hwy::HWY_NAMESPACE::TFromD<D> (&c)[terms]) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t top_even = (terms - 1) / 2 * 2, top_odd = terms / 2 * 2 - 1;
  const auto square = hn::Mul(x, x);
  auto even = hn::Set(d, c[top_even]), odd = hn::Set(d, c[top_odd]);
  for (size_t k = top_even; k >= 2; k -= 2) even = hn::MulAdd(even, square, hn::Set(d, c[k - 2]));
  for (size_t k = top_odd; k >= 2; k -= 2) odd = hn::MulAdd(odd, square, hn::Set(d, c[k - 2]));
  return hn::MulAdd(odd, x, even);
}

/// 2 atanh(s) = log((1 + s) / (1 - s)) = 2s + s^3 p(s^2) in double for 0 <= s <= 1/3; p is the
/// minimax polynomial of the relative error, 1.3e-18 (Remez exchange in 60 digits). With
/// s = v / (2 + v) this is log(1 + v), with s = v / (2 - v) it is -log(1 - v).
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> TwiceAtanh(D d, hwy::HWY_NAMESPACE::Vec<D> s) {
  namespace hn = hwy::HWY_NAMESPACE;
  static constexpr double p[] = {0.66666666666666309682,  0.40000000000155119519,
                                 0.2857142854811789509,   0.22222223953642909142,
                                 0.18181744479349821547,  0.15386548386178269601,
                                 0.13301121454006975287,  0.1210494447301328908,
                                 0.083449725140832444825, 0.17009756465740795217};
  const auto square = hn::Mul(s, s);
  return hn::MulAdd(hn::Mul(s, square), Polynomial(d, square, p), hn::Add(s, s));
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
