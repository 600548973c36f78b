#pragma once
// Arrays of numbers in memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Numbers in memory that the view does not own: value (i, j) is at data + i row_stride + j
/// col_stride. Strides are in bytes and of either sign.
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

/// Encodes an array x [n x k] with column j of the schema, ignored ones included, in column j.
/// labels [n] are -1 or +1, places among the classes from 0, or amounts and counts as they are;
/// none if options.labels is optional. Rows, counts and errors ("array: row I: ...") are those of
/// read_npy for the same numbers, for any number of threads and any strides. x is read once and not
/// copied, but for blocks of rows if it is not in C order. Types other than float32 are read as
/// float64, 64-bit integers beyond 2^53 as the nearest double. Nothing is cached. Throws BadInput
/// on a wrong number of columns or labels, a label that is no class, no rows, and as read_npy does.
Dataset read_array(const ArrayView& x, std::span<const double> labels, const Schema& schema,
                   const ReadOptions& options = {});

/// Memory that the CPU cannot read directly, for example of a GPU.
class RemoteMemory {
 public:
  RemoteMemory() = default;
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;
  virtual ~RemoteMemory() = default;
  /// Copies `height` runs of `width` bytes, which begin at `at`, at + pitch, ..., one behind the
  /// other to `out`. pitch >= width. Called by one thread at a time, not always the same.
  virtual void copy(std::byte* out, const std::byte* at, std::size_t pitch, std::size_t width,
                    std::size_t height) = 0;
};

/// Encodes an array that lies in `memory`: rows, counts and errors are those of the other
/// read_array. It is copied in blocks of about 2 MiB, in the order of the rows; no byte outside of
/// x is read.
Dataset read_array(const ArrayView& x, RemoteMemory& memory, std::span<const double> labels,
                   const Schema& schema, const ReadOptions& options = {});

/// The numbers of one column, x.cols = 1, as they are [x.rows].
std::vector<double> read_column(const ArrayView& x, RemoteMemory& memory);

}  // namespace gibbsite
