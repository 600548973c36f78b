#pragma once
// Columns that say the same in every row. For the curator's eyes, never released.
#include <cstddef>
#include <vector>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// A column that repeats another one, or is constant.
struct AlikeColumns {
  enum class Kind {
    equal,    ///< numbers that lie at the same place of their ranges; levels that go together
    turned,   ///< numbers of which one is as far above its lower end as the other below its higher
    constant  ///< one number or one level
  };
  Kind kind = Kind::equal;
  std::size_t first = 0, second = 0;  ///< places in the schema's columns; of a constant the same
};

/// Pairs of each column and the first one that it repeats in every row; encoded values are
/// compared. Candidates come from the first 1024 rows and are compared with all rows until one
/// differs. Empty for fewer than 32 rows, where columns are alike by
/// chance, and beyond 2^20 features.
std::vector<AlikeColumns> alike_columns(const Dataset& data);

}  // namespace gibbsite
