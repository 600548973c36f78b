#pragma once
// Design C: the loss gradient of a few chains in one pass over X, straight from memory.
//
//   partials[leaf, c, :] = sum over the leaf's rows of f'(x_i . theta_c, y_i) x_i
//
// A leaf is a block of consecutive rows; its sum does not depend on the card. `Lanes` threads hold
// one row in registers, column j in lane j mod Lanes, so a row is read once, coalesced, and serves
// the logit and the gradient. Eight rows are in flight per thread: their logits are summed over the
// lanes by a transposing butterfly that leaves each lane with one row's logit, so an exp is taken
// once per eight lanes and not once per lane.
//
// Traffic: n d floats of X once per group of `Chains` chains, leaves * C * d doubles out.
// Work: 4 n d flops a chain and, per row and chain, an exp and 17 shuffles.
// Bound by memory for Chains <= 8: on an H100, 7.8e9 rows/s of 108 floats at 3.35 TB/s leave 120
// cycles per row and scheduler; a chain costs about 30 of them in double.
#include "kernels/block.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

struct OnePass {
  View<const float> x;       ///< [rows x d] row-major
  View<const float> y;       ///< [rows]
  View<const double> theta;  ///< [C x d]
  View<double> partials;     ///< [leaves x C x d]
  std::size_t rows = 0, features = 0, chains = 0;
  std::size_t leaf_rows = 0;
  unsigned loss = 0;    ///< place in the list of losses
  bool single = false;  ///< float arithmetic; else double
};

template <class Loss, class Real, unsigned Lanes, unsigned Columns, unsigned Chains>
struct OnePassBody {
  using Params = OnePass;
  static constexpr unsigned threads = 256;
  static constexpr unsigned rows_at_once = 8;
  static constexpr unsigned groups = threads / Lanes;     // rows' lanes in the block
  static constexpr unsigned warps = threads / warp_size;  // partial sums to add at the end
  static constexpr unsigned width = Lanes * Columns;      // most features
  static_assert(Lanes >= rows_at_once && Lanes <= warp_size);

  static LaunchShape shape(const OnePass& p) {
    return {ceil_div(p.rows, p.leaf_rows) * ceil_div(p.chains, Chains), threads,
            warps * width * sizeof(Real), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const OnePass& p) {
    const std::size_t d = p.features;
    const std::size_t chain_groups = ceil_div(p.chains, Chains);
    // Neighbouring blocks share a leaf, so its rows are in L2 for the second group of chains.
    const std::size_t leaf = block.block() / chain_groups;
    const std::size_t first_chain = block.block() % chain_groups * Chains;
    const std::size_t first_row = leaf * p.leaf_rows;
    const std::size_t last_row =
        first_row + p.leaf_rows < p.rows ? first_row + p.leaf_rows : p.rows;
    const unsigned lane = block.lane() % Lanes, group = block.thread() / Lanes;
    const unsigned base_lane = block.lane() - lane;

    Real theta[Chains][Columns], g[Chains][Columns];
    GIBBSITE_UNROLL
    for (unsigned c = 0; c < Chains; ++c) {
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < Columns; ++k) {
        const std::size_t j = lane + k * Lanes;
        const bool there = j < d && first_chain + c < p.chains;
        theta[c][k] = there ? static_cast<Real>(p.theta[(first_chain + c) * d + j]) : Real{0};
        g[c][k] = 0;
      }
    }

    // Every thread takes the same number of turns: the shuffles need whole warps.
    for (std::size_t turn = first_row; turn < last_row; turn += groups * rows_at_once) {
      const std::size_t row = turn + group * rows_at_once;
      float x[rows_at_once][Columns];
      GIBBSITE_UNROLL
      for (unsigned r = 0; r < rows_at_once; ++r) {
        GIBBSITE_UNROLL
        for (unsigned k = 0; k < Columns; ++k) {
          const std::size_t j = lane + k * Lanes;
          x[r][k] = j < d && row + r < last_row ? p.x[(row + r) * d + j] : 0.0f;
        }
      }
      const std::size_t my_row = row + row_of(lane);
      const bool mine = my_row < last_row;
      const Real label = mine ? static_cast<Real>(p.y[my_row]) : Real{1};
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < Chains; ++c) {
        Real z[rows_at_once];
        GIBBSITE_UNROLL
        for (unsigned r = 0; r < rows_at_once; ++r) {
          z[r] = 0;
          GIBBSITE_UNROLL
          for (unsigned k = 0; k < Columns; ++k) z[r] += static_cast<Real>(x[r][k]) * theta[c][k];
        }
        const Real logit = sum_over_lanes(block, lane, z);
        const Real residual = mine ? Loss::residual(logit, label) : Real{0};
        GIBBSITE_UNROLL
        for (unsigned r = 0; r < rows_at_once; ++r) {
          const Real of_row = block.shuffle(residual, base_lane + lane_of(r));
          GIBBSITE_UNROLL
          for (unsigned k = 0; k < Columns; ++k) g[c][k] += of_row * static_cast<Real>(x[r][k]);
        }
      }
    }

