#pragma once
// Design G: the loss gradient of several chains in double, in one pass over X, on the double matrix
// units.
//
//   Z = X Theta^T,   R = f'(Z, y),   partials[range, c, :] = sum over the range's rows of R[i, c]
//   x_i
//
// A block keeps the thetas of 8 or 16 chains in shared memory and walks over a range of rows; each
// of its warps takes tiles of 16 rows of its own, which arrive as floats by asynchronous copies and
// serve both products: with rows down A in the first, features down A in the second. G stays in the
// warp's registers over the whole range. Warps meet at the end alone, so while one takes exps
// another has the matrix units.
//
// Between the products Z changes its lanes: an accumulator has two neighboring chains in a lane, an
// operand one (double_unit.hpp). It goes through 16 x C doubles of shared memory of the warp's own,
// and its slopes are taken on the far side, a lane the elements that it then multiplies by.
//
// Traffic: n d floats of X once per 8 or 16 chains, ranges * C * d doubles out.
// Work: 2 n C (d rounded up to 4 + d rounded up to 16) flops, C rounded up to 8 or 16, and n C
// slopes. An element of X is converted to double where it is read, twice: to keep it as a double
// would take twice the shared memory and its traffic.
//
// Banks, of 32 of 4 bytes or 16 of 8 (a half-warp at a time); lane = 4 g + t:
//   X[g, t]            g stride + t: no conflict when the stride is 4 mod 8
//   X[row_of(t), g]    (2 t + f) stride + g: the same. A stride that is not a multiple of 4, as
//                      copies leave it, meets up to 4 times
//   Theta[g, t], Z[row_of(t), g]    strides of 4 mod 8 and 2 mod 8 doubles: no conflict
#include "kernels/block.hpp"
#include "kernels/double_unit.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

struct DoubleMatrix {
  View<const float> x;       ///< [rows x d] row-major, and zeros to a multiple of 4
  View<const float> y;       ///< [rows]
  View<const double> theta;  ///< [C x d]
  View<double> partials;     ///< [ranges x C x d]
  std::size_t rows = 0, features = 0, chains = 0;
  std::size_t range_rows = 0;  ///< a multiple of 16
  unsigned buffers = 1;        ///< tiles of X of a warp in shared memory: 1 or 2
  unsigned loss = 0;           ///< place in the list of losses
};

/// Most features that design G takes.
inline constexpr std::size_t double_matrix_most_features = 256;
inline constexpr unsigned double_matrix_warps = 8;

/// Features that there are registers of G for, and chains of a block: 16 where their G fits.
constexpr unsigned double_matrix_width(std::size_t features) {
  return features <= 64 ? 64 : features <= 128 ? 128 : 256;
}
constexpr unsigned double_matrix_chains(std::size_t features, std::size_t chains) {
  return chains <= 8 || features > 128 ? 8 : 16;
}
/// Blocks that a multiprocessor has registers for: G is width * chains / 16 of a thread's.
constexpr unsigned double_matrix_blocks(std::size_t features, std::size_t chains) {
  return double_matrix_width(features) * double_matrix_chains(features, chains) <= 1024 ? 2 : 1;
}
/// Rows of a block's range: at most 4096, 512 a warp.
constexpr std::size_t double_matrix_range(std::size_t rows, std::size_t features,
                                          std::size_t chains) {
  return even_range(rows, ceil_div(chains, double_matrix_chains(features, chains)),
                    double_matrix_blocks(features, chains), 4096,
                    std::size_t{double_matrix_warps} * double_rows);
}
/// Floats from row to row of a tile of X: as they lie, but for multiples of 8.
GIBBSITE_HD constexpr unsigned double_matrix_stride(unsigned features) {
  return features % 8 == 0 ? features + 4 : features;
}
/// Doubles from chain to chain of Theta.
GIBBSITE_HD constexpr unsigned double_matrix_theta_stride(unsigned features) {
  return (features + 3) / 8 * 8 + 4;
}
/// Floats of a tile of X: 16 beyond the last row are read, by features that there are not.
GIBBSITE_HD constexpr unsigned double_matrix_tile(unsigned features) {
  return double_rows * double_matrix_stride(features) + 16;
}

