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
};

/// The level of every row in every column. A category none of whose features is set is its last
/// level.
LevelRows levels_of(const Rows& rows, std::span<const LevelColumn> columns);

/// Levels of a table that was read through network_schema. Throws BadInput if it has no rows, or
/// labels beside its columns, as LIBSVM text has.
LevelRows network_rows(const Dataset& data, const Schema& schema);

/// N over the levels of these columns, the last fastest [product of levels].
std::vector<std::uint64_t> contingency(const LevelRows& rows,
                                       std::span<const std::uint32_t> columns);

}  // namespace gibbsite
