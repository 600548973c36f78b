#pragma once
// The loss gradient of a leaf: a range of rows that one block sums, for designs B and C.
//
//   partial[c, :] = sum over the rows of f'(x_i . theta_c, y_i) x_i
//
// `Lanes` threads hold one row in registers, column j in lane j mod Lanes, so a row is read once,
// coalesced, and serves the logit and the gradient. Eight rows are in flight per thread: their
// logits are summed over the lanes by a transposing butterfly that leaves each lane with one row's
// logit, and of up to four chains with one chain's: no exp is taken twice where there are as many.
//
// Rows are read as they lie: columns past the last are the next row's first, whose theta is 0 and
// whose sums are dropped. So no load asks for anything but where X or the leaf ends, and a row's
// loads are one address and constants.
//
// Work: 4 d flops a row and chain, 16 to 17 shuffles a chain and eight rows; at the end of a leaf
// two barriers.
#include "kernels/block.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

template <class Loss_, class Real_, unsigned Lanes, unsigned Columns_, unsigned Chains>
struct LeafGradient {
  using Loss = Loss_;
  using Real = Real_;
  static constexpr unsigned chains = Chains, columns = Columns_;
  static constexpr unsigned threads = 256;
  static constexpr unsigned rows_at_once = 8;
  static constexpr unsigned groups = threads / Lanes;     // rows' lanes in the block
  static constexpr unsigned warps = threads / warp_size;  // partial sums to add at the end
  static constexpr unsigned width = Lanes * columns;      // most features
  static_assert(Lanes >= rows_at_once && Lanes <= warp_size);
  // Lanes that have the same row's logits, and chains that these lanes divide among them: two where
  // four in double would spill.
  static constexpr unsigned sharing = Lanes / rows_at_once;
  static constexpr unsigned most_together = sharing > 2 && Chains* columns * sizeof(Real) >= 256
                                                ? 2
                                                : sharing;
  static constexpr unsigned together = Chains < most_together ? Chains : most_together;

  static constexpr std::size_t sums = Chains * warps * width;  // Reals of shared memory
  using Theta = Real[Chains][columns];

