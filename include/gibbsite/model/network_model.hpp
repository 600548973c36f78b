#pragma once
// A discrete Bayesian network over the columns of a schema: which, and the tables that were
// released.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/network.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/schema.hpp"
#include "gibbsite/model/tree_release.hpp"

namespace gibbsite {

/// A network with its released conditional tables, without their certificate.
struct NetworkModel {
  Schema schema;  ///< of network_schema: column k is node k, weights and people come behind
  Network network;
  /// [draws][K][cells]: shares of each configuration, nonnegative, that sum to 1 within rounding.
  std::vector<std::vector<std::vector<double>>> tables;
  /// Noisy counts [K][cells], and each table's standard deviation [K], if tables were counted.
  /// Empty if they were drawn.
  std::vector<std::vector<double>> counts{};
  std::vector<double> noise{};
  /// What was released of a model on a junction tree: `network` and `tables` follow from it.
  std::optional<TreeRelease> tree{};
  /// Answers that the schema follows from (bought_network_schema), where one budget paid for both.
  std::optional<BoughtSchema> bought{};

  [[nodiscard]] std::vector<std::string> names() const;  ///< [K]
  [[nodiscard]] std::vector<std::string> level_names(std::size_t column) const;
};

/// A schema in which every column is a node: without ignored columns and without an intercept. The
/// label is a column like others (classes as levels, amounts and counts as numbers), and no row is
/// clipped. A column of weights and one of people are no nodes and come last. Throws BadInput if a
/// category has no level for some cell, as family_problem does.
Schema network_schema(const Schema& whole);
/// The schema of a cross table: these columns of `whole`, or its label, in that order, as a network
/// (network_schema) whose [network] is a chain. The column of the fewest levels has no parents, the
/// next one that one, and so on: the tables measured are margins of each other, the last one the
/// cross table (docs/how-to/table.md). Throws BadInput "`columns`: ..." on no column, one twice,
/// one that the schema lacks or ignores, a number without bins (whole numbers of up to 16 values
/// need none), more than most_table_columns, and more than most_network_cells cells.
Schema table_schema(const Schema& whole, const std::vector<std::string>& columns);
inline constexpr std::uint64_t most_table_columns = most_network_parents + 1;
/// Sets missing_level of a number to has_missing_bin, unless its own `missing` already implies it.
void say_missing_level(Column& number);
/// The edges of a number's bins if its schema gives none: default_bins of equal width. Edges of
/// whole numbers (decimals = 0) lie between them; up to 16 values have a bin each. Where the range
/// begins at 0 and `decimals` is said, as far as double tells such numbers apart, 0 is a bin more:
/// many cells often are that.
std::vector<double> default_edges(const Column& number);
/// Names of a column's levels [r] in a network schema: a category's levels, or a number's bins
/// "[20, 30)", of which the last is closed, then "(missing)".
std::vector<std::string> network_level_names(const Schema& columns, std::size_t column);
/// Ends of a number's bins in its own unit, with those of its range [levels + 1].
std::vector<double> bin_ends(const Column& column);
/// The one number of as many decimals as the column says that a bin holds; none of a bin of
/// several, of the level of missing cells, and of columns that say none.
std::optional<double> number_of_bin(const Column& column, std::size_t bin);
/// A set of levels of one column.
struct LevelEvent {
  std::uint32_t column = 0;
  std::vector<std::uint32_t> levels;  ///< ascending
};
/// Schema::never by levels. Throws BadInput "schema: never[0]: ..." on what is no event
/// (parse_question), a number that cuts a bin, and events that hold for no level.
std::vector<StructuralZero> structural_zeros(const Schema& columns);
/// Schema::target as a place among the columns. Throws BadInput if no column has that name.
std::optional<std::uint32_t> target_column(const Schema& columns);
/// The columns of a network schema that are nodes, the first K: all but weights and people.
std::span<const Column> node_columns(const Schema& columns);
/// Number of levels of each column of a network schema [K]: a category's features, or a number's
/// bins and "(missing)".
std::vector<std::uint64_t> network_levels(const Schema& columns);
/// The parents of each node [K] by the schema's [network]. Throws BadInput, with names, on unknown
/// or ignored columns and on cycles, and if the schema has no [network].
std::vector<std::vector<std::uint32_t>> network_parents(const Schema& columns);
/// How a column's features become a level; `levels_of` (engine/contingency.hpp) uses it.
struct LevelColumn {
  std::size_t first_feature = 0;
  std::uint64_t levels = 1;
  /// Lower ends of a number's bins 1, 2, ... as the reader scales them, ascending [levels - 1]. The
  /// last is missing_bin_edge if missing cells have a level.
  std::vector<float> edges{};
  bool is_number = false;
};
std::vector<LevelColumn> level_columns(const Schema& columns);

/// Conditional tables [K][cells] from noisy counts [K][cells] with standard deviations noise [K].
/// Common margins are reconciled by their variances; negative counts and configurations lost in
/// noise are treated as in docs/theory/network.md, "From counts to tables". It reads no row.
std::vector<std::vector<double>> tables_of_counts(const Network& network,
                                                  std::span<const std::vector<double>> counts,
                                                  std::span<const double> noise);

/// Replaces counts by the nearest ones (least squares) that are not negative and sum to `total`,
/// which must be above 0.
void project_counts(std::vector<double>& counts, double total);

}  // namespace gibbsite
