#pragma once
// The metric that trajectories are preconditioned with.
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "posterior/target.hpp"

namespace gibbsite {

/// theta = L q: trajectories move in q, where the metric Sigma = L L^T is the identity. L is
/// diagonal, or the transposed inverse of the factor R of a precision R R^T.
class Chart {
 public:
  explicit Chart(Eigen::VectorXd scales) : scales_(std::move(scales)) {}

  /// Throws BadInput when the precision [d x d] is not positive definite in double.
  static Chart of_precision(const Eigen::MatrixXd& precision) {
    const Eigen::LLT<Eigen::MatrixXd> factor(precision);
    if (factor.info() != Eigen::Success || !precision.allFinite()) {
      throw BadInput(format_message("{} laplace", Field{"metric"}),
                     "the Hessian at the minimizer is not positive definite in double precision",
                     format_message("use {} diagonal, or a larger {}", Field{"metric"},
                                    Field{"prior_precision"}));
    }
    Chart chart(Eigen::VectorXd{});
    chart.inverse_ = Eigen::MatrixXd::Identity(precision.rows(), precision.cols());
    factor.matrixL().solveInPlace(chart.inverse_);
    return chart;
  }

  /// Rows L p of rows p [C x d].
  void push(const Rowwise& p, Rowwise& out) const {
    if (scales_.size() > 0) {
      out = p * scales_.asDiagonal();
    } else {
      out.noalias() = p * inverse_.triangularView<Eigen::Lower>();
    }
  }

  /// Rows L^-1 p of rows p [C x d], in place.
  void coordinates(Rowwise& p) const {
    if (scales_.size() > 0) {
      p = p * scales_.cwiseInverse().asDiagonal();
    } else {
      inverse_.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(p);
    }
  }

  /// Rows L^T g of rows g [C x d].
  void pull(const Rowwise& g, Rowwise& out) const {
    if (scales_.size() > 0) {
      out = g * scales_.asDiagonal();
    } else {
      out.noalias() = g * inverse_.transpose().triangularView<Eigen::Upper>();
    }
  }

  [[nodiscard]] const Eigen::VectorXd& scales() const { return scales_; }

 private:
  Eigen::VectorXd scales_;   // [d] the diagonal of L; empty where dense
  Eigen::MatrixXd inverse_;  // [d x d] R^-1, lower; L = R^-T
};

}  // namespace gibbsite
