#pragma once
// Gradients of a group of chains over blocks of rows, by one thread.
#include "engine/cpu/pairwise.hpp"
#include "engine/cpu/table.hpp"

namespace gibbsite::cpu {

/// In T: float or double.
template <class T>
class GradientSums {
 public:
  /// Sums for groups of that layout. Allocates here, and at the first question for losses.
  GradientSums(const Table& table, const LossChoice& loss, const Layout& layout);

  /// Sums [group.size] over those blocks, until the next call, and behind them, where wanted and in
  /// double, the losses of the group's chains [C / K]. theta [group.size]: as the kernels read it.
  const double* over(const Group& group, const T* theta, Range blocks, bool losses_too = false);

 private:
  static constexpr bool single = sizeof(T) == sizeof(float);
  void add_few(const Group& group, const T* theta, Range range, T* sums, double* losses);
  void add_panels(const Group& group, const T* theta, Range range, T* sums);
  void add_in_parts(const Group& group, const T* theta, Range range, T* sums, double* losses);
  void prepare_parts();
  [[nodiscard]] const T* widened(MatrixView<const float> x);

  /// Rows as panels read them: numbers [size x d], or entries.
  struct PanelRows {
    const T* x;
    SparseRows entries;
    RowTargets y;
    std::size_t size;
  };
  [[nodiscard]] PanelRows panel_rows(Range range);
  /// A panel's part; r [rows x width]: where its residuals are.
  [[nodiscard]] PanelGradient<T> dense(const PanelRows& rows, const Panel& panel, const T* theta,
                                       T* r, T* sums) const;
  [[nodiscard]] SparsePanelGradient<T> sparse(const PanelRows& rows, const Panel& panel,
                                              const T* theta, T* r, T* sums) const;

  Table table_;
  LossChoice loss_;
  std::size_t sub_block_, lanes_, part_rows_ = 0;
  PairwiseSum gradient_;          // [size], and losses of chains
  Aligned<T> sums_;               // [size] of a block; double sums are added in place
  Aligned<T> widened_, scratch_;  // a sub-block of x as T; its residuals
  Aligned<T> parts_, by_lane_;    // residuals in parts: panel after panel, lane after lane
  Aligned<double> row_losses_;    // of a sub-block
};

}  // namespace gibbsite::cpu
