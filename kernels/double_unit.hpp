#pragma once
// A warp's matrix instruction in double, D[16 x 8] += A[16 x 4] B[4 x 8]: which lane holds which
// element, as pure functions that kernels use and that a host can check.
//
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k4" (.f64), and CuTe:
// cute/atom/mma_traits_sm80.hpp (8 x 8 x 4), mma_traits_sm90.hpp. Of its arithmetic PTX says that
// the precision of the element-wise multiplication and addition is that of fused multiply-add, to
// nearest even; of the order of the four products it says nothing. Whatever it is, a product is
// rounded once at most and four additions lie between D before and D after: what the depth of a sum
// counts.
//
// A body calls `multiply_double(block, d, a, b)`, every lane of a warp at once, found by the type
// of the block: the instruction on a device (double_unit.cuh), a model of it in tests
// (tests/support/double_unit.hpp).
#include "kernels/block.hpp"

namespace gibbsite::kernels {

inline constexpr unsigned double_rows = 16, double_columns = 8, double_inner = 4;

/// Place in A, two registers a lane: row of register r, and column.
GIBBSITE_HD constexpr unsigned double_a_row(unsigned lane, unsigned r) { return lane / 4 + 8 * r; }
GIBBSITE_HD constexpr unsigned double_a_column(unsigned lane) { return lane % 4; }
/// Place in B, one register a lane.
GIBBSITE_HD constexpr unsigned double_b_row(unsigned lane) { return lane % 4; }
GIBBSITE_HD constexpr unsigned double_b_column(unsigned lane) { return lane / 4; }
/// Place in D, four registers a lane.
GIBBSITE_HD constexpr unsigned double_d_row(unsigned lane, unsigned r) {
  return lane / 4 + 8 * (r / 2);
}
GIBBSITE_HD constexpr unsigned double_d_column(unsigned lane, unsigned r) {
  return 2 * (lane % 4) + r % 2;
}

}  // namespace gibbsite::kernels
