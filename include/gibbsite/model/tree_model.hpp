#pragma once
// One graphical model for all noisy counts of a table: an exponential family over a junction tree.
// It reads answers that were paid for, and no row.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gibbsite/core/junction_tree.hpp"
#include "gibbsite/core/measured_table.hpp"
#include "gibbsite/core/network.hpp"

namespace gibbsite {

/// The model: the probability of a row is proportional to exp of the sum over tables of the
/// potential of its cell. It is stored by these numbers, one a measured cell.
struct TreeModel {
  std::vector<std::uint64_t> levels;            ///< [K]
  JunctionTree tree;                            ///< holds each of the tables
  std::vector<ColumnList> tables;               ///< [T]
  std::vector<std::vector<double>> potentials;  ///< [T][cells], within 1e6 of 0
  std::vector<StructuralZero> never{};          ///< by `levels`: rows of probability 0

  /// Throws BadInput naming the field if sizes differ, a number is out of bounds, or `tree` is no
  /// junction tree of the tables and the columns of each of `never`.
  void validate() const;
};

/// The nearest counts (least squares) that are nonnegative and sum to `total`, above 0, within
/// rounding, however large these are; at least one count.
std::vector<double> projected_counts(std::vector<double> counts, double total);
/// Rows that counts say there are: the mean of the tables' sums by their variances, at least 1.
double measured_rows(std::span<const MeasuredTable> measured);

struct TreeFitOptions {
  std::uint64_t rounds = 4;
  double ridge = 6;
  std::uint64_t iterations = 500;  ///< of a round, at most
  /// A round ends when every count meets the optimum's condition to so many deviations.
  double tolerance = 0.05;
  /// Called as (iterations done, at most) from the caller's thread; false stops with Interrupted.
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
  /// Runs f(task) once for each of so many tasks, which must not throw, in any order and by any
  /// threads, and returns when all are done; empty: by the caller. It changes no bit.
  std::function<void(std::size_t, const std::function<void(std::size_t)>&)> each = {};
};

struct TreeFit {
  TreeModel model;
  std::uint64_t iterations = 0;  ///< of all rounds
  double off = 0;                ///< the most that a round's condition was missed by, in deviations
};
/// Potentials on the measured tables whose expected counts, of `rows` rows, are near the counts y.
/// It begins at the one-way counts. Each round begins where the last one ended, t0, and minimises
///     rows log Z(t) - t.y + sum over cells of ridge deviation (t - t0)^2 / 2
/// by L-BFGS: one step of regularisation for the loss of Private-PGM (McKenna, Sheldon and Miklau
/// 2019), whose optimum would follow the noise. After few rounds of a strong ridge, what stands out
/// of the noise is learned and the rest is not (docs/theory/network.md). Columns that no table has
/// are uniform. A pure function of its arguments: the same bits on every machine.
/// Throws BadInput on sizes that differ, counts that are not finite, deviations that are not above
/// 0, or rows not above 0; Interrupted by `progress`.
/// `tree` is that by which the tables were chosen: of all levels, where `levels` are of groups.
/// Rows of `never` have probability 0 whatever was counted of them.
TreeFit fit_tree(std::span<const std::uint64_t> levels, const JunctionTree& tree,
                 std::span<const MeasuredTable> measured, double rows,
                 const TreeFitOptions& options = {}, std::span<const StructuralZero> never = {});
/// Whether there is a row that none of `never` forbids.
bool leaves_rows(std::span<const std::uint64_t> levels, std::span<const StructuralZero> never);

/// A model's distribution as a Bayesian network: columns clique by clique, each with the columns of
/// its clique that came before it as parents.
struct TreeNetwork {
  Network network;
  std::vector<std::vector<double>> tables;  ///< [K][cells]: shares of each configuration
};
/// The network of a model's junction tree. The same bits on every machine. A configuration that has
/// probability 0 has the column's own shares.
TreeNetwork network_of(const TreeModel& model);

/// Levels too rare to be seen above the noise, taken as one level of their column.
struct LevelGroups {
  std::vector<std::vector<std::uint32_t>> group;  ///< [K][levels]: ascending by first member
  std::vector<std::vector<double>> shares;        ///< [K][levels]: of its group, sum to 1 in it

  [[nodiscard]] std::vector<std::uint64_t> levels() const;  ///< [K] groups of each column
};
/// Groups by noisy one-way counts [K]: levels below three deviations that each of `never` takes
/// alike are one group of their column. Shares within it are those of the counts projected to be
/// nonnegative, even ones where all are 0.
LevelGroups group_rare_levels(std::span<const MeasuredTable> one_ways,
                              std::span<const StructuralZero> never = {});
/// `never` by those groups.
std::vector<StructuralZero> grouped_zeros(std::span<const StructuralZero> never,
                                          const LevelGroups& groups);
/// A network over groups as one over all levels: each level has its share of its group's.
TreeNetwork split_groups(const TreeNetwork& grouped, const LevelGroups& groups);

}  // namespace gibbsite
