#pragma once
// Design F: two library products per block of rows and an element-wise kernel between them.
//
//   Z = X Theta^T        cuBLASLt, batched over blocks of `block_rows` rows
//   Z <- f'(Z, y)        Residuals
//   G[block] = Z^T X     cuBLASLt
//
// Traffic: X twice, C * 12 bytes (24 in double) per row and chain for Z; blocks are taken in passes
// that stay in L2. The fallback for every shape and the baseline that the other designs are held
// against. In double X is widened first: 8 bytes more per cell.
#include <array>
#include <cmath>
#include <cstdint>

#include "kernels/block.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

/// C = op(A) B for each item of a batch, column-major: A is m x k (k x m before op when
/// transposed), B is k x n, C is m x n. Double, or float. Done by the library, not by a kernel of
/// ours.
struct Gemm {
  bool single = false;
  bool transpose_a = false;
  std::size_t m = 0, n = 0, k = 0, batch = 1;
  View<const std::byte> a, b;
  View<std::byte> c;
  std::size_t lda = 0, ldb = 0, ldc = 0;                 ///< in elements
  std::size_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< between items, in elements
  View<std::byte> workspace;                             ///< 256-byte aligned
};

/// The largest power of two, 256 at most, that divides every address at which an item of a batch
/// begins, in bytes: what a library may be told of an operand. `stride` in bytes.
inline std::size_t alignment_of(const std::byte* first, std::size_t stride, std::size_t batch) {
  std::size_t bits = reinterpret_cast<std::uintptr_t>(first) | 256;
  if (batch > 1) bits |= stride;
  return bits & (~bits + 1);
}

/// What a library chooses its algorithm for a product by: shape, strides, alignments of a, b, c
/// (the last three), workspace. Products of one key take one algorithm.
using GemmKey = std::array<std::size_t, 16>;
inline GemmKey key_of(const Gemm& p) {
  const std::size_t element = p.single ? sizeof(float) : sizeof(double);
  return {p.single,
          p.transpose_a,
          p.m,
          p.n,
          p.k,
          p.batch,
          p.lda,
          p.ldb,
          p.ldc,
          p.stride_a,
          p.stride_b,
          p.stride_c,
          p.workspace.size,
          alignment_of(p.a.data, p.stride_a * element, p.batch),
          alignment_of(p.b.data, p.stride_b * element, p.batch),
          alignment_of(p.c.data, p.stride_c * element, p.batch)};
}

/// z[b, c, i] <- f'(z[b, c, i], y[b block_rows + i]) for rows below `rows`; the rest is left alone.
struct Derivatives {
  View<double> z;        ///< [blocks x C x block_rows]; empty where they are floats
  View<float> z_single;  ///< [blocks x C x block_rows]; empty where they are doubles
  View<const float> y;   ///< [rows]
  std::size_t rows = 0, chains = 0, block_rows = 0;
  unsigned loss = 0;
};

template <class Loss, class Real>
struct DerivativesBody {
  using Params = Derivatives;
  static constexpr unsigned threads = 256, per_thread = 4;

  static LaunchShape shape(const Derivatives& p) {
    const std::size_t blocks = ceil_div(p.rows, p.block_rows);
    return {blocks * p.chains * ceil_div(p.block_rows, threads * per_thread), threads, 0, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Derivatives& p) {
    const std::size_t parts = ceil_div(p.block_rows, threads * per_thread);
    const std::size_t column = block.block() / parts;  // of [blocks x C]
    const std::size_t first = block.block() % parts * (threads * per_thread) + block.thread();
    const std::size_t first_row = column / p.chains * p.block_rows;
    GIBBSITE_UNROLL
    for (unsigned k = 0; k < per_thread; ++k) {
      const std::size_t i = first + k * threads;
      if (i >= p.block_rows || first_row + i >= p.rows) continue;
      const std::size_t at = column * p.block_rows + i;
      const auto label = static_cast<Real>(p.y[first_row + i]);
      if constexpr (sizeof(Real) == sizeof(double)) {
        p.z[at] = Loss::at(p.loss).derivative(p.z[at], label);
      } else {
        p.z_single[at] = Loss::at(p.loss).derivative(p.z_single[at], label);
      }
    }
  }
};

/// to[i] = from[i], from float to double or from double to float.
struct Convert {
  View<const float> single_from;
  View<double> double_to;
  View<const double> double_from;
  View<float> single_to;
  std::size_t count = 0;
};

struct ConvertBody {
  using Params = Convert;
  static constexpr unsigned threads = 256, per_thread = 4;
  static LaunchShape shape(const Convert& p) {
    return {ceil_div(p.count, threads * per_thread), threads, 0, false};
  }
  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Convert& p) {
    const std::size_t first = block.block() * (threads * per_thread) + block.thread();
    GIBBSITE_UNROLL
    for (unsigned k = 0; k < per_thread; ++k) {
      const std::size_t i = first + k * threads;
      if (i >= p.count) continue;
      if (p.double_to.size != 0) {
        p.double_to[i] = static_cast<double>(p.single_from[i]);
      } else {
        p.single_to[i] = static_cast<float>(p.double_from[i]);
      }
    }
  }
};

template <class Visit>
void with_body(const Derivatives& p, Visit&& visit) {
  with_loss(p.loss, [&]<class Loss>() {
    if (p.z.size != 0) {
      visit.template operator()<DerivativesBody<Loss, double>>();
    } else {
      visit.template operator()<DerivativesBody<Loss, float>>();
    }
  });
}
template <class Visit>
void with_body(const Convert&, Visit&& visit) {
  visit.template operator()<ConvertBody>();
}

}  // namespace gibbsite::kernels
