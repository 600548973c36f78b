#pragma once
// SIMD kernels of the CPU backend: double arithmetic on float rows, compiled for every instruction
// set and chosen at run time (Highway). Each sum over features or rows runs in one fixed order that
// does not depend on how many rows or chains a call is given.
//
// One chain: lanes run along the features of a row; bound by the bandwidth of x.
//   theta and g are packed: vectors of `lanes` doubles at offsets 0, L, 2L, ..., and d - L for the
//   tail, which overlaps the vector before it; the overlap is 0 in theta and ignored in g.
// Many chains: lanes run along the chains of a panel [.. x width]; a register tile of
//   tile_rows x width accumulators, bound by FMA.
#include <cstddef>
#include <span>
#include <string>

#include "gibbsite/core/matrix_view.hpp"

namespace gibbsite::cpu {

/// Instruction set in use, for people.
std::string instruction_set();

/// Doubles in a packed vector of d features.
std::size_t packed_size(std::size_t d);
void pack(std::span<const double> v, double* packed);
void unpack(const double* packed, std::span<double> v);
/// z[i] = x_i^T theta. Reads x once.
void row_logits(MatrixView<const float> x, const double* packed_theta, double* z);
/// g += X^T r, rows in order. Reads x once (from cache, after row_logits).
void row_accumulate(MatrixView<const float> x, const double* r, double* packed_g);

/// Widest panel, and the width of a panel of `chains` <= that many.
std::size_t max_panel_width();
std::size_t panel_width(std::size_t chains);
/// out[i] = x[i] in double.
void widen(std::span<const float> x, double* out);
/// out[r][w] (+)= sum_k a[r * row_stride + k * inner_stride] * b[k][w], r < rows, k < inner in
/// order, w < width: X theta with (d, 1), X^T R with (1, d).
struct PanelProduct {
  std::size_t rows, inner, width;
  const double* a;
  std::size_t row_stride, inner_stride;
  const double* b;  ///< [inner x width]
  double* out;      ///< [rows x width]
  bool accumulate;
};
void panel_multiply(const PanelProduct& product);

}  // namespace gibbsite::cpu
