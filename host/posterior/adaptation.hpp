#pragma once
// What the warm-up learns: the step size and, in windows, how far the posterior spreads.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "posterior/target.hpp"

namespace gibbsite {

/// Dual averaging (Hoffman and Gelman 2014, section 3.2), with their constants.
class StepSize {
 public:
  explicit StepSize(double first) : shrink_to_(std::log(10 * first)), log_mean_(std::log(first)) {}

  /// The next step, after one whose acceptance missed the target by that.
  double next(double missed) {
    constexpr double gamma = 0.05, t0 = 10, kappa = 0.75;
    ++count_;
    error_ += (missed - error_) / (count_ + t0);
    const double log_step = shrink_to_ - std::sqrt(count_) / gamma * error_;
    log_mean_ += std::pow(count_, -kappa) * (log_step - log_mean_);
    return std::exp(log_step);
  }
  [[nodiscard]] double mean() const { return std::exp(log_mean_); }

 private:
  double shrink_to_, log_mean_, error_ = 0, count_ = 0;
};

/// Windows of the warm-up as in Stan: a start without, windows of 25, 50, 100 ... transitions of
/// which the last takes the rest, and an end in which only the step is adapted.
struct Windows {
  std::uint64_t begin = 0;
  std::vector<std::uint64_t> ends{};  // the last transition of each, plus 1

  explicit Windows(std::uint64_t warm_up) {
    std::uint64_t first = 75, size = 25, last = 50;
    if (first + size + last > warm_up) {
      first = warm_up * 15 / 100;
      last = warm_up / 10;
      size = warm_up - first - last;
    }
    begin = first;
    const std::uint64_t end = warm_up - last;
    for (std::uint64_t at = first; at < end; size *= 2) {
      // The next one must fit as well, at twice the size.
      at = at + 3 * size > end ? end : at + size;
      ends.push_back(at);
    }
  }
  [[nodiscard]] bool contains(std::uint64_t t) const {
    return !ends.empty() && t >= begin && t < ends.back();
  }
  [[nodiscard]] bool ends_after(std::uint64_t t) const {
    return std::ranges::find(ends, t + 1) != ends.end();
  }
};

/// Draws of one window, of all chains together: variances, and the variance along a direction that
/// was fixed before the window, which is at most the largest one.
class PositionSpread {
 public:
  PositionSpread(Eigen::VectorXd scales, const Eigen::VectorXd& direction)
      : scales_(std::move(scales)),
        direction_(direction.normalized()),
        mean_(Eigen::VectorXd::Zero(scales_.size())),
        squares_(Eigen::VectorXd::Zero(scales_.size())),
        next_(Eigen::VectorXd::Zero(scales_.size())) {}

  void add(const Rowwise& theta) {
    for (Eigen::Index c = 0; c < theta.rows(); ++c) {
      count_ += 1;
      const Eigen::VectorXd before = theta.row(c).transpose() - mean_;
      mean_ += before / count_;
      const Eigen::VectorXd after = theta.row(c).transpose() - mean_;
      squares_ += before.cwiseProduct(after);
      const Eigen::VectorXd scaled = after.cwiseQuotient(scales_);
      const double along = scaled.dot(direction_);
      along_ += along * along;
      next_ += along * scaled;
    }
  }

  /// Shrunk toward the squared scales by 5 draws.
  [[nodiscard]] Eigen::VectorXd deviations(const Eigen::VectorXd& toward) const {
    const Eigen::VectorXd variance = squares_ / std::max(count_ - 1, 1.0);
    return ((count_ * variance + 5 * toward.cwiseAbs2()) / (count_ + 5)).cwiseSqrt();
  }
  /// In units of the scales.
  [[nodiscard]] double along() const { return std::sqrt(along_ / std::max(count_, 1.0)); }
  /// One step of the power method from `direction`, in units of other scales.
  [[nodiscard]] Eigen::VectorXd next_direction(const Eigen::VectorXd& scales) const {
    const Eigen::VectorXd next = next_.cwiseProduct(scales_).cwiseQuotient(scales);
    return next.norm() > 0 && next.allFinite() ? Eigen::VectorXd(next.normalized()) : direction_;
  }

 private:
  Eigen::VectorXd scales_, direction_, mean_, squares_, next_;
  double count_ = 0, along_ = 0;
};

}  // namespace gibbsite
