#pragma once
// Which sets of columns one graphical model can hold, and how it holds them: cliques of columns on
// a tree, by public numbers alone.
#include <cstdint>
#include <span>
#include <vector>

namespace gibbsite {

/// Columns of a table, by their places, ascending, each once.
using ColumnList = std::vector<std::uint32_t>;

/// Cells of a table over these columns: the product of their levels [K], at most 2^64 - 1.
std::uint64_t table_cells(std::span<const std::uint64_t> levels,
                          std::span<const std::uint32_t> columns);

/// Cliques of columns on a tree. A column that is in two of them is in all on the way between them.
struct JunctionTree {
  std::vector<ColumnList> cliques;  ///< [C] none within another; each column is in at least one
  /// [C] Each clique's parent comes before it; the first one's is itself. Parts of the table that
  /// nothing joins are joined by separators without columns.
  std::vector<std::uint32_t> parents;

  /// Columns that a clique shares with its parent; none for the first.
  [[nodiscard]] ColumnList separator(std::size_t clique) const;
  /// The smallest clique with all of these columns, the first of several; size() if none has them.
  [[nodiscard]] std::size_t home(std::span<const std::uint64_t> levels,
                                 std::span<const std::uint32_t> columns) const;
  [[nodiscard]] std::size_t size() const { return cliques.size(); }
  bool operator==(const JunctionTree&) const = default;
};

/// The tree that holds every one of these sets of columns, given the levels [K]. Columns are
/// eliminated by the least cells of the clique that this makes, the first of several; the tree is
/// a spanning tree of the most columns shared. A pure function of its arguments. Throws BadInput
/// if there is no column, one has no levels, or a set is not ascending or out of range.
JunctionTree junction_tree(std::span<const std::uint64_t> levels, std::span<const ColumnList> sets);

/// The largest clique of junction_tree(levels, sets): its cells, at most 2^64 - 1, and the most
/// columns of any. It looks no further behind one of more than `enough` cells.
struct LargestClique {
  std::uint64_t cells = 1;
  std::size_t columns = 0;
};
LargestClique largest_clique(std::span<const std::uint64_t> levels,
                             std::span<const ColumnList> sets, std::uint64_t enough = ~0ULL);

}  // namespace gibbsite
