#pragma once
// Design E: many chains on Hopper's BF16 matrix instructions, X read once, residuals in registers.
//
//   Z[chain, row]  = (theta_chain - reference) . x_row                     BF16 product, float sums
//   R[chain, row]  = f'(Z + reference . x_row, y_row)                      float, in registers
//   partials[range, chain, :] = sum over the range's rows of R x_row       BF16 product, float sums
//
// In float an operand is the sum of two BF16 and a product three (matrix_unit.hpp): X and theta lie
// as matrices of twice the columns, R is split in registers.
//
// The structure is attention's, with the residual in place of the softmax: a block keeps 128 chains
// (two warp groups of 64) and walks over a range of rows. A tile of X comes in by one bulk copy and
// is used twice, as it lies: K-major in the first product, MN-major in the second
// (matrix_unit.hpp). The accumulator of the first is, packed to BF16, the A operand of the second.
// A producer keeps four tiles under way; while one group takes exps the other has the matrix units.
//
// BF16 has 8 significant bits, a pair 17, so chains are taken relative to a reference near all of
// them, whose logits are exact to a float: what is rounded is X, theta - reference and R.
//
// Work: 4 n d C flops of matrix instructions (d padded to 16; of pairs 12 n d C), n C residuals of
// about 10 instructions: matrix units bind above d of about 150, of pairs of about 45, the
// residuals below. Traffic: 2 n d bytes of X from L2 per 128 chains, of pairs 4 n d, and 4 n d from
// memory whenever the reference moves (see CenterReference).
#include <cmath>

#include "kernels/block.hpp"
#include "kernels/losses.hpp"
#include "kernels/matrix_unit.hpp"

namespace gibbsite::kernels {

/// Most features, by parts of a float: 1 in BF16, 2 in float.
constexpr std::size_t warp_group_most_features(unsigned parts) { return 256 / parts; }
/// Rows are packed and cut in multiples of this; chains in tiles of this.
inline constexpr std::size_t warp_group_rows = 128, warp_group_chains = 128;
/// A float sum runs over at most this many rows.
inline constexpr std::size_t warp_group_most_range = 8192;

/// Features with padding.
constexpr std::size_t warp_group_width(std::size_t features) {
  return round_up_to(features, matrix_inner);
}

/// Rows of a block's range; a multiprocessor holds one block.
constexpr std::size_t warp_group_range(std::size_t rows, std::size_t chains) {
  return even_range(rows, ceil_div(chains, warp_group_chains), 1, warp_group_most_range,
                    warp_group_rows);
}

// ---- once: X to BF16 in the order of the tiles ----

/// A row is its features, or the upper parts of all and then the lower ones. Also writes labels,
/// and the reference 0 with its logits 0. Rows beyond the last are zeros with the label 1: their
/// residual is finite and their gradient 0.
struct PackRows {
  View<const float> x;     ///< [rows x d] row-major
  View<const float> y;     ///< [rows]
  View<Line> packed;       ///< [padded rows x parts * width], by packed_line
  View<RowLogit> logits;   ///< [padded rows]
  View<double> reference;  ///< [width]
  std::size_t rows = 0, features = 0, width = 0;
  unsigned parts = 1;  ///< BF16 of a float
};

struct PackRowsBody {
  using Params = PackRows;
  static constexpr unsigned threads = 256;

