#pragma once
// Coordinates of rows without the directions that the schema rules out (docs/theory/whitened.md,
// "Coordinates").
#include <cstddef>
#include <span>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Whether every cell of this column becomes exactly one level: false for a column that is no
/// category, where a missing cell has no level of its own, and where invalid = "middle" without
/// `other` turns a cell that is not listed into no level.
bool always_has_level(const Schema& schema, const Column& column);

/// An orthonormal basis of the space that all rows of the schema lie in. Levels of a category that
/// always has one add up to the constant column, so that of m levels m - 1 contrasts are kept.
/// Where the schema has no intercept, or rows may be scaled down, it is the identity.
struct ContrastBasis {
  std::size_t features = 0;     ///< d
  std::size_t coordinates = 0;  ///< k <= d
  /// B [d x k] row-major, B^T B = 1: contrasts of levels, numbers and other levels as they are;
  /// last the constant with 1/m of it on each of the m levels of a category with contrasts. So x =
  /// B B^T x for every row x that the schema can encode.
  std::vector<double> basis;
  /// m [d] of a level that is in contrasts; 0 of other features.
  std::vector<std::size_t> levels;
};
ContrastBasis contrast_basis(const Schema& schema);

/// Moves the mean of each category's levels in theta [d] to the constant, in every category with
/// contrasts. Its levels add up to 0 then, and the scores of rows that can be encoded stay.
void center_levels(const ContrastBasis& contrasts, std::span<double> theta);

/// What is asked of the length of a row x without its constant, numbers from the middle of their
/// ranges: half the logarithm of base + sum_j weight_j (x_j - center_j)^2, held to [low, high].
/// From the schema alone (docs/theory/whitened.md, "Small budgets").
struct RowLengths {
  /// What categories in contrasts add whatever their level: 1 - 1/m of m levels, each.
  double base = 0;
  std::vector<double> weight;  ///< [d] 1, or 0 of levels in contrasts and the constant
  std::vector<double> center;  ///< [d]
  double low = 0, high = 0;
  bool categories = false;  ///< whether the schema has one
  /// The middle of [low, high]. A row's answer is its distance from it, at most `half`.
  [[nodiscard]] double middle() const { return (low + high) / 2; }
  [[nodiscard]] double half() const { return (high - low) / 2; }
};
RowLengths row_lengths(const Schema& schema);

}  // namespace gibbsite
