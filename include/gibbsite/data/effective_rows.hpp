#pragma once
// How much a table tells whose rows do not count the same. Private: it follows from the weights.
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

/// Sums over rows, or over people with what all rows of one count together.
struct EffectiveRows {
  double units = 0;    ///< how many rows, or people
  double sum = 0;      ///< of what each counts, its class's weight among it
  double squares = 0;  ///< of its square

  /// (sum w)^2 / sum w^2 (Kish 1965): a mean by weights that have nothing to do with what it is of
  /// has the variance of that of so many of one weight. 0 where nothing counts.
  [[nodiscard]] double effective() const { return squares > 0 ? sum * sum / squares : 0; }
};

/// Over people where the table names some and whose rows are is still known, else over rows.
EffectiveRows effective_rows_of(const Dataset& data);
/// The sums over the rows of all ranks, on every rank, which all call it together. A number for
/// each person goes from rank to rank.
EffectiveRows effective_rows_of(const Dataset& share, Communicator& ranks);

}  // namespace gibbsite
