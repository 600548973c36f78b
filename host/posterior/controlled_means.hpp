#pragma once
// Means with less variance: the gradient of U has the mean 0 under exp(-U), so a linear part of it
// can be taken from the parameters (Mira, Solgi and Imparato 2013).
#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "posterior/target.hpp"

namespace gibbsite {

/// Adds up what the regression of theta on s = L^T grad U takes. Chains are in two halves (of one
/// chain the draws are), and the means of each are corrected by the coefficients of the other, so
/// that no draw is corrected by coefficients that it chose. Memory: 2 d^2 + (d + 1) numbers and two
/// means [d] of each batch; work: 2 d^2 flops a draw.
class ControlledMeans {
 public:
  ControlledMeans(std::uint64_t chains, std::uint64_t draws, std::size_t parameters);

  /// The next state [C x d] and L^T grad U there.
  void add(const Rowwise& theta, const Rowwise& slope);
  /// The means and their Monte Carlo errors [d]; left as they are where there were too few draws.
  void finish(std::vector<double>& mean, std::vector<double>& error) const;

 private:
  struct Half {
    Eigen::MatrixXd slopes, crossed;  // [d x d] sums of s s^T and s theta^T
    Eigen::VectorXd slope, theta;     // [d] sums
    double count = 0;
    [[nodiscard]] Eigen::MatrixXd coefficients() const;
  };
  [[nodiscard]] bool serves() const { return batches_ > 0; }
  [[nodiscard]] std::size_t half_of(std::uint64_t chain, std::uint64_t batch) const;

  std::uint64_t chains_, draws_, done_ = 0;
  Eigen::Index d_;
  std::uint64_t batches_ = 0, batch_draws_ = 0;  // of a chain
  Half half_[2];
  Rowwise batch_theta_, batch_slope_;  // [C batches x d] sums
};

}  // namespace gibbsite
