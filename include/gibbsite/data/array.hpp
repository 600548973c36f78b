#pragma once
// Arrays of numbers in memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Numbers that lie in somebody else's memory, not owned: value (i, j) is at
/// data + i row_stride + j col_stride, strides in bytes and of either sign.
struct ArrayView {
  enum class Type {
    float32,
    float64,
    float16,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    boolean  ///< a byte, 0 is false
  };

  const void* data = nullptr;
  Type type = Type::float64;
  std::uint64_t rows = 0, cols = 0;
  std::ptrdiff_t row_stride = 0, col_stride = 0;
};

/// x [n x k] with column j of the schema, ignored ones included, in column j; labels [n], -1 or +1,
/// of several classes places in schema.classes from 0, amounts and counts as they are, or none with
/// options.labels optional. The rows, counts and errors ("array: row I: ...") that
/// read_npy makes of the same numbers, for any number of options.threads and any strides; x is read
/// once and not copied, but for blocks of rows where it is not in C order. Other types than float32
/// are read as float64, 64-bit integers beyond 2^53 as the nearest one. Nothing is cached.
/// Throws BadInput on a wrong number of columns or labels, a label that is no class, no rows, and
/// as read_npy does.
Dataset read_array(const ArrayView& x, std::span<const double> labels, const Schema& schema,
                   const ReadOptions& options = {});

/// Memory that cannot be read where it lies, of a GPU say.
class RemoteMemory {
 public:
  RemoteMemory() = default;
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;
  virtual ~RemoteMemory() = default;
  /// Runs of `width` bytes from `at`, at + pitch, ... on, `height` of them, one behind the other to
  /// `out`. pitch >= width. Called by one thread at a time, not always the same.
  virtual void copy(std::byte* out, const std::byte* at, std::size_t pitch, std::size_t width,
                    std::size_t height) = 0;
};

/// read_array of what lies in `memory`: the same rows, counts and errors. It is copied from there
/// in blocks of about 2 MiB, in the order of the rows, and no byte outside of x's range of memory.
Dataset read_array(const ArrayView& x, RemoteMemory& memory, std::span<const double> labels,
                   const Schema& schema, const ReadOptions& options = {});

/// The numbers of one column, x.cols = 1, as they are.
std::vector<double> read_column(const ArrayView& x, RemoteMemory& memory);

}  // namespace gibbsite
