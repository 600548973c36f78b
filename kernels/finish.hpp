#pragma once
// The end of a step: partial gradients are summed in a fixed order and every chain moves.
//
//   g[c, :] = sum over k of partials[k, c, :]
//   theta_c <- theta_c - h (beta g + m (theta_c - center_c)) + sqrt(2h) xi(key, stream, step)
//
// or, when a gradient is asked for, g alone. A block does 64 features of one chain, or 8 where so
// few chains would leave most of a GPU idle: eight of its warps each add a contiguous range of the
// partials in four interleaved sums (loads in flight, and a short longest path), a ninth draws the
// step's noise meanwhile, and one lane finishes a pair of coordinates. Of 8 features the four sums
// are four lanes'. The order is the same, and so are the bits.
//
// Traffic: count * C * d doubles (or floats) in, C * d doubles in and out. With few chains a step
// waits for ceil(count / 256) loads one after the other instead of ceil(count / 32).
#include "kernels/block.hpp"
#include "kernels/chain.hpp"

namespace gibbsite::kernels {

struct Finish {
  View<const double> partials;        ///< [count x C x d]; empty where they are floats
  View<const float> partials_single;  ///< [count x C x d]; empty where they are doubles
  std::size_t count = 0, chains = 0, features = 0;
  View<double> gradient;            ///< [C x d]: written, and the chains rest; or empty
  View<double> theta;               ///< [C x d]: moved
  View<const Chain> chain;          ///< [C]
  View<const double> centers;       ///< [C x d]; empty: all 0
  View<const std::uint64_t> clock;  ///< [1] steps done since the chains were uploaded
  View<const double> normals;       ///< [C x d] noise made elsewhere (uncertified); or empty
};

/// Additions on the longest path of `count` partials: 4 sums in each of 8 warps, then 2, then 8.
constexpr std::size_t finish_depth(std::size_t count) { return ceil_div(count, 32) + 1 + 2 + 8; }

/// Most blocks of 8 features: as many as an H100 holds at once.
inline constexpr std::size_t finish_narrow_blocks = 7 * 132;

template <unsigned Tile>
struct FinishBody {
  using Params = Finish;
  static constexpr unsigned warps = 8, threads = (warps + 1) * warp_size;
  static constexpr unsigned across = Tile < warp_size ? Tile : warp_size;  // lanes side by side
  static constexpr unsigned columns = Tile / across, sums_of_a_lane = 4 * across / warp_size;
  static constexpr unsigned ahead = 8 / (columns * sums_of_a_lane);  // loads of a sum in flight
  static_assert(sums_of_a_lane == 1 || across == warp_size);

