#pragma once
// Belief propagation on a junction tree (Lauritzen and Spiegelhalter 1988), in logarithms upward
// and in shares downward: one exponential a cell. Additions, products and divisions in a fixed
// order, with an exponential and a logarithm of its own: the same bits on every machine, however
// many threads share the work.
#include <cstddef>
#include <cstdint>
#include <functional>
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
/// Cells [begin, end) of an array.
struct Segment {
  std::size_t begin = 0, end = 0;
};
/// What meets cells [first, last) of a table: these segments of the array, and nothing else does.
struct ArrayPart {
  std::vector<Segment> segments;  // ascending
  std::size_t first = 0, last = 0;
};
/// All of an array in parts of about that many cells, or more where the table's columns do not
/// divide it into segments worth a loop: tasks that write nothing in common.
std::vector<ArrayPart> array_parts(std::span<const std::uint64_t> levels, const ColumnList& array,
                                   const ColumnList& table, std::size_t cells);
/// array += table in a segment; table += array summed over the other columns, for a segment of an
/// array's part.
void add_table(const Placement& place, Segment segment, const double* table, double* array);
void sum_table(const Placement& place, Segment segment, const double* array, double* table);

/// f(task) once for each of so many tasks, whose order is free; returns when all are done.
using EachTask = std::function<void(std::size_t, const std::function<void(std::size_t)>&)>;

/// Marginals of a model over a tree. Tables are in the tree's columns, ascending.
class Beliefs {
 public:
  /// Each table must have a clique that holds it. `each` runs tasks, by the caller where it is
  /// empty: who runs one changes no bit.
  Beliefs(std::span<const std::uint64_t> levels, const JunctionTree& tree,
          std::span<const ColumnList> tables, EachTask each = {});

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
    std::vector<ArrayPart> parts;  // of the clique's array, if that is its source
  };
  struct Clique {
    std::vector<Array> arrays;
    std::vector<std::size_t> tables;           // at home here
    std::size_t parent = 0, parent_array = 0;  // the separator's
    std::vector<std::size_t> children;
    Placement separator;
    std::vector<ArrayPart> parts;             // by the separator; of the root any
    std::vector<double> most, sums, message;  // [cells of the separator]
  };
  struct Task {
    std::size_t clique = 0, array = 0, part = 0;
  };
  // Cliques at one distance from the root: none needs another one.
  struct Wave {
    std::size_t cells = 0;
    std::vector<std::size_t> cliques;
    std::vector<Task> parts, margins;
  };
  [[nodiscard]] static std::size_t array_of(Clique& clique, const ColumnList& columns);
  void lay_arrays(Clique& clique, std::size_t source, std::vector<ColumnList> wanted);
  void lay_parts(std::size_t c, const ColumnList& columns, const ColumnList& separator);
  void lay_waves();
  template <class F>
  void each(const Wave& wave, std::size_t tasks, const F& f) const;
  void join(std::size_t c);
  void join(const Clique& clique, Segment segment, double* cells) const;
  void up(Clique& clique, const ArrayPart& part) const;
  static void tell(Clique& clique, std::size_t first, std::size_t last);
  void up_root();
  void down(Clique& clique, const ArrayPart& part) const;
  static void down_margin(const Clique& clique, Array& margin, const ArrayPart& part);
  static void down_margins(Clique& clique);

  EachTask each_;
  std::vector<std::uint64_t> levels_;
  std::vector<Clique> cliques_;
  std::vector<Wave> waves_;
  std::vector<std::size_t> home_, node_;             // of tables
  std::span<const std::vector<double>> potentials_;  // during a run
  double log_sum_ = 0;
};

}  // namespace gibbsite
