#pragma once
// Second moments of people's summed scores: what an interval's sampling part is of where people
// have several rows (docs/theory/intervals.md, "People and weights").
#include <cstdint>
#include <functional>
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

inline constexpr const char* people_elsewhere =
    "people: intervals of them need all rows in the memory of this process or of ranks; fit without "
    "intervals";

/// An engine that answers it.
class PeopleScores {
 public:
  virtual ~PeopleScores() = default;
  /// As the function below.
  virtual void people_score_moments(MatrixView<const double> P, const ScoreLimits& limits,
                                    std::span<const double> theta, const PersonOfRow& rows,
                                    MatrixView<double> out) = 0;
};

/// Writes sums[(last - first) x d], of people [first, last): of each the sum of the scores times
/// the rows, as below. Called for people from 0 on, one part after another.
using SumsOfPeople =
    std::function<void(std::size_t first, std::size_t last, std::span<double> sums)>;
/// So many people, what the norm of one's summed score is held to, and their sums.
struct SummedPeople {
  std::size_t count = 0;
  double longest = 0;
  SumsOfPeople sums;
};
/// The moments of people from such sums, by one order of additions whoever finds them.
void moments_of_people(const Loss& loss, MatrixView<const double> P, const ScoreLimits& limits,
                       const SummedPeople& people, MatrixView<double> out);

/// Writes out[k x k] = sum over people of v v^T, where v approximates P^T (the sum of the person's
/// scores times their rows, each score that of CappedLoss with these limits at theta [d]). v are
/// floats of norm <= `longest` in exact arithmetic, and a function of the person's own rows in
/// their order, P, the limits, theta and `longest` alone. Of a loss of K outputs v is in K - 1
/// contrasts of them, as in CappedLoss::score_moments: out[(K - 1) k x (K - 1) k], theta [K d]. In
/// double, on one thread; sums over people keep to accumulation_depth. Takes 12 bytes a row and 8 a
/// person. Over ranks each gives the places of its own rows, and a person's sum goes from rank to
/// rank, with the bits of one process. Throws BadInput on an engine whose rows are elsewhere, on
/// more than 2^32 - 1 rows, an out of another size, places of another number of rows, and as
/// `RowSums::capped_loss`.
void people_score_moments(RowSums& engine, MatrixView<const double> P, const ScoreLimits& limits,
                          std::span<const double> theta, const PersonOfRow& rows,
                          MatrixView<double> out);

}  // namespace gibbsite
