#pragma once
// Design D: the loss gradient of many chains in float, in one pass over X.
//
//   Z = X Theta^T,   R = f'(Z, y),   partials[range, c, :] = sum over the range's rows of R[i, c]
//   x_i
//
// Attention's structure: a block keeps a tile of thetas, rows arrive tile by tile by asynchronous
// copies, and a tile of X serves both products from shared memory. Both are made of register tiles
// (8 x 8 at best: 64 multiply-adds for 16 floats of shared memory). G stays in registers over the
// whole range of rows, which is short (4096 at most) so that few digits are lost; ranges are summed
// in double (kernels/finish.hpp). A chain's bits depend on n and d only: not on C, its place or the
// GPU.
//
// Traffic: n d floats of X once per tile of chains, ranges * C * d floats out.
// Work: 2 n C (d + d rounded up to 32, 64, 128 or 256) flops and n C residuals. Bound by float
// arithmetic for more than about 20 chains.
//
// Banks. The lanes of a warp are 4 x 8: `a` (rows of Z, features of G) has bits 0 and 3 of the
// lane, `b` (chains) bits 1, 2 and 4, so in every pair of lanes that differ in bit 0 or in bit 1
// one of the two operands is the same address and half-warps merge.
//   Theta[k, b], R[i, b]   8 quads in a row: no conflict
//   X[a, k]      4 neighboring rows at one column. d not a multiple of 4: 4 banks, for d, 2d and
//   3d
//                are not 0 mod 32. Else quads: no conflict when d / 4 is odd or 2 times odd; when
//                it is a multiple of 4 the quads of a row are permuted by the row (`swizzle`)
//   X[i, a]      transposed, but along one row: 4 neighboring floats or quads, no conflict
//   R[a, b] =    8 lanes write quads of two neighboring rows, a multiple of 32 floats apart: odd
//                rows swap halves of 32 chains (`derivative_at`), no conflict
#include "kernels/block.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

struct Tiled {
  View<const float> x;       ///< [rows x d] row-major, and 4 more
  View<const float> y;       ///< [rows]
  View<const double> theta;  ///< [C x d]
  View<float> partials;      ///< [ranges x C x d]
  std::size_t rows = 0, features = 0, chains = 0;
  std::size_t range_rows = 0;  ///< a multiple of 128
  unsigned buffers = 1;        ///< tiles of X in shared memory: 1 or 2
  unsigned loss = 0;           ///< place in the list of losses
};

/// Most features that design D takes.
inline constexpr std::size_t tiled_most_features = 256;
/// A range is a multiple of the longest tile of rows.
inline constexpr std::size_t tiled_row_multiple = 128;

// Tiles by d and C: both products have 8 lanes of chains, so the order within a
// range does not depend on C.
constexpr unsigned tiled_width(std::size_t features) {
  return features <= 32 ? 32 : features <= 64 ? 64 : features <= 128 ? 128 : 256;
}
constexpr unsigned tiled_rows(unsigned width) { return width <= 64 ? 128 : 64; }
constexpr unsigned tiled_threads(unsigned width) { return width <= 128 ? 128 : 256; }
constexpr unsigned tiled_chains(std::size_t chains) { return chains <= 32 ? 32 : 64; }

/// Shared memory of a block, in bytes.
constexpr std::size_t tiled_shared_bytes(std::size_t features, std::size_t chains,
                                         unsigned buffers) {
  const unsigned width = tiled_width(features), tile = tiled_chains(chains);
  const std::size_t rows = tiled_rows(width);
  const std::size_t loop = features * tile + rows * tile + rows + buffers * rows * features;
  // The sums at the end take its place: [groups x tile x (width + 1)].
  const std::size_t sums = tiled_threads(width) / width * std::size_t{tile} * (width + 1);
  return round_up_to((loop > sums ? loop : sums) * sizeof(float), 128);
}