  static LaunchShape shape(const PackRows& p) {
    return {ceil_div(p.packed.size, threads), threads, 0, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const PackRows& p) {
    const std::size_t at = block.block() * threads + block.thread();
    if (at >= p.packed.size) return;
    if (at < p.width) p.reference[at] = 0;
    const std::size_t core = at / 8, groups = p.width / 8 * p.parts;
    const std::size_t row = core / groups * 8 + at % 8, group = core % groups;
    const auto part = static_cast<unsigned>(group / (p.width / 8));
    Line line;
    GIBBSITE_UNROLL
    for (unsigned k = 0; k < 8; ++k) {
      const std::size_t j = 8 * group + k - part * p.width;
      const bool there = row < p.rows && j < p.features;
      line.v[k] = bfloat16_part(there ? p.x[row * p.features + j] : 0.0f, part);
    }
    p.packed[at] = line;
    if (group == 0) p.logits[row] = {0.0f, row < p.rows ? p.y[row] : 1.0f};
  }
};

// ---- every step: the reference ----

/// The mean of the chains on a grid a little wider than they are spread, so that it stays where it
/// is in most steps of a stationary run and the logits at it stay too. A function of the thetas
/// alone, in integers, whatever their order: a step depends on nothing but the state of the chains.
/// Chains that are not finite are left out.
struct CenterReference {
  View<const double> theta;  ///< [C x d]
  View<double> reference;    ///< [width]
  View<unsigned> moved;      ///< [reference_blocks(d)] did a coordinate of the block's move
  std::size_t chains = 0, features = 0;
};

/// Blocks of a CenterReference.
constexpr std::size_t reference_blocks(std::size_t features) {
  return ceil_div(features, warp_size);
}

struct CenterReferenceBody {
  using Params = CenterReference;
  static constexpr unsigned threads = 1024, parts = threads / warp_size;

  static LaunchShape shape(const CenterReference& p) {
    return {reference_blocks(p.features), threads,
            threads * (sizeof(double) + 3 * sizeof(std::int64_t)) + 128, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const CenterReference& p) {
    const std::size_t j = block.block() * warp_size + block.lane();
    const bool there = j < p.features;
    auto largest = block.template shared<double>(threads);  // [parts x 32]
    auto counts = block.template shared<std::int64_t>(threads);
    auto sums = block.template shared<std::int64_t>(threads);
    auto spreads = block.template shared<std::int64_t>(threads);
    auto flags = block.template shared<unsigned>(warp_size);
    const auto each = [&](auto&& take) {
      for (std::size_t c = block.warp(); there && c < p.chains; c += parts) {
        const double value = p.theta[c * p.features + j];
        if (std::fabs(value) <= 1e300) take(value);
      }
    };

    double most = 0;
    std::int64_t count = 0;
    each([&](double value) {
      most = std::fmax(most, std::fabs(value));
      ++count;
    });
    largest[block.thread()] = most;
    counts[block.thread()] = count;
    block.sync();
    count = 0;
    for (unsigned part = 0; part < parts; ++part) {
      most = std::fmax(most, static_cast<double>(largest[part * warp_size + block.lane()]));
      count += counts[part * warp_size + block.lane()];
    }
    // |theta| < 2^exponent: in units of 2^(exponent - 40) chains are integers that add up exactly.
    int exponent = 0;
    std::frexp(most, &exponent);
    const int shift = 40 - (exponent < -900 ? -900 : exponent);
    const double scale = std::ldexp(1.0, shift);
    const auto units = [scale](double value) {
      return static_cast<std::int64_t>(std::rint(value * scale));
    };
    std::int64_t sum = 0;
    each([&](double value) { sum += units(value); });
    sums[block.thread()] = sum;
    block.sync();
    sum = 0;
    for (unsigned part = 0; part < parts; ++part) sum += sums[part * warp_size + block.lane()];
    const std::int64_t mean = count > 0 ? sum / count : 0;

    std::int64_t spread = 0;
    each([&](double value) {
      const std::int64_t apart = units(value) - mean;
      spread += apart < 0 ? -apart : apart;
    });
    spreads[block.thread()] = spread;
    block.sync();
    if (block.warp() != 0) return;
    spread = 0;
    for (unsigned part = 0; part < parts; ++part) {
      spread += spreads[part * warp_size + block.lane()];
    }
    // Smallest power of two that is twice the mean distance from the mean, or more; the grid adds
    // at most half of it to a distance.
    std::int64_t grid = 1;
    while (grid * count < 2 * spread) grid *= 2;
    const std::int64_t half = mean < 0 ? -(grid / 2) : grid / 2;
    const double center = std::ldexp(static_cast<double>((mean + half) / grid * grid), -shift);
    flags[block.lane()] = there && p.reference[j] != center ? 1 : 0;
    if (there) p.reference[j] = center;
    block.sync_warp();
    if (block.lane() != 0) return;
    unsigned any = 0;
    for (unsigned lane = 0; lane < warp_size; ++lane) any |= flags[lane];
    p.moved[block.block()] = any;
  }
};

/// logits[i].logit <- x_i . reference, summed in double from the float rows; nothing where the
/// reference did not move. Reads X once: 4 n d bytes.
struct ReferenceLogits {
  View<const float> x;           ///< [rows x d] row-major
  View<const double> reference;  ///< [width]
  View<const unsigned> moved;    ///< [reference_blocks(d)]
  View<RowLogit> logits;         ///< [padded rows]
  std::size_t rows = 0, features = 0;
};

struct ReferenceLogitsBody {
  using Params = ReferenceLogits;
  static constexpr unsigned threads = 256, warps = threads / warp_size, rows_per_warp = 8;
  static constexpr unsigned columns = warp_group_most_features(1) / warp_size;

