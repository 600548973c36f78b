#pragma once
// Arrays of numbers in memory.
#include <cstddef>
#include <cstdint>
#include <span>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Numbers that lie in somebody else's memory, not owned: value (i, j) is at
/// data + i row_stride + j col_stride, strides in bytes and of either sign.
struct ArrayView {
  enum class Type { float32, float64 };

  const void* data = nullptr;
  Type type = Type::float64;
  std::uint64_t rows = 0, cols = 0;
  std::ptrdiff_t row_stride = 0, col_stride = 0;
};

/// x [n x k] with column j of the schema, ignored ones included, in column j; labels [n], -1 or +1,
/// or none with options.labels optional. The rows, counts and errors ("array: row I: ...") that
/// read_npy makes of the same numbers, for any number of options.threads and any strides; x is read
/// once and not copied, but for blocks of rows where it is not in C order. Nothing is cached.
/// Throws BadInput on a wrong number of columns or labels, a label that is neither, no rows, and
/// as read_npy does.
Dataset read_array(const ArrayView& x, std::span<const double> labels, const Schema& schema,
                   const ReadOptions& options = {});

}  // namespace gibbsite
