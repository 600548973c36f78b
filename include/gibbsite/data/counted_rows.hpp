#pragma once
// How many rows a table counts for.
#include "gibbsite/data/rows.hpp"

namespace gibbsite {

/// The sum of the rows' weights (Rows::weight_of), n without them.
inline double counted_rows(const Rows& rows) {
  if (rows.weight == nullptr) return static_cast<double>(rows.rows);
  double sum = 0;
  for (std::size_t i = 0; i < rows.rows; ++i) sum += rows.weight_of(i);
  return sum;
}

}  // namespace gibbsite