  static LaunchShape shape(const ReferenceLogits& p) {
    return {ceil_div(p.rows, warps * rows_per_warp), threads, 0, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const ReferenceLogits& p) {
    unsigned moved = 0;
    for (std::size_t b = 0; b < p.moved.size; ++b) moved |= p.moved[b];
    if (moved == 0) return;
    double reference[columns];
    GIBBSITE_UNROLL
    for (unsigned k = 0; k < columns; ++k) {
      const std::size_t j = block.lane() + k * warp_size;
      reference[k] = j < p.features ? p.reference[j] : 0.0;
    }
    const std::size_t first = (block.block() * warps + block.warp()) * rows_per_warp;
    for (std::size_t row = first; row < first + rows_per_warp; ++row) {
      double sum = 0;
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < columns; ++k) {
        const std::size_t j = block.lane() + k * warp_size;
        if (row < p.rows && j < p.features) {
          sum += static_cast<double>(p.x[row * p.features + j]) * reference[k];
        }
      }
      GIBBSITE_UNROLL
      for (unsigned mask = warp_size / 2; mask >= 1; mask /= 2) {
        sum += block.shuffle_xor(sum, mask);
      }
      if (block.lane() == 0 && row < p.rows) p.logits[row].logit = static_cast<float>(sum);
    }
  }
};

// ---- every step: the gradients ----

/// In BF16, of 1 part, or in float, of 2.
template <unsigned Parts>
struct WarpGroupOf {
  View<const Line> x;            ///< [padded rows x Parts * width] BF16, by packed_line
  View<const RowLogit> logits;   ///< [padded rows]
  View<const double> theta;      ///< [C x d]
  View<const double> reference;  ///< [width]
  View<float> partials;          ///< [ranges x C x d]
  std::size_t rows = 0, features = 0, chains = 0;
  std::size_t range_rows = 0;  ///< a multiple of warp_group_rows
  unsigned loss = 0;           ///< place in the list of losses
};
using WarpGroup = WarpGroupOf<1>;
using WarpGroupPair = WarpGroupOf<2>;

template <class Loss, unsigned Width, unsigned Parts>
struct WarpGroupBody {
  using Params = WarpGroupOf<Parts>;
  static constexpr unsigned groups = warp_group_chains / matrix_rows;
  static constexpr unsigned threads = (groups + 1) * warp_group;  // the last group loads tiles
  static constexpr unsigned blocks_per_multiprocessor = 1;  // with more ptxas may ignore setmaxnreg
  static constexpr unsigned stages = 4;
  // 65536 registers are 168 a thread; the producers leave theirs to the others. A consumer holds
  // Width / 2 of the gradient and 3/4 tile_rows of logits and residuals; of pairs Width and
  // tile_rows.
  static constexpr unsigned producer_registers = 24, consumer_registers = 240;
  static_assert((producer_registers + groups * consumer_registers) * warp_group <= 65536);
  static constexpr unsigned columns = Parts * Width;  // of X and theta as they lie
  static constexpr unsigned tile_rows = columns <= 128 ? 128 : 64;
  static constexpr std::uint32_t tile_bytes = tile_rows * columns * 2;
  static constexpr std::uint32_t logit_bytes = tile_rows * row_logit_bytes;
  static constexpr std::uint32_t group_bytes = matrix_rows * columns * 2;  // of thetas
  // Two core matrices along the features, and along the rows: 16 of K.
  static constexpr std::uint32_t along_features = 2 * core_bytes;
  static constexpr std::uint32_t along_rows = 2 * row_group_bytes(columns);
  static constexpr std::uint32_t along_parts = row_group_bytes(Width);
  static constexpr unsigned first_of_products = Parts == 1 ? part_products - 1 : 0;
  static_assert(warp_group_rows % tile_rows == 0 && Width % matrix_inner == 0 && columns <= 256);

