#pragma once
// Do two sets of independent draws have one law? A kernel two-sample test with an exact rate.
//
// Half of the pairs (x_i, y_i) trains a witness, the function f whose means differ most in the unit
// ball of a kernel's space: f(z) = mean k(z, x) - mean k(z, y) (Gretton et al. 2012, section 2.3;
// tested on other draws as by Kuebler et al. 2022). The other half is tested by X_i = f(x_i) -
// f(y_i), whose mean is the squared distance MMD^2 above the noise of f. When both laws are one,
// x_i and y_i can be exchanged, so each X_i has a symmetric law given f and all |X_j|, and for
// every number of pairs (Hoeffding 1963 on signs; Efron 1969)
//   P(sum X_i >= t sqrt(sum X_i^2)) <= exp(-t^2 / 2).
// Two kernels: the energy distance -||z - x|| (Szekely and Rizzo 2013), which sees every
// difference, and z^T x + (z^T x)^2, which sees small ones of mean and covariance.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace two_sample {

/// sum X_i / sqrt(sum X_i^2) over its threshold for each kernel: above 1 it fires.
struct Verdict {
  double energy = 0, moments = 0;
  [[nodiscard]] double worst() const { return std::max(energy, moments); }
  [[nodiscard]] std::string text() const {
    return "statistic over threshold: energy " + std::to_string(energy) + ", moments " +
           std::to_string(moments);
  }
};

namespace detail {

// mean_i ||z - sample_i||, summed over coordinates in the outer loop.
inline double mean_distance(const Eigen::VectorXd& z, const Eigen::MatrixXd& sample) {
  Eigen::ArrayXd squared = Eigen::ArrayXd::Zero(sample.rows());
  for (Eigen::Index j = 0; j < sample.cols(); ++j) {
    squared += (sample.col(j).array() - z(j)).square();
  }
  return squared.sqrt().mean();
}

}  // namespace detail

/// Fires (worst() > 1) with probability at most `alpha` if the rows of x [n x d] and y [m x d] are
/// independent and of one law. Uses min(n, m) rows of each, the energy distance the first
/// `most_distances` of them: its work grows with their square.
inline Verdict judge(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y, double alpha,
                     Eigen::Index most_distances = 8000) {
  using Eigen::Index;
  using Eigen::MatrixXd;
  using Eigen::VectorXd;
  Verdict out;
  const Index pairs = std::min(x.rows(), y.rows()), half = pairs / 2;
  if (half < 2 || !x.allFinite() || !y.allFinite()) {
    out.energy = std::numeric_limits<double>::infinity();
    return out;
  }
  // Scales come from all draws together, so exchanging x_i and y_i changes none.
  MatrixXd a = x.topRows(pairs), b = y.topRows(pairs);
  const Eigen::RowVectorXd mean = (a.colwise().mean() + b.colwise().mean()) / 2;
  a.rowwise() -= mean;
  b.rowwise() -= mean;
  const MatrixXd covariance =
      (a.transpose() * a + b.transpose() * b) / (2 * static_cast<double>(pairs));
  const Eigen::LLT<MatrixXd> factor(covariance);
  a = factor.matrixL().solve(a.transpose()).transpose().eval();
  b = factor.matrixL().solve(b.transpose()).transpose().eval();

  const double threshold = std::sqrt(2 * std::log(2 / alpha));  // alpha/2 for each kernel
  const auto over_threshold = [&](const VectorXd& differences) {
    const double scale = differences.norm();
    return scale > 0 ? differences.sum() / scale / threshold : 0.0;
  };

  const auto train = [half](const MatrixXd& m) { return m.topRows(half); };
  const MatrixXd second = (train(a).transpose() * train(a) - train(b).transpose() * train(b)) /
                          static_cast<double>(half);
  const VectorXd first = (train(a).colwise().mean() - train(b).colwise().mean()).transpose();
  const auto witness = [&](const MatrixXd& m) -> VectorXd {
    const MatrixXd tested = m.bottomRows(pairs - half);
    return tested * first + (tested * second).cwiseProduct(tested).rowwise().sum();
  };
  out.moments = over_threshold(witness(a) - witness(b));

  const Index some = std::min(pairs, most_distances) / 2;
  const MatrixXd near = a.topRows(some), far = b.topRows(some);
  VectorXd differences(some);
  for (Index i = 0; i < some; ++i) {
    const auto at = [&](const MatrixXd& m) -> double {
      const VectorXd z = m.row(some + i).transpose();
      return detail::mean_distance(z, far) - detail::mean_distance(z, near);
    };
    differences(i) = at(a) - at(b);
  }
  out.energy = over_threshold(differences);
  return out;
}

}  // namespace two_sample
