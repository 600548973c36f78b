#pragma once
// The public numbers of a discrete Bayesian network over the columns of a table
// (docs/theory/network.md).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// The largest number of columns, levels of a column, parents of a column, and cells of one node's
/// table.
inline constexpr std::uint64_t most_network_columns = 200;
inline constexpr std::uint64_t most_network_levels = 1'000;
inline constexpr std::uint64_t most_network_parents = 10;
inline constexpr std::uint64_t most_network_cells = 1'000'000;
/// The largest number of (column, parents) that one pick of a structure chooses from.
inline constexpr std::uint64_t most_network_candidates = 4'000'000;

/// A structure: the parents of each column, whose levels its distribution depends on. Columns are
/// places 0 .. K-1.
struct Network {
  std::vector<std::uint64_t> levels;                ///< [K] r_k, each at least 1
  std::vector<std::vector<std::uint32_t>> parents;  ///< [K], ascending

  [[nodiscard]] std::size_t size() const { return levels.size(); }
  /// Number of rows of the node's table: the product of its parents' levels. At most 2^64 - 1.
  [[nodiscard]] std::uint64_t configurations(std::size_t node) const;
  /// Number of cells: configurations * levels. Cell (c, l) of the node's table is at c * levels +
  /// l, where c counts the parents' levels with the last parent fastest.
  [[nodiscard]] std::uint64_t cells(std::size_t node) const;
  /// The columns in an order with every column after its parents, as early as its place allows.
  /// Throws BadInput on a cycle, with the columns' `names` [K].
  [[nodiscard]] std::vector<std::uint32_t> order(std::span<const std::string> names = {}) const;
  /// Throws BadInput that names the field, if sizes differ, a place is out of range, a column is
  /// its own parent, there is a cycle, or a limit above is exceeded.
  void validate(std::span<const std::string> names = {}) const;
  bool operator==(const Network&) const = default;
};

/// Public limits within which a private structure is chosen.
struct StructureLimits {
  std::uint64_t parents = 3;    ///< of one column, at most
  std::uint64_t cells = 2'000;  ///< of one node's table, at most
  bool operator==(const StructureLimits&) const = default;
};

/// Levels that no row has together, as everybody knows.
struct StructuralZero {
  std::vector<std::uint32_t> columns;              ///< ascending, at least one
  std::vector<std::vector<std::uint32_t>> levels;  ///< of each, ascending, at least one
  bool operator==(const StructuralZero&) const = default;
};

/// What rows count is rounded down to a multiple of 2^-weight_bits, so that sums are exact.
inline constexpr int weight_bits = 20;

/// Everything about the table that a network's mechanisms may know.
struct NetworkProblem {
  /// n; under add-remove a public cap. With rows_of_person of people, not of rows.
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> levels;  ///< [K]
  /// The parents [K], given by a person. None: they are chosen from the table within `limits`,
  /// which costs privacy.
  std::optional<std::vector<std::vector<std::uint32_t>>> parents{};
  StructureLimits limits{};
  double prior = 0.5;            ///< pseudo-count of every cell, of drawn tables; above 0
  std::optional<double> trim{};  ///< of drawn tables: every share is at least that
  /// What a model on a junction tree gives probability 0. No guarantee depends on it.
  std::vector<StructuralZero> never{};
  /// The column that rows drawn from a tree are to predict: tables with it count more
  /// (target_weight). No guarantee depends on it.
  std::optional<std::uint32_t> target{};
  /// A row adds its weight in [0, 1], in place of 1, to a cell of each table
  /// (docs/theory/row-weights.md).
  bool weighted = false;
  /// k: `rows` counts people, and weights hold all rows of one person to at most k rows together.
  /// 0: `rows` counts rows.
  std::uint64_t rows_of_person = 0;

  /// Whether `rows` counts people.
  [[nodiscard]] bool of_people() const { return rows_of_person > 0; }
  /// Upper bound of the sum of what rows count: n, of people k n; at most 2^38.
  [[nodiscard]] std::uint64_t most_weight() const;
  /// Whether the sum of what rows count is `rows`, and public: replace-one without weights.
  [[nodiscard]] bool total_is_public(Adjacency adjacency) const {
    return adjacency == Adjacency::replace_one && !weighted;
  }
  [[nodiscard]] bool chooses_structure() const { return !parents.has_value(); }
  /// The network of a structure that was given. Throws BadInput if none was.
  [[nodiscard]] Network network() const;
  /// Upper bound of the number of (column, parents) pairs in one pick of a structure, whatever
  /// their cells.
  [[nodiscard]] std::uint64_t most_candidates() const;
  /// Number of cells of all tables; an upper bound if the structure is private.
  [[nodiscard]] std::uint64_t most_cells() const;
  /// Throws BadInput naming the field that is out of range, with what to do.
  void validate() const;
  /// Throws BadInput where a pick of a structure would have more than most_network_candidates.
  void require_few_candidates() const;
};

}  // namespace gibbsite
