#pragma once
// The whole profile of a conjugate draw.
#include <algorithm>

#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/privacy/conjugate.hpp"

namespace gibbsite {

/// The rows whose whole counts cover the tables of a family with a Beta law: one less where a
/// record may count as any part of one (docs/theory/conjugate.md, Theorem 1, (v)).
inline std::uint64_t scanned_rows(const FamilyProblem& p) {
  return p.has_levels() ? p.rows : std::max<std::uint64_t>(p.rows, 2) - 1;
}

/// delta of one draw at any epsilon >= 0, by the exact theorem whatever the calibration. For the
/// families that have a delta: not for mean. Throws BadInput as `analyze` does.
double conjugate_delta_up(const ConjugateDraw& settings, const FamilyProblem& problem,
                          const Neighbors& who, double epsilon, Digits digits);

}  // namespace gibbsite
