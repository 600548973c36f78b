#pragma once
// How often the best guess is wrong.
#include <cmath>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The least probability of a wrong guess of which of two neighbors was released from, at even
/// odds: (missed - reveal)/(1 + e^pure) - tv, missed = 2 Phi(-mu/2). In the arithmetic of `missed`.
template <class Number>
Number wrong_guess(const Guarantee& g, const Number& missed) {
  using std::exp;
  return (missed - Number(g.delta0)) / (Number(1) + exp(Number(g.epsilon0))) - Number(g.tv);
}

}  // namespace gibbsite
