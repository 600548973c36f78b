#pragma once
// What a kernel body is written against. A body is a struct
//
//   struct Body {
//     using Params = ...;                        // plain data: views and numbers
//     static constexpr unsigned threads = 256;   // per block
//     template <class Block> GIBBSITE_HD static void run(Block& block, const Params& p);
//   };
//
// and `static constexpr unsigned blocks_per_multiprocessor` where several must be resident, for
// which registers are then kept. It runs unchanged on a device (`DeviceBlock`, block.cuh) and on
// the host, where the tests run every thread as a fiber in shuffled order and check every access
// (tests/support/emulator.hpp). The members of a Block, the same in both:
//
//   thread(), threads(), block(), blocks()   indices in the block and in the grid (one dimension)
//   lane(), warp()                           thread() % 32, thread() / 32
//   sync(), sync_warp()                      barriers: every thread of the block, of the warp
//   sync_first(count)                        of the first `count` threads, whole warps, one count
//   in
//                                            a kernel
//   arrive_grid(), wait_grid()               a barrier of the grid in halves, each a barrier of the
//                                            block; cooperative launches only
//   sync_grid()                              both at once
//   shared<T>(count)                         next `count` elements of shared memory, aligned to
//                                            128 bytes; every thread calls in one order
//   shuffle(v, lane), shuffle_xor(v, mask)   of the whole warp
//   load_quad(a, i), store_quad(a, i, q)     four shared floats at once, i a multiple of 4;
//                                            functions
//   copy_async(to, i, from, j)               four floats global -> shared, i and j multiples of 4
//   commit(), wait<N>()                      closes a group of copies; until at most N groups of
//                                            this thread are pending (then sync() for the others)
#include <cstddef>
#include <cstdint>
#ifndef __CUDA_ARCH__
#include <stdexcept>
#include <string>
#endif

#include "gibbsite/core/host_device.hpp"

#ifdef __CUDACC__
#pragma nv_diag_suppress 554  // View<const T> never converts to itself
#endif

namespace gibbsite::kernels {

inline constexpr unsigned warp_size = 32;

#ifndef __CUDA_ARCH__
/// What is told of every access to a view on the host, before it: address, bytes, whether it may
/// write. The tests' GPU in software looks for races with it; else there is none.
inline thread_local void (*global_watch)(const void*, std::size_t, bool) = nullptr;
#endif

/// A one-dimensional array in global memory. On a device a bare pointer; on the host every access
/// is checked.
template <class T>
struct View {
  T* data = nullptr;
  std::size_t size = 0;

  GIBBSITE_HD T& operator[](std::size_t i) const {
#ifndef __CUDA_ARCH__
    if (i >= size) {
      throw std::out_of_range("global access " + std::to_string(i) + " of " + std::to_string(size));
    }
    if (global_watch != nullptr) global_watch(data + i, sizeof(T), !std::is_const_v<T>);
#endif
    return data[i];
  }
  GIBBSITE_HD operator View<const T>() const  // NOLINT: a view of less
      requires(!std::is_const_v<T>) {
    return {data, size};
  }
  GIBBSITE_HD View part(std::size_t first, std::size_t count) const {
#ifndef __CUDA_ARCH__
    if (first > size || count > size - first) {
      throw std::out_of_range("part " + std::to_string(first) + " + " + std::to_string(count) +
                              " of " + std::to_string(size));
    }
#endif
    return {data + first, count};
  }
};

/// Four floats moved at once: one 16-byte access.
struct alignas(16) Quad {
  float v[4];
};

/// Elements [i, i + 4) of a view; i is a multiple of 4.
GIBBSITE_HD inline Quad load_quad(const View<const float>& from, std::size_t i) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Quad*>(from.data + i);
#else
  if (i % 4 != 0) throw std::out_of_range("misaligned quad at " + std::to_string(i));
  return {{from[i], from[i + 1], from[i + 2], from[i + 3]}};
#endif
}

/// How a kernel is launched.
struct LaunchShape {
  std::size_t blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  bool cooperative = false;  ///< all blocks resident, sync_grid() allowed
};

GIBBSITE_HD constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
GIBBSITE_HD constexpr std::size_t round_up_to(std::size_t a, std::size_t multiple) {
  return ceil_div(a, multiple) * multiple;
}

/// Rows of a block's range, where each range is walked over by `tiles` blocks: as many blocks as an
/// H100 holds at once, `held` to a multiprocessor, or a multiple of that where ranges would be
/// longer than `most`; a multiple of `multiple`. Sizes alone decide, so the bits are not the
/// GPU's.
constexpr std::size_t even_range(std::size_t rows, std::size_t tiles, std::size_t held,
                                 std::size_t most, std::size_t multiple) {
  const std::size_t slots = 132 * held;
  const std::size_t waves = ceil_div(ceil_div(rows, most) * tiles, slots);
  const std::size_t ranges = waves * slots / tiles;
  return round_up_to(ceil_div(rows, ranges > 0 ? ranges : 1), multiple);
}

}  // namespace gibbsite::kernels
