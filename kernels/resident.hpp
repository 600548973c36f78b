#pragma once
// Design A: X in the shared memory of one block, many whole steps of a few chains in one launch.
//
//   z_i = x_i . theta_c,   r_i = f'(z_i, y_i),   g = sum_i r_i x_i,
//   theta_c <- theta_c - h (beta g + m (theta_c - center_c)) + sqrt(2h) xi(key, stream, step)
//
// A block owns `Group` chains, which share every read of X and its conversion. X lies transposed
// with an odd number of floats to a column, so lanes meet no bank conflict whether they are rows
// (logits) or columns (gradient). 512 rows at a time: two rows of logits a thread (fewer than 129
// rows: several lanes a row), then two columns a thread with the rows split over what is left of
// the block, sums in registers. Lanes, warps and rows are taken by n and d only, so a chain's bits
// depend neither on `Group` nor on its place.
//
// A lone chain has d / 2 pairs of normals a step and idle warps: two more draw the next step's
// while the others are at this one. They meet once a step, before the chain moves; what else the
// others wait for is a barrier of their own. Of four and eight chains the noise is work for all.
//
// Traffic: X once per launch and block; per step only centers, mostly from L1.
// Work: 4 n d flops and n residuals per chain and step, d / 2 pairs of normals. Per multiply-add of
// a chain (2 Columns + Group words) / (Columns Group) of shared memory, in double twice that for
// Group.
#include "kernels/block.hpp"
#include "kernels/chain.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

struct Resident {
  View<const float> x;              ///< [rows x d] row-major
  View<const float> y;              ///< [rows]
  View<double> theta;               ///< [C x d]: moved
  View<const double> centers;       ///< [C x d]
  View<const Chain> chain;          ///< [C]
  View<const std::uint64_t> clock;  ///< [1] steps done since the chains were uploaded
  std::size_t rows = 0, features = 0, chains = 0;
  std::uint64_t first = 0;  ///< steps clock + first, .. + steps - 1 of every chain
  unsigned steps = 0;
  unsigned group = 1;   ///< chains of a block: 1, 4 or 8
  unsigned loss = 0;    ///< place in the list of losses
  bool single = false;  ///< float arithmetic; else double
};

/// Most features that design A takes.
inline constexpr std::size_t resident_most_features = 1024;
inline constexpr unsigned resident_threads = 256;
inline constexpr unsigned resident_rows = 2 * resident_threads;  // residuals held at a time
// Threads that draw noise alone, beside the others.
constexpr unsigned resident_drawers(unsigned group) { return group == 1 ? 2 * warp_size : 0; }

// Second product: columns of a thread, lanes of columns (a power of two), partial sums of a column.
constexpr unsigned resident_columns(std::size_t features) { return features <= 512 ? 2 : 4; }
constexpr unsigned resident_column_lanes(std::size_t features) {
  unsigned lanes = 1;
  while (lanes * resident_columns(features) < features) lanes *= 2;
  return lanes;
}
constexpr unsigned resident_sums(std::size_t features) {
  const unsigned lanes = resident_column_lanes(features);
  return resident_threads / (lanes > warp_size ? lanes : warp_size);
}
// First product: lanes of a row, a power of two.
constexpr unsigned resident_row_lanes(std::size_t rows) {
  unsigned lanes = 1;
  while (lanes < warp_size && 2 * lanes * rows <= resident_threads) lanes *= 2;
  return lanes;
}

/// Additions on the longest path of a gradient: rows of a thread, lanes of a warp, warps.
constexpr std::size_t resident_depth(std::size_t rows, std::size_t features) {
  std::size_t depth = ceil_div(rows, resident_threads / resident_column_lanes(features));
  for (unsigned lanes = resident_column_lanes(features); lanes < warp_size; lanes *= 2) ++depth;
  return depth + resident_sums(features);
}

