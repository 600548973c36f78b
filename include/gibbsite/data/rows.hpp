#pragma once
// Rows of a table, dense or sparse: what passes between rooms instead of a Dataset.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/matrix_view.hpp"

namespace gibbsite {

/// Largest fraction of entries that are not zero for which rows are kept sparse. A sparse entry
/// costs more than a dense one: 2.2 ns against 0.35 for one chain, 0.42 against 0.09 per chain for
/// many. (One-hot rows of 108 features, AVX-512; docs/reference/performance.md.)
inline constexpr double most_sparse_density = 0.15;

/// Sparse rows, not owned (CSR): the entries that are not zero, row after row.
struct SparseRows {
  const std::uint64_t* begin = nullptr;  ///< [rows + 1] entries of row i: [begin[i], begin[i + 1])
  const std::uint32_t* feature = nullptr;  ///< of an entry, ascending in a row
  const float* value = nullptr;
  std::size_t rows = 0;

  [[nodiscard]] std::uint64_t entries() const { return rows == 0 ? 0 : begin[rows] - begin[0]; }
  /// Rows [first, last).
  [[nodiscard]] SparseRows part(std::size_t first, std::size_t last) const {
    return {begin + first, feature, value, last - first};
  }
};

/// Sparse rows (CSR) that own their memory.
struct SparseTable {
  std::vector<std::uint64_t> begin{0};  ///< [n + 1]
  std::vector<std::uint32_t> feature;   ///< [entries]
  std::vector<float> value;             ///< [entries]

  [[nodiscard]] std::size_t rows() const { return begin.size() - 1; }
  [[nodiscard]] SparseRows view() const {
    return {begin.data(), feature.data(), value.data(), rows()};
  }
};

/// A view of n rows of d features, dense or sparse, not owned.
struct Rows {
  std::size_t rows = 0;          ///< n
  std::size_t cols = 0;          ///< d
  const float* dense = nullptr;  ///< [n x d] row-major; null when sparse
  SparseRows sparse{};           ///< without `begin` when dense
  bool in_memory = true;         ///< false: pages of a file, dear to read twice
  /// [n] Offsets o: the predictor of a row is x . theta + o, for losses of one output. Null: all
  /// are 0.
  const float* offset = nullptr;
  /// The size of the whole table, if these are some of its rows. An engine makes its choices by it,
  /// so that a row has the same bits in every part.
  struct Whole {
    std::uint64_t rows = 0;  ///< 0: these are all
    std::uint64_t entries = 0;
    /// Number of parts whose sums are added in a tree. Their ceil(log2) roundings are part of the
    /// accumulation_depth that is promised for all rows. 1: the engine that adds has counted them.
    std::uint64_t parts = 1;
  } whole{};

  Rows() = default;
  Rows(const float* x, std::size_t n, std::size_t d) : rows(n), cols(d), dense(x) {}
  template <class T>
  Rows(MatrixView<T> x) : Rows(x.data, x.rows, x.cols) {}  // NOLINT: dense rows are rows
  Rows(const SparseRows& x, std::size_t d) : rows(x.rows), cols(d), sparse(x) {}

  /// Throws BadInput if there are no rows or features, or entries are out of order. Features of a
  /// row must ascend strictly and be below d, and `begin` must not descend.
  void validate() const;
  [[nodiscard]] bool is_sparse() const { return sparse.begin != nullptr; }
  /// Number of stored entries: all of them if rows are dense.
  [[nodiscard]] std::uint64_t entries() const {
    return is_sparse() ? sparse.entries() : std::uint64_t{rows} * cols;
  }
  /// Number of entries that are not 0; those of dense rows are counted.
  [[nodiscard]] std::uint64_t nonzeros() const;
  /// Rows [first, last), of the same whole.
  [[nodiscard]] Rows part(std::size_t first, std::size_t last) const;
  [[nodiscard]] double offset_of(std::size_t i) const {
    return offset == nullptr ? 0.0 : static_cast<double>(offset[i]);
  }
  /// The matrix of dense rows.
  [[nodiscard]] MatrixView<const float> matrix() const { return {dense, rows, cols}; }
  /// Calls f(j, x_ij) in ascending j for the stored entries of row i.
  template <class F>
  void for_each(std::size_t i, F f) const {
    if (is_sparse()) {
      for (std::uint64_t e = sparse.begin[i]; e < sparse.begin[i + 1]; ++e) {
        f(static_cast<std::size_t>(sparse.feature[e]), sparse.value[e]);
      }
    } else {
      for (std::size_t j = 0; j < cols; ++j) f(j, dense[i * cols + j]);
    }
  }
  /// x_i . theta for theta [d], summed in ascending j.
  [[nodiscard]] double dot(std::size_t i, std::span<const double> theta) const {
    double sum = 0;
    for_each(i, [&](std::size_t j, float v) { sum += static_cast<double>(v) * theta[j]; });
    return sum;
  }
  /// The value x_ij.
  [[nodiscard]] float operator()(std::size_t i, std::size_t j) const {
    if (!is_sparse()) return dense[i * cols + j];
    const std::uint32_t* const first = sparse.feature + sparse.begin[i];
    const std::uint32_t* const last = sparse.feature + sparse.begin[i + 1];
    const std::uint32_t* const at = std::lower_bound(first, last, j);
    return at != last && *at == j ? sparse.value[at - sparse.feature] : 0.0F;
  }
};

}  // namespace gibbsite
