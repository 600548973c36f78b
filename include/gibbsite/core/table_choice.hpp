#pragma once
// Which tables of a data set are worth their noise: arithmetic on answers that were paid for.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/junction_tree.hpp"

namespace gibbsite {

/// A table that may be counted.
struct TableCandidate {
  ColumnList columns;
  /// Noisy sum over cells of |count - what is known without it|, in rows.
  double score = 0;
  double weight = 1;  ///< what a row of error in this table counts beside one in others
};

/// What bounds a choice. Cliques have at most `cells` cells by `levels` and `columns` columns.
struct TableLimits {
  std::uint64_t cells = 20'000;
  std::uint64_t columns = 11;
  std::vector<ColumnList> held{};  ///< sets of columns that the tree holds besides
  /// Which penalties on cells are tried: powers of two up to 16, as before 2026-12, or with their
  /// middles up to 1024. Large ones matter where noise is small: tables of few cells leave a tree
  /// more room.
  enum class Penalties { to_16, to_1024 } penalties = Penalties::to_1024;
};

/// A table to be counted with Gaussian noise of this standard deviation in every cell.
struct ChosenTable {
  ColumnList columns;
  double deviation = 0;
};
/// What is counted, in the order of candidates, and what that is expected to gain: the sum of
/// scores less that of the noise, in rows, both weighted. Empty if no table is worth its noise.
struct TableChoice {
  std::vector<ChosenTable> tables;
  double gain = 0;
};

/// The tables whose scores exceed the expected L1 norm of their noise by the most, both weighted,
/// of sets that a junction tree within the limits holds. All are counted in one Gaussian release of
/// `mu`, and one row moves one of them by `sensitivity` at most in L2. The budget mu^2 is shared in
/// proportion to (s sensitivity)^(2/3), s the cells of a table times its weight, so that the
/// weighted noise in all is least; the deviation of table p is then sensitivity/sqrt(B_p), where
/// the B_p add up to mu^2 (within rounding, which the caller bounds). Greedy by score less a
/// penalty on cells, several penalties, the best gain.
///   cells   [K] levels whose product is a table's noise and cost: after rare levels are merged
///   levels  [K] those that bound cliques
/// A pure function of its arguments. Throws BadInput on sizes that differ or on mu or sensitivity
/// not above 0.
TableChoice choose_tables(std::span<const std::uint64_t> levels,
                          std::span<const std::uint64_t> cells,
                          std::span<const TableCandidate> candidates, const TableLimits& limits,
                          double sensitivity, double mu);

}  // namespace gibbsite
