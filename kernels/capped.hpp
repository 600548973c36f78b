#pragma once
// The sum of scores, each capped by its row's own length, and of the curvatures that are left:
//
//   partials[leaf, :d] = sum over the leaf's rows of score_i x_i
//   partials[leaf, d]  = sum of curvature_i
//
// Logistic: weighted_score of the derivative p - t, of counts up to N: count_score
// (engine/clip.hpp). Other losses: the score is held_weight clamp(f', -cap_i, cap_i), the curvature
// held_weight f'' [|f'| < cap_i].
//
// The indicator jumps, so f', f'' and the comparison have to be the same bits wherever the row is:
// a logit's sum is ordered by d alone, and the file is compiled without contraction (-fmad=false),
// so the operations are those that are written.
//
// Up to 256 features a leaf's rows stay in registers (kernels/leaf_gradient.hpp). Beyond, a block
// takes eight rows at a time: a warp sums the logit of each; then every thread adds the eight to
// its columns, reading them again from the nearest cache.
//
// Traffic: n d floats of X once, n caps and labels; leaves * (d + 1) doubles out.
// Work: 4 n d flops in double and, per row, two exps.
#include <limits>
#include <type_traits>

#include "engine/clip.hpp"
#include "kernels/leaf_gradient.hpp"

namespace gibbsite::kernels {

struct Capped {
  View<const float> x;       ///< [rows x d] row-major
  View<const float> y;       ///< [rows]
  View<const float> caps;    ///< [rows]
  View<const double> theta;  ///< [d]
  View<double> partials;     ///< [leaves x (d + 1)]
  std::size_t rows = 0, features = 0;
  std::size_t leaf_rows = 0;
  unsigned loss = 0;  ///< place in the list of losses
  /// The limit of information, in squares of the clip (ScoreLimits).
  double limit = std::numeric_limits<double>::infinity();
  double largest_count = 0;  ///< N where slopes of counts are weighted (ScoreLimits), or 0
};

/// Most features that it takes.
inline constexpr std::size_t capped_most_features = 2048;

// The score of a row; the curvature that is left adds up where it `counts`. Labels of the logistic
// loss are -1 and 1, of its capped variant -1/2 and 1/2.
template <class Loss>
struct CappedDerivative {
  Loss loss;
  View<const float> caps;
  double limit, largest_count;
  bool counts;
  double curvature = 0;
  GIBBSITE_HD double operator()(std::size_t row, double logit, double label) {
    const double derivative = loss.derivative(logit, label), cap = static_cast<double>(caps[row]);
    if constexpr (std::is_same_v<Loss, logistic_by_label>) {
      if (std::fabs(label) == 1) {
        const WeightedScore weighted = weighted_score(derivative, cap, limit);
        if (counts) curvature += weighted.curvature;
        return weighted.score;
      }
    }
    const double weight = held_weight(cap, limit);
    if constexpr (!std::is_same_v<Loss, logistic_by_label>) {
      if (largest_count > 0) {
        const WeightedScore weighted = count_score(
            derivative, label, loss.second_derivative(logit, label), cap, largest_count);
        if (counts) curvature += weighted.curvature * weight;
        return weighted.score * weight;
      }
    }
    if (counts && std::fabs(derivative) < cap)
      curvature += loss.second_derivative(logit, label) * weight;
    return (derivative > cap ? cap : derivative < -cap ? -cap : derivative) * weight;
  }
};

// partial[d] = the sum over the block's threads, by way of `shared` [warps], which nobody reads
// now.
template <class Block, class Sums>
GIBBSITE_HD void add_curvatures(Block& block, double of_thread, const Sums& shared,
                                const View<double>& partial, std::size_t d) {
  GIBBSITE_UNROLL
  for (unsigned mask = 1; mask < warp_size; mask *= 2) {
    of_thread += block.shuffle_xor(of_thread, mask);
  }
  if (block.lane() == 0) shared[block.warp()] = of_thread;
  block.sync();
  if (block.thread() != 0) return;
  double sum = 0;
  for (unsigned w = 0; w < block.threads() / warp_size; ++w) sum += shared[w];
  partial[d] = sum;
}

template <class Leaf>
struct CappedBody {
  using Params = Capped;
  static constexpr unsigned threads = Leaf::threads;

