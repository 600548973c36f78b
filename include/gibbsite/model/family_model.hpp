#pragma once
// A conjugate family over one column of a table: which column, and the parameters that were drawn.
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Released draws of a family's parameters, without their certificate.
struct FamilyModel {
  Family family = Family::bernoulli;
  Schema schema;  ///< of the one column
  /// [draws][K] shares of the levels in their order; for numbers [draws][1], the mean count, 1/mean
  /// or mean.
  std::vector<std::vector<double>> draws;
  /// Answers that the schema follows from (bought_family_schema), where one budget paid for both.
  std::optional<BoughtSchema> bought{};

  [[nodiscard]] const std::string& column() const { return schema.columns.front().name; }
  /// Names of the levels that the shares belong to: "no", "yes", "(other)" [K]; empty for numbers.
  [[nodiscard]] std::vector<std::string> levels() const;
};

/// Gives `schema` a label that no table has, for readers that ask for a label.
void drop_label(Schema& schema);
/// Whether it has another one.
bool has_label(const Schema& schema);
/// A schema of this column alone, without a label and with the same rules for its cells. The label
/// of `whole` becomes a column of two levels. Throws BadInput if there is no such column, or it is
/// ignored, on columns of weights or people, and on a number of which cells may be missing: how
/// many numbers there are would be private.
Schema family_schema(const Schema& whole, const std::string& column);
/// Throws BadInput on a schema of one column, a number of which cells may be missing.
void require_a_number_a_row(const Schema& one_column);
/// As family_schema, whatever says how rows count: it is left out.
Schema one_column_schema(const Schema& whole, const std::string& column);
/// The public numbers of a family over the column of `one_column`, with `rows` rows. The caller
/// sets prior, variance and trim. Throws BadInput if the family does not fit the column.
FamilyProblem family_problem(const Schema& one_column, Family family, std::uint64_t rows);

}  // namespace gibbsite
