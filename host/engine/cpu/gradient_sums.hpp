#pragma once
// Gradients of a group of chains over blocks of rows, by one thread.
#include "engine/cpu/pairwise.hpp"
#include "engine/cpu/table.hpp"

namespace gibbsite::cpu {

/// In T: float or double.
template <class T>
class GradientSums {
 public:
  /// Sums for groups of that layout. Allocates here, never later.
  GradientSums(const Table& table, const LossChoice& loss, const Layout& layout);

  /// Sums [group.size] over those blocks, until the next call. theta [group.size]: as the kernels
  /// read it.
  const double* over(const Group& group, const T* theta, Range blocks);

 private:
  static constexpr bool single = sizeof(T) == sizeof(float);
  void add_few(const Group& group, const T* theta, Range range, T* sums);
  void add_panels(const Group& group, const T* theta, Range range, T* sums);
  void add_outputs(const Group& group, const T* theta, Range range, T* sums);
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
  std::size_t sub_block_;
  PairwiseSum gradient_;          // [size]
  Aligned<T> sums_;               // [size] of a block; double sums are added in place
  Aligned<T> widened_, scratch_;  // a sub-block of x as T; its residuals
  Aligned<T> by_lane_;            // of several outputs: those, lane after lane
};

}  // namespace gibbsite::cpu