// What a block holds in shared memory.
struct ResidentPool {
  std::size_t stride;                          // floats of a column of X
  std::size_t x, labels, theta, copies, work;  // elements
  std::size_t noise;                           // of a step; there are two
  std::size_t bytes;
};
constexpr ResidentPool resident_pool(std::size_t rows, std::size_t features, unsigned group,
                                     bool single) {
  const std::size_t sums = std::size_t{resident_columns(features)} *
                           resident_column_lanes(features) * resident_sums(features);
  ResidentPool pool{.stride = rows | 1,
                    .x = features * (rows | 1),
                    .labels = rows,
                    .theta = features * group,
                    .copies = single ? features * group : 0,
                    .work = (sums > resident_rows ? sums : resident_rows) * group,
                    .noise = resident_drawers(group) != 0 ? round_up_to(features, 2) : 0,
                    .bytes = 0};
  pool.bytes = round_up_to(pool.x * sizeof(float), 128) +
               round_up_to(pool.labels * sizeof(float), 128) +
               round_up_to(pool.theta * sizeof(double), 128) +
               round_up_to(pool.copies * sizeof(float), 128) +
               round_up_to(pool.work * (single ? sizeof(float) : sizeof(double)), 128) +
               round_up_to(2 * pool.noise * sizeof(double), 128);
  return pool;
}

template <class Loss, class Real, unsigned Group, unsigned Columns>
struct ResidentBody {
  using Params = Resident;
  static constexpr unsigned drawers = resident_drawers(Group);
  static constexpr unsigned threads = resident_threads + drawers, blocks_per_multiprocessor = 1;
  static constexpr bool single = sizeof(Real) == sizeof(float);