/// Shared memory of a block, in bytes.
constexpr std::size_t double_matrix_shared_bytes(std::size_t features, std::size_t chains,
                                                 unsigned buffers) {
  const auto d = static_cast<unsigned>(features);
  const std::size_t tile = double_matrix_chains(features, chains);
  return round_up_to(tile * double_matrix_theta_stride(d) * sizeof(double), 128) +
         round_up_to(double_matrix_warps * double_rows * (tile + 2) * sizeof(double), 128) +
         round_up_to(
             std::size_t{double_matrix_warps} * buffers * double_matrix_tile(d) * sizeof(float),
             128);
}

/// Most additions between a row's term and a partial of a range of that many rows: those of a
/// warp's tiles, four to an instruction in whatever order; then the warps.
constexpr std::size_t double_matrix_depth(std::size_t rows) {
  return double_rows * ceil_div(rows, std::size_t{double_matrix_warps} * double_rows) +
         double_matrix_warps;
}

template <class Loss_, unsigned Width, unsigned Chains>
struct DoubleMatrixBody {
  using Params = DoubleMatrix;
  using Loss = Loss_;
  static constexpr unsigned warps = double_matrix_warps, threads = warps * warp_size;
  static constexpr unsigned rows = double_rows;
  static constexpr unsigned feature_tiles = Width / 16, chain_tiles = Chains / 8;
  static constexpr unsigned blocks_per_multiprocessor = double_matrix_blocks(Width, Chains);
  static constexpr unsigned stride_z = Chains + 2;
  static_assert(Width % 32 == 0 && Chains % 8 == 0 && 16 * Chains <= threads);

  static LaunchShape shape(const DoubleMatrix& p) {
    return {ceil_div(p.rows, p.range_rows) * ceil_div(p.chains, Chains), threads,
            double_matrix_shared_bytes(p.features, p.chains, p.buffers), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const DoubleMatrix& p) {
    const auto d = static_cast<unsigned>(p.features);
    const std::size_t all_tiles = ceil_div(p.chains, Chains);
    // Neighboring blocks share a range, so its rows are in L2 for the second tile of chains.
    const std::size_t range = block.block() / all_tiles;
    const std::size_t first_chain = block.block() % all_tiles * Chains;
    const std::size_t first_row = range * p.range_rows;
    const auto range_rows = static_cast<unsigned>(
        first_row + p.range_rows < p.rows ? p.range_rows : p.rows - first_row);
    const unsigned tiles = (range_rows + rows - 1) / rows;
    const unsigned lane = block.lane(), warp = block.warp();
    const unsigned g = lane / 4, t = lane % 4;

    const unsigned stride = double_matrix_stride(d), stride_theta = double_matrix_theta_stride(d);
    auto theta = block.template shared<double>(std::size_t{Chains} * stride_theta);
    auto all_z = block.template shared<double>(std::size_t{warps} * rows * stride_z);
    auto z = all_z + warp * rows * stride_z;  // [rows x stride_z]: first Z, then R
    const unsigned tile_size = double_matrix_tile(d);
    auto x = block.template shared<float>(std::size_t{warps} * p.buffers * tile_size) +
             warp * p.buffers * tile_size;  // [buffers x tile_size]

    const auto load = [&](unsigned tile, auto to) {
      if (tile < tiles) load_rows(block, p, first_row + tile * rows, here(range_rows, tile), to);
      block.commit();
    };
    const auto label_of = [&](unsigned tile) {  // of row lane % 16
      const unsigned i = tile * rows + lane % rows;
      return i < range_rows ? p.y[first_row + i] : 1.0f;
    };

    for (unsigned b = 0; b < p.buffers; ++b) fill_between(d, lane, x + b * tile_size);
    load(warp, x);
    float label = label_of(warp);
    load_theta(block, p, first_chain, theta);
    double sums[feature_tiles][chain_tiles][4];
    GIBBSITE_UNROLL
    for (unsigned m = 0; m < feature_tiles; ++m) {
      GIBBSITE_UNROLL
      for (unsigned n = 0; n < chain_tiles; ++n) {
        GIBBSITE_UNROLL
        for (unsigned r = 0; r < 4; ++r) sums[m][n][r] = 0;
      }
    }
    block.sync();

    const Loss loss = Loss::at(p.loss);
    unsigned buffer = 0;
    for (unsigned tile = warp; tile < tiles; tile += warps) {
      auto at = x + buffer * tile_size;
      if (p.buffers == 2) {
        buffer ^= 1;
        load(tile + warps, x + buffer * tile_size);
        block.template wait<1>();
      } else {
        block.template wait<0>();
      }
      block.sync_warp();
      const float next_label = label_of(tile + warps);

      first_product(block, d, at + g * stride + t, 8 * stride, theta + g * stride_theta + t,
                    8 * stride_theta, z);
      block.sync_warp();
      derivatives(block, loss, here(range_rows, tile), label, z);
      second_product(block, d, stride, at, z, sums);
      block.sync_warp();
      if (p.buffers == 1) load(tile + warps, x);
      label = next_label;
    }
    block.template wait<0>();

    // The warps' sums, 16 features at a time, in the place of Z.
    const std::size_t left = p.chains - first_chain;
    const std::size_t to = (range * p.chains + first_chain) * p.features;
    GIBBSITE_UNROLL
    for (unsigned m = 0; m < feature_tiles; ++m) {
      if (16 * m >= d) break;
      block.sync();
      put(lane, sums[m], z);
      block.sync();
      const unsigned c = block.thread() / 16, j = block.thread() % 16;
      if (c < Chains && c < left && 16 * m + j < d) {
        double sum = 0;
        GIBBSITE_UNROLL
        for (unsigned w = 0; w < warps; ++w) sum += all_z[(w * rows + j) * stride_z + c];
        p.partials[to + c * d + 16 * m + j] = sum;
      }
    }
  }

 private:
  GIBBSITE_HD static unsigned here(unsigned range_rows, unsigned tile) {
    return (tile + 1) * rows < range_rows ? rows : range_rows - tile * rows;
  }

  // Row of element t of the f-th operand of the second product: any order of 16 rows would do; this
  // one has no bank conflicts.
  GIBBSITE_HD static constexpr unsigned row_of(unsigned f, unsigned t) {
    return f / 2 * 8 + 2 * t + f % 2;
  }

  // Registers of accumulators, to [16 x stride_z].
  template <class Shared>
  GIBBSITE_HD static void put(unsigned lane, const double (&d)[chain_tiles][4], Shared to) {
    GIBBSITE_UNROLL
    for (unsigned n = 0; n < chain_tiles; ++n) {
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < 4; ++r) {
        to[double_d_row(lane, r) * stride_z + 8 * n + double_d_column(lane, r)] = d[n][r];
      }
    }
  }

