#pragma once
// Design B: rows that stay close to the multiprocessors, few chains: one launch makes all steps.
//
//   partials[leaf, c, :] = sum over the leaf's rows of f'(x_i . theta_c, y_i) x_i
//                                                                   -- barrier of the grid --
//   theta_c <- theta_c - h (beta sum over leaves of partials[:, c, :] + m (theta_c - center_c))
//              + sqrt(2h) xi(key, stream, step)
//                                                                   -- barrier of the grid --
//
// Leaves are dealt to the blocks in turn (kernels/leaf_gradient.hpp); then a block sums and moves
// tiles of 8 coordinates of one chain, 32 threads a coordinate, each over every 32nd leaf. Both
// orders are fixed by rows alone. The step's noise is drawn between arriving at the first barrier
// and waiting at it, so it hides behind the slowest block.
//
// A step costs: two barriers (about 1.3 us each on an H100); X once from L2, n d floats;
// leaves * C * d doubles of partials written to L2 and read from it; the work of design C, 30
// cycles a row, chain and scheduler in double; the sums over leaves, about 0.5 us. With 32561 rows
// of 108 floats and one chain: 2.6 + 14 MB / 5.5 TB/s + 0.5, 5 to 6 us.
//
// Every value that another block wrote is read by a plain load after a barrier, which drops stale
// lines of L1. Never by a load through the read-only path (__ldg, const __restrict__): it may be
// stale.
#include "kernels/chain.hpp"
#include "kernels/leaf_gradient.hpp"

namespace gibbsite::kernels {

struct Cooperative {
  View<const float> x;              ///< [rows x d] row-major
  View<const float> y;              ///< [rows]
  View<double> theta;               ///< [C x d]: moved
  View<const double> centers;       ///< [C x d]
  View<const Chain> chain;          ///< [C]
  View<const std::uint64_t> clock;  ///< [1] steps done since the chains were uploaded
  View<double> partials;            ///< [leaves x C x d] scratch
  unsigned rows = 0, features = 0, chains = 0;
  unsigned leaf_rows = 0, leaves = 0;  ///< leaves = ceil(rows / leaf_rows)
  std::uint64_t first = 0;             ///< of the steps [first, first + steps) since the clock
  unsigned steps = 0;
  unsigned blocks = 1;  ///< of the grid: at most what the GPU holds at once, and `leaves`
  unsigned loss = 0;    ///< place in the list of losses
  bool single = false;  ///< float arithmetic; else double
};

/// Most chains that design B takes.
inline constexpr std::size_t cooperative_most_chains = 8;

/// Most steps of one launch: some 30 ms on an H100, so that a GPU that also drives a display, or a
/// user, can interrupt.
constexpr std::uint64_t cooperative_most_steps(std::size_t rows, std::size_t features,
                                               std::size_t chains) {
  constexpr std::uint64_t cells_of_launch = std::uint64_t{1} << 33, fewest = std::uint64_t{1} << 22;
  const std::uint64_t cells = std::uint64_t{rows} * features * chains;
  const std::uint64_t steps = cells_of_launch / (cells < fewest ? fewest : cells);
  return steps < 1 ? 1 : steps;
}

/// Most additions between a row's term and a gradient, for leaves of `leaf_rows` rows.
constexpr std::size_t cooperative_depth(std::size_t rows, std::size_t leaf_rows,
                                        std::size_t features) {
  const std::size_t leaves = ceil_div(rows, leaf_rows);
  return leaf_depth(rows < leaf_rows ? rows : leaf_rows, features) + ceil_div(leaves, 32) + 2 + 8;
}

template <class Leaf>
struct CooperativeBody {
  using Params = Cooperative;
  using Real = typename Leaf::Real;
  static constexpr unsigned threads = Leaf::threads, warps = threads / warp_size;
  // Two blocks hide each other's latencies; they fit where theta, g, eight rows and their logits
  // leave room in 128 registers.
  static constexpr unsigned blocks_per_multiprocessor =
      (2 * Leaf::chains * Leaf::columns + 8 * Leaf::columns + 8) * sizeof(Real) <=
              (sizeof(Real) == 8 ? 312 : 384)
          ? 2
          : 1;
  static constexpr unsigned tile = 8;  // coordinates summed by a block at a time
  static constexpr unsigned leaf_lanes = threads / tile;
  static constexpr unsigned loads_at_once = 8;

  static LaunchShape shape(const Cooperative& p) {
    return {p.blocks, threads,
            round_up_to(Leaf::sums * sizeof(Real), 128) + warps * tile * sizeof(double) +
                round_up_to(tiles_of_a_block(p, p.blocks) * tile * sizeof(double), 128),
            true};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Cooperative& p) {
    auto sums = block.template shared<Real>(Leaf::sums);
    auto totals = block.template shared<double>(warps * tile);  // [warps x tile]
    auto normals = block.template shared<double>(               // [tiles of this block x tile]
        tiles_of_a_block(p, static_cast<unsigned>(block.blocks())) * tile);
    for (unsigned k = 0; k < p.steps; ++k) {
      sum_leaves(block, p, sums);
      block.arrive_grid();
      draw_normals(block, p, k, normals);
      block.wait_grid();
      move(block, p, k, totals, normals);
      if (k + 1 < p.steps) block.sync_grid();
    }
  }