  static LaunchShape shape(const Capped& p) {
    return {ceil_div(p.rows, p.leaf_rows), threads, Leaf::sums * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Capped& p) {
    const std::size_t d = p.features, first = block.block() * p.leaf_rows;
    const auto rows =
        static_cast<unsigned>(first + p.leaf_rows < p.rows ? p.leaf_rows : p.rows - first);
    typename Leaf::Theta theta;
    Leaf::load_theta(block, p.theta, 0, 1, d, theta);
    auto sums = block.template shared<double>(Leaf::sums);
    const auto partial = p.partials.part(block.block() * (d + 1), d + 1);
    CappedDerivative<typename Leaf::Loss> derivative{Leaf::Loss::at(p.loss),
                                                     p.caps.part(first, rows), p.limit,
                                                     p.largest_count, Leaf::first_of_row(block)};
    Leaf::run(block, p.x.part(first * d, (p.rows - first) * d), p.y.part(first, rows), rows,
              static_cast<unsigned>(d), theta, 1, sums, partial, derivative);
    add_curvatures(block, derivative.curvature, sums, partial, d);
  }
};

template <class Loss, unsigned Columns>
struct CappedWideBody {
  using Params = Capped;
  static constexpr unsigned threads = 256, rows_at_once = threads / warp_size;
  static constexpr std::size_t width = threads * Columns;

  static LaunchShape shape(const Capped& p) {
    return {ceil_div(p.rows, p.leaf_rows), threads,
            (width + 2 * round_up_to(rows_at_once, 16)) * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Capped& p) {
    const std::size_t d = p.features, first = block.block() * p.leaf_rows;
    const std::size_t end = first + p.leaf_rows < p.rows ? first + p.leaf_rows : p.rows;
    auto theta = block.template shared<double>(width);
    auto derivatives = block.template shared<double>(rows_at_once);
    auto sums = block.template shared<double>(rows_at_once);
    for (std::size_t j = block.thread(); j < d; j += threads) theta[j] = p.theta[j];
    block.sync();

    CappedDerivative<Loss> derivative{Loss::at(p.loss), p.caps, p.limit, p.largest_count,
                                      block.lane() == 0};
    double g[Columns] = {};
    for (std::size_t row = first; row < end; row += rows_at_once) {
      const std::size_t mine = row + block.warp();
      double z = 0;
      for (std::size_t j = block.lane(); j < d && mine < end; j += warp_size) {
        z = std::fma(static_cast<double>(p.x[mine * d + j]), theta[j], z);
      }
      GIBBSITE_UNROLL
      for (unsigned mask = 1; mask < warp_size; mask *= 2) z += block.shuffle_xor(z, mask);
      const double held = mine < end ? derivative(mine, z, static_cast<double>(p.y[mine])) : 0.0;
      if (block.lane() == 0) derivatives[block.warp()] = held;
      block.sync();
      const auto here = static_cast<unsigned>(row + rows_at_once < end ? rows_at_once : end - row);
      for (unsigned i = 0; i < here; ++i) {
        const double of_row = derivatives[i];
        GIBBSITE_UNROLL
        for (unsigned c = 0; c < Columns; ++c) {
          const std::size_t j = block.thread() + c * threads;
          if (j < d) g[c] = std::fma(of_row, static_cast<double>(p.x[(row + i) * d + j]), g[c]);
        }
      }
      block.sync();
    }
    const auto partial = p.partials.part(block.block() * (d + 1), d + 1);
    GIBBSITE_UNROLL
    for (unsigned c = 0; c < Columns; ++c) {
      const std::size_t j = block.thread() + c * threads;
      if (j < d) partial[j] = g[c];
    }
    add_curvatures(block, derivative.curvature, sums, partial, d);
  }
};

/// Most additions between a row's term and a partial of a leaf of that many rows: the curvature's
/// too.
constexpr std::size_t capped_depth(std::size_t rows, std::size_t features) {
  return features <= leaf_most_features ? leaf_depth(rows, features) + 5 : rows + 13;
}

template <class Visit>
void with_body(const Capped& p, Visit&& visit) {
  with_loss(p.loss, [&]<class Loss>() {
    if (p.features <= leaf_most_features) {
      with_leaf_shape(p.features, [&]<unsigned Lanes, unsigned Columns>() {
        visit.template operator()<CappedBody<LeafGradient<Loss, double, Lanes, Columns, 1>>>();
      });
    } else if (p.features <= 512) {
      visit.template operator()<CappedWideBody<Loss, 2>>();
    } else if (p.features <= 1024) {
      visit.template operator()<CappedWideBody<Loss, 4>>();
    } else {
      visit.template operator()<CappedWideBody<Loss, 8>>();
    }
  });
}

}  // namespace gibbsite::kernels
