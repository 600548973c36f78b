#pragma once
// Coordinates of rows without the directions that the schema rules out (docs/theory/whitened.md,
// "Coordinates").
#include <cstddef>
#include <span>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// True if the features of the column add up to 1 in every row. True for a curve; for a category if
/// every cell becomes exactly one level. False for other columns, and if a category's missing cell
/// has no level of its own, or invalid = "middle" without `other` turns an unlisted cell into no
/// level.
bool always_has_level(const Schema& schema, const Column& column);
/// Likewise of an interaction: true if each of its columns is a number, or a category of which it
/// is true.
bool always_has_level(const Schema& schema, const Interaction& interaction);

/// A basis of the space that all rows of the schema lie in. If the levels of a category or the hats
/// of a curve always add up to the constant column, m - 1 contrasts of them are kept, and of an
/// interaction of such columns its InteractionContrasts. The basis is
/// the identity if the schema has no intercept or rows may be scaled down.
struct ContrastBasis {
  std::size_t features = 0;     ///< d
  std::size_t coordinates = 0;  ///< k <= d
  /// B [d x k] row-major, of orthogonal columns of norm 1, but for those of curves, in which rough
  /// directions are short (`smooth_contrasts`). Its columns are contrasts of levels and hats,
  /// numbers and other levels as they are. The last one is the constant, with 1/m of it on each of
  /// the m levels of a column or an interaction with contrasts. So every row x that the schema can
  /// encode is B times some coordinates, but for what interactions say of a column alone, and
  /// ||B^T x|| <= ||x||.
  std::vector<double> basis;
  /// As `basis`, all columns of norm 1. Empty if the schema has no curve or interaction in
  /// contrasts: it is the same then.
  std::vector<double> plain;
  /// [d] Number of levels m of the column or interaction, for a level or hat that is in contrasts;
  /// 0 for other features.
  std::vector<std::size_t> levels;
};
ContrastBasis contrast_basis(const Schema& schema);

/// Moves the mean of the levels of each column with contrasts, in theta [d], to the constant. Its
/// levels then add up to 0, and scores of rows that the schema can encode do not change.
void center_levels(const ContrastBasis& contrasts, std::span<double> theta);

/// Where features are taken to lie before anything is asked, from the schema alone. Numbers that
/// are straight lines: about the middle of their range or `typical`, in units in which they would
/// have second moment 1/12 (1/3 about 0 without a constant column), as those that lie evenly over
/// their range have. Others stay as they are.
struct TypicalFeatures {
  std::vector<double> center;  ///< [d] scaled; 0 without a constant column
  std::vector<double> factor;  ///< [d] 1/unit: 1 without `typical`
  bool any = false;            ///< whether a factor or a center is another for `typical`
};
TypicalFeatures typical_features(const Schema& schema);

/// The clamped log-length of a row x, without its constant: half the logarithm of base + sum_j
/// weight_j (x_j - center_j)^2, clamped to [low, high]. Numbers count from where they are taken to
/// lie, in its unit. The schema alone decides it (docs/theory/whitened.md, "Small budgets").
struct RowLengths {
  /// Sum over the columns in contrasts: 1 - 1/m of a category, which it adds whatever its level (m:
  /// its number of levels); typical_square of a curve or an interaction.
  double base = 0;
  /// [d] Squared factors of TypicalFeatures; 0 of levels in contrasts and the constant.
  std::vector<double> weight;
  std::vector<double> center;  ///< [d]
  double low = 0, high = 0;
  bool categories = false;  ///< whether the schema has one, a curve or an interaction
  /// The middle of [low, high]. A row contributes its distance from the middle, at most `half`.
  [[nodiscard]] double middle() const { return (low + high) / 2; }
  [[nodiscard]] double half() const { return (high - low) / 2; }
};
RowLengths row_lengths(const Schema& schema);

}  // namespace gibbsite