    // Sums of the groups in a warp, of the warps through shared memory, in a fixed order.
    auto sums = block.template shared<Real>(warps * width);  // [warps x width]
    GIBBSITE_UNROLL
    for (unsigned c = 0; c < Chains; ++c) {
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < Columns; ++k) {
        Real sum = g[c][k];
        GIBBSITE_UNROLL
        for (unsigned mask = Lanes; mask < warp_size; mask *= 2) {
          sum += block.shuffle_xor(sum, mask);
        }
        if (base_lane == 0) sums[block.warp() * width + k * Lanes + lane] = sum;
      }
      block.sync();
      if (first_chain + c < p.chains) {
        for (std::size_t j = block.thread(); j < d; j += threads) {
          double total = 0;
          for (unsigned w = 0; w < warps; ++w) total += static_cast<double>(sums[w * width + j]);
          p.partials[(leaf * p.chains + first_chain + c) * d + j] = total;
        }
      }
      block.sync();
    }
  }

  // The butterfly below leaves lane l with the logit of row row_of(l): its three highest bits.
  GIBBSITE_HD static constexpr unsigned row_of(unsigned lane) { return lane / (Lanes / 8); }
  GIBBSITE_HD static constexpr unsigned lane_of(unsigned row) { return row * (Lanes / 8); }

  // z[r] summed over the lanes of the group, for the row r = row_of(lane).
  template <class Block>
  GIBBSITE_HD static Real sum_over_lanes(Block& block, unsigned lane, Real (&z)[rows_at_once]) {
    GIBBSITE_UNROLL
    for (unsigned half = 4, mask = Lanes / 2; half >= 1; half /= 2, mask /= 2) {
      const bool upper = (lane & mask) != 0;
      GIBBSITE_UNROLL
      for (unsigned i = 0; i < half; ++i) {
        const Real keep = upper ? z[i + half] : z[i];
        const Real send = upper ? z[i] : z[i + half];
        z[i] = keep + block.shuffle_xor(send, mask);
      }
    }
    Real sum = z[0];
    GIBBSITE_UNROLL
    for (unsigned mask = Lanes / 16; mask >= 1; mask /= 2) sum += block.shuffle_xor(sum, mask);
    return sum;
  }
};

/// Most features that design C takes.
inline constexpr std::size_t one_pass_most_features = 256;

/// Calls visit.operator()<Body>() for the body that fits: lanes and columns by d, chains by C, so
/// that Chains * Columns registers of theta and of g do not spill.
template <class Visit>
void with_body(const OnePass& p, Visit&& visit) {
  with_loss(p.loss, [&]<class Loss>() {
    const auto of_real = [&]<class Real>() {
      const auto of_shape = [&]<unsigned Lanes, unsigned Columns>() {
        constexpr unsigned most = Columns < 8 ? 8 : sizeof(Real) == 8 ? 2 : 4;
        if (p.chains <= 1) {
          visit.template operator()<OnePassBody<Loss, Real, Lanes, Columns, 1>>();
        } else if (p.chains <= 2 || most == 2) {
          visit.template operator()<OnePassBody<Loss, Real, Lanes, Columns, 2>>();
        } else if (p.chains <= 4 || most == 4) {
          visit.template
          operator()<OnePassBody<Loss, Real, Lanes, Columns, (most < 4 ? most : 4)>>();
        } else {
          visit.template operator()<OnePassBody<Loss, Real, Lanes, Columns, most>>();
        }
      };
      if (p.features <= 8) {
        of_shape.template operator()<8, 1>();
      } else if (p.features <= 32) {
        of_shape.template operator()<32, 1>();
      } else if (p.features <= 64) {
        of_shape.template operator()<32, 2>();
      } else if (p.features <= 128) {
        of_shape.template operator()<32, 4>();
      } else {
        of_shape.template operator()<32, 8>();
      }
    };
    p.single ? of_real.template operator()<float>() : of_real.template operator()<double>();
  });
}

}  // namespace gibbsite::kernels
