#pragma once
// Rounding to nearest in double, counted (docs/theory/map-error.md).
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// gamma_k = k u / (1 - k u): k roundings (Higham 2002, Lemma 3.1), in 50 digits. What a run counts
/// by in double is `gamma_up` (chains/gradient_error.hpp).
inline Wide gamma_k(const Wide& k) {
  const Wide ku = k * ldexp(Wide(1), -53);
  return ku / (1 - ku);
}

/// Roundings between a logit and its residual, in units of u: an exp within 4 ulp and the four
/// operations after it; tests/model and tests/backend hold the implementations to it.
inline constexpr int derivative_roundings = 16;
/// Roundings of a vector of K > 1 residuals, in its Euclidean norm (docs/theory/map-error.md,
/// "Several outputs").
constexpr double derivative_roundings_of(double outputs) {
  return derivative_roundings + (outputs > 1 ? 4 * outputs : 0);
}

}  // namespace gibbsite