  static LaunchShape shape(const Resident& p) {
    return {ceil_div(p.chains, Group), threads,
            resident_pool(p.rows, p.features, Group, single).bytes, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Resident& p) {
    const auto n = static_cast<unsigned>(p.rows), d = static_cast<unsigned>(p.features);
    const unsigned t = block.thread();
    const ResidentPool pool = resident_pool(p.rows, p.features, Group, single);
    const auto stride = static_cast<unsigned>(pool.stride);
    auto x = block.template shared<float>(pool.x);               // [d x stride]: transposed
    auto labels = block.template shared<float>(pool.labels);     // [n]
    auto theta = block.template shared<double>(pool.theta);      // [d x Group]
    auto copies = block.template shared<float>(pool.copies);     // theta in float; empty in double
    auto work = block.template shared<Real>(pool.work);          // residuals, then sums
    auto noise = block.template shared<double>(2 * pool.noise);  // of this step and the next

    const std::size_t first_chain = block.block() * Group;
    const std::size_t left = p.chains - first_chain;
    const unsigned here = left < Group ? static_cast<unsigned>(left) : Group;
    unsigned steps = 0;  // until every chain rests
    for (unsigned c = 0; c < here; ++c) {
      const Chain& chain = p.chain[first_chain + c];
      const std::uint64_t at = step_of(p, chain);
      if (at >= chain.iterations) continue;
      const std::uint64_t left_of_it = chain.iterations - at;
      const unsigned to_go = left_of_it < p.steps ? static_cast<unsigned>(left_of_it) : p.steps;
      if (to_go > steps) steps = to_go;
    }

    for (unsigned i = t; i < n * d; i += threads) x[i % d * stride + i / d] = p.x[i];
    for (unsigned i = t; i < n; i += threads) labels[i] = p.y[i];
    for (unsigned i = t; i < Group * d; i += threads) {
      const unsigned c = i / d, j = i % d;
      const double value = c < here ? p.theta[first_chain * d + i] : 0.0;
      theta[j * Group + c] = value;
      if constexpr (single) copies[j * Group + c] = static_cast<float>(value);
    }
    block.sync();

    const unsigned column_lanes = resident_column_lanes(d);
    const unsigned row_groups = resident_threads / column_lanes;
    const unsigned column = t % column_lanes, row_group = t / column_lanes;
    const unsigned row_lanes = resident_row_lanes(n);
    unsigned column_at[Columns];  // columns past d read column 0 and are dropped
    GIBBSITE_UNROLL
    for (unsigned k = 0; k < Columns; ++k) {
      const unsigned j = column + k * column_lanes;
      column_at[k] = (j < d ? j : 0) * stride;
    }

    const unsigned sums = resident_sums(d), width = Columns * column_lanes;
    // Partial sums of the gradient of this step, in `work`: [sums x width x Group].
    const auto add_up = [&] {
      Real g[Columns][Group];
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < Columns; ++k) {
        GIBBSITE_UNROLL
        for (unsigned c = 0; c < Group; ++c) g[k][c] = 0;
      }
      for (unsigned first = 0; first < n; first += resident_rows) {
        const unsigned count = n - first < resident_rows ? n - first : resident_rows;
        if (first != 0) meet(block);  // the last rows' residuals were read
        const auto logits = [&]<unsigned Rows>() {
          if constexpr (single) {
            derivatives<Rows>(block, x + first, labels + first, copies, work, count, d, stride,
                              row_lanes);
          } else {
            derivatives<Rows>(block, x + first, labels + first, theta, work, count, d, stride,
                              row_lanes);
          }
        };
        if (count > resident_threads) {
          logits.template operator()<2>();
        } else {
          logits.template operator()<1>();
        }
        meet(block);
        for (unsigned i = row_group; i < count; i += row_groups) {
          Real value[Columns], r[Group];
          GIBBSITE_UNROLL
          for (unsigned k = 0; k < Columns; ++k) {
            value[k] = static_cast<Real>(static_cast<float>(x[column_at[k] + first + i]));
          }
          GIBBSITE_UNROLL
          for (unsigned c = 0; c < Group; ++c) r[c] = work[i * Group + c];
          GIBBSITE_UNROLL
          for (unsigned k = 0; k < Columns; ++k) {
            GIBBSITE_UNROLL
            for (unsigned c = 0; c < Group; ++c) g[k][c] += r[c] * value[k];
          }
        }
      }

      // Row groups of a warp by shuffles, the rest by whoever moves the coordinate.
      meet(block);
      const unsigned sum = column_lanes < warp_size ? block.warp() : row_group;
      GIBBSITE_UNROLL
      for (unsigned k = 0; k < Columns; ++k) {
        GIBBSITE_UNROLL
        for (unsigned c = 0; c < Group; ++c) {
          for (unsigned mask = column_lanes; mask < warp_size; mask *= 2) {
            g[k][c] += block.shuffle_xor(g[k][c], mask);
          }
          if (column_lanes >= warp_size || block.lane() < column_lanes) {
            work[(sum * width + column + k * column_lanes) * Group + c] = g[k][c];
          }
        }
      }
    };

    // Drawers and the others meet at one instruction: CUDA allows no barrier of a block within a
    // condition that differs between its threads.
    const bool computes = drawers == 0 || t < resident_threads;
    for (unsigned step = 0; step < steps; ++step) {
      if (computes) {
        add_up();
      } else {
        draw(p, p.chain[first_chain], t - resident_threads, step, noise, pool.noise);
      }
      block.sync();
      if (!computes) continue;

      const auto move = [&](unsigned c, const Chain& chain, unsigned j, double xi) {
        double total = 0;
        for (unsigned s = 0; s < sums; ++s) {
          total += static_cast<double>(static_cast<Real>(work[(s * width + j) * Group + c]));
        }
        const double moved =
            langevin_coordinate(theta[j * Group + c], total, p.centers[(first_chain + c) * d + j],
                                chain.inverse_temperature, chain.prior_precision, chain.step_size,
                                chain.noise_scale, xi);
        theta[j * Group + c] = moved;
        if constexpr (single) copies[j * Group + c] = static_cast<float>(moved);
      };
      if constexpr (drawers != 0) {
        const Chain& chain = p.chain[first_chain];  // it moves: else `steps` would be over
        for (unsigned j = t; j < d; j += resident_threads) {
          move(0, chain, j, noise[step % 2 * pool.noise + j]);
        }
      } else {
        for (unsigned i = t; i < here * ((d + 1) / 2); i += resident_threads) {
          const unsigned c = i % here, pair = i / here;
          const Chain& chain = p.chain[first_chain + c];
          const std::uint64_t now = step_of(p, chain) + step;
          if (now >= chain.iterations) continue;  // a finished chain rests
          const NormalPair xi = chain_normals(chain, now, pair);
          move(c, chain, 2 * pair, xi.first);
          if (2 * pair + 1 < d) move(c, chain, 2 * pair + 1, xi.second);
        }
      }
      meet(block);
    }

    for (unsigned i = t; computes && i < here * d; i += resident_threads) {
      p.theta[first_chain * d + i] = theta[i % d * Group + i / d];
    }
  }

