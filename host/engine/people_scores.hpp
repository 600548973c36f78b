#pragma once
// Second moments of people's summed scores: what an interval's sampling part is of where people
// have several rows (docs/theory/intervals.md, "People and weights").
#include <cstdint>
#include <span>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// Throws BadInput unless out is a matrix of `score_coordinates` of that loss in k of a row.
void require_score_moments(const Loss& loss, std::size_t k, MatrixView<const double> out);

/// Whose each row is [n], a place from 0; `nobody` of a row that is left out. `longest`: what the
/// norm of a person's summed score is held to.
struct PersonOfRow {
  std::span<const std::uint32_t> place;
  std::uint32_t nobody = ~std::uint32_t{0};
  double longest = 0;
};

/// Writes out[k x k] = sum over people of v v^T, where v approximates P^T (the sum of the person's
/// scores times their rows, each score that of CappedLoss with these limits at theta [d]). v are
/// floats of norm <= `longest` in exact arithmetic, and a function of the person's own rows in
/// their order, P, the limits, theta and `longest` alone. Of a loss of K outputs v is in K - 1
/// contrasts of them, as in CappedLoss::score_moments: out[(K - 1) k x (K - 1) k], theta [K d]. In
/// double, on one thread; sums over people keep to accumulation_depth. Takes 12 bytes a row and 8 a
/// person. Throws BadInput on an engine whose rows are elsewhere, on more than 2^32 - 1 rows, an
/// out of another size, places of another number of rows, and as `RowSums::capped_loss`.
void people_score_moments(RowSums& engine, MatrixView<const double> P, const ScoreLimits& limits,
                          std::span<const double> theta, const PersonOfRow& rows,
                          MatrixView<double> out);

}  // namespace gibbsite
