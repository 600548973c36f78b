#pragma once
// P^T x of every row in double, and what is a function of one row alone (engine/clip.hpp):
//
//   caps[i]       = min(largest, clip / ||P^T x_i||) from below, a float
//   clipped[i, :] = floats of P^T x_i, scaled down to norm <= clip in exact arithmetic
//
// A block takes 64 rows and panel after panel of 64 columns; a thread 4 x 4 of them in registers. A
// number of P^T x is one chain of fused multiply-adds over ascending features, and a row's sums are
// ordered by k and d alone: no bit depends on the row's place or on the other rows.
//
// Work: n d k fused multiply-adds in double, columns rounded up to 64.
// Traffic: n d floats of X for each panel, all but the first from a cache; P from L2; n floats out,
// or n k, which are read and written again.
#include "engine/clip.hpp"
#include "kernels/block.hpp"

namespace gibbsite::kernels {

struct ProjectedRows {
  View<const float> x;       ///< [rows x d] row-major
  View<const double> P;      ///< [d x k]; where rows are clipped so small that no P^T x overflows
  View<const double> sizes;  ///< [d] ||P_j|| from above, 0 where it is; for caps
  View<float> caps;          ///< [rows]: written; or empty
  View<float> clipped;       ///< [rows x k]: written where there are no caps
  std::size_t rows = 0, features = 0, columns = 0;
  double clip = 0;
  float largest = 0;  ///< cap
  NormBound bound;    ///< for caps
};

template <bool Caps>
struct ProjectedRowsBody {
  using Params = ProjectedRows;
  static constexpr unsigned threads = 256;
  static constexpr unsigned side = 16, each = 4;       // threads and numbers of a side
  static constexpr unsigned tile = side * each;        // rows, and columns of a panel
  static constexpr unsigned depth = 16;                // features at a time
  static constexpr unsigned stride = tile + 2;         // of features in shared memory
  static constexpr unsigned quarter = threads / tile;  // threads of a row at the end

  static LaunchShape shape(const ProjectedRows& p) {
    return {ceil_div(p.rows, tile), threads,
            (depth * stride + depth * tile + tile * side + tile) * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const ProjectedRows& p) {
    const std::size_t d = p.features, k = p.columns, first = block.block() * tile;
    const auto rows = static_cast<unsigned>(first + tile < p.rows ? tile : p.rows - first);
    const auto x = p.x.part(first * d, rows * d);
    const unsigned across = block.thread() % side, down = block.thread() / side;
    auto xs = block.template shared<double>(depth * stride);  // [depth x rows]
    auto ps = block.template shared<double>(depth * tile);    // [depth x columns]
    auto squares = block.template shared<double>(tile * side);
    auto scale = block.template shared<double>(tile);

    double of_row[each] = {};  // squares
    for (std::size_t panel = 0; panel < k; panel += tile) {
      double sum[each][each] = {};
      for (std::size_t j = 0; j < d; j += depth) {
        const unsigned row = block.thread() / quarter;
        GIBBSITE_UNROLL
        for (unsigned q = 0; q < each; ++q) {
          const unsigned at = block.thread() % quarter * each + q;
          xs[at * stride + row] =
              row < rows && j + at < d ? static_cast<double>(x[row * d + j + at]) : 0.0;
          const std::size_t column = panel + across + q * side;
          ps[down * tile + across + q * side] =
              column < k && j + down < d ? p.P[(j + down) * k + column] : 0.0;
        }
        block.sync();
        if (down < rows && panel + across < k) {
          for (unsigned i = 0; i < depth; ++i) {
            double left[each], right[each];
            GIBBSITE_UNROLL
            for (unsigned q = 0; q < each; ++q) {
              left[q] = xs[i * stride + down + q * side];
              right[q] = ps[i * tile + across + q * side];
            }
            GIBBSITE_UNROLL
            for (unsigned r = 0; r < each; ++r) {
              GIBBSITE_UNROLL
              for (unsigned c = 0; c < each; ++c) {
                sum[r][c] = std::fma(left[r], right[c], sum[r][c]);
              }
            }
          }
        }
        block.sync();
      }
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < each; ++r) {
        GIBBSITE_UNROLL
        for (unsigned c = 0; c < each; ++c) {
          const unsigned row = down + r * side;
          const std::size_t column = panel + across + c * side;
          double u = sum[r][c];
          if constexpr (!Caps) {
            const auto rounded = static_cast<float>(u);
            if (row < rows && column < k) p.clipped[(first + row) * k + column] = rounded;
            u = static_cast<double>(rounded);
          }
          of_row[r] = std::fma(u, u, of_row[r]);
        }
      }
    }
    GIBBSITE_UNROLL
    for (unsigned r = 0; r < each; ++r) squares[(down + r * side) * side + across] = of_row[r];
    block.sync();

    const unsigned row = block.thread() / quarter, part = block.thread() % quarter;
    double total = 0;
    for (unsigned s = 0; s < side; ++s) total += squares[row * side + s];
    if constexpr (Caps) {
      double sizes = 0;
      unsigned some = 0;  // a product that is not 0, though it may have come to 0
      for (std::size_t j = part; j < d && row < rows; j += quarter) {
        const double v = std::fabs(static_cast<double>(x[row * d + j]));
        sizes = std::fma(v, p.sizes[j], sizes);
        if (v != 0 && p.sizes[j] != 0) some = 1;
      }
      GIBBSITE_UNROLL
      for (unsigned mask = 1; mask < quarter; mask *= 2) {
        sizes += block.shuffle_xor(sizes, mask);
        some |= block.shuffle_xor(some, mask);
      }
      if (part == 0 && row < rows) {
        p.caps[first + row] =
            cap_below(p.clip, some != 0 ? p.bound.norm(total, sizes) : 0.0, p.largest);
      }
    } else {
      if (part == 0) scale[row] = static_cast<double>(shrinking(total, k, p.clip));
      block.sync();
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < each; ++r) {
        const unsigned mine = down + r * side;
        if (mine >= rows) continue;
        const double s = scale[mine];
        for (std::size_t column = across; column < k; column += side) {
          float& v = p.clipped[(first + mine) * k + column];
          v = normal_or_zero(static_cast<float>(static_cast<double>(v) * s));
        }
      }
    }
  }
};

template <class Visit>
void with_body(const ProjectedRows& p, Visit&& visit) {
  p.caps.size != 0 ? visit.template operator()<ProjectedRowsBody<true>>()
                   : visit.template operator()<ProjectedRowsBody<false>>();
}

}  // namespace gibbsite::kernels