 private:
  GIBBSITE_HD static std::uint64_t step_of(const Resident& p, const Chain& chain) {
    return chain.step + p.clock[0] + p.first;
  }
  // A barrier of the threads that compute.
  template <class Block>
  GIBBSITE_HD static void meet(Block& block) {
    if constexpr (drawers != 0) {
      block.sync_first(resident_threads);
    } else {
      block.sync();
    }
  }
  // noise[step % 2, :] = xi of that step, by the drawer of that number, one step ahead of who takes
  // it: when all have met before step k moves, step k - 1 has, and its half is free.
  template <class Noise>
  GIBBSITE_HD static void draw(const Resident& p, const Chain& chain, unsigned drawer,
                               unsigned step, const Noise& noise, std::size_t width) {
    const auto pairs = static_cast<unsigned>((p.features + 1) / 2);
    for (unsigned i = drawer; i < pairs; i += resident_drawers(1)) {
      const NormalPair xi = chain_normals(chain, step_of(p, chain) + step, i);
      noise[step % 2 * width + 2 * i] = xi.first;
      noise[step % 2 * width + 2 * i + 1] = xi.second;
    }
  }

  // work[i, c] = f'(x_i . theta_c, y_i) for `count` rows: thread t has row t / lanes and, where
  // Rows = 2, the one 256 further; its lanes take every lanes-th feature.
  template <unsigned Rows, class Block, class Floats, class Thetas, class Work>
  GIBBSITE_HD static void derivatives(Block& block, Floats x, Floats labels, Thetas theta,
                                      Work work, unsigned count, unsigned d, unsigned stride,
                                      unsigned lanes) {
    const unsigned lane = block.thread() % lanes, first = block.thread() / lanes;
    unsigned row[Rows];  // rows past the end read the last one
    Real z[Rows][Group];
    GIBBSITE_UNROLL
    for (unsigned i = 0; i < Rows; ++i) {
      row[i] = first + i * resident_threads < count ? first + i * resident_threads : count - 1;
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < Group; ++c) z[i][c] = 0;
    }
    for (unsigned j = lane; j < d; j += lanes) {
      Real value[Rows], of_chain[Group];
      GIBBSITE_UNROLL
      for (unsigned i = 0; i < Rows; ++i) {
        value[i] = static_cast<Real>(static_cast<float>(x[j * stride + row[i]]));
      }
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < Group; ++c) of_chain[c] = theta[j * Group + c];
      GIBBSITE_UNROLL
      for (unsigned i = 0; i < Rows; ++i) {
        GIBBSITE_UNROLL
        for (unsigned c = 0; c < Group; ++c) z[i][c] += value[i] * of_chain[c];
      }
    }
    GIBBSITE_UNROLL
    for (unsigned i = 0; i < Rows; ++i) {
      const unsigned at = first + i * resident_threads;
      GIBBSITE_UNROLL
      for (unsigned c = 0; c < Group; ++c) {
        if constexpr (Rows == 1) {
          for (unsigned mask = 1; mask < lanes; mask *= 2) {
            z[i][c] += block.shuffle_xor(z[i][c], mask);
          }
        }
        if (at < count && c % lanes == lane) work[at * Group + c] = z[i][c];
      }
    }
    // A rolled loop over what this thread wrote: so many exponentials in line would be most of the
    // kernel.
    for (unsigned at = first; at < count && at <= first + (Rows - 1) * resident_threads;
         at += resident_threads) {
      const Real label = static_cast<Real>(static_cast<float>(labels[at]));
      for (unsigned c = lane; c < Group; c += lanes) {
        work[at * Group + c] = Loss::derivative(static_cast<Real>(work[at * Group + c]), label);
      }
    }
  }
};

/// Calls visit.operator()<Body>() for the body of that group, arithmetic and width.
template <class Visit>
void with_body(const Resident& p, Visit&& visit) {
  with_logistic(p.loss, [&]<class Loss>() {
    const auto of_real = [&]<class Real>() {
      const auto of_group = [&]<unsigned Group>() {
        if (resident_columns(p.features) == 2) {
          visit.template operator()<ResidentBody<Loss, Real, Group, 2>>();
        } else {
          visit.template operator()<ResidentBody<Loss, Real, Group, 4>>();
        }
      };
      if (p.group == 1) {
        of_group.template operator()<1>();
      } else if (p.group == 4) {
        of_group.template operator()<4>();
      } else {
        of_group.template operator()<8>();
      }
    };
    p.single ? of_real.template operator()<float>() : of_real.template operator()<double>();
  });
}

}  // namespace gibbsite::kernels
