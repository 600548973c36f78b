#pragma once
// Softmax of K outputs between the products of design F, and its values.
//
//   z[b, c, k, i] <- e^{z_k - max z} / sum_j e^{z_j - max z} - [k = y_i]
//
// A thread takes a row of a chain. Neighbors have neighboring rows, so its K logits, block_rows
// apart, are read by whole lines; they are read three times and written twice, from L1 while 256 of
// them by K fit there, else from L2, where the pass is. An exponential a logit, as of one output;
// no shuffle and no barrier. Every sum is over ascending k: a row's bits are a function of its
// logits alone.
//
// Roundings (docs/theory/map-error.md, "Several outputs"): a difference and an exponential a logit,
// K - 1 additions, a reciprocal and a product. The label's entry is the sum of the other
// exponentials times the reciprocal: 1 - p_y without the cancellation.
#include <cmath>

#include "gibbsite/model/losses/softmax.hpp"
#include "kernels/block.hpp"

namespace gibbsite::kernels {

/// Derivatives of rows below `rows`; the rest of z is left alone. NaN if a label is no class or a
/// logit of the row is not finite.
struct SoftmaxDerivatives {
  View<double> z;        ///< [blocks x C x K x block_rows]; empty where they are floats
  View<float> z_single;  ///< [blocks x C x K x block_rows]; empty where they are doubles
  View<const float> y;   ///< [rows] 0, 1, .., K - 1
  std::size_t rows = 0, chains = 0, outputs = 0, block_rows = 0;
};

template <class Real>
struct SoftmaxDerivativesBody {
  using Params = SoftmaxDerivatives;
  static constexpr unsigned threads = 256;

  static LaunchShape shape(const SoftmaxDerivatives& p) {
    const std::size_t blocks = ceil_div(p.rows, p.block_rows);
    return {blocks * p.chains * ceil_div(p.block_rows, threads), threads, 0, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const SoftmaxDerivatives& p) {
    const std::size_t parts = ceil_div(p.block_rows, threads);
    const std::size_t chain = block.block() / parts;  // of [blocks x C]
    const std::size_t i = block.block() % parts * threads + block.thread();
    const std::size_t row = chain / p.chains * p.block_rows + i;
    if (i >= p.block_rows || row >= p.rows) return;
    const std::size_t K = p.outputs, label = losses::class_of(p.y[row], K);
    const auto z = of(p).part(chain * K * p.block_rows + i, (K - 1) * p.block_rows + 1);
    Real most = z[0];
    for (std::size_t k = 1; k < K; ++k) {
      const Real v = z[k * p.block_rows];
      most = v > most ? v : most;
    }
    Real others = 0, own = 0;
    for (std::size_t k = 0; k < K; ++k) {
      const Real e = std::exp(z[k * p.block_rows] - most);
      (k == label ? own : others) += e;
      z[k * p.block_rows] = e;
    }
    // What is no class leaves NaN in every entry.
    const Real reciprocal = label == K ? static_cast<Real>(NAN) : Real{1} / (others + own);
    for (std::size_t k = 0; k < K; ++k) {
      z[k * p.block_rows] = k == label ? -others * reciprocal : z[k * p.block_rows] * reciprocal;
    }
  }

 private:
  GIBBSITE_HD static View<Real> of(const SoftmaxDerivatives& p) {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return p.z;
    } else {
      return p.z_single;
    }
  }
};

/// values[leaf, c] = sum over the leaf's rows of (max z - z_y) + log1p(sum of e^{z_k - max z} over
/// the other k), for diagnostics. A thread takes a row at a time and sums each of its K logits
/// twice, in one order: no room for K of them.
struct SoftmaxValues {
  View<const float> x;       ///< [rows x d] row-major
  View<const float> y;       ///< [rows]
  View<const double> theta;  ///< [C x K x d]
  View<double> partials;     ///< [leaves x C]
  std::size_t rows = 0, features = 0, chains = 0, outputs = 0, leaf_rows = 0;
};

struct SoftmaxValuesBody {
  using Params = SoftmaxValues;
  static constexpr unsigned threads = 128;

  static LaunchShape shape(const SoftmaxValues& p) {
    return {ceil_div(p.rows, p.leaf_rows) * p.chains, threads, threads * sizeof(double), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const SoftmaxValues& p) {
    const std::size_t leaf = block.block() / p.chains, c = block.block() % p.chains;
    const std::size_t first = leaf * p.leaf_rows;
    const std::size_t last = first + p.leaf_rows < p.rows ? first + p.leaf_rows : p.rows;
    double sum = 0;
    for (std::size_t i = first + block.thread(); i < last; i += threads) sum += value(p, c, i);
    auto sums = block.template shared<double>(threads);
    sums[block.thread()] = sum;
    block.sync();
    if (block.thread() != 0) return;
    for (unsigned t = 1; t < threads; ++t) sum += sums[t];
    p.partials[leaf * p.chains + c] = sum;
  }

 private:
  GIBBSITE_HD static double logit(const SoftmaxValues& p, std::size_t c, std::size_t i,
                                  std::size_t k) {
    const std::size_t d = p.features;
    double z = 0;
    for (std::size_t j = 0; j < d; ++j) {
      z = std::fma(static_cast<double>(p.x[i * d + j]), p.theta[(c * p.outputs + k) * d + j], z);
    }
    return z;
  }

  GIBBSITE_HD static double value(const SoftmaxValues& p, std::size_t c, std::size_t i) {
    const std::size_t K = p.outputs, label = losses::class_of(p.y[i], K);
    double most = logit(p, c, i, 0);
    std::size_t at = 0;
    for (std::size_t k = 1; k < K; ++k) {
      const double z = logit(p, c, i, k);
      if (z > most) {
        most = z;
        at = k;
      }
    }
    double others = 0, own = static_cast<double>(NAN);  // unless the label is a class
    for (std::size_t k = 0; k < K; ++k) {
      const double z = logit(p, c, i, k);
      if (k == label) own = z;
      if (k != at) others += std::exp(z - most);
    }
    return std::log1p(others) + (most - own);
  }
};

template <class Visit>
void with_body(const SoftmaxDerivatives& p, Visit&& visit) {
  p.z.size != 0 ? visit.template operator()<SoftmaxDerivativesBody<double>>()
                : visit.template operator()<SoftmaxDerivativesBody<float>>();
}
template <class Visit>
void with_body(const SoftmaxValues&, Visit&& visit) {
  visit.template operator()<SoftmaxValuesBody>();
}

}  // namespace gibbsite::kernels
