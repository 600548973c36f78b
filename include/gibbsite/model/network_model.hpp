#pragma once
// A discrete Bayesian network over the columns of a schema: which, and the tables that were
// released.
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/network.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// A network with its conditional tables. Says nothing about privacy.
struct NetworkModel {
  Schema schema;  ///< of network_schema: columns that are not ignored, without a label
  Network network;
  /// [draws][K][cells]: shares of each configuration, nonnegative, that sum to 1 within rounding.
  std::vector<std::vector<std::vector<double>>> tables;
  /// Noisy counts [K][cells] and each table's standard deviation [K] where tables were counted;
  /// empty where they were drawn.
  std::vector<std::vector<double>> counts{};
  std::vector<double> noise{};

  [[nodiscard]] std::vector<std::string> names() const;  ///< [K]
  /// In words: levels; of numbers their bins "[20, 30)", the last closed, then "(missing)" [r].
  [[nodiscard]] std::vector<std::string> level_names(std::size_t column) const;
};

/// A schema whose every column is a node: no ignored ones, no intercept, the label as a column like
/// others (classes as levels, amounts and counts as numbers), row_norm such that nothing is
/// clipped. Throws BadInput where a category has no level for some cell (as family_problem).
Schema network_schema(const Schema& whole);
/// The schema of a cross table: these columns of `whole`, or its label, in that order, as a network
/// (network_schema) whose [network] is a chain. The column of the fewest levels has no parents, the
/// next one that one, and so on: the tables measured are margins of each other, the last one the
/// cross table (docs/how-to/table.md). Throws BadInput "`columns`: ..." on no column, one twice,
/// one that the schema lacks or ignores, a number without bins (whole numbers of up to 16 values
/// need none), more than most_table_columns, and more than most_network_cells cells.
Schema table_schema(const Schema& whole, const std::vector<std::string>& columns);
inline constexpr std::uint64_t most_table_columns = most_network_parents + 1;
/// Its missing_level as has_missing_bin is: said where it is not what its own `missing` means.
void say_missing_level(Column& number);
/// Where bins of a number meet whose schema says nothing of them: default_bins of equal width; of
/// whole numbers (decimals = 0) between them, up to 16 each one a bin.
std::vector<double> default_edges(const Column& number);
/// Levels of each column of such a schema [K]: of a category its features, of a number its bins
/// and "(missing)" where it has that.
std::vector<std::uint64_t> network_levels(const Schema& columns);
/// Parents as the schema's [network] says [K]; throws BadInput on unknown or ignored columns and
/// cycles, naming them, and where the schema has no [network].
std::vector<std::vector<std::uint32_t>> network_parents(const Schema& columns);
/// How a column's features become a level: what `levels_of` (engine/contingency.hpp) goes by.
struct LevelColumn {
  std::size_t first_feature = 0;
  std::uint64_t levels = 1;
  /// Lower ends of a number's bins 1, 2, ... as the reader scales them, ascending [levels - 1]. The
  /// last is missing_bin_edge if missing cells have a level.
  std::vector<float> edges{};
  bool is_number = false;
};
std::vector<LevelColumn> level_columns(const Schema& columns);

/// Conditional tables [K][cells] from noisy counts [K][cells] of deviations noise [K]: common
/// margins of tables are reconciled by their variances, negative counts and configurations that are
/// lost in the noise handled as docs/theory/network.md "From counts to tables" says. Pure; reads no
/// row.
std::vector<std::vector<double>> tables_of_counts(const Network& network,
                                                  std::span<const std::vector<double>> counts,
                                                  std::span<const double> noise);

/// Replaces counts by the nearest ones (least squares) that are not negative and sum to `total`,
/// which must be above 0.
void project_counts(std::vector<double>& counts, double total);

}  // namespace gibbsite