  /// Chains [first, first + Chains) of theta [C x d] into registers; zeros where there is none.
  template <class Block>
  GIBBSITE_HD static void load_theta(Block& block, const View<const double>& theta,
                                     std::size_t first, std::size_t all, std::size_t d,
                                     Theta& registers) {
    GIBBSITE_UNROLL
    for (unsigned c = 0; c < Chains; ++c) {
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < columns; ++k) {
        const std::size_t j = block.lane() % Lanes + k * Lanes;
        const bool there = j < d && first + c < all;
        registers[c][k] = there ? static_cast<Real>(theta[(first + c) * d + j]) : Real{0};
      }
    }
  }

  /// f' of a row of the leaf.
  struct Slope {
    Loss loss;
    GIBBSITE_HD Real operator()(unsigned /*row*/, Real logit, Real label) const {
      return loss.derivative(logit, label);
    }
  };
  /// Whether this lane is the first of those that are handed a row's derivative.
  template <class Block>
  GIBBSITE_HD static bool first_of_row(const Block& block) {
    const unsigned lane = block.lane() % Lanes;
    return lane == lane_of(row_of(lane));
  }

  /// x [rows x d] and whatever finite floats follow them, y [rows]; `shared` holds `sums` Reals.
  /// Writes partial [here x d], here <= Chains. Ends with a barrier of the block. `slope` is asked
  /// for rows of the leaf alone, by every lane that its logit falls to.
  template <class Block, class Sums, class Of>
  GIBBSITE_HD static void run(Block& block, const View<const float>& x, const View<const float>& y,
                              unsigned rows, unsigned d, const Theta& theta, unsigned here,
                              const Sums& shared, const View<double>& partial, Of&& derivative) {
    const unsigned lane = block.lane() % Lanes, group = block.thread() / Lanes;
    const unsigned base_lane = block.lane() - lane;
    Real g[Chains][columns];
    GIBBSITE_UNROLL
    for (unsigned c = 0; c < Chains; ++c) {
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < columns; ++k) g[c][k] = 0;
    }

    // Every thread takes the same number of turns: the shuffles need whole warps.
    for (unsigned turn = 0; turn < rows; turn += groups * rows_at_once) {
      const unsigned row = turn + group * rows_at_once;
      float v[rows_at_once][columns];
      load_rows(x, row, rows, d, lane, v);
      const unsigned my_row = row + row_of(lane);
      const bool mine = my_row < rows;
      const Real label = mine ? static_cast<Real>(y[my_row]) : Real{1};
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < Chains; c += together) {
        Real logits[together];  // of this lane's row and each chain, then of its row and chain
        GIBBSITE_UNROLL
        for (unsigned i = 0; i < together; ++i) {
          Real z[rows_at_once];
          GIBBSITE_UNROLL
          for (unsigned r = 0; r < rows_at_once; ++r) {
            z[r] = 0;
            GIBBSITE_UNROLL
            for (unsigned k = 0; k < columns; ++k) {
              z[r] += static_cast<Real>(v[r][k]) * theta[c + i][k];
            }
          }
          halve<Lanes / 2>(block, lane, z);
          logits[i] = z[0];
        }
        halve<sharing / 2>(block, lane, logits);
        GIBBSITE_UNROLL
        for (unsigned mask = sharing / together / 2; mask >= 1; mask /= 2) {
          logits[0] += block.shuffle_xor(logits[0], mask);
        }
        const Real own = mine ? derivative(my_row, logits[0], label) : Real{0};
        GIBBSITE_UNROLL
        for (unsigned i = 0; i < together; ++i) {
          GIBBSITE_UNROLL
          for (unsigned r = 0; r < rows_at_once; ++r) {
            const Real of_row =
                block.shuffle(own, base_lane + lane_of(r) + i * (sharing / together));
            GIBBSITE_UNROLL
            for (unsigned k = 0; k < columns; ++k) {
              g[c + i][k] += of_row * static_cast<Real>(v[r][k]);
            }
          }
        }
      }
    }

    // Sums of the groups in a warp, of the warps through shared memory [Chains x warps x width], in
    // a fixed order.
    GIBBSITE_UNROLL
    for (unsigned c = 0; c < Chains; ++c) {
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < columns; ++k) {
        Real sum = g[c][k];
        GIBBSITE_UNROLL
        for (unsigned mask = Lanes; mask < warp_size; mask *= 2) {
          sum += block.shuffle_xor(sum, mask);
        }
        if (base_lane == 0) shared[(c * warps + block.warp()) * width + k * Lanes + lane] = sum;
      }
    }
    block.sync();
    for (unsigned c = 0; c < here; ++c) {
      for (unsigned j = block.thread(); j < d; j += threads) {
        double total = 0;
        for (unsigned w = 0; w < warps; ++w) {
          total += static_cast<double>(shared[(c * warps + w) * width + j]);
        }
        partial[c * d + j] = total;
      }
    }
    block.sync();
  }

 private:
  // v[r, k] = x[row + r, lane + k Lanes]; zeros past the leaf, and past d where X ends.
  GIBBSITE_HD static void load_rows(const View<const float>& x, unsigned row, unsigned rows,
                                    unsigned d, unsigned lane, float (&v)[rows_at_once][columns]) {
    const std::size_t at = std::size_t{row} * d + lane;
    if (row + rows_at_once <= rows && at - lane + (rows_at_once - 1) * d + width <= x.size) {
      load_rows(
          x, at, d, [](unsigned, unsigned) { return true; }, v);
    } else {
      load_rows(
          x, at, d, [&](unsigned r, unsigned k) { return row + r < rows && lane + k * Lanes < d; },
          v);
    }
  }
  template <class There>
  GIBBSITE_HD static void load_rows(const View<const float>& x, std::size_t at, unsigned d,
                                    There&& there, float (&v)[rows_at_once][columns]) {
    GIBBSITE_UNROLL
    for (unsigned r = 0; r < rows_at_once; ++r, at += d) {
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < columns; ++k) v[r][k] = there(r, k) ? x[at + k * Lanes] : 0.0f;
    }
  }

  // The butterflies leave lane l with the logit of row row_of(l), its three highest bits, and of
  // the chain by the next ones.
  GIBBSITE_HD static constexpr unsigned row_of(unsigned lane) { return lane / sharing; }
  GIBBSITE_HD static constexpr unsigned lane_of(unsigned row) { return row * sharing; }

  // Sums over the lanes of the highest bits, from `Mask` down, as many as halve z to one: lanes
  // with the bit keep the upper half.
  template <unsigned Mask, class Block, unsigned Count>
  GIBBSITE_HD static void halve(Block& block, unsigned lane, Real (&z)[Count]) {
    GIBBSITE_UNROLL
    for (unsigned half = Count / 2, mask = Mask; half >= 1; half /= 2, mask /= 2) {
      const bool upper = (lane & mask) != 0;
      GIBBSITE_UNROLL
      for (unsigned i = 0; i < half; ++i) {
        const Real keep = upper ? z[i + half] : z[i];
        const Real send = upper ? z[i] : z[i + half];
        z[i] = keep + block.shuffle_xor(send, mask);
      }
    }
  }
};

