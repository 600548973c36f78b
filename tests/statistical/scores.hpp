#pragma once
// Exact tests that scores are independent N(0, I_d).
//
// Every chain is turned into a score vector that is exactly N(0, I_d) if the chain samples what it
// should. All laws below are exact for every number of chains (chi-square, normal, and the DKW
// inequality with Massart's constant), so the stated false-alarm probability is a bound, not an
// approximation.
#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "statistical/quadrature.hpp"

namespace scores {

/// Largest statistic of each family over its threshold: above 1 it fires.
struct Verdict {
  double mean = 0, variance = 0, correlation = 0, quantiles = 0;
  [[nodiscard]] double worst() const {
    return std::max(std::max(mean, variance), std::max(correlation, quantiles));
  }
  [[nodiscard]] std::string text() const {
    return "statistic over threshold: mean " + std::to_string(mean) + ", variance " +
           std::to_string(variance) + ", correlation " + std::to_string(correlation) +
           ", quantiles " + std::to_string(quantiles);
  }
};

/// Normal score of a chi-square statistic x; |score| <= 37.
inline double chi_squared_score(double x, double freedom) {
  using namespace boost::math::policies;
  using Ends = policy<overflow_error<ignore_error>, underflow_error<ignore_error>>;
  const boost::math::chi_squared_distribution<double, Ends> law(freedom);
  return quadrature::normal_score(cdf(law, x), cdf(complement(law, x)));
}

/// Fires (worst() > 1) with probability at most `alpha` if `w` [C x d] holds independent N(0,1).
inline Verdict judge(const Eigen::MatrixXd& w, double alpha) {
  const auto chains = static_cast<double>(w.rows()), d = static_cast<double>(w.cols());
  // alpha/4 for each family, shared by its members.
  const auto threshold = [&](double members) {
    return boost::math::quantile(complement(boost::math::normal{}, alpha / 8 / members));
  };
  Verdict out;
  if (!w.allFinite()) {
    out.mean = std::numeric_limits<double>::infinity();
    return out;
  }
  // ||sum w||^2 / C ~ chi^2_d; ||w||^2 in all ~ chi^2_{Cd}, of one coordinate ~ chi^2_C.
  out.mean =
      std::max(0.0, chi_squared_score(w.colwise().sum().squaredNorm() / chains, d)) / threshold(1);
  out.variance = std::fabs(chi_squared_score(w.squaredNorm(), chains * d)) / threshold(d + 1);
  for (Eigen::Index j = 0; j < w.cols(); ++j) {
    out.variance =
        std::max(out.variance,
                 std::fabs(chi_squared_score(w.col(j).squaredNorm(), chains)) / threshold(d + 1));
  }
  // <w_i, w_j> / ||w_j|| ~ N(0,1), because w_i is independent of w_j and isotropic.
  for (Eigen::Index i = 0; i < w.cols(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      out.correlation = std::max(out.correlation, std::fabs(w.col(i).dot(w.col(j))) /
                                                      w.col(j).norm() / threshold(d * (d - 1) / 2));
    }
  }
  // P(sup |F_C - F| > t) <= 2 exp(-2 C t^2) in each coordinate.
  const double allowed = std::sqrt(std::log(2 * d / (alpha / 4)) / (2 * chains));
  for (Eigen::Index j = 0; j < w.cols(); ++j) {
    std::vector<double> sorted(w.col(j).begin(), w.col(j).end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const double F = quadrature::upper_tail(-sorted[i]), k = static_cast<double>(i);
      out.quantiles =
          std::max(out.quantiles, std::max(F - k / chains, (k + 1) / chains - F) / allowed);
    }
  }
  return out;
}

}  // namespace scores
