#pragma once
// Sparse rows for the kernels, whether they came so or not.
#include "engine/cpu/layout.hpp"
#include "gibbsite/data/rows.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::cpu {

/// Entries that are not zero, or nothing where most are not.
class Entries {
 public:
  /// Dense rows in memory are looked through by the thread pool; views sparse ones.
  Entries(const Rows& x, ThreadPool& pool);
  [[nodiscard]] bool used() const { return entries_.begin != nullptr; }
  [[nodiscard]] std::size_t count() const { return entries_.entries(); }
  [[nodiscard]] SparseRows rows(Range range) const {
    return entries_.part(range.first, range.last);
  }

 private:
  void gather(const MatrixView<const float>& x, const Rows::Whole& whole, ThreadPool& pool);

  SparseTable own_;  // of rows that came dense
  SparseRows entries_;
};

}  // namespace gibbsite::cpu
