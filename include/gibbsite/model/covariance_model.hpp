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
  std::optional<double> count{};  ///< what rows without a missing cell count; none: it is public
  std::vector<double> sums{};     ///< [d] of x_j
  std::vector<double> moments{};  ///< [d (d + 1)/2] of x_i x_j, the lower triangle by rows

  [[nodiscard]] std::vector<std::string> columns() const;  ///< [d] those of numbers
};

/// A schema of these columns, without a label, and behind them those of weights and people. Rows
/// with a missing cell are left out, which hides how many are left, so that such columns are for
/// add-remove, or for rows that have weights. Throws BadInput on no column, more than
/// most_covariance_columns, one twice, one that there is not, and what is no number.
Schema covariance_schema(const Schema& whole, const std::vector<std::string>& columns,
                         Adjacency adjacency);

/// Whether rows of the schema have weights, or count by whose they are.
bool counts_by_weight(const Schema& schema);

/// Whether covariance_schema of all its columns is the schema itself.
bool is_covariance_schema(const Schema& schema, Adjacency adjacency);

}  // namespace gibbsite
