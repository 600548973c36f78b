#pragma once
// What Hopper's warp-group matrix instructions fix, as pure functions that kernels use and that a
// host can check: number format, layout of operands in shared memory, fragments, pipeline turns.
//
// Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"
// (register fragments; shared memory matrix layout; leading and stride byte offset; matrix
// descriptor), and CUTLASS 3: cute/arch/mma_sm90_desc.hpp (bits of a descriptor),
// cute/atom/mma_traits_sm90_gmma.hpp (canonical layouts; CLayout_64xN, ALayout_64x16).
//
// A body asks `matrix_unit(block)` for the unit of its block, found by the type of the block: the
// instructions on a device (matrix_unit.cuh), a model of them in tests
// (tests/support/matrix_unit.hpp). Its members, shared memory being named by 32-bit addresses as
// the hardware does:
//
//   reserve(bytes)                      address of the next shared memory, 128-byte aligned
//   store(address, line)                16 bytes; publish() by the same thread, then sync(), before
//                                       the matrix instructions may read them
//   load_logits(address)                two neighboring rows' RowLogit
//   start_barrier(address, arrivals)    publish() and sync() before its use
//   expect(barrier, bytes)              one arrival, and that many bytes are to come
//   arrive(barrier), await(barrier, parity)   until the phase of that parity is over
//   copy(to, view, first, count, barrier)     elements of global memory; their bytes count there
//   leave_registers<N>(), take_registers<N>()  from here N a thread; every thread of a warp group
//   fence(), commit(), wait<N>(d)       before the first instruction of a group and after registers
//                                       were written; closes a group; at most N groups pending, and
//                                       the registers d can be read
//   pin(d)                              what was written to d stays before this place
//   multiply_shared<N>(d, a, b, add)    d[64 x N] (+)= A B^T, both [. x 16] K-major in shared
//   memory multiply_fragment<N>(d, a, b, add)  d[64 x N] (+)= A B, A in registers, B [16 x N]
//   MN-major
#include <bit>
#include <cstdint>

#include "kernels/block.hpp"

namespace gibbsite::kernels {

/// Threads that share a matrix instruction, and the rows and the inner extent of one.
inline constexpr unsigned warp_group = 128, matrix_rows = 64, matrix_inner = 16;

// ---- BF16: the upper half of a float, 8 significant bits ----

/// Nearest, ties to even; overflow to infinity; NaN stays NaN.
GIBBSITE_HD constexpr std::uint16_t bfloat16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
GIBBSITE_HD constexpr float float_of_bfloat16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}
/// Two of them in a register, the first in the lower half.
GIBBSITE_HD inline std::uint32_t bfloat16_pair(float first, float second) {
#ifdef __CUDA_ARCH__
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return bfloat16_of(first) | static_cast<std::uint32_t>(bfloat16_of(second)) << 16;
#endif
}

// ---- a float as the sum of two BF16: 2^-17 of it is lost ----
//
// With x in [2^e, 2^(e+1)): |x - high| <= 2^(e-8), exact in float, so |low| <= 2^-8 |x| and
// |x - high - low| <= 2^(e-17). Of a product high high + high low + low high is taken:
//   |x t - (..)| <= (2^-17 + 2^-17 (1 + 2^-17) + 2^-16) |x t| < 2^-15 (1 + 2^-17) |x t|
// A low part that underflows costs 2^-126 times the other operand: whether the matrix unit takes
// subnormal operands is not promised.

/// Part 0, the upper one, or 1 of a float; beyond the largest BF16 infinity and 0.
GIBBSITE_HD constexpr std::uint16_t bfloat16_part(float value, unsigned part) {
  const std::uint16_t high = bfloat16_of(value);
  if (part == 0) return high;
  return (high & 0x7f80) == 0x7f80 ? 0 : bfloat16_of(value - float_of_bfloat16(high));
}
/// Products of parts: 0 and 1 are high by low and low by high, 2 is high by high.
inline constexpr unsigned part_products = 3;
/// The part of the first and of the second operand.
GIBBSITE_HD constexpr unsigned first_part(unsigned product) { return product == 1 ? 1 : 0; }
GIBBSITE_HD constexpr unsigned second_part(unsigned product) { return product == 0 ? 1 : 0; }

/// Eight BF16 of one row: what a core matrix is made of.
struct alignas(16) Line {
  std::uint16_t v[8];
};
/// What the residual of a row needs besides x: its logit at the reference, its label.
struct RowLogit {
  float logit, label;
};
inline constexpr std::uint32_t row_logit_bytes = sizeof(RowLogit);
struct alignas(16) RowLogitPair {
  RowLogit row[2];
};

