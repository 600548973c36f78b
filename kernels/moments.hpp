#pragma once
// Second moments of leaves of rows of floats, in double:
//
//   partials[leaf, (a, b)] = sum over the leaf's rows of v_a v_b,   b <= a
//
// packed row after row, a (a + 1)/2 + b. A block takes a leaf and a tile of 64 x 64 of the lower
// half, a thread 4 x 4 of it in registers: one chain of fused multiply-adds over the leaf's rows,
// products exact.
//
// Work: n k^2/2 fused multiply-adds, columns rounded up to 64; tiles on the diagonal are computed
// whole. Traffic: n k floats once for each row and column of tiles; leaves * k^2/2 doubles out.
#include <cmath>

#include "kernels/block.hpp"

namespace gibbsite::kernels {

struct Moments {
  View<const float> v;    ///< [rows x k] row-major
  View<double> partials;  ///< [leaves x k (k + 1)/2]
  std::size_t rows = 0, columns = 0, leaf_rows = 0;
};

constexpr std::size_t packed_moments(std::size_t k) { return k * (k + 1) / 2; }

struct MomentsBody {
  using Params = Moments;
  static constexpr unsigned threads = 256, side = 16, each = 4, tile = side * each;
  static constexpr unsigned depth = 16;  // rows at a time

  static LaunchShape shape(const Moments& p) {
    return {ceil_div(p.rows, p.leaf_rows) * packed_moments(ceil_div(p.columns, tile)), threads,
            2 * depth * tile * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Moments& p) {
    const std::size_t k = p.columns, tiles = packed_moments(ceil_div(k, tile));
    // Neighboring blocks share a leaf, so its rows are in L2 for the second tile.
    const std::size_t leaf = block.block() / tiles;
    std::size_t right = block.block() % tiles, left = 0;  // right <= left
    for (; right > left; ++left) right -= left + 1;
    const std::size_t begin = leaf * p.leaf_rows;
    const std::size_t end = begin + p.leaf_rows < p.rows ? begin + p.leaf_rows : p.rows;
    const unsigned across = block.thread() % side, down = block.thread() / side;
    auto lefts = block.template shared<double>(depth * tile);  // [depth x tile]
    auto rights = block.template shared<double>(depth * tile);

    double sum[each][each] = {};
    for (std::size_t row = begin; row < end; row += depth) {
      GIBBSITE_UNROLL
      for (unsigned q = 0; q < each; ++q) {
        const unsigned at = across + q * side;
        const bool there = row + down < end;
        lefts[down * tile + at] = number(p, there, row + down, left * tile + at);
        rights[down * tile + at] = number(p, there, row + down, right * tile + at);
      }
      block.sync();
      const auto here = static_cast<unsigned>(row + depth < end ? depth : end - row);
      if (left * tile + down < k && right * tile + across < k) {
        for (unsigned i = 0; i < here; ++i) {
          double a[each], b[each];
          GIBBSITE_UNROLL
          for (unsigned q = 0; q < each; ++q) {
            a[q] = lefts[i * tile + down + q * side];
            b[q] = rights[i * tile + across + q * side];
          }
          GIBBSITE_UNROLL
          for (unsigned r = 0; r < each; ++r) {
            GIBBSITE_UNROLL
            for (unsigned c = 0; c < each; ++c) sum[r][c] = std::fma(a[r], b[c], sum[r][c]);
          }
        }
      }
      block.sync();
    }
    GIBBSITE_UNROLL
    for (unsigned r = 0; r < each; ++r) {
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < each; ++c) {
        const std::size_t a = left * tile + down + r * side, b = right * tile + across + c * side;
        if (b <= a && a < k)
          p.partials[leaf * packed_moments(k) + packed_moments(a) + b] = sum[r][c];
      }
    }
  }

 private:
  GIBBSITE_HD static double number(const Moments& p, bool there, std::size_t row,
                                   std::size_t column) {
    return there && column < p.columns ? static_cast<double>(p.v[row * p.columns + column]) : 0.0;
  }
};

template <class Visit>
void with_body(const Moments&, Visit&& visit) {
  visit.template operator()<MomentsBody>();
}

}  // namespace gibbsite::kernels
