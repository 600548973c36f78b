#pragma once
// P^T x of blocks of rows in float, what is a function of one row alone: its norm from above, its
// cap, itself clipped; and the sum of v v^T in double.
//
// Every sum over features is one chain of fused multiply-adds in ascending order of those whose
// product is not 0: the same bits whatever tile computes it, whether rows or P are kept as numbers
// or as entries.
//
//   product   2 n d k flops in float, tiles of rows x columns; n k where P has few entries
//   moments   n k^2 flops in double, half of the matrix
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/pairwise.hpp"
#include "gibbsite/data/rows.hpp"

namespace gibbsite::cpu {

/// P [d x k] rounded to floats times 2^exponent, so that no finite row overflows:
/// |x . P_a| <= d max|x| max|P| < 2^127.
struct Metric {
  explicit Metric(MatrixView<const double> P);

  std::size_t features = 0, columns = 0;
  std::size_t stride = 0;  ///< of a row of products: columns, whole vectors
  int exponent = 0;
  /// Panel after panel [d x width], the last one narrower.
  Aligned<float> panels;
  /// Or entries that are not 0, where few are: of rows [begin[j], begin[j + 1]), and one of every
  /// column after another, [slots x stride]; 0 where a column has no more.
  bool by_entries = false;
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> column;
  std::vector<float> value;
  std::size_t slots = 0;
  std::vector<std::int32_t> slot_feature;
  std::vector<float> slot_value;
  std::vector<std::uint8_t> slot_kind;  ///< [slots x vectors]

  std::vector<double> sizes;  ///< [d] >= ||P_j||, 0 where it is
  /// ||P^T x|| <= (||u|| + roundings sum_j |x_j| sizes_j) slack + underflow.
  double roundings = 0, slack = 1, underflow = 0;
};

/// u[i] = P^T x_i [rows x stride].
void project(const Metric& metric, const RowsPart& rows, float* u);

/// cap[i] = min(largest, clip / ||P^T x_i||) from below, for u of `project`, the sums w[i] of
/// |x_ij| sizes_j, and clip times 2^-exponent.
void find_caps(const Metric& metric, std::size_t rows, const float* u, const double* w, double clip,
               float largest, float* cap);

/// What rows are multiplied by, floats from 0 to 1 [rows]; none: 1.
struct RowFactors {
  const float* factor = nullptr;
  const float* share = nullptr;  ///< of the clip
  [[nodiscard]] RowFactors from(std::size_t row) const {
    return {factor == nullptr ? factor : factor + row, share == nullptr ? share : share + row};
  }
};
/// v[i] = u[i] times its factor, and scaled down to norm <= its share of clip in exact arithmetic
/// where that is shorter; of floats, [rows x stride].
void clip_rows(const Metric& metric, std::size_t rows, const float* u, double clip,
               const RowFactors& of, double* v);

/// Numbers of the sum of v v^T as `add_moments` lays it out: the lower half in panels of columns.
std::size_t moments_size(const Metric& metric);
/// sum += sum_i v_i v_i^T.
void add_moments(const Metric& metric, std::size_t rows, const double* v, double* sum);
/// out [k x k] = 2^(2 exponent) times what the sums say.
void unpack_moments(const Metric& metric, const double* sum, MatrixView<double> out);

}  // namespace gibbsite::cpu
