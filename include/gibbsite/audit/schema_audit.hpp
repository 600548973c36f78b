#pragma once
// Attempts to refute the claim of a bought schema by experiment: all questions of a table's cells
// are answered on it and on a neighbor (docs/how-to/audit.md). For the curator.
#include <cstdint>
#include <string>
#include <vector>

#include "gibbsite/audit/audit.hpp"
#include "gibbsite/mechanism/bought_schema.hpp"

namespace gibbsite {

/// The claim of a bought schema and a pair of tables that tests it.
struct SchemaAuditCase {
  SchemaPlan plan;  ///< its guarantee is the claim, its mechanism's settings are run
  /// A row's text, which stands in each of its columns. Rows of both tables that are not a
  /// person's are the same, in the same order.
  std::vector<std::string> table, neighbor;
  std::string pair;  ///< what the two tables differ in, for people
};

/// How the rows of a person differ; under add-remove a table lacks them. counts: another frequent
/// number, so two counts of each question of a column (or one) move. rare_texts: texts of their own
/// for a frequent number, which are released only if noise takes one to the threshold.
enum class SchemaPair { counts, rare_texts };

/// Plans a schema for that many rows and columns, and makes such a pair. Throws BadInput on an
/// illegal request or no more rows than a person has, Infeasible as plan_schema.
SchemaAuditCase schema_case(SchemaPair pair, std::uint64_t rows, std::uint64_t columns,
                            const Budget& budget);

/// As `audit` of a fit. The statistic is the log ratio of the laws of all that is released: a text
/// that only one of the two tables has tells them apart for sure.
AuditResult audit(const SchemaAuditCase& at, const AuditOptions& options = {});

}  // namespace gibbsite
