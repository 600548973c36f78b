#pragma once
// Noisy counts of a table over some columns.
#include <vector>

#include "gibbsite/core/junction_tree.hpp"

namespace gibbsite {

/// Counts with Gaussian noise.
struct MeasuredTable {
  ColumnList columns;
  std::vector<double> counts;  ///< [cells], the last column fastest
  double deviation = 0;        ///< of every count
};

}  // namespace gibbsite