  // The thetas of the tile; chains past C and features past d are 0.
  template <class Block, class Shared>
  GIBBSITE_HD static void load_theta(Block& block, const DoubleMatrix& p, std::size_t first_chain,
                                     Shared theta) {
    const auto d = static_cast<unsigned>(p.features);
    const unsigned stride = double_matrix_theta_stride(d);
    for (unsigned c = block.warp(); c < Chains; c += warps) {
      for (unsigned j = block.lane(); j < stride; j += warp_size) {
        theta[c * stride + j] =
            first_chain + c < p.chains && j < d ? p.theta[(first_chain + c) * p.features + j] : 0.0;
      }
    }
  }

  // Zeros where no copy comes: between the rows and after them.
  template <class Shared>
  GIBBSITE_HD static void fill_between(unsigned d, unsigned lane, Shared to) {
    const unsigned stride = double_matrix_stride(d);
    for (unsigned i = lane; i < rows * (stride - d); i += warp_size) {
      to[i / (stride - d) * stride + d + i % (stride - d)] = 0.0f;
    }
    if (lane < 16) to[rows * stride + lane] = 0.0f;
  }

  // Asynchronous, by a warp: rows [row, row + count) and zeros after them.
  template <class Block, class Shared>
  GIBBSITE_HD static void load_rows(Block& block, const DoubleMatrix& p, std::size_t row,
                                    unsigned count, Shared to) {
    const auto d = static_cast<unsigned>(p.features);
    const unsigned stride = double_matrix_stride(d), floats = count * d;
    const std::size_t from = row * p.features;
    if (stride != d) {
      const unsigned quads = d / 4, across = warp_size % quads * 4, down = warp_size / quads;
      unsigned i = block.lane() / quads, k = block.lane() % quads * 4;
      while (i < count) {
        block.copy_async(to, i * stride + k, p.x, from + i * d + k);
        i += down;
        k += across;
        if (k >= d) ++i, k -= d;
      }
      for (unsigned k0 = count * stride + block.lane(); k0 < rows * stride; k0 += warp_size) {
        if (k0 % stride < d) to[k0] = 0.0f;
      }
    } else {
      for (unsigned k = block.lane() * 4; k < floats; k += warp_size * 4) {
        block.copy_async(to, k, p.x, from + k);
      }
      for (unsigned k = (floats + 3) / 4 * 4 + block.lane(); k < rows * d; k += warp_size) {
        to[k] = 0.0f;
      }
    }
  }

