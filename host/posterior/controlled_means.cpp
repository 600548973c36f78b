#include "posterior/controlled_means.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t most_parameters = 1000;
constexpr std::uint64_t draws_per_parameter = 4;  // of a half, so that coefficients are no noise
constexpr std::uint64_t least_batch = 20, most_batches = 50, least_batches_in_all = 20;

}  // namespace

ControlledMeans::ControlledMeans(std::uint64_t chains, std::uint64_t draws, std::size_t parameters)
    : chains_(chains), draws_(draws), d_(index(parameters)) {
  if (parameters > most_parameters) return;
  if (chains * draws / 2 < draws_per_parameter * (parameters + 1)) return;
  // Two halves of one chain need two batches.
  const std::uint64_t batches = std::clamp<std::uint64_t>(draws / least_batch, 1, most_batches);
  if (chains * batches < least_batches_in_all) return;
  batches_ = batches;
  batch_draws_ = draws / batches;
  for (Half& half : half_) {
    half.slopes = half.crossed = MatrixXd::Zero(d_, d_);
    half.slope = half.theta = VectorXd::Zero(d_);
  }
  batch_theta_ = batch_slope_ = Rowwise::Zero(index(chains * batches), d_);
}

std::size_t ControlledMeans::half_of(std::uint64_t chain, std::uint64_t batch) const {
  return chains_ > 1 ? (2 * chain < chains_ ? 0 : 1) : (2 * batch < batches_ ? 0 : 1);
}

void ControlledMeans::add(const Rowwise& theta, const Rowwise& slope) {
  if (!serves()) return;
  // The last batch takes what is left over.
  const std::uint64_t batch = std::min(done_++ / batch_draws_, batches_ - 1);
  const auto sum = [&](Half& half, Eigen::Index first, Eigen::Index count) {
    const auto s = slope.middleRows(first, count), t = theta.middleRows(first, count);
    half.slopes.noalias() += s.transpose() * s;
    half.crossed.noalias() += s.transpose() * t;
    half.slope += s.colwise().sum().transpose();
    half.theta += t.colwise().sum().transpose();
    half.count += static_cast<double>(count);
  };
  const auto C = index(chains_), first_half = (C + 1) / 2;
  if (C > 1) {
    sum(half_[0], 0, first_half);
    sum(half_[1], first_half, C - first_half);
  } else {
    sum(half_[half_of(0, batch)], 0, 1);
  }
  for (Eigen::Index c = 0; c < C; ++c) {
    const auto at = c * index(batches_) + index(batch);
    batch_theta_.row(at) += theta.row(c);
    batch_slope_.row(at) += slope.row(c);
  }
}

// [d x d] B with theta ~ mean + B^T (s - mean), by least squares.
MatrixXd ControlledMeans::Half::coefficients() const {
  const VectorXd mean = slope / count;
  const MatrixXd covariance = slopes / count - mean * mean.transpose();
  const MatrixXd crossing = crossed / count - mean * (theta / count).transpose();
  return covariance.ldlt().solve(crossing);
}

void ControlledMeans::finish(std::vector<double>& mean, std::vector<double>& error) const {
  if (!serves() || done_ != draws_) return;
  const MatrixXd of_other[2] = {half_[1].coefficients(), half_[0].coefficients()};
  if (!of_other[0].allFinite() || !of_other[1].allFinite()) return;
  VectorXd sum = VectorXd::Zero(d_);
  for (std::size_t h = 0; h < 2; ++h) {
    sum += half_[h].theta - of_other[h].transpose() * half_[h].slope;
  }
  const VectorXd means = sum / (half_[0].count + half_[1].count);
  // Batches are long beside the chains' memory, so their means are next to independent.
  VectorXd squares = VectorXd::Zero(d_);
  for (std::uint64_t c = 0; c < chains_; ++c) {
    for (std::uint64_t b = 0; b < batches_; ++b) {
      const auto at = index(c * batches_ + b);
      const std::uint64_t left_over = b + 1 == batches_ ? draws_ - batches_ * batch_draws_ : 0;
      const auto count = static_cast<double>(batch_draws_ + left_over);
      const VectorXd value =
          (batch_theta_.row(at).transpose() -
           of_other[half_of(c, b)].transpose() * batch_slope_.row(at).transpose()) /
          count;
      squares += (value - means).cwiseAbs2();
    }
  }
  const auto batches = static_cast<double>(chains_ * batches_);
  const VectorXd errors = (squares / (batches * (batches - 1))).cwiseSqrt();
  mean.assign(means.begin(), means.end());
  error.assign(errors.begin(), errors.end());
}

}  // namespace gibbsite