  static LaunchShape shape(const Params& p) {
    return {ceil_div(p.rows, p.range_rows) * ceil_div(p.chains, warp_group_chains), threads,
            2 * 128 + groups * group_bytes + stages * (tile_bytes + logit_bytes), false};
  }

  // Where things lie in shared memory.
  struct Places {
    std::uint32_t full, empty;  // barriers, one a stage
    std::uint32_t thetas, tiles, logits;
  };

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Params& p) {
    auto unit = matrix_unit(block);
    Places at;
    at.full = unit.reserve(stages * 8);
    at.empty = unit.reserve(stages * 8);
    at.thetas = unit.reserve(groups * group_bytes);
    at.tiles = unit.reserve(stages * tile_bytes);
    at.logits = unit.reserve(stages * logit_bytes);

    // Blocks of one range are neighbors: its rows are in L2 for the second tile of chains.
    const std::size_t chain_tiles = ceil_div(p.chains, warp_group_chains);
    const std::size_t range = block.block() / chain_tiles;
    const std::size_t first_chain = block.block() % chain_tiles * warp_group_chains;
    const std::size_t chains_here = p.chains - first_chain;
    const unsigned active = chains_here > matrix_rows ? groups : 1;  // groups that have chains
    const std::size_t first_row = range * p.range_rows;
    const std::size_t rows_here =
        first_row + p.range_rows < p.rows ? p.range_rows : p.rows - first_row;
    const std::size_t tiles = ceil_div(rows_here, tile_rows);

    if (block.thread() == 0) {
      for (unsigned s = 0; s < stages; ++s) {
        unit.start_barrier(at.full + 8 * s, 1);
        unit.start_barrier(at.empty + 8 * s, active * warp_group / warp_size);
      }
    }
    for (unsigned i = block.thread(); i < active * matrix_rows * (Width / 8); i += threads) {
      const unsigned m = i / (Width / 8), group = i % (Width / 8);
      Line line[Parts];
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < 8; ++k) {
        const std::size_t j = 8 * group + k;
        const bool there = m < chains_here && j < p.features;
        const float apart =
            there ? static_cast<float>(p.theta[(first_chain + m) * p.features + j] - p.reference[j])
                  : 0.0f;
        GIBBSITE_UNROLL
        for (unsigned part = 0; part < Parts; ++part) line[part].v[k] = bfloat16_part(apart, part);
      }
      GIBBSITE_UNROLL
      for (unsigned part = 0; part < Parts; ++part) {
        const std::size_t to = packed_line(m, group + part * (Width / 8), columns);
        unit.store(at.thetas + line_bytes * static_cast<std::uint32_t>(to), line[part]);
      }
    }
    unit.publish();
    block.sync();