  // Z = X Theta^T of the warp's rows, features in their order. `x` and `theta` are at the lane's
  // element of the first operands; 8 rows and 8 chains further lie the others.
  template <class Block, class Tile, class Thetas>
  GIBBSITE_HD static void first_product(Block& block, unsigned d, Tile x, unsigned x_8,
                                        Thetas theta, unsigned theta_8, Thetas z) {
    double logits[chain_tiles][4];
    GIBBSITE_UNROLL
    for (unsigned n = 0; n < chain_tiles; ++n) {
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < 4; ++r) logits[n][r] = 0;
    }
    for (unsigned k = 0; k < d; k += double_inner) {
      const double a[2] = {static_cast<double>(x[k]), static_cast<double>(x[x_8 + k])};
      GIBBSITE_UNROLL
      for (unsigned n = 0; n < chain_tiles; ++n) {
        multiply_double(block, logits[n], a, theta[n * theta_8 + k]);
      }
    }
    put(block.lane(), logits, z);
  }

  // Z to R, each lane what it then multiplies by; 0 for rows that are not there.
  template <class Block, class Shared>
  GIBBSITE_HD static void derivatives(Block& block, const Loss& loss, unsigned count, float label,
                                      Shared z) {
    const unsigned g = block.lane() / 4, t = block.lane() % 4;
    float y[4];
    GIBBSITE_UNROLL
    for (unsigned f = 0; f < 4; ++f) y[f] = block.shuffle(label, row_of(f, t));
    for (unsigned c = g; c < Chains; c += 8) {
      GIBBSITE_UNROLL
      for (unsigned f = 0; f < 4; ++f) {
        const unsigned row = row_of(f, t), at = row * stride_z + c;
        z[at] = row < count ? loss.derivative(static_cast<double>(z[at]), static_cast<double>(y[f]))
                            : 0.0;
      }
    }
  }

  // G^T[feature, chain] += X^T R, tiles of 16 features by two: their sums do not wait for each
  // other.
  template <class Block, class Tile, class Slopes>
  GIBBSITE_HD static void second_product(Block& block, unsigned d, unsigned stride, Tile x,
                                         Slopes z, double (&sums)[feature_tiles][chain_tiles][4]) {
    const unsigned g = block.lane() / 4, t = block.lane() % 4;
    double r[4][chain_tiles];
    GIBBSITE_UNROLL
    for (unsigned f = 0; f < 4; ++f) {
      GIBBSITE_UNROLL
      for (unsigned n = 0; n < chain_tiles; ++n) r[f][n] = z[row_of(f, t) * stride_z + 8 * n + g];
    }
    const auto of_tiles = [&]<unsigned Count>(unsigned m0) {
      GIBBSITE_UNROLL
      for (unsigned f = 0; f < 4; ++f) {
        auto row = x + row_of(f, t) * stride + g;
        GIBBSITE_UNROLL
        for (unsigned m = m0; m < m0 + Count; ++m) {
          const double a[2] = {static_cast<double>(row[16 * m]),
                               static_cast<double>(row[16 * m + 8])};
          GIBBSITE_UNROLL
          for (unsigned n = 0; n < chain_tiles; ++n) {
            multiply_double(block, sums[m][n], a, r[f][n]);
          }
        }
      }
    };
    GIBBSITE_UNROLL
    for (unsigned m = 0; m < feature_tiles; m += 2) {
      if (16 * m + 16 < d) {
        of_tiles.template operator()<2>(m);
      } else if (16 * m < d) {
        of_tiles.template operator()<1>(m);
      }
    }
  }
};

template <class Visit>
void with_body(const DoubleMatrix& p, Visit&& visit) {
  with_logistic(p.loss, [&]<class Loss>() {
    const auto of_width = [&]<unsigned Width>() {
      if constexpr (Width <= 128) {
        if (double_matrix_chains(p.features, p.chains) == 16) {
          return visit.template operator()<DoubleMatrixBody<Loss, Width, 16>>();
        }
      }
      visit.template operator()<DoubleMatrixBody<Loss, Width, 8>>();
    };
    switch (double_matrix_width(p.features)) {
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
