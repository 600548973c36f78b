#pragma once
// Draws by inversion: one uniform of 128 bits a number, the distribution function in 50 digits,
// straight to the public grid (docs/theory/conjugate.md, "The draw").
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/family.hpp"

namespace gibbsite {

/// What the table says: for levels how many rows have each [K]; else the sum of what its cells
/// become, in units of 1/scale of the range of FamilyProblem::values above its lower end [1].
struct FamilyStatistic {
  std::vector<std::uint64_t> sums;
  double scale = 1;
};

/// Draw number `draw` of the parameters: words of (draw, split) of the key's stream.
std::vector<double> family_draw(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                                const FamilyStatistic& statistic, const StreamKey& key,
                                std::uint32_t draw);

/// Shares of the levels of one row, Dirichlet(counts [K]) cut as `row` says, whose levels and trim
/// alone are read: splits take words of (draw, first_step), (draw, first_step + 1), ...
std::vector<double> dirichlet_draw(const FamilyProblem& row, std::span<const Wide> counts,
                                   double grid, const StreamKey& key, std::uint32_t draw,
                                   std::uint64_t first_step);

}  // namespace gibbsite
