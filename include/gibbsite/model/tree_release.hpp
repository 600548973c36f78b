#pragma once
// What a network-tree released, and what follows from it by public arithmetic: `fit` and `verify`
// take it from the same functions (docs/theory/network.md).
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gibbsite/core/measured_table.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/core/table_choice.hpp"

namespace gibbsite {

struct LevelGroups;
struct TreeFitOptions;
struct TreeNetwork;

/// The answers that a model on a junction tree was fitted to, and its potentials.
struct TreeRelease {
  /// Rows that the model is of: n under replace-one, else what the counts of columns say.
  double rows = 0;
  std::vector<MeasuredTable> one_ways;  ///< [K] over all levels
  /// One of each scored pair (mechanism/network_tree.hpp), in that order.
  std::vector<TableCandidate> scores;
  double score_noise = 0;             ///< their deviation
  std::vector<MeasuredTable> tables;  ///< over groups of levels (LevelGroups)
  /// One for each cell of one_ways over groups of levels, then of `tables` [K + T][cells].
  std::vector<std::vector<double>> potentials;
  /// Which fit they are of: tree_fit, or 0 in files of before, where nobody says.
  std::uint64_t fit = 0;
};
/// The number of the fit that fitted_potentials makes: another one that gives other bits has
/// another number.
inline constexpr std::uint64_t tree_fit = 1;

/// n, where it is public, else measured_rows of the counts of columns, from 1 to `most`.
double tree_rows(std::span<const MeasuredTable> one_ways, std::optional<std::uint64_t> rows,
                 std::uint64_t most);
/// Counts of columns summed over groups of levels [K], with the deviation that they have.
std::vector<MeasuredTable> grouped_counts(std::span<const MeasuredTable> one_ways,
                                          const LevelGroups& groups);
/// The nearest ones that are nonnegative and sum to `rows`: what scores are against.
std::vector<std::vector<double>> expected_counts(std::span<const MeasuredTable> grouped,
                                                 double rows);
/// Counts of a table over all levels of its columns, over groups of them.
std::vector<std::uint64_t> grouped_cells(std::span<const std::uint64_t> counts,
                                         std::span<const std::uint32_t> columns,
                                         std::span<const std::uint64_t> levels,
                                         const LevelGroups& groups);
/// How often a row of error in a table of the problem's target counts beside one in another table:
/// 2 to 6 predict alike from Adult, and pairs are as near as with 1.
inline constexpr std::uint64_t target_weight = 3;
/// Cells of tables over groups of levels, those with the target target_weight times: what their
/// deviations go by.
std::vector<std::uint64_t> weighted_sizes(std::span<const ColumnList> tables,
                                          const LevelGroups& groups,
                                          std::optional<std::uint32_t> target);
/// The tables that scores choose, given the counts of columns, for that `noise` (NetworkTree).
/// Files from before 2026-12 have those of fewer penalties.
std::vector<ColumnList> chosen_tables(
    const TreeRelease& release, const LevelGroups& groups, const NetworkProblem& problem,
    double noise, TableLimits::Penalties penalties = TableLimits::Penalties::to_1024);
/// The junction tree of the counted tables over all levels: that of the choice, of the fit, and of
/// what is read.
JunctionTree tree_of(const TreeRelease& release, std::span<const std::uint64_t> levels,
                     std::span<const StructuralZero> never);
/// The potentials of the fit to the counts. The same bits on every machine.
std::vector<std::vector<double>> fitted_potentials(const TreeRelease& release,
                                                   std::span<const std::uint64_t> levels,
                                                   std::span<const StructuralZero> never,
                                                   const TreeFitOptions& options);
/// The network that the potentials are of, over all levels.
TreeNetwork network_of(const TreeRelease& release, std::span<const std::uint64_t> levels,
                       std::span<const StructuralZero> never);

}  // namespace gibbsite
