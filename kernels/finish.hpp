#pragma once
// The end of a step: partial gradients are summed in a fixed order and every chain moves.
//
//   g[c, :] = sum over k of partials[k, c, :]
//   theta_c <- theta_c - h (beta g + m (theta_c - center_c)) + sqrt(2h) xi(key, stream, step)
//
// or, when a gradient is asked for, g alone. A block does 64 features of one chain: its eight warps
// each add a contiguous range of the partials in four interleaved sums (loads in flight, and a
// short longest path), and one lane finishes a pair of coordinates, which share their noise words.
//
// Traffic: count * C * d doubles (or floats) in, C * d doubles in and out.
#include "kernels/block.hpp"
#include "kernels/chain.hpp"

namespace gibbsite::kernels {

struct Finish {
  View<const double> partials;        ///< [count x C x d], or
  View<const float> partials_single;  ///< the same in float; one of the two is empty
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

struct FinishBody {
  using Params = Finish;
  static constexpr unsigned threads = 256, warps = threads / warp_size, tile = 2 * warp_size;

  static LaunchShape shape(const Finish& p) {
    return {p.chains * ceil_div(p.features, tile), threads, warps * tile * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Finish& p) {
    const std::size_t d = p.features, tiles = ceil_div(d, tile);
    const std::size_t c = block.block() / tiles, first = block.block() % tiles * tile;
    const unsigned lane = block.lane(), warp = block.warp();

    const std::size_t per_warp = ceil_div(p.count, warps);
    const std::size_t begin = warp * per_warp;
    const std::size_t end = begin + per_warp < p.count ? begin + per_warp : p.count;
    double low[4] = {}, high[4] = {};  // columns first + lane and first + 32 + lane
    for (std::size_t k = begin; k < end; k += 4) {
      GIBBSITE_UNROLL
      for (unsigned q = 0; q < 4; ++q) {
        const std::size_t at = ((k + q) * p.chains + c) * d + first + lane;
        if (k + q < end && first + lane < d) low[q] += partial(p, at);
        if (k + q < end && first + lane + warp_size < d) high[q] += partial(p, at + warp_size);
      }
    }
    auto sums = block.template shared<double>(warps * tile);  // [warps x tile]
    sums[warp * tile + lane] = (low[0] + low[1]) + (low[2] + low[3]);
    sums[warp * tile + lane + warp_size] = (high[0] + high[1]) + (high[2] + high[3]);
    block.sync();
    if (warp != 0 || first + 2 * lane >= d) return;

    double g[2] = {0, 0};
    for (unsigned w = 0; w < warps; ++w) {
      g[0] += sums[w * tile + 2 * lane];
      g[1] += sums[w * tile + 2 * lane + 1];
    }
    const std::size_t j = first + 2 * lane, at = c * d + j;
    const unsigned here = j + 1 < d ? 2 : 1;
    if (p.gradient.size != 0) {
      p.gradient[at] = g[0];
      if (here == 2) p.gradient[at + 1] = g[1];
      return;
    }
    move_pair(p, c, j, here, g);
  }

  // One step of coordinates j and, if here = 2, j + 1 (j even) of chain c, given the loss gradient.
  GIBBSITE_HD static void move_pair(const Finish& p, std::size_t c, std::size_t j, unsigned here,
                                    const double* g) {
    const Chain& chain = p.chain[c];
    const std::uint64_t step = chain.step + p.clock[0];
    if (step >= chain.iterations) return;  // a finished chain rests
    const std::size_t at = c * p.features + j;
    NormalPair xi;
    if (p.normals.size != 0) {
      xi = {p.normals[at], here == 2 ? p.normals[at + 1] : 0.0};
    } else {
      xi = chain_normals(chain, step, static_cast<std::uint32_t>(j / 2));
    }
    GIBBSITE_UNROLL
    for (unsigned k = 0; k < 2; ++k) {
      if (k >= here) break;
      p.theta[at + k] =
          langevin_coordinate(p.theta[at + k], g[k], p.centers.size != 0 ? p.centers[at + k] : 0.0,
                              chain.inverse_temperature, chain.prior_precision, chain.step_size,
                              chain.noise_scale, k == 0 ? xi.first : xi.second);
    }
  }

 private:
  GIBBSITE_HD static double partial(const Finish& p, std::size_t at) {
    return p.partials.size != 0 ? p.partials[at] : static_cast<double>(p.partials_single[at]);
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
void with_body(const Finish&, Visit&& visit) {
  visit.template operator()<FinishBody>();
}
template <class Visit>
void with_body(const Tick&, Visit&& visit) {
  visit.template operator()<TickBody>();
}

}  // namespace gibbsite::kernels