/// Tiles of X of a block, of a GPU with that much shared memory for a block: two hide the copies
/// of one behind the products of the other; so do two blocks on a multiprocessor, which hide the
/// barriers as well. The driver keeps 1 KiB of each block.
constexpr unsigned tiled_buffers(std::size_t features, std::size_t chains,
                                 std::size_t shared_bytes) {
  const auto fits = [&](unsigned count, std::size_t blocks) {
    return blocks * (1024 + tiled_shared_bytes(features, chains, count)) <= 1024 + shared_bytes;
  };
  return fits(2, 2) || (fits(2, 1) && !fits(1, 2)) ? 2 : 1;
}
/// Rows of a block's range: at most 4096, which float adds up. An H100 has registers for three
/// blocks of 128 threads on a multiprocessor, for one of 256, and 227 KiB of shared memory.
constexpr std::size_t tiled_range(std::size_t rows, std::size_t features, std::size_t chains) {
  constexpr std::size_t shared_bytes = std::size_t{227} << 10;
  const std::size_t bytes =
      tiled_shared_bytes(features, chains, tiled_buffers(features, chains, shared_bytes));
  const std::size_t by_registers = tiled_threads(tiled_width(features)) == 128 ? 3 : 1;
  const std::size_t by_memory = (1024 + shared_bytes) / (1024 + bytes);
  const std::size_t held = by_memory < by_registers ? by_memory : by_registers;
  return even_range(rows, ceil_div(chains, tiled_chains(chains)), held > 0 ? held : 1, 4096,
                    tiled_row_multiple);
}

// Aligned: d is a multiple of 4, so that a row is read in quads.
template <class Loss, unsigned Width, unsigned Chains, bool Aligned>
struct TiledBody {
  using Params = Tiled;
  static constexpr unsigned threads = tiled_threads(Width);
  static constexpr unsigned rows = tiled_rows(Width);      // of a tile of X
  static constexpr unsigned row_lanes = threads / 8;       // first product: rows a + row_lanes * i
  static constexpr unsigned row_count = rows / row_lanes;  // rows of a thread
  static constexpr unsigned chain_quads = Chains / 32;     // chains 4b + 32h + 0..3 of a thread
  static constexpr unsigned feature_lanes = Width / 8;     // second product
  static constexpr unsigned group_warps = feature_lanes / 4;
  static constexpr unsigned groups = threads / warp_size / group_warps;  // each does rows / groups
  static constexpr unsigned sums_stride = Width + 1;
  static_assert(Chains % 32 == 0 && row_lanes % 4 == 0 && rows % groups == 0 && rows <= threads);