/// Most features of a leaf's row.
inline constexpr std::size_t leaf_most_features = 256;

/// Most additions between a row's term and a partial of a leaf of that many rows: eight in each
/// turn of the block for a thread; then the groups of a warp, the warps.
constexpr std::size_t leaf_depth(std::size_t rows, std::size_t features) {
  const std::size_t groups = features <= 32 ? 32 : 8;
  return 8 * ceil_div(rows, 8 * groups) + 2 + 8;
}

/// Calls visit.operator()<Lanes, Columns>() for rows of that many features.
template <class Visit>
void with_leaf_shape(std::size_t features, Visit&& visit) {
  if (features <= 8) {
    visit.template operator()<8, 1>();
  } else if (features <= 32) {  // four rows a warp: a logit's shuffles and exp are shared by 32
    visit.template operator()<8, 4>();
  } else if (features <= 64) {
    visit.template operator()<32, 2>();
  } else if (features <= 128) {
    visit.template operator()<32, 4>();
  } else {
    visit.template operator()<32, 8>();
  }
}

/// Calls visit.operator()<LeafGradient<Loss, ...>>() for the one that fits: lanes and columns by d,
/// chains by C, so that Chains * Columns registers of theta and of g do not spill. In a loop of
/// steps eight chains of short rows in double would.
template <class Loss, bool InLoop = false, class Visit>
void with_leaf_gradient(bool single, std::size_t features, std::size_t chains, Visit&& visit) {
  const auto of_real = [&]<class Real>() {
    with_leaf_shape(features, [&]<unsigned Lanes, unsigned Columns>() {
      constexpr bool in_double = sizeof(Real) == 8;
      constexpr unsigned most = Columns == 8 ? (in_double ? 2 : 4)
                                : InLoop && in_double && Lanes == 8 && Columns == 4 ? 4
                                                                                    : 8;
      const auto of_chains = [&]<unsigned Chains>(const auto& self) {
        if constexpr (Chains < most) {
          if (chains > Chains) return self.template operator()<2 * Chains>(self);
        }
        visit.template operator()<LeafGradient<Loss, Real, Lanes, Columns, Chains>>();
      };
      of_chains.template operator()<1>(of_chains);
    });
  };
  single ? of_real.template operator()<float>() : of_real.template operator()<double>();
}

}  // namespace gibbsite::kernels
