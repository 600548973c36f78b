#pragma once
// The rows and labels of an engine.
#include <algorithm>
#include <span>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/layout.hpp"

namespace gibbsite::cpu {

/// A table: rows as numbers, or as entries where x has none.
struct Table {
  RowsPart rows;
  std::size_t features = 0;
  std::span<const float> y;
  const float* offset = nullptr;  ///< [rows], as RowTargets has them
  const float* factor = nullptr;
  const float* weight = nullptr;  ///< [rows] of the rows themselves, which `factor` contains

  [[nodiscard]] RowTargets targets(std::size_t first) const {
    return RowTargets(y.data(), offset, factor).from(first);
  }
  [[nodiscard]] bool dense() const { return rows.x.data != nullptr; }
  [[nodiscard]] RowsPart part(std::size_t first, std::size_t last) const {
    if (!dense()) return {{}, rows.entries.part(first, last)};
    return {{rows.x.data + first * features, last - first, features}, {}};
  }
  /// Numbers of X, counted as dense ones; an entry met by itself costs as much as about five.
  [[nodiscard]] std::size_t numbers() const {
    return dense() ? rows.size() * features : 5 * rows.entries.entries();
  }
  [[nodiscard]] std::size_t blocks() const { return blocks_of(rows.size()); }
  [[nodiscard]] Range rows_of(std::size_t block) const {
    return {block * row_block, std::min<std::size_t>((block + 1) * row_block, rows.size())};
  }
};

}  // namespace gibbsite::cpu
