#pragma once
// Rows as places in public lists of levels, and counts of them.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// Private: [K][n] levels.
struct LevelRows {
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> levels;                ///< [K]
  std::vector<std::vector<std::uint16_t>> columns;  ///< [K][n]
  /// [n] What each row counts, in units of 2^-weight_bits, at most 1; empty: each counts 1.
  std::vector<std::uint32_t> amount{};

  /// Counts are in units of 2^-bits().
  [[nodiscard]] int bits() const { return amount.empty() ? 0 : weight_bits; }
};

/// The level of every row in every column. A category none of whose features is set is its last
/// level.
LevelRows levels_of(const Rows& rows, std::span<const LevelColumn> columns);

/// Levels of a table that was read through network_schema, and what each row counts: its weight,
/// and its share of its person's rows, rounded down. Throws BadInput if it has no rows, labels
/// beside its columns, as LIBSVM text has, or people whom nothing holds (Dataset::hold_people).
LevelRows network_rows(const Dataset& data, const Schema& schema);

/// N over the levels of these columns, the last fastest [product of levels], in units of
/// 2^-rows.bits().
std::vector<std::uint64_t> contingency(const LevelRows& rows,
                                       std::span<const std::uint32_t> columns);
/// Such counts in rows, exact where all rows together count at most 2^33, or 2^53 without weights.
std::vector<double> counts_in_rows(const LevelRows& rows, std::span<const std::uint64_t> counts);

}  // namespace gibbsite
