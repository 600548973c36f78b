// Second derivatives of a sum of losses over rows: of one output, and of several.
#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/eigen_index.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMajorFloat = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class RowsHessian final : public HostHessian {
 public:
  RowsHessian(const Rows& x, std::vector<double> weights)
      : HostHessian(x.cols), x_(x), weights_(std::move(weights)) {}

  void add(std::span<double> sum) const override {
    Triangle h(sum.data(), index(x_.cols), index(x_.cols));
    x_.is_sparse() ? add_pairs(h) : add_blocks(h);
  }

  void add_diagonal(std::span<double> out) const override {
    for (std::size_t i = 0; i < x_.rows; ++i) {
      x_.for_each(i, [&](std::size_t j, float v) {
        out[j] += weights_[i] * static_cast<double>(v) * static_cast<double>(v);
      });
    }
  }

  void add_product(std::span<const double> v, std::span<double> out) const override {
    for (std::size_t i = 0; i < x_.rows; ++i) {
      const double scaled = weights_[i] * x_.dot(i, v);
      x_.for_each(i, [&](std::size_t j, float x) { out[j] += scaled * static_cast<double>(x); });
    }
  }

 private:
  using Triangle = Eigen::Map<MatrixXd>;

  void add_blocks(Triangle& h) const {
    for (std::size_t first = 0; first < x_.rows; first += row_block) {
      const auto n = index(std::min<std::size_t>(row_block, x_.rows - first));
      const Eigen::Map<const RowMajorFloat> rows(x_.matrix().row(first).data(), n, h.cols());
      const Eigen::Map<const VectorXd> w(weights_.data() + first, n);
      const MatrixXd scaled = w.array().sqrt().matrix().asDiagonal() * rows.cast<double>();
      h.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
    }
  }

  // By pairs of entries.
  void add_pairs(Triangle& h) const {
    for (std::size_t i = 0; i < x_.rows; ++i) {
      x_.for_each(i, [&](std::size_t j, float v) {
        x_.for_each(i, [&](std::size_t k, float w) {
          if (k <= j) {
            h(index(j), index(k)) += weights_[i] * static_cast<double>(v) * static_cast<double>(w);
          }
        });
      });
    }
  }

  Rows x_;
  std::vector<double> weights_;  // [n] scale f''
};

// The Hessian of K outputs: d x d block (k, l) is scale X^T diag(H_kl) X, H_i = grad_z^2 f of row
// i. Only its products are asked for.
class OutputsHessian final : public HostHessian {
 public:
  // `logits(first, last)` are those of rows [first, last): [K x (last - first)].
  template <class Logits>
  OutputsHessian(const Rows& x, std::span<const float> y, const Loss& loss, double scale,
                 const Logits& logits)
      : HostHessian(x.cols), x_(x), y_(y), loss_(loss), scale_(scale) {
    z_.reserve(x.rows * loss.outputs());
    for (std::size_t first = 0; first < x.rows; first += row_block) {
      const auto z = logits(first, std::min<std::size_t>(first + row_block, x.rows));
      z_.insert(z_.end(), z.begin(), z.end());
    }
  }

  void add(std::span<double> sum) const override {
    const std::size_t d = x_.cols, outputs = loss_.outputs();
    Eigen::Map<MatrixXd> h(sum.data(), index(outputs * d), index(outputs * d));  // lower triangles
    for (std::size_t first = 0; first < x_.rows; first += row_block) {
      const std::size_t n = block_size(first);
      const MatrixXd rows = x_.is_sparse() ? MatrixXd() : dense_rows(first);
      for (std::size_t l = 0; l < outputs; ++l) {
        const std::vector<double> column = column_of(first, l);
        for (std::size_t k = l; k < outputs; ++k) {
          auto block = h.block(index(k * d), index(l * d), index(d), index(d));
          const Eigen::Map<const VectorXd> w(column.data() + k * n, index(n));
          if (x_.is_sparse()) {
            add_pairs(first, w, block);
          } else {
            const MatrixXd scaled = w.asDiagonal() * rows;
            block.template triangularView<Eigen::Lower>() += rows.transpose() * scaled;
          }
        }
      }
    }
  }

  void add_diagonal(std::span<double> out) const override {
    for (std::size_t first = 0; first < x_.rows; first += row_block) {
      const std::size_t n = block_size(first);
      for (std::size_t k = 0; k < loss_.outputs(); ++k) {
        const std::vector<double> column = column_of(first, k);
        for (std::size_t i = 0; i < n; ++i) {
          x_.for_each(first + i, [&](std::size_t j, float v) {
            out[k * x_.cols + j] +=
                column[k * n + i] * static_cast<double>(v) * static_cast<double>(v);
          });
        }
      }
    }
  }

