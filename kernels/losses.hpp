#pragma once
// From a loss's place in the list of compiled losses to its type: what a kernel is built for.
#include <cmath>
#include <cstddef>
#include <string_view>

#include "gibbsite/model/losses.hpp"

namespace gibbsite::kernels {

inline constexpr unsigned no_loss = ~0u;

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
  GIBBSITE_HD static Real residual(Real z, Real y) {
    // Selects in place of losses::logistic's products with y: fewer registers, the same bits.
    const Real t = y < 0 ? -z : z, most = std::fabs(y);
    const Real e = std::exp(-std::fabs(t));
    const Real size = (t >= 0 ? e : Real{1}) / (Real{1} + e);
    const Real held = size > most ? most : size;  // what is no number stays none
    return y < 0 ? held : -held;
  }
  template <class Real>
  GIBBSITE_HD static Real second(Real z, Real y) {
    const Real sign = sign_of(y);
    return sign * z < 0 && y * sign < 1 ? Real{0} : losses::logistic::second(z, sign);
  }

 private:
  template <class Real>
  GIBBSITE_HD static Real sign_of(Real y) {
    return y < 0 ? Real{-1} : Real{1};
  }
};

/// What the card's kernels are compiled for.
using CardLosses = LossList<logistic_by_label>;

template <class... L>
unsigned index_of_loss(std::string_view name, LossList<L...>) {
  unsigned index = 0, found = no_loss;
  ((found = name == L::name ? index : found, ++index), ...);
  return found;
}

/// Place of the card's loss that computes it, with labels times `label_of`; no_loss when none does.
inline unsigned index_of_loss(std::string_view name) {
  const bool by_label = name == losses::logistic::name || name == losses::logistic_capped::name;
  return index_of_loss(by_label ? logistic_by_label::name : name, CardLosses{});
}

template <class Visit, class... L>
void with_loss(unsigned index, Visit&& visit, LossList<L...>) {
  unsigned at = 0;
  ((at++ == index ? visit.template operator()<L>() : void()), ...);
}

/// Calls visit.operator()<Loss>() for the card's loss at that place.
template <class Visit>
void with_loss(unsigned index, Visit&& visit) {
  with_loss(index, visit, CardLosses{});
}

}  // namespace gibbsite::kernels