  static LaunchShape shape(const Finish& p) {
    return {p.chains * ceil_div(p.features, Tile), threads,
            warps * Tile * sizeof(double) + round_up_to(Tile * sizeof(double), 128), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Finish& p) {
    const std::size_t d = p.features, tiles = ceil_div(d, Tile);
    const std::size_t c = block.block() / tiles, first = block.block() % tiles * Tile;
    const unsigned lane = block.lane(), warp = block.warp();
    auto sums = block.template shared<double>(warps * Tile);  // [warps x Tile]
    auto normals = block.template shared<double>(Tile);
    const std::size_t j = first + 2 * lane;  // of the pair that a lane draws or moves
    const bool pair = 2 * lane < Tile && j < d;
    if (warp < warps) {
      p.partials.size != 0 ? add(block, p, p.partials, c, first, sums)
                           : add(block, p, p.partials_single, c, first, sums);
    } else if (pair && moves(p, c)) {
      const NormalPair xi = noise(p, c, j);
      normals[2 * lane] = xi.first;
      normals[2 * lane + 1] = xi.second;
    }
    block.sync();
    if (warp != 0 || !pair) return;

    const unsigned here = j + 1 < d ? 2 : 1;
    for (unsigned k = 0; k < here; ++k) {
      double g = 0;
      for (unsigned w = 0; w < warps; ++w) g += sums[w * Tile + 2 * lane + k];
      const std::size_t at = c * d + j + k;
      if (p.gradient.size != 0) {
        p.gradient[at] = g;
      } else if (moves(p, c)) {
        const Chain& chain = p.chain[c];
        p.theta[at] = langevin_coordinate(
            p.theta[at], g, p.centers.size != 0 ? p.centers[at] : 0.0, chain.inverse_temperature,
            chain.prior_precision, chain.step_size, chain.noise_scale, normals[2 * lane + k]);
      }
    }
  }

 private:
  // sums[warp, :] = the warp's range of the partials.
  template <class Block, class Partials, class Sums>
  GIBBSITE_HD static void add(Block& block, const Finish& p, const Partials& partials,
                              std::size_t c, std::size_t first, const Sums& sums) {
    const unsigned lane = block.lane(), warp = block.warp();
    const std::size_t per_warp = ceil_div(p.count, warps), begin = warp * per_warp;
    const std::size_t end = begin + per_warp < p.count ? begin + per_warp : p.count;
    const std::size_t column = first + lane % across;
    double sum[columns][sums_of_a_lane] = {};
    for (std::size_t k = begin + lane / across; k < end; k += 4 * ahead) {
      double v[ahead][columns][sums_of_a_lane];
      each([&](unsigned a, unsigned i, unsigned q) {
        const std::size_t l = k + 4 * a + q, j = column + i * across;
        const std::size_t at = (l * p.chains + c) * p.features + j;
        v[a][i][q] = l < end && j < p.features ? static_cast<double>(partials[at]) : 0.0;
      });
      each([&](unsigned a, unsigned i, unsigned q) { sum[i][q] += v[a][i][q]; });
    }
    GIBBSITE_UNROLL
    for (unsigned i = 0; i < columns; ++i) {
      double total = sum[i][0];
      if constexpr (sums_of_a_lane == 4) {
        total = (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
      } else {
        total += block.shuffle_xor(total, across);
        total += block.shuffle_xor(total, 2 * across);
      }
      if (lane < across) sums[warp * Tile + lane + i * across] = total;
    }
  }
  template <class Take>
  GIBBSITE_HD static void each(Take&& take) {
    GIBBSITE_UNROLL
    for (unsigned a = 0; a < ahead; ++a) {
      GIBBSITE_UNROLL
      for (unsigned i = 0; i < columns; ++i) {
        GIBBSITE_UNROLL
        for (unsigned q = 0; q < sums_of_a_lane; ++q) take(a, i, q);
      }
    }
  }

  // A step is asked for, and the chain has not done its last one: then it rests.
  GIBBSITE_HD static bool moves(const Finish& p, std::size_t c) {
    return p.gradient.size == 0 && p.chain[c].step + p.clock[0] < p.chain[c].iterations;
  }
  // Noise of coordinates j and j + 1, j even.
  GIBBSITE_HD static NormalPair noise(const Finish& p, std::size_t c, std::size_t j) {
    const std::size_t at = c * p.features + j;
    if (p.normals.size != 0) return {p.normals[at], j + 1 < p.features ? p.normals[at + 1] : 0.0};
    const Chain& chain = p.chain[c];
    return chain_normals(chain, chain.step + p.clock[0], static_cast<std::uint32_t>(j / 2));
  }
};

/// clock += 1, after every chain has moved: a kernel of its own, so that a captured step can be
/// replayed and no block reads the clock while another writes it.
struct Tick {
  View<std::uint64_t> clock;  ///< [1]
};

struct TickBody {
  using Params = Tick;
  static constexpr unsigned threads = 32;
  static LaunchShape shape(const Tick&) { return {1, threads, 0, false}; }
  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Tick& p) {
    if (block.thread() == 0) p.clock[0] += 1;
  }
};

template <class Visit>
void with_body(const Finish& p, Visit&& visit) {
  if (p.chains * ceil_div(p.features, 8) <= finish_narrow_blocks) {
    visit.template operator()<FinishBody<8>>();
  } else {
    visit.template operator()<FinishBody<64>>();
  }
}
template <class Visit>
void with_body(const Tick&, Visit&& visit) {
  visit.template operator()<TickBody>();
}

}  // namespace gibbsite::kernels