    const unsigned group = block.thread() / warp_group;
    if (group == groups) {
      unit.template leave_registers<producer_registers>();
      if (block.thread() == groups * warp_group) produce(unit, p, at, first_row, tiles);
    } else if (group < active) {
      unit.template take_registers<consumer_registers>();
      consume(block, unit, p, at, group, range, first_chain + group * matrix_rows, tiles);
    }
  }

 private:
  template <class Unit>
  GIBBSITE_HD static void produce(Unit& unit, const Params& p, const Places& at,
                                  std::size_t first_row, std::size_t tiles) {
    for (std::size_t t = 0; t < tiles; ++t) {
      const Turn turn = turn_of(t, stages);
      const std::uint32_t full = at.full + 8 * turn.stage;
      const std::size_t row = first_row + t * tile_rows;
      unit.await(at.empty + 8 * turn.stage, turn.parity ^ 1);
      unit.expect(full, tile_bytes + logit_bytes);
      unit.copy(at.tiles + turn.stage * tile_bytes, p.x, row * (columns / 8),
                tile_rows * (columns / 8), full);
      unit.copy(at.logits + turn.stage * logit_bytes, p.logits, row, tile_rows, full);
    }
  }

  template <class Block, class Unit>
  GIBBSITE_HD static void consume(Block& block, Unit& unit, const Params& p, const Places& at,
                                  unsigned group, std::size_t range, std::size_t first_chain,
                                  std::size_t tiles) {
    const unsigned thread = block.thread() % warp_group;
    const std::uint64_t thetas =
        matrix_descriptor(at.thetas + group * group_bytes, core_bytes, row_group_bytes(columns));
    float z[tile_rows / 2];                           // [64 chains x tile_rows]
    float g[Width / 2];                               // [64 chains x Width]; of pairs a tile's
    std::uint32_t derivatives[Parts][tile_rows / 4];  // [64 chains x tile_rows] BF16
    float sums[Width / 2];                            // of all tiles
    GIBBSITE_UNROLL
    for (unsigned r = 0; r < tile_rows / 2; ++r) z[r] = 0;
    GIBBSITE_UNROLL
    for (unsigned r = 0; r < Width / 2; ++r) g[r] = 0;
    GIBBSITE_UNROLL
    for (float& sum : sums) sum = 0;

    const auto first_product = [&](unsigned stage) {
      const std::uint64_t x =
          matrix_descriptor(at.tiles + stage * tile_bytes, core_bytes, row_group_bytes(columns));
      // Small products first: what a sum loses is a part of what it is by then.
      GIBBSITE_UNROLL
      for (unsigned product = first_of_products; product < part_products; ++product) {
        const std::uint32_t a = first_part(product) * along_parts;
        const std::uint32_t b = second_part(product) * along_parts;
        GIBBSITE_UNROLL
        for (unsigned k = 0; k < Width / matrix_inner; ++k) {
          unit.template multiply_shared<tile_rows>(z, advanced(thetas, k * along_features + a),
                                                   advanced(x, k * along_features + b),
                                                   k > 0 || product > first_of_products);
        }
      }
      unit.commit();
    };
    const auto second_product = [&](unsigned stage) {
      const std::uint64_t x =
          matrix_descriptor(at.tiles + stage * tile_bytes, row_group_bytes(columns), core_bytes);
      GIBBSITE_UNROLL
      for (unsigned product = first_of_products; product < part_products; ++product) {
        const std::uint32_t b = second_part(product) * along_parts;
        GIBBSITE_UNROLL
        for (unsigned k = 0; k < tile_rows / matrix_inner; ++k) {
          unit.template multiply_fragment<Width>(g, derivatives[first_part(product)] + 4 * k,
                                                 advanced(x, k * along_rows + b),
                                                 Parts == 1 || k > 0 || product > 0);
        }
      }
      unit.commit();
    };
    // The unit cuts its sums; over a range that would cost a pair more than what it leaves out.
    const auto take_gradients = [&] {
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < Width / 2; ++r) sums[r] = Parts == 1 ? g[r] : sums[r] + g[r];
    };
    // Registers 4 q .. 4 q + 3 of z: rows n and n + 1 of the tile, chains m and m + 8.
    const auto take_derivatives = [&](unsigned stage) {
      const std::uint32_t logits = at.logits + stage * logit_bytes;
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < tile_rows / 2; r += 4) {
        const unsigned n = accumulator_column(thread, r);
        const RowLogitPair pair = unit.load_logits(logits + n * row_logit_bytes);
        GIBBSITE_UNROLL
        for (unsigned half = 0; half < 4; half += 2) {
          float first = Loss::quick_derivative(z[r + half] + pair.row[0].logit, pair.row[0].label);
          float second =
              Loss::quick_derivative(z[r + half + 1] + pair.row[1].logit, pair.row[1].label);
          GIBBSITE_UNROLL
          for (unsigned part = 0; part < Parts; ++part) {
            const std::uint32_t both = bfloat16_pair(first, second);
            derivatives[part][fragment_register(r + half)] = both;
            first -= float_of_bfloat16(static_cast<std::uint16_t>(both));
            second -= float_of_bfloat16(static_cast<std::uint16_t>(both >> 16));
          }
        }
      }
    };