  static LaunchShape shape(const Tiled& p) {
    return {ceil_div(p.rows, p.range_rows) * ceil_div(p.chains, Chains), threads,
            tiled_shared_bytes(p.features, p.chains, p.buffers), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Tiled& p) {
    const auto d = static_cast<unsigned>(p.features);
    const std::size_t chain_tiles = ceil_div(p.chains, Chains);
    // Neighboring blocks share a range, so its rows are in L2 for the second tile of chains.
    const std::size_t range = block.block() / chain_tiles;
    const std::size_t first_chain = block.block() % chain_tiles * Chains;
    const std::size_t first_row = range * p.range_rows;
    const std::size_t last_row =
        first_row + p.range_rows < p.rows ? first_row + p.range_rows : p.rows;

    auto pool = block.template shared<float>(tiled_shared_bytes(p.features, p.chains, p.buffers) /
                                             sizeof(float));
    auto theta = pool;                     // [d x Chains]
    auto derivative = theta + d * Chains;  // [rows x Chains]: first Z, then R
    auto labels = derivative + rows * Chains;
    auto x = labels + rows;  // [buffers x rows x d]

    const unsigned lane = block.lane(), warp = block.warp();
    const unsigned low_a = (lane & 1) | (lane >> 2 & 2), b = (lane >> 1 & 3) | (lane >> 2 & 4);
    const unsigned a = warp * 4 + low_a;
    // Quads of rows i and i + 1, .. i + 3 would meet in a bank: quad k of row i is at k ^ (i mod
    // 4).
    const unsigned swizzle = Aligned && d % 16 == 0 ? 12 : 0;

    const auto rows_of = [&](std::size_t row) {
      return row + rows < last_row ? rows : static_cast<unsigned>(last_row - row);
    };
    const auto label_of = [&](std::size_t row) {
      const unsigned i = block.thread();
      return row < last_row && i < rows_of(row) ? p.y[row + i] : 1.0f;
    };

    auto tile = x;
    load_rows(block, p, first_row, rows_of(first_row), swizzle, tile);
    block.commit();
    load_theta(block, p, first_chain, theta);
    if (block.thread() < rows) labels[block.thread()] = label_of(first_row);

    float g[8][4 * chain_quads];
    GIBBSITE_UNROLL
    for (unsigned j = 0; j < 8; ++j) {
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < 4 * chain_quads; ++c) g[j][c] = 0;
    }
    const unsigned group = warp / group_warps, feature_lane = warp % group_warps * 4 + low_a;
    // Features past d read feature 0 and are dropped at the end.
    unsigned column[8];  // of the quads when Aligned: two
    GIBBSITE_UNROLL
    for (unsigned j = 0; j < (Aligned ? 2 : 8); ++j) {
      column[j] = feature_of(feature_lane, Aligned ? 4 * j : j);
      if (column[j] >= d) column[j] = 0;
    }

    unsigned buffer = 0;
    for (std::size_t row = first_row; row < last_row; row += rows) {
      const bool more = row + rows < last_row;
      auto next = x + (p.buffers == 2 ? buffer ^ 1 : 0) * (rows * d);
      if (p.buffers == 2) {
        if (more) load_rows(block, p, row + rows, rows_of(row + rows), swizzle, next);
        block.commit();
        block.template wait<1>();
      } else {
        block.template wait<0>();
      }
      block.sync();
      const float next_label = label_of(row + rows);

      first_product(d, a, b, swizzle, tile, theta, derivative);
      // A rolled loop over what this thread wrote: 64 exponentials in line would not stay in the
      // instruction cache.
      const unsigned here = rows_of(row);
      for (unsigned i = a; i < rows; i += row_lanes) {
        const float label = labels[i];
        GIBBSITE_UNROLL
        for (unsigned h = 0; h < chain_quads; ++h) {
          const unsigned at = derivative_at(i, 4 * b + 32 * h);
          Quad z = load_quad(derivative, at);
          GIBBSITE_UNROLL
          for (unsigned c = 0; c < 4; ++c) {
            z.v[c] = i < here ? Loss::derivative(z.v[c], label) : 0.0f;
          }
          store_quad(derivative, at, z);
        }
      }
      block.sync();

      second_product(d, group * (rows / groups), b, swizzle, column, tile, derivative, g);
      if (block.thread() < rows) labels[block.thread()] = next_label;
      block.sync();
      if (p.buffers == 1 && more) {
        load_rows(block, p, row + rows, rows_of(row + rows), swizzle, next);
        block.commit();
      }
      tile = next;
      buffer ^= 1;
    }
    block.template wait<0>();

    // G of each group through shared memory, so that partials are written in one piece.
    auto sums = pool + group * (Chains * sums_stride);  // [Chains x sums_stride]
    GIBBSITE_UNROLL
    for (unsigned j = 0; j < 8; ++j) {
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < 4 * chain_quads; ++c) {
        sums[(4 * b + c / 4 * 32 + c % 4) * sums_stride + feature_of(feature_lane, j)] = g[j][c];
      }
    }
    block.sync();
    const std::size_t left = p.chains - first_chain;
    const unsigned cells = static_cast<unsigned>(left < Chains ? left : Chains) * d;
    const std::size_t to = (range * p.chains + first_chain) * d;
    for (unsigned i = block.thread(); i < cells; i += threads) {
      const unsigned at = i / d * sums_stride + i % d;
      float sum = pool[at];
      GIBBSITE_UNROLL
      for (unsigned k = 1; k < groups; ++k) sum += pool[k * (Chains * sums_stride) + at];
      p.partials[to + i] = sum;
    }
  }

 private:
  // Feature of a thread's j-th row of G.
  GIBBSITE_HD static constexpr unsigned feature_of(unsigned feature_lane, unsigned j) {
    return Aligned ? 4 * feature_lane + j / 4 * (Width / 2) + j % 4
                   : feature_lane + j * feature_lanes;
  }
  // Place of (row, chain) in R.
  GIBBSITE_HD static constexpr unsigned derivative_at(unsigned row, unsigned chain) {
    return row * Chains + (chain ^ (row & 1) * 16);
  }

  // The thetas of the tile in float, transposed; chains past C are 0. A warp takes 4 features of 8
  // chains at a time: whole sectors in, 4 rows of one bank out.
  template <class Block, class Shared>
  GIBBSITE_HD static void load_theta(Block& block, const Tiled& p, std::size_t first_chain,
                                     Shared theta) {
    const auto d = static_cast<unsigned>(p.features);
    const unsigned cells = (d + 3) / 4 * 4 * Chains;
    for (unsigned i = block.thread(); i < cells; i += threads) {
      const unsigned c = i / 4 % 8 + i / 32 % (Chains / 8) * 8;
      const unsigned k = i % 4 + i / (4 * Chains) * 4;
      if (k >= d) continue;
      theta[k * Chains + c] = first_chain + c < p.chains
                                  ? static_cast<float>(p.theta[(first_chain + c) * p.features + k])
                                  : 0.0f;
    }
  }

  // Asynchronous: rows [row, row + count) and zeros after them, so that a row that is not there
  // adds 0 to G.
  template <class Block, class Shared>
  GIBBSITE_HD static void load_rows(Block& block, const Tiled& p, std::size_t row, unsigned count,
                                    unsigned swizzle, Shared to) {
    const auto d = static_cast<unsigned>(p.features);
    const std::size_t from = row * p.features;
    const unsigned floats = count * d;
    if (swizzle != 0) {
      const unsigned across = threads % (d / 4) * 4, down = threads / (d / 4);
      unsigned i = block.thread() / (d / 4), k = block.thread() % (d / 4) * 4;
      while (i < count) {
        block.copy_async(to, i * d + (k ^ (4 * i & swizzle)), p.x, from + i * d + k);
        i += down;
        k += across;
        if (k >= d) ++i, k -= d;
      }
    } else {
      for (unsigned k = block.thread() * 4; k < floats; k += threads * 4) {
        block.copy_async(to, k, p.x, from + k);
      }
    }
    const unsigned copied = (floats + 3) / 4 * 4;
    for (unsigned k = copied + block.thread(); k < rows * d; k += threads) to[k] = 0.0f;
  }

  // Z[a + row_lanes i, c] = x . theta_c, features in their order.
  template <class Tile>
  GIBBSITE_HD static void first_product(unsigned d, unsigned a, unsigned b, unsigned swizzle,
                                        Tile x, Tile theta, Tile derivative) {
    float z[row_count][4 * chain_quads];
    GIBBSITE_UNROLL
    for (unsigned i = 0; i < row_count; ++i) {
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < 4 * chain_quads; ++c) z[i][c] = 0;
    }
    constexpr unsigned step = Aligned ? 4 : 1;
    const unsigned turn = 4 * a & swizzle;
    for (unsigned k = 0; k < d; k += step) {
      float row[row_count][step];
      GIBBSITE_UNROLL
      for (unsigned i = 0; i < row_count; ++i) {
        const unsigned at = (a + row_lanes * i) * d;
        if constexpr (Aligned) {
          const Quad quad = load_quad(x, at + (k ^ turn));
          GIBBSITE_UNROLL
          for (unsigned s = 0; s < 4; ++s) row[i][s] = quad.v[s];
        } else {
          row[i][0] = x[at + k];
        }
      }
      GIBBSITE_UNROLL
      for (unsigned s = 0; s < step; ++s) {
        GIBBSITE_UNROLL
        for (unsigned h = 0; h < chain_quads; ++h) {
          const Quad t = load_quad(theta, (k + s) * Chains + 4 * b + 32 * h);
          GIBBSITE_UNROLL
          for (unsigned i = 0; i < row_count; ++i) {
            GIBBSITE_UNROLL
            for (unsigned c = 0; c < 4; ++c) z[i][4 * h + c] += row[i][s] * t.v[c];
          }
        }
      }
    }
    GIBBSITE_UNROLL
    for (unsigned i = 0; i < row_count; ++i) {
      GIBBSITE_UNROLL
      for (unsigned h = 0; h < chain_quads; ++h) {
        Quad quad;
        GIBBSITE_UNROLL
        for (unsigned c = 0; c < 4; ++c) quad.v[c] = z[i][4 * h + c];
        store_quad(derivative, derivative_at(a + row_lanes * i, 4 * b + 32 * h), quad);
      }
    }
  }

  // G[feature, c] += x[i, feature] R[i, c] over the group's rows, in their order.
  template <class Tile>
  GIBBSITE_HD static void second_product(unsigned d, unsigned first, unsigned b, unsigned swizzle,
                                         const unsigned (&column)[8], Tile x, Tile derivative,
                                         float (&g)[8][4 * chain_quads]) {
    for (unsigned i = first; i < first + rows / groups; ++i) {
      float row[8];
      if constexpr (Aligned) {
        GIBBSITE_UNROLL
        for (unsigned h = 0; h < 2; ++h) {
          const Quad quad = load_quad(x, i * d + (column[h] ^ (4 * i & swizzle)));
          GIBBSITE_UNROLL
          for (unsigned s = 0; s < 4; ++s) row[4 * h + s] = quad.v[s];
        }
      } else {
        GIBBSITE_UNROLL
        for (unsigned j = 0; j < 8; ++j) row[j] = x[i * d + column[j]];
      }
      GIBBSITE_UNROLL
      for (unsigned h = 0; h < chain_quads; ++h) {
        const Quad r = load_quad(derivative, derivative_at(i, 4 * b + 32 * h));
        GIBBSITE_UNROLL
        for (unsigned j = 0; j < 8; ++j) {
          GIBBSITE_UNROLL
          for (unsigned c = 0; c < 4; ++c) g[j][4 * h + c] += row[j] * r.v[c];
        }
      }
    }
  }
};

/// Calls visit.operator()<Body>() for the body that fits d and C.
template <class Visit>
void with_body(const Tiled& p, Visit&& visit) {
  with_logistic(p.loss, [&]<class Loss>() {
    const auto of_width = [&]<unsigned Width>() {
      const auto of_chains = [&]<unsigned Chains>() {
        if (p.features % 4 == 0) {
          visit.template operator()<TiledBody<Loss, Width, Chains, true>>();
        } else {
          visit.template operator()<TiledBody<Loss, Width, Chains, false>>();
        }
      };
      if (tiled_chains(p.chains) == 32) {
        of_chains.template operator()<32>();
      } else {
        of_chains.template operator()<64>();
      }
    };
    switch (tiled_width(p.features)) {
      case 32:
        return of_width.template operator()<32>();
      case 64:
        return of_width.template operator()<64>();
      case 128:
        return of_width.template operator()<128>();
      default:
        return of_width.template operator()<256>();
    }
  });
}

}  // namespace gibbsite::kernels
