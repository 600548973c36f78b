#pragma once
// Design C: the loss gradient of a few chains in one pass over X, straight from memory.
//
//   partials[leaf, c, :] = sum over the leaf's rows of f'(x_i . theta_c, y_i) x_i
//
// A leaf is a block of consecutive rows, summed by a block of threads (kernels/leaf_gradient.hpp);
// its sum does not depend on the GPU.
//
// Traffic: n d floats of X once per group of `Chains` chains, leaves * C * d doubles out.
// Work: 4 n d flops a chain and, per row and chain, an exp and 17 shuffles.
// Bound by memory for Chains <= 8: on an H100, 7.8e9 rows/s of 108 floats at 3.35 TB/s leave 120
// cycles per row and scheduler; a chain costs about 30 of them in double.
#include "kernels/leaf_gradient.hpp"

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

template <class Leaf>
struct OnePassBody {
  using Params = OnePass;
  static constexpr unsigned threads = Leaf::threads;

  static LaunchShape shape(const OnePass& p) {
    return {ceil_div(p.rows, p.leaf_rows) * ceil_div(p.chains, Leaf::chains), threads,
            Leaf::sums * sizeof(typename Leaf::Real), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const OnePass& p) {
    const std::size_t d = p.features;
    const std::size_t chain_groups = ceil_div(p.chains, Leaf::chains);
    // Neighboring blocks share a leaf, so its rows are in L2 for the second group of chains.
    const std::size_t leaf = block.block() / chain_groups;
    const std::size_t first_chain = block.block() % chain_groups * Leaf::chains;
    const std::size_t first_row = leaf * p.leaf_rows;
    const auto rows =
        static_cast<unsigned>(first_row + p.leaf_rows < p.rows ? p.leaf_rows : p.rows - first_row);
    const auto here = static_cast<unsigned>(
        first_chain + Leaf::chains < p.chains ? Leaf::chains : p.chains - first_chain);

    typename Leaf::Theta theta;
    Leaf::load_theta(block, p.theta, first_chain, p.chains, d, theta);
    auto sums = block.template shared<typename Leaf::Real>(Leaf::sums);
    Leaf::run(block, p.x.part(first_row * d, (p.rows - first_row) * d), p.y.part(first_row, rows),
              rows, static_cast<unsigned>(d), theta, here, sums,
              p.partials.part((leaf * p.chains + first_chain) * d, here * d),
              typename Leaf::Slope{Leaf::Loss::at(p.loss)});
  }
};

/// Most features that design C takes.
inline constexpr std::size_t one_pass_most_features = leaf_most_features;

template <class Visit>
void with_body(const OnePass& p, Visit&& visit) {
  with_loss(p.loss, [&]<class Loss>() {
    with_leaf_gradient<Loss>(p.single, p.features, p.chains,
                             [&]<class Leaf>() { visit.template operator()<OnePassBody<Leaf>>(); });
  });
}

}  // namespace gibbsite::kernels
