#pragma once
// From a loss's place among those of the GPU to its type: what a kernel is built for.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "gibbsite/model/losses.hpp"

namespace gibbsite::kernels {

inline constexpr unsigned no_loss = ~0u;

/// 1/(1 + e^t) by the GPU's own exponential and reciprocal, one instruction each: of t, |t| 2^-22
/// of it is lost and 2^-21 more, and what is below 2^-126 is 0. For residuals that become BF16, of
/// 2^-8, or a pair, of 2^-17, alone.
GIBBSITE_HD inline float quick_logistic(float t) {
#ifdef __CUDA_ARCH__
  float e, s;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(t * 1.44269504F));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(1.0F + e));
  return s;
#else
  return 1.0F / (1.0F + std::exp2(t * 1.44269504F));
#endif
}

/// The logistic loss with its slope held at |y|, for labels -1 and 1, or -1/2 and 1/2: of both
/// losses in one kernel, because a kernel more takes minutes to compile. With |y| = 1 its bits are
/// those of the logistic loss.
struct logistic_by_label {
  static constexpr const char* name = "logistic-by-label";
  static constexpr float label_of(std::string_view loss) {
    return loss == losses::logistic_capped::name ? 0.5F : 1.0F;
  }

  template <class Real>
  GIBBSITE_HD static Real value(Real z, Real y) {
    using std::log;
    const Real sign = sign_of(y), t = sign * z;
    const Real plain = losses::logistic::value(z, sign);
    return t < 0 && y * sign < 1 ? Real{log(Real{2})} - t / Real{2} : plain;
  }
  template <class Real>
  GIBBSITE_HD static Real derivative(Real z, Real y) {
    // Selects in place of losses::logistic's products with y: fewer registers, the same bits.
    const Real t = y < 0 ? -z : z, most = std::fabs(y);
    const Real e = std::exp(-std::fabs(t));
    const Real size = (t >= 0 ? e : Real{1}) / (Real{1} + e);
    const Real held = size > most ? most : size;  // what is no number stays none
    return y < 0 ? held : -held;
  }
  /// The residual by quick_logistic: eight instructions, none of them a call.
  GIBBSITE_HD static float quick_derivative(float z, float y) {
    const auto sign = std::bit_cast<std::uint32_t>(y) & 0x80000000U;
    const float size = quick_logistic(std::bit_cast<float>(std::bit_cast<std::uint32_t>(z) ^ sign));
    const float held = least(size, std::fabs(y));
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(held) | (sign ^ 0x80000000U));
  }
  template <class Real>
  GIBBSITE_HD static Real second_derivative(Real z, Real y) {
    const Real sign = sign_of(y);
    return sign * z < 0 && y * sign < 1 ? Real{0} : losses::logistic::second_derivative(z, sign);
  }
  GIBBSITE_HD static logistic_by_label at(unsigned /*place*/) { return {}; }

 private:
  // What is no number stays none.
  GIBBSITE_HD static float least(float a, float b) {
#ifdef __CUDA_ARCH__
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
#else
    return a > b ? b : a;
#endif
  }
  template <class Real>
  GIBBSITE_HD static Real sign_of(Real y) {
    return y < 0 ? Real{-1} : Real{1};
  }
};

/// Every other loss of one output in one kernel, which switches over them: each in kernels of its
/// own would take minutes more to compile. A launch has one of them, so no warp takes two branches.
struct other_loss {
  using Kinds =
      LossList<losses::smoothed_hinge, losses::huber, losses::pseudo_huber, losses::poisson>;
  unsigned kind;  ///< place in Kinds

  template <class Real>
  GIBBSITE_HD Real value(Real z, Real y) const {
    return of_kind(Kinds{}, [=](auto loss) { return loss.value(z, y); });
  }
  template <class Real>
  GIBBSITE_HD Real derivative(Real z, Real y) const {
    return of_kind(Kinds{}, [=](auto loss) { return loss.derivative(z, y); });
  }
  template <class Real>
  GIBBSITE_HD Real second_derivative(Real z, Real y) const {
    return of_kind(Kinds{}, [=](auto loss) { return loss.second_derivative(z, y); });
  }
  GIBBSITE_HD static other_loss at(unsigned place) { return {place - 1}; }

 private:
  // A switch: for a chain of questions ptxas took a register more in one kernel.
  template <class F, class... L>
  GIBBSITE_HD auto of_kind(LossList<L...> /*kinds*/, const F& f) const {
    using All = std::tuple<L...>;
    constexpr std::size_t last = sizeof...(L) - 1;
    static_assert(last <= 6, "one more needs one more case");
    switch (kind) {
      case 0:
        if constexpr (last > 0) return f(std::tuple_element_t<0, All>{});
        [[fallthrough]];
      case 1:
        if constexpr (last > 1) return f(std::tuple_element_t<1, All>{});
        [[fallthrough]];
      case 2:
        if constexpr (last > 2) return f(std::tuple_element_t<2, All>{});
        [[fallthrough]];
      case 3:
        if constexpr (last > 3) return f(std::tuple_element_t<3, All>{});
        [[fallthrough]];
      case 4:
        if constexpr (last > 4) return f(std::tuple_element_t<4, All>{});
        [[fallthrough]];
      case 5:
        if constexpr (last > 5) return f(std::tuple_element_t<5, All>{});
        [[fallthrough]];
      default:
        return f(std::tuple_element_t<last, All>{});
    }
  }
};

template <class... L>
unsigned index_of_loss(std::string_view name, LossList<L...>) {
  unsigned index = 0, found = no_loss;
  ((found = name == L::name ? index : found, ++index), ...);
  return found;
}

/// Place of a loss of one output on the GPU: 0 is logistic_by_label, with labels times
/// `label_of`, 1 + i the i-th of other_loss; no_loss when none computes it.
inline unsigned index_of_loss(std::string_view name) {
  if (name == losses::logistic::name || name == losses::logistic_capped::name) return 0;
  const unsigned kind = index_of_loss(name, other_loss::Kinds{});
  return kind == no_loss ? no_loss : 1 + kind;
}

template <class Visit, class... L>
void with_loss(unsigned index, Visit&& visit, LossList<L...>) {
  unsigned at = 0;
  ((at++ == index ? visit.template operator()<L>() : void()), ...);
}

/// Calls visit.operator()<Loss>() for the card's loss at that place; Loss::at(place) is it.
template <class Visit>
void with_loss(unsigned place, Visit&& visit) {
  if (place == 0) {
    visit.template operator()<logistic_by_label>();
  } else if (place != no_loss) {
    visit.template operator()<other_loss>();
  }
}

/// Visits the loss of kernels that are compiled for the logistic losses alone.
template <class Visit>
void with_logistic(unsigned place, Visit&& visit) {
  if (place == 0) visit.template operator()<logistic_by_label>();
}

}  // namespace gibbsite::kernels
