#pragma once
// The whole profile of a conjugate draw.
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/privacy/conjugate.hpp"

namespace gibbsite {

/// delta of one draw at any epsilon >= 0, by the exact theorem whatever the calibration. For the
/// families that have a delta: not for mean. Throws BadInput as `analyze` does.
double conjugate_delta_up(const ConjugateDraw& settings, const FamilyProblem& problem,
                          const Neighbors& who, double epsilon, Digits digits);

}  // namespace gibbsite