    unit.pin(z);
    unit.pin(g);
    unit.await(at.full, 0);
    unit.fence();
    first_product(0);
    unit.template wait<0>(z);
    for (std::size_t t = 0; t + 1 < tiles; ++t) {
      const Turn now = turn_of(t, stages), next = turn_of(t + 1, stages);
      take_derivatives(now.stage);
      unit.await(at.full + 8 * next.stage, next.parity);
      unit.fence();
      second_product(now.stage);
      first_product(next.stage);
      unit.template wait<1>(g);
      unit.finish_loads();
      block.sync_warp();
      if (block.lane() == 0) unit.arrive(at.empty + 8 * now.stage);
      take_gradients();
      unit.template wait<0>(z);
    }
    take_derivatives(turn_of(tiles - 1, stages).stage);
    unit.fence();
    second_product(turn_of(tiles - 1, stages).stage);
    unit.template wait<0>(g);
    take_gradients();

    GIBBSITE_UNROLL
    for (unsigned r = 0; r < Width / 2; ++r) {
      const std::size_t c = first_chain + accumulator_row(thread, r);
      const unsigned j = accumulator_column(thread, r);
      if (c < p.chains && j < p.features) {
        p.partials[(range * p.chains + c) * p.features + j] = sums[r];
      }
    }
  }
};

template <class Visit>
void with_body(const PackRows&, Visit&& visit) {
  visit.template operator()<PackRowsBody>();
}
template <class Visit>
void with_body(const CenterReference&, Visit&& visit) {
  visit.template operator()<CenterReferenceBody>();
}
template <class Visit>
void with_body(const ReferenceLogits&, Visit&& visit) {
  visit.template operator()<ReferenceLogitsBody>();
}
/// A body for every multiple of 16 features.
template <unsigned Parts, class Visit>
void with_body(const WarpGroupOf<Parts>& p, Visit&& visit) {
  with_logistic(p.loss, [&]<class Loss>() {
    const auto of_width = [&]<unsigned Width>(auto&& self) {
      if (warp_group_width(p.features) == Width) {
        visit.template operator()<WarpGroupBody<Loss, Width, Parts>>();
      } else if constexpr (Width < warp_group_most_features(Parts)) {
        self.template operator()<Width + matrix_inner>(self);
      }
    };
    of_width.template operator()<matrix_inner>(of_width);
  });
}

}  // namespace gibbsite::kernels
