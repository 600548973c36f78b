#pragma once
// A conjugate family over one column of a table: which column, and the parameters that were drawn.
#include <string>
#include <vector>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Draws of a family's parameters. Says nothing about privacy.
struct FamilyModel {
  Family family = Family::bernoulli;
  Schema schema;  ///< of the one column
  /// [draws][K] shares of the levels in their order; else [draws][1]: mean count, 1/mean, mean.
  std::vector<std::vector<double>> draws;

  [[nodiscard]] const std::string& column() const { return schema.columns.front().name; }
  /// Names of the levels that the shares belong to: "no", "yes", "(other)" [K]; empty for numbers.
  [[nodiscard]] std::vector<std::string> levels() const;
};

/// Leaves `schema` with a label that no table has, for readers that ask for one.
void drop_label(Schema& schema);
/// A schema of that column alone, by the same rules for its cells, without a label; the label of
/// `whole` as a column of two levels. Throws BadInput when there is no such column, or it is
/// ignored.
Schema family_schema(const Schema& whole, const std::string& column);
/// The public numbers of that family over the column of such a schema; prior, variance and trim are
/// left to the caller. Throws BadInput when the family does not fit the column.
FamilyProblem family_problem(const Schema& one_column, Family family, std::uint64_t rows);

}  // namespace gibbsite
