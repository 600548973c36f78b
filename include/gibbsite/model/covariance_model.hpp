#pragma once
// Noisy first and second moments of several columns, as they are released.
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Sums over rows of numbers x = (2 v - lo - hi)/(hi - lo) of cells v, held to [-1, 1], with noise.
struct CovarianceModel {
  Schema schema;                  ///< of covariance_schema
  std::optional<double> count{};  ///< rows, or rows without a missing cell; none: they are public
  std::vector<double> sums{};     ///< [d] of x_j
  std::vector<double> moments{};  ///< [d (d + 1)/2] of x_i x_j, the lower triangle by rows

  [[nodiscard]] std::vector<std::string> columns() const;  ///< [d]
};

/// A schema of these columns alone, without a label. Rows with a missing cell are left out, which
/// hides how many are left, so that such columns are for add-remove. Throws BadInput on no column,
/// more than most_covariance_columns, one twice, one that there is not, what is no number, and
/// columns of weights or people.
Schema covariance_schema(const Schema& whole, const std::vector<std::string>& columns,
                         Adjacency adjacency);

/// Whether covariance_schema of all its columns is the schema itself.
bool is_covariance_schema(const Schema& schema, Adjacency adjacency);

}  // namespace gibbsite