  void add_product(std::span<const double> v, std::span<double> out) const override {
    const std::size_t d = x_.cols, outputs = loss_.outputs();
    for (std::size_t first = 0; first < x_.rows; first += row_block) {
      const std::size_t n = block_size(first);
      std::vector<double> u(outputs * n);
      for (std::size_t k = 0; k < outputs; ++k) {
        for (std::size_t i = 0; i < n; ++i) u[k * n + i] = x_.dot(first + i, v.subspan(k * d, d));
      }
      multiply(first, u);
      for (std::size_t k = 0; k < outputs; ++k) {
        for (std::size_t i = 0; i < n; ++i) {
          x_.for_each(first + i, [&](std::size_t j, float x) {
            out[k * d + j] += u[k * n + i] * static_cast<double>(x);
          });
        }
      }
    }
  }

 private:
  [[nodiscard]] std::size_t block_size(std::size_t first) const {
    return std::min<std::size_t>(row_block, x_.rows - first);
  }

  // u[., i] = scale H_i u[., i] for the rows of a block.
  void multiply(std::size_t first, std::vector<double>& u) const {
    const std::size_t n = block_size(first);
    const std::span<const double> z{z_.data() + first * loss_.outputs(), u.size()};
    bare_loss(loss_, x_).curvature_products(z, y_.subspan(first, n), u, u);
    for (std::size_t at = 0; at < u.size(); ++at)
      u[at] *= scale_ * weight_beside(loss_, x_, y_, first + at % n);
  }

  // [K x n]: column l of each row's scale H_i.
  [[nodiscard]] std::vector<double> column_of(std::size_t first, std::size_t l) const {
    const std::size_t n = block_size(first);
    std::vector<double> u(loss_.outputs() * n, 0.0);
    std::fill_n(u.begin() + static_cast<std::ptrdiff_t>(l * n), n, 1.0);
    multiply(first, u);
    return u;
  }

  [[nodiscard]] MatrixXd dense_rows(std::size_t first) const {
    return Eigen::Map<const RowMajorFloat>(x_.matrix().row(first).data(), index(block_size(first)),
                                           index(x_.cols))
        .cast<double>();
  }

  template <class Block>
  void add_pairs(std::size_t first, const Eigen::Map<const VectorXd>& w, Block& block) const {
    for (Eigen::Index i = 0; i < w.size(); ++i) {
      const std::size_t row = first + static_cast<std::size_t>(i);
      x_.for_each(row, [&](std::size_t a, float v) {
        x_.for_each(row, [&](std::size_t b, float u) {
          if (b > a) return;
          block(index(a), index(b)) += w[i] * static_cast<double>(v) * static_cast<double>(u);
        });
      });
    }
  }

  Rows x_;
  std::span<const float> y_;
  const Loss& loss_;
  double scale_;
  std::vector<double> z_;  // blocks of rows, of each [K x rows in the block]
};

}  // namespace

void unfold_hessian(std::size_t columns, std::span<const double> h, MatrixView<double> out) {
  const std::size_t size = out.rows;
  for (std::size_t k = 0; k < size; k += columns) {  // each block is symmetric
    for (std::size_t l = 0; l <= k; l += columns) {
      for (std::size_t a = 0; a < columns; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
          const double v = h[k + a + (l + b) * size];
          out(k + a, l + b) = out(k + b, l + a) = v;
          out(l + a, k + b) = out(l + b, k + a) = v;
        }
      }
    }
  }
}

std::unique_ptr<LossHessian> HostRows::hessian(std::span<const double> theta, double scale) const {
  return host_hessian(theta, scale);
}
std::unique_ptr<HostHessian> HostRows::host_hessian(std::span<const double> theta,
                                                    double scale) const {
  if (outputs() > 1) {
    return std::make_unique<OutputsHessian>(
        table_, labels_, *loss_, scale,
        [&](std::size_t first, std::size_t last) { return logits(theta, first, last); });
  }
  std::vector<double> weights(table_.rows);
  bare_loss(*loss_, table_).curvatures(logits(theta, 0, table_.rows), labels_, weights);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] *= scale * weight_beside(*loss_, table_, labels_, i);
  return std::make_unique<RowsHessian>(table_, std::move(weights));
}

}  // namespace gibbsite
