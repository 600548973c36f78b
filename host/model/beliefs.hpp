#pragma once
// Belief propagation on a junction tree (Lauritzen and Spiegelhalter 1988), in logarithms upward
// and in shares downward: one exponential a cell. Additions, products and divisions in a fixed
// order, with an exponential and a logarithm of its own: the same bits on every machine.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/junction_tree.hpp"

namespace gibbsite {

/// exp(x) for x <= 0, to 1e-12 of it; 0 below -700.
double exp_of(double x);
/// log(x) for finite x > 0, to 1e-13 of it or of 1.
double log_of(double x);
/// x <- exp_of(x) of each, and log_of of each finite x >= 1, to the bit.
void exp_each(std::span<double> x);
void log_each(std::span<double> x);

/// How a table over some columns of an array lies in it. The array's cells are rows of `length`;
/// row r meets the table at at[r], cell by cell if `inside`, else all at that one.
struct Placement {
  std::size_t length = 1;
  bool inside = false;
  std::vector<std::uint32_t> at;
};
Placement placement(std::span<const std::uint64_t> levels, const ColumnList& array,
                    const ColumnList& table);
/// array += table, table += array summed over the other columns.
void add_table(const Placement& place, const double* table, double* array);
void sum_table(const Placement& place, const double* array, double* table);

/// Marginals of a model over a tree. Tables are in the tree's columns, ascending.
class Beliefs {
 public:
  /// Each table must have a clique that holds it.
  Beliefs(std::span<const std::uint64_t> levels, const JunctionTree& tree,
          std::span<const ColumnList> tables);

  /// Marginals for these potentials [T][cells].
  void run(std::span<const std::vector<double>> potentials);
  /// log of the sum over all rows of exp of their potentials, after `run`.
  [[nodiscard]] double log_sum() const { return log_sum_; }
  /// The probabilities of a table's cells, of a clique's, after `run`.
  [[nodiscard]] const std::vector<double>& table(std::size_t t) const {
    return cliques_[home_[t]].arrays[node_[t]].cells;
  }
  [[nodiscard]] const std::vector<double>& clique(std::size_t c) const {
    return cliques_[c].arrays.front().cells;
  }

 private:
  // Arrays of a clique: its own first, and margins of ones before them, down to the tables.
  struct Array {
    ColumnList columns;
    std::vector<double> cells;
    std::size_t source = 0;
    Placement in_source;
  };
  struct Clique {
    std::vector<Array> arrays;
    std::vector<std::size_t> tables;  // at home here
    std::size_t parent_array = 0;     // of the parent: the separator's
    Placement separator;
    std::vector<double> most, sums, message;  // [cells of the separator]
  };
  [[nodiscard]] static std::size_t array_of(Clique& clique, const ColumnList& columns);
  void lay_arrays(Clique& clique, std::size_t source, std::vector<ColumnList> wanted);
  void up(std::size_t c, std::span<const std::vector<double>> potentials);
  void down(std::size_t c);

  std::vector<std::uint64_t> levels_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<Clique> cliques_;
  std::vector<std::size_t> home_, node_;  // of tables
  double log_sum_ = 0;
};

}  // namespace gibbsite
