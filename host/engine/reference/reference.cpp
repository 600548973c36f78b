#include "engine/reference/reference.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>

#include "engine/checks.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

class ReferenceEngine final : public SteppingRows {
 public:
  [[nodiscard]] bool certifiable() const override { return true; }
  ReferenceEngine(const Rows& x, std::span<const float> y, const Loss& loss)
      : SteppingRows(x, y, loss), x_(x), y_(y) {}

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    require_fitting(ensemble, features());
    require_output_streams(ensemble, outputs());
    std::vector<double> noise(features());
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const ChainSpec& spec = ensemble.specs[c];
      std::uint64_t& step = ensemble.step[c];
      for (std::uint64_t k = 0; k < steps && step < spec.iterations; ++k, ++step) {
        const VectorXd g = gradient(ensemble.chain(c), 0, blocks());
        langevin_update(spec, step, {g.data(), features()}, ensemble.chain(c), noise, outputs());
      }
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    for (std::size_t c = 0; c < theta.rows; ++c) {
      const VectorXd g = gradient(theta.row(c), 0, blocks());
      std::copy(g.begin(), g.end(), out.row(c).begin());
    }
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    add_terms(loss_terms(theta), out);
  }
  void loss_values_and_gradients(MatrixView<const double> theta, std::span<double> values,
                                 MatrixView<double> gradients) override {
    loss_gradients(theta, gradients);
    const std::vector<double> terms = loss_terms(theta);
    for (std::size_t c = 0; c < theta.rows; ++c)
      values[c] = value({terms.data(), blocks(), theta.rows}, c, 0, blocks());
  }
  [[nodiscard]] std::vector<double> loss_terms(MatrixView<const double> theta) override {
    std::vector<double> terms;
    for (std::size_t block = 0; block < blocks(); ++block) {
      for (std::size_t c = 0; c < theta.rows; ++c) {
        const VectorXd z = logits(theta.row(c), block);
        terms.push_back(loss_value(block * row_block, block * row_block + labels_of(block).size(),
                                   {z.data(), static_cast<std::size_t>(z.size())}));
      }
    }
    return terms;
  }

 private:
  [[nodiscard]] std::size_t blocks() const { return (x_.rows + row_block - 1) / row_block; }

  static VectorXd vector(std::span<const double> v) {
    return Eigen::Map<const VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
  }

  [[nodiscard]] std::span<const float> labels_of(std::size_t block) const {
    const std::size_t first = block * row_block;
    return y_.subspan(first, std::min<std::size_t>(row_block, x_.rows - first));
  }

  // X_b [rows in the block x d], of dense rows
  [[nodiscard]] MatrixXd rows_of(std::size_t block) const {
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const RowMajor>(x_.matrix().row(block * row_block).data(),
                                      static_cast<Eigen::Index>(labels_of(block).size()),
                                      static_cast<Eigen::Index>(x_.cols))
        .cast<double>();
  }

  // Sum of gradients over blocks [first, last): the halves of a binary tree, so ceil(log2(blocks))
  // additions lie above a block.
  [[nodiscard]] VectorXd gradient(std::span<const double> theta, std::size_t first,
                                  std::size_t last) const {
    if (last - first == 1) return block_gradient(theta, first);
    const std::size_t half = std::bit_ceil(last - first) / 2;
    return gradient(theta, first, first + half) + gradient(theta, first + half, last);
  }

  // A chain's loss in blocks [first, last), added up in the same tree; terms [blocks x chains].
  static double value(MatrixView<const double> terms, std::size_t chain, std::size_t first,
                      std::size_t last) {
    if (last - first == 1) return terms.row(first)[chain];
    const std::size_t half = std::bit_ceil(last - first) / 2;
    return value(terms, chain, first, first + half) + value(terms, chain, first + half, last);
  }

  // X_b^T f'(X_b theta, y_b), output after output
  [[nodiscard]] VectorXd block_gradient(std::span<const double> theta, std::size_t block) const {
    const VectorXd z = logits(theta, block);
    const auto size = static_cast<std::size_t>(z.size());
    VectorXd r(z.size());
    find_derivatives(block * row_block, block * row_block + labels_of(block).size(),
                     {z.data(), size}, {r.data(), size});
    const auto n = static_cast<Eigen::Index>(labels_of(block).size());
    const auto d = static_cast<Eigen::Index>(x_.cols);
    VectorXd g = VectorXd::Zero(static_cast<Eigen::Index>(features()));
    const MatrixXd rows = x_.is_sparse() ? MatrixXd() : rows_of(block);
    for (Eigen::Index k = 0; k * n < r.size(); ++k) {
      if (!x_.is_sparse()) {
        g.segment(k * d, d) = rows.transpose() * r.segment(k * n, n);
        continue;
      }
      for (Eigen::Index i = 0; i < n; ++i) {
        x_.for_each(block * row_block + static_cast<std::size_t>(i), [&](std::size_t j, float v) {
          g[k * d + static_cast<Eigen::Index>(j)] += static_cast<double>(v) * r[k * n + i];
        });
      }
    }
    return g;
  }

  // X_b theta_k, [K x rows in the block]
  [[nodiscard]] VectorXd logits(std::span<const double> theta, std::size_t block) const {
    const auto n = static_cast<Eigen::Index>(labels_of(block).size());
    VectorXd z(n * static_cast<Eigen::Index>(outputs()));
    const MatrixXd rows = x_.is_sparse() ? MatrixXd() : rows_of(block);
    for (Eigen::Index k = 0; k * n < z.size(); ++k) {
      const auto part = theta.subspan(static_cast<std::size_t>(k) * x_.cols, x_.cols);
      if (!x_.is_sparse()) {
        z.segment(k * n, n) = rows * vector(part);
        continue;
      }
      for (Eigen::Index i = 0; i < n; ++i) {
        z[k * n + i] = x_.dot(block * row_block + static_cast<std::size_t>(i), part);
      }
    }
    for (Eigen::Index i = 0; x_.offset != nullptr && i < n; ++i) {
      z[i] += x_.offset_of(block * row_block + static_cast<std::size_t>(i));
    }
    return z;
  }

  Rows x_;                    // [n x d]
  std::span<const float> y_;  // [n]
};

class ReferenceBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] std::string description() const override {
    return "double on float storage; Eigen; 1 thread; the oracle, slow";
  }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    require_loadable(x, y, loss);
    return std::make_unique<ReferenceEngine>(x, y, loss);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace gibbsite
