#include "gibbsite/model/tree_release.hpp"

#include <algorithm>

#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/tree_model.hpp"

namespace gibbsite {

double tree_rows(std::span<const MeasuredTable> one_ways, std::optional<std::uint64_t> rows,
                 std::uint64_t most) {
  if (rows) return static_cast<double>(*rows);
  return std::clamp(measured_rows(one_ways), 1.0, static_cast<double>(most));
}

std::vector<MeasuredTable> grouped_counts(std::span<const MeasuredTable> one_ways,
                                          const LevelGroups& groups) {
  const std::vector<std::uint64_t> levels = groups.levels();
  std::vector<MeasuredTable> out;
  for (std::size_t k = 0; k < one_ways.size(); ++k) {
    MeasuredTable& one = out.emplace_back(
        MeasuredTable{one_ways[k].columns, std::vector<double>(levels[k]), one_ways[k].deviation});
    for (std::size_t l = 0; l < one_ways[k].counts.size(); ++l)
      one.counts[groups.group[k][l]] += one_ways[k].counts[l];
  }
  return out;
}

std::vector<std::vector<double>> expected_counts(std::span<const MeasuredTable> grouped,
                                                 double rows) {
  std::vector<std::vector<double>> out;
  for (const MeasuredTable& one : grouped) {
    out.push_back(projected_counts(one.counts, rows));
  }
  return out;
}

std::vector<std::uint64_t> grouped_cells(std::span<const std::uint64_t> counts,
                                         std::span<const std::uint32_t> columns,
                                         std::span<const std::uint64_t> levels,
                                         const LevelGroups& groups) {
  const std::vector<std::uint64_t> grouped = groups.levels();
  std::vector<std::uint64_t> out(table_cells(grouped, columns));
  std::vector<std::uint32_t> at(columns.size());
  for (const std::uint64_t count : counts) {
    std::uint64_t cell = 0;
    for (std::size_t c = 0; c < columns.size(); ++c)
      cell = cell * grouped[columns[c]] + groups.group[columns[c]][at[c]];
    out[cell] += count;
    for (std::size_t c = columns.size(); c-- > 0;) {
      if (++at[c] < levels[columns[c]]) break;
      at[c] = 0;
    }
  }
  return out;
}

namespace {

std::uint64_t weight_of(const ColumnList& columns, std::optional<std::uint32_t> target) {
  return target && std::ranges::binary_search(columns, *target) ? target_weight : 1;
}

}  // namespace

std::vector<std::uint64_t> weighted_sizes(std::span<const ColumnList> tables,
                                          const LevelGroups& groups,
                                          std::optional<std::uint32_t> target) {
  const std::vector<std::uint64_t> levels = groups.levels();
  std::vector<std::uint64_t> out;
  for (const ColumnList& columns : tables)
    out.push_back(weight_of(columns, target) * table_cells(levels, columns));
  return out;
}

std::vector<ColumnList> chosen_tables(const TreeRelease& release, const LevelGroups& groups,
                                      const NetworkProblem& problem, double noise,
                                      TableLimits::Penalties penalties) {
  std::vector<ColumnList> out;
  if (release.scores.empty()) return out;
  TableLimits limits{
      .cells = problem.limits.cells, .columns = problem.limits.parents + 1, .penalties = penalties};
  for (const StructuralZero& zero : problem.never) limits.held.push_back(zero.columns);
  std::vector<TableCandidate> candidates = release.scores;
  for (TableCandidate& one : candidates)
    one.weight = static_cast<double>(weight_of(one.columns, problem.target));
  // sensitivity/sqrt(B) of a table that has all of B is `noise`.
  const TableChoice choice =
      choose_tables(problem.levels, groups.levels(), candidates, limits, noise, 1.0);
  for (const ChosenTable& table : choice.tables) out.push_back(table.columns);
  return out;
}

JunctionTree tree_of(const TreeRelease& release, std::span<const std::uint64_t> levels,
                     std::span<const StructuralZero> never) {
  std::vector<ColumnList> sets;
  for (const MeasuredTable& table : release.tables) sets.push_back(table.columns);
  for (const StructuralZero& zero : never) sets.push_back(zero.columns);
  return junction_tree(levels, sets);
}

std::vector<std::vector<double>> fitted_potentials(const TreeRelease& release,
                                                   std::span<const std::uint64_t> levels,
                                                   std::span<const StructuralZero> never,
                                                   const TreeFitOptions& options) {
  const LevelGroups groups = group_rare_levels(release.one_ways, never);
  std::vector<MeasuredTable> measured = grouped_counts(release.one_ways, groups);
  measured.insert(measured.end(), release.tables.begin(), release.tables.end());
  return fit_tree(groups.levels(), tree_of(release, levels, never), measured, release.rows, options,
                  grouped_zeros(never, groups))
      .model.potentials;
}

TreeNetwork network_of(const TreeRelease& release, std::span<const std::uint64_t> levels,
                       std::span<const StructuralZero> never) {
  const LevelGroups groups = group_rare_levels(release.one_ways, never);
  TreeModel model{.levels = groups.levels(),
                  .tree = tree_of(release, levels, never),
                  .tables = {},
                  .potentials = release.potentials,
                  .never = grouped_zeros(never, groups)};
  for (std::uint32_t k = 0; k < levels.size(); ++k) model.tables.push_back({k});
  for (const MeasuredTable& table : release.tables) model.tables.push_back(table.columns);
  return split_groups(network_of(model), groups);
}

}  // namespace gibbsite
