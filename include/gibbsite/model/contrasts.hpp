#pragma once
// Coordinates of rows without the directions that the schema rules out (docs/theory/whitened.md,
// "Coordinates").
#include <cstddef>
#include <span>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// True if every cell of the column becomes exactly one level. False for a column that is no
/// category, and if a missing cell has no level of its own. False also if invalid = "middle"
/// without `other` turns an unlisted cell into no level.
bool always_has_level(const Schema& schema, const Column& column);

/// An orthonormal basis of the space that all rows of the schema lie in. If a category always has a
/// level, its levels add up to the constant column, so m - 1 contrasts of m levels are kept. The
/// basis is the identity if the schema has no intercept or rows may be scaled down.
struct ContrastBasis {
  std::size_t features = 0;     ///< d
  std::size_t coordinates = 0;  ///< k <= d
  /// B [d x k] row-major with B^T B = 1. Its columns are contrasts of levels, then numbers and
  /// other levels as they are. The last one is the constant, with 1/m of it on each of the m levels
  /// of a category with contrasts. So x = B B^T x for every row x that the schema can encode.
  std::vector<double> basis;
  /// [d] Number of levels m of the category, for a level that is in contrasts; 0 for other
  /// features.
  std::vector<std::size_t> levels;
};
ContrastBasis contrast_basis(const Schema& schema);

/// Moves the mean of the levels of each category with contrasts, in theta [d], to the constant. Its
/// levels then add up to 0, and scores of rows that the schema can encode do not change.
void center_levels(const ContrastBasis& contrasts, std::span<double> theta);

/// The clamped log-length of a row x, without its constant: half the logarithm of base + sum_j
/// weight_j (x_j - center_j)^2, clamped to [low, high]. Numbers count from the middle of their
/// ranges. The schema alone decides it (docs/theory/whitened.md, "Small budgets").
struct RowLengths {
  /// Sum over the categories in contrasts of 1 - 1/m, which each adds whatever its level (m: its
  /// number of levels).
  double base = 0;
  std::vector<double> weight;  ///< [d] 1, or 0 of levels in contrasts and the constant
  std::vector<double> center;  ///< [d]
  double low = 0, high = 0;
  bool categories = false;  ///< whether the schema has one
  /// The middle of [low, high]. A row contributes its distance from the middle, at most `half`.
  [[nodiscard]] double middle() const { return (low + high) / 2; }
  [[nodiscard]] double half() const { return (high - low) / 2; }
};
RowLengths row_lengths(const Schema& schema);

}  // namespace gibbsite
