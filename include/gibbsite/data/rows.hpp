#pragma once
// Rows of a table, dense or sparse: what passes between modules instead of a Dataset.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "gibbsite/core/matrix_view.hpp"
#include "gibbsite/core/unset.hpp"

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
  void append(const SparseRows& more);
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
  /// [n] What each row counts, in [0, 1]: all that is asked of a row is multiplied by it. Null: all
  /// are 1.
  const float* weight = nullptr;
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
  /// Whether rows have offsets or weights, which not every engine takes.
  [[nodiscard]] bool has_more_than_labels() const { return offset != nullptr || weight != nullptr; }
  [[nodiscard]] double offset_of(std::size_t i) const {
    return offset == nullptr ? 0.0 : static_cast<double>(offset[i]);
  }
  [[nodiscard]] double weight_of(std::size_t i) const {
    return weight == nullptr ? 1.0 : static_cast<double>(weight[i]);
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

/// Dense rows that own their memory: [n x d] row-major.
using DenseTable = UnsetFloats;
/// Rows in the files of a cache, which stay mapped as long as this lives. Not null.
using MappedTable = std::shared_ptr<const Rows>;
/// Where the rows of a table are.
using RowStorage = std::variant<DenseTable, SparseTable, MappedTable>;

/// A view of stored rows of d features, without offsets or weights.
inline Rows view_of(const DenseTable& x, std::size_t d) {
  return {x.data(), d == 0 ? 0 : x.size() / d, d};
}
inline Rows view_of(const SparseTable& x, std::size_t d) { return {x.view(), d}; }
inline Rows view_of(const MappedTable& x, std::size_t /*d*/) { return *x; }
template <class... Kinds>
Rows view_of(const std::variant<Kinds...>& storage, std::size_t d) {
  return std::visit([d](const auto& x) { return view_of(x, d); }, storage);
}

/// Appends rows to a table of the same kind and number of features. Throws std::bad_variant_access
/// if the kinds differ.
template <class... Kinds>
void append_rows(std::variant<Kinds...>& storage, const Rows& more) {
  if (more.is_sparse()) return std::get<SparseTable>(storage).append(more.sparse);
  DenseTable& x = std::get<DenseTable>(storage);
  x.insert(x.end(), more.dense, more.dense + more.rows * more.cols);
}

/// What stands beside the rows: one number for each row, or an empty array.
struct BesideRows {
  std::vector<float> y{};       ///< [n] as LabelKind says; empty when the file had no label column
  std::vector<float> offset{};  ///< [n] of Schema::scaled_exposure; empty without an exposure
  std::vector<float> weight{};  ///< [n] of Schema::scaled_weight_down; empty without weights

  /// Whether rows have offsets or weights, which not every engine takes.
  [[nodiscard]] bool has_more_than_labels() const { return !offset.empty() || !weight.empty(); }
  /// Points the view of the same rows to offsets and weights.
  void add_to(Rows& view) const {
    if (!offset.empty()) view.offset = offset.data();
    if (!weight.empty()) view.weight = weight.data();
  }
};
/// All arrays of BesideRows, in the order in which they are sent.
inline constexpr std::array beside_rows = {&BesideRows::y, &BesideRows::offset,
                                           &BesideRows::weight};

}  // namespace gibbsite