 private:
  // Tile t is block t mod blocks' slot t / blocks: the coordinates [first, first + tile) of a
  // chain.
  struct Tile {
    unsigned chain, first;
  };
  GIBBSITE_HD static unsigned tiles_of_a_chain(const Cooperative& p) {
    return (p.features + tile - 1) / tile;
  }
  GIBBSITE_HD static unsigned tiles_of_a_block(const Cooperative& p, unsigned blocks) {  // most
    return (p.chains * tiles_of_a_chain(p) + blocks - 1) / blocks;
  }
  template <class Block>
  GIBBSITE_HD static Tile tile_at(Block& block, const Cooperative& p, unsigned slot) {
    const auto t = static_cast<unsigned>(block.block() + slot * block.blocks());
    return {t / tiles_of_a_chain(p), t % tiles_of_a_chain(p) * tile};
  }

  template <class Block, class Sums>
  GIBBSITE_HD static void sum_leaves(Block& block, const Cooperative& p, const Sums& sums) {
    const unsigned d = p.features;
    for (unsigned first = 0; first < p.chains; first += Leaf::chains) {
      const unsigned here = first + Leaf::chains < p.chains ? Leaf::chains : p.chains - first;
      typename Leaf::Theta theta;
      Leaf::load_theta(block, p.theta, first, p.chains, d, theta);
      for (auto leaf = static_cast<unsigned>(block.block()); leaf < p.leaves;
           leaf += static_cast<unsigned>(block.blocks())) {
        const unsigned row = leaf * p.leaf_rows;
        const unsigned rows = leaf + 1 < p.leaves ? p.leaf_rows : p.rows - row;
        Leaf::run(block, p.x.part(std::size_t{row} * d, std::size_t{p.rows - row} * d),
                  p.y.part(row, rows), rows, d, theta, here, sums,
                  p.partials.part((std::size_t{leaf} * p.chains + first) * d, here * d),
                  typename Leaf::Slope{Leaf::Loss::at(p.loss)});
      }
    }
  }

  // normals[slot, i] = xi of coordinate first + i, a pair of coordinates a thread.
  template <class Block, class Normals>
  GIBBSITE_HD static void draw_normals(Block& block, const Cooperative& p, unsigned k,
                                       const Normals& normals) {
    for (unsigned i = block.thread();; i += threads) {
      const Tile at = tile_at(block, p, i / (tile / 2));
      if (at.chain >= p.chains) return;
      const Chain& chain = p.chain[at.chain];
      const unsigned pair = at.first / 2 + i % (tile / 2);
      const NormalPair xi = chain_normals(chain, chain.step + p.clock[0] + p.first + k, pair);
      normals[2 * i] = xi.first;
      normals[2 * i + 1] = xi.second;
    }
  }

  template <class Block, class Totals, class Normals>
  GIBBSITE_HD static void move(Block& block, const Cooperative& p, unsigned k, const Totals& totals,
                               const Normals& normals) {
    const unsigned column = block.thread() % tile, lane = block.thread() / tile;
    for (unsigned slot = 0;; ++slot) {
      const Tile at = tile_at(block, p, slot);
      if (at.chain >= p.chains) return;
      const unsigned j = at.first + column;
      const bool there = j < p.features;
      const std::size_t cell = std::size_t{at.chain} * p.features + j;
      double sum = 0;
      for (unsigned leaf = lane; leaf < p.leaves; leaf += loads_at_once * leaf_lanes) {
        double v[loads_at_once];
        GIBBSITE_UNROLL
        for (unsigned i = 0; i < loads_at_once; ++i) {
          const unsigned l = leaf + i * leaf_lanes;
          const std::size_t leaf_cells = std::size_t{p.chains} * p.features;
          v[i] = there && l < p.leaves ? p.partials[l * leaf_cells + cell] : 0.0;
        }
        GIBBSITE_UNROLL
        for (unsigned i = 0; i < loads_at_once; ++i) sum += v[i];
      }
      GIBBSITE_UNROLL
      for (unsigned mask = tile; mask < warp_size; mask *= 2) sum += block.shuffle_xor(sum, mask);
      if (block.lane() < tile) totals[block.warp() * tile + column] = sum;
      block.sync();
      const Chain& chain = p.chain[at.chain];
      if (block.thread() < tile && there &&
          chain.step + p.clock[0] + p.first + k < chain.iterations) {
        double gradient = 0;
        for (unsigned w = 0; w < warps; ++w) gradient += totals[w * tile + column];
        p.theta[cell] =
            langevin_coordinate(p.theta[cell], gradient, p.centers[cell], chain.inverse_temperature,
                                chain.prior_precision, chain.step_size, chain.noise_scale,
                                normals[slot * tile + column]);
      }
      block.sync();
    }
  }
};

template <class Visit>
void with_body(const Cooperative& p, Visit&& visit) {
  with_logistic(p.loss, [&]<class Loss>() {
    with_leaf_gradient<Loss, true>(p.single, p.features, p.chains, [&]<class Leaf>() {
      visit.template operator()<CooperativeBody<Leaf>>();
    });
  });
}

/// Shared memory of one block of that grid, in bytes.
inline std::size_t cooperative_shared_bytes(const Cooperative& p) {
  std::size_t bytes = 0;
  with_body(p, [&]<class Body>() { bytes = Body::shape(p).shared_bytes; });
  return bytes;
}

}  // namespace gibbsite::kernels
