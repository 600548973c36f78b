#pragma once
// The loss itself, for diagnostics: values[leaf, c] = sum over the leaf's rows of f(x_i . theta_c,
// y_i).
//
// A thread takes a row and a chain at a time. Reads X once per chain; not on any hot path.
#include "kernels/block.hpp"
#include "kernels/losses.hpp"

namespace gibbsite::kernels {

struct Values {
  View<const float> x;       ///< [rows x d] row-major
  View<const float> y;       ///< [rows]
  View<const double> theta;  ///< [C x d]
  View<double> partials;     ///< [leaves x C]
  std::size_t rows = 0, features = 0, chains = 0, leaf_rows = 0;
  unsigned loss = 0;
};

template <class Loss>
struct ValuesBody {
  using Params = Values;
  static constexpr unsigned threads = 128;

  static LaunchShape shape(const Values& p) {
    return {ceil_div(p.rows, p.leaf_rows) * p.chains, threads, threads * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Values& p) {
    const std::size_t leaf = block.block() / p.chains, c = block.block() % p.chains;
    const std::size_t first = leaf * p.leaf_rows;
    const std::size_t last = first + p.leaf_rows < p.rows ? first + p.leaf_rows : p.rows;
    double sum = 0;
    for (std::size_t i = first + block.thread(); i < last; i += threads) {
      double z = 0;
      for (std::size_t j = 0; j < p.features; ++j) {
        z += static_cast<double>(p.x[i * p.features + j]) * p.theta[c * p.features + j];
      }
      sum += Loss::at(p.loss).value(z, static_cast<double>(p.y[i]));
    }
    auto sums = block.template shared<double>(threads);
    sums[block.thread()] = sum;
    block.sync();
    if (block.thread() != 0) return;
    for (unsigned t = 1; t < threads; ++t) sum += sums[t];
    p.partials[leaf * p.chains + c] = sum;
  }
};

template <class Visit>
void with_body(const Values& p, Visit&& visit) {
  with_loss(p.loss, [&]<class Loss>() { visit.template operator()<ValuesBody<Loss>>(); });
}

}  // namespace gibbsite::kernels
