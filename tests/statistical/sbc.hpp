#pragma once
// Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari, Gelman 2018) of a sampler of
// the posterior of a loss whose exp(-f(z, y)) is the law of y, at beta = 1.
//
// theta ~ N(0, I/m), labels from that law at theta, draws from the sampler: if the draws are
// independent and from the posterior, the rank of theta_j among them is uniform on 0..L,
// whatever the rows. Ranks of other replications are independent, so every law below is exact: the
// jittered rank (rank + V)/(L + 1), V uniform, has the normal score N(0, 1), which scores::judge
// tests (mean, variance by chi-square, and quantiles by DKW), and each bar of the histogram is
// binomial (a chi-square over the bars would be exact in the limit alone). One coordinate at a
// time: coordinates of one replication are not independent.
#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/data/rows.hpp"
#include "statistical/quadrature.hpp"
#include "statistical/scores.hpp"

namespace sbc {

/// Independent draws [L x K d] from the posterior of (rows, labels) at inverse temperature beta and
/// prior N(0, I/m).
using MechanismRun =
    std::function<Eigen::MatrixXd(const gibbsite::Rows& rows, std::span<const float> labels,
                                  double beta, double m, const gibbsite::StreamKey& key)>;

/// A label of the law at predictors z [K].
using Label = std::function<float(std::span<const double> z, std::mt19937_64& random)>;

inline double uniform(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>()(random);
}
inline float logistic_label(std::span<const double> z, std::mt19937_64& random) {
  return uniform(random) < 1 / (1 + std::exp(-z[0])) ? 1.0F : -1.0F;
}
/// Class k with probability e^z_k / sum e^z.
inline float softmax_label(std::span<const double> z, std::mt19937_64& random) {
  double sum = 0;
  for (const double score : z) sum += std::exp(score);
  double left = sum * uniform(random);
  std::size_t k = 0;
  while (k + 1 < z.size() && (left -= std::exp(z[k])) >= 0) ++k;
  return static_cast<float>(k);
}
/// z + r, r of density exp(-huber(r)) up to a constant: a normal cut to |r| <= 1, of mass
/// sqrt(2 pi) (2 Phi(1) - 1), or beyond it an exponential on either side, of mass exp(-1/2) each.
inline float huber_label(std::span<const double> z, std::mt19937_64& random) {
  const double middle = std::sqrt(2 * std::numbers::pi) * std::erf(std::numbers::sqrt2 / 2);
  const double tails = 2 * std::exp(-0.5);
  double r = 2;
  if (uniform(random) * (middle + tails) < middle) {
    std::normal_distribution<double> normal;
    while (std::abs(r) > 1) r = normal(random);
  } else {
    r = 1 + std::exponential_distribution<double>()(random);
    if (uniform(random) < 0.5) r = -r;
  }
  return static_cast<float>(z[0] + r);
}

struct Setup {
  std::size_t rows = 5, features = 2;
  double prior_precision = 0.5;
  std::size_t replications = 1000;
  std::uint64_t seed = 1;
  Label label = logistic_label;
  std::size_t outputs = 1;  ///< K
};

struct Verdict {
  scores::Verdict scores{};  ///< the worst over the coordinates, family by family
  double histogram = 0;      ///< the same of the counts of ranks: above 1 it fires
  std::vector<std::vector<std::uint64_t>> counts{};  ///< [K d][bins]
  [[nodiscard]] double worst() const { return std::max(scores.worst(), histogram); }
  [[nodiscard]] std::string text() const {
    std::string out = scores.text() + ", histogram " + std::to_string(histogram) + "; counts";
    for (const auto& bins : counts) {
      out += " [";
      for (const auto count : bins) out.append(" ").append(std::to_string(count));
      out += " ]";
    }
    return out;
  }
};

/// Fires (worst() > 1) with probability at most `alpha` if the sampler is right.
inline Verdict judge(const Setup& setup, const MechanismRun& sampler, double alpha) {
  using Eigen::Index;
  constexpr std::size_t bins = 10;
  const std::size_t n = setup.rows, columns = setup.features, d = setup.outputs * columns;
  std::mt19937_64 random(setup.seed);
  std::normal_distribution<double> normal;
  std::vector<float> x(n * columns), y(n);
  std::vector<double> z(setup.outputs);
  Eigen::VectorXd theta(static_cast<Index>(d));
  Eigen::MatrixXd w(static_cast<Index>(setup.replications), static_cast<Index>(d));
  Verdict out;
  out.counts.assign(d, std::vector<std::uint64_t>(bins, 0));
  for (std::size_t replication = 0; replication < setup.replications; ++replication) {
    for (float& v : x) v = static_cast<float>(2 * uniform(random) - 1);
    for (double& v : theta) v = normal(random) / std::sqrt(setup.prior_precision);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < z.size(); ++k) {
        z[k] = gibbsite::Rows(x.data(), n, columns).dot(i, {theta.data() + k * columns, columns});
      }
      y[i] = setup.label(z, random);
    }
    const gibbsite::StreamKey key = gibbsite::StreamKey::from_seed(random());
    const Eigen::MatrixXd draws =
        sampler({x.data(), n, columns}, y, 1.0, setup.prior_precision, key);
    for (std::size_t j = 0; j < d; ++j) {
      const auto column = static_cast<Index>(j);
      const double rank = static_cast<double>((draws.col(column).array() < theta(column)).count());
      const double at = (rank + uniform(random)) / static_cast<double>(draws.rows() + 1);
      w(static_cast<Index>(replication), column) = quadrature::normal_score(at, 1 - at);
      ++out.counts[j][std::min(bins - 1, static_cast<std::size_t>(at * bins))];
    }
  }
  // alpha/2 for the scores, alpha/2 for the counts, shared by the coordinates.
  const double share = alpha / 2 / static_cast<double>(d);
  const boost::math::binomial law(static_cast<double>(setup.replications), 1.0 / bins);
  const double least = quantile(law, share / 2 / bins);
  const double most = quantile(complement(law, share / 2 / bins));
  const double expected = static_cast<double>(setup.replications) / bins;
  for (std::size_t j = 0; j < d; ++j) {
    const scores::Verdict one = scores::judge(w.col(static_cast<Index>(j)), share);
    out.scores.mean = std::max(out.scores.mean, one.mean);
    out.scores.variance = std::max(out.scores.variance, one.variance);
    out.scores.quantiles = std::max(out.scores.quantiles, one.quantiles);
    for (const auto count : out.counts[j]) {
      const double off = static_cast<double>(count) - expected;
      out.histogram =
          std::max(out.histogram, off > 0 ? off / (most - expected) : off / (least - expected));
    }
  }
  return out;
}

}  // namespace sbc
