#pragma once
// Renyi divergences of mechanisms whose law is known beyond the numbers of their guarantee
// (docs/theory/rdp.md).
#include <cstdint>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The largest Renyi divergence of that order > 1 between neighbors, of all `draws` together,
/// rounded up: exact for conjugate draws, without their reveal; that of the guarantee
/// (privacy/rdp.hpp) for others. Infinite where the order is not defined. The tv of `analyze` is
/// not in it. The settings are such as `analyze` takes.
double renyi_up(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                const Neighbors& who, std::uint64_t draws, double order);

}  // namespace gibbsite
