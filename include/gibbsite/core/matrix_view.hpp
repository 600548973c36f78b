#pragma once
// Non-owning row-major matrix: what passes between modules instead of a Dataset.
#include <cstddef>
#include <span>

namespace gibbsite {

/// Row-major view, `rows` x `cols`, rows contiguous (stride = cols).
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;

  [[nodiscard]] std::span<T> row(std::size_t i) const { return {data + i * cols, cols}; }
  [[nodiscard]] T& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  operator MatrixView<const T>() const { return {data, rows, cols}; }  // NOLINT: a view of less
};

}  // namespace gibbsite