// ---- layout: core matrices of 8 lines, no swizzle ----
//
// A matrix [rows x width] is stored as core matrices of 8 rows x 8 features, each 8 lines of 16
// bytes one after the other; those of the same 8 rows are neighbors. Along the features two core
// matrices are 128 bytes apart, along the rows 16 width bytes. The same bytes are an operand with
// the features inside (K-major) and one with the rows inside (MN-major): only which distance is
// which differs.

inline constexpr std::uint32_t line_bytes = sizeof(Line), core_bytes = 8 * line_bytes;

/// Line of (row, features 8 g .. 8 g + 7) of a packed [rows x width] matrix.
GIBBSITE_HD constexpr std::size_t packed_line(std::size_t row, std::size_t group,
                                              std::size_t width) {
  return (row / 8 * (width / 8) + group) * 8 + row % 8;
}
/// Distance of core matrices along the rows.
GIBBSITE_HD constexpr std::uint32_t row_group_bytes(unsigned width) {
  return width / 8 * core_bytes;
}

// ---- matrix descriptor ----
//
//   bits  0-13  start address / 16        bits 32-45  stride byte offset / 16 (SBO)
//   bits 16-29  leading byte offset / 16 (LBO)      bits 62-63  swizzle: 0, none
//
// Without swizzle, in units of 8 elements = 16 bytes (T = 8):
//   K-major   ((8,m),(T,2)) : ((1T,SBO),(1,LBO))     LBO steps along K, SBO along MN
//   MN-major  ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO)) LBO steps along K, SBO along MN

GIBBSITE_HD constexpr std::uint64_t matrix_descriptor(std::uint32_t address,
                                                      std::uint32_t leading_bytes,
                                                      std::uint32_t stride_bytes) {
  const auto field = [](std::uint32_t bytes) -> std::uint64_t { return (bytes & 0x3ffffu) >> 4; };
  return field(address) | field(leading_bytes) << 16 | field(stride_bytes) << 32;
}
/// The descriptor of what lies `bytes` further.
GIBBSITE_HD constexpr std::uint64_t advanced(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

enum class Major { k, mn };

/// Shared address of element (mn, k) of an operand, as the hardware derives it.
constexpr std::uint32_t operand_address(std::uint64_t descriptor, Major major, unsigned mn,
                                        unsigned k) {
  const auto field = [descriptor](unsigned first) {
    return static_cast<std::uint32_t>(descriptor >> first & 0x3fffu) << 4;
  };
  const std::uint32_t core = field(0) + mn / 8 * field(32) + k / 8 * field(16);
  return major == Major::k ? core + mn % 8 * line_bytes + k % 8 * 2
                           : core + k % 8 * line_bytes + mn % 8 * 2;
}

// ---- fragments: which element a thread of the warp group holds in which register ----

/// Row and column of register r (of N / 2) of a float accumulator [64 x N].
GIBBSITE_HD constexpr unsigned accumulator_row(unsigned thread, unsigned r) {
  return thread / 32 * 16 + thread % 32 / 4 + r / 2 % 2 * 8;
}
GIBBSITE_HD constexpr unsigned accumulator_column(unsigned thread, unsigned r) {
  return r / 4 * 8 + thread % 4 * 2 + r % 2;
}
/// Row and column of half h (of 8: two to a register) of a BF16 fragment of A [64 x 16].
GIBBSITE_HD constexpr unsigned fragment_row(unsigned thread, unsigned h) {
  return thread / 32 * 16 + thread % 32 / 4 + h / 2 % 2 * 8;
}
GIBBSITE_HD constexpr unsigned fragment_column(unsigned thread, unsigned h) {
  return h / 4 * 8 + thread % 4 * 2 + h % 2;
}
/// Accumulator [64 x N] to the N / 16 fragments of A [64 x 16]: every thread holds what it needs,
/// in order, so register r of the accumulator is half r % 8 of fragment r / 8.
GIBBSITE_HD constexpr unsigned fragment_register(unsigned r) { return r / 2; }

// ---- pipeline: tile t goes through stage t mod stages ----

struct Turn {
  unsigned stage;
  unsigned parity;  ///< of the phase that fills the stage; its emptying waits for the other one
};
GIBBSITE_HD constexpr Turn turn_of(std::size_t tile, unsigned stages) {
  return {static_cast<unsigned>(tile % stages), static_cast<unsigned>(tile / stages % 2)};
}

}  // namespace gibbsite::kernels
