#pragma once
// Coordinates of rows without the directions that the schema rules out (docs/whitened.md,
// "Coordinates").
#include <cstddef>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Whether every cell of this column becomes exactly one level: false for a column that is no
/// category, where a missing cell has no level of its own, and where invalid = "middle" without
/// `other` turns a cell that is not listed into no level.
bool always_has_level(const Schema& schema, const Column& column);

/// An orthonormal basis of the directions in which rows can differ, and the way back. Levels of a
/// category that always has one add up to the constant column, so that of m levels m - 1 contrasts
/// are kept. Where the schema has no intercept, or rows may be scaled down, both are the identity.
struct ContrastBasis {
  std::size_t features = 0;     ///< d
  std::size_t coordinates = 0;  ///< k <= d
  /// B [d x k] row-major, B^T B = 1: contrasts of levels, numbers and other levels as they are, the
  /// constant last.
  std::vector<double> basis;
  /// S [d x k] row-major: x = S B^T x for every row x that the schema can encode.
  std::vector<double> lift;
};
ContrastBasis contrast_basis(const Schema& schema);

}  // namespace gibbsite
