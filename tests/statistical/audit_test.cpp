// End to end: chains on D and on a neighbor with noise of their own, before they are rounded, told
// apart as well as we can (tests/audit has every mechanism's released draws). The lower bound on mu
// holds with probability 1 - 1e-6 over the seed, so it may not exceed the certificate; with half
// the noise it does.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/audit/bounds.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/model/loss.hpp"
#include "support/two_samples.hpp"

namespace gibbsite {
namespace audit_test {

constexpr double alpha = 1e-6;
constexpr std::size_t chains_per_side = 20000;

/// theta_T [chains x 2] on three rows, the last one given.
Eigen::MatrixX2d draws(float last_x2, const ChainSpec& spec, std::uint64_t seed) {
  const std::vector<float> x = {0.5F, -0.25F, -0.75F, 0.5F, 0.28F, last_x2}, y = {1, -1, 1};
  const auto engine = make_backend("reference")->load({x.data(), 3, 2}, y, loss_named("logistic"));
  std::vector<ChainSpec> specs(chains_per_side, spec);
  for (std::size_t c = 0; c < specs.size(); ++c) {
    specs[c].key = StreamKey::from_seed(seed);
    specs[c].stream = static_cast<std::uint32_t>(c);
  }
  Ensemble ensemble = start(std::move(specs), 2);
  engine->advance(ensemble, spec.iterations);
  return Eigen::Map<const Eigen::Matrix<double, -1, 2, Eigen::RowMajor>>(
      ensemble.theta.data(), static_cast<Eigen::Index>(chains_per_side), 2);
}

/// Rate at which `scores` exceed (or do not exceed) the threshold.
std::size_t above(const Eigen::VectorXd& scores, double threshold) {
  return static_cast<std::size_t>((scores.array() > threshold).count());
}

/// Lower bound on mu at confidence 1 - alpha, from the draws alone.
double audit_mu_down(const Eigen::MatrixX2d& d, const Eigen::MatrixX2d& neighbor) {
  const auto half = static_cast<Eigen::Index>(chains_per_side / 2);
  const auto n = static_cast<std::size_t>(half);
  // First half: the direction between the means, and the best threshold along it.
  const Eigen::Vector2d direction =
      (neighbor.topRows(half).colwise().mean() - d.topRows(half).colwise().mean()).transpose();
  const Eigen::VectorXd a = d * direction, b = neighbor * direction;
  double threshold = 0, best = -1e300;
  for (int q = 1; q < 100; ++q) {
    Eigen::VectorXd sorted = a.head(half);
    const auto at = half * q / 100;
    std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
    const double mu = support::two_samples_mu_down(
        above(a.head(half), sorted(at)), n - above(b.head(half), sorted(at)), n, 1 - alpha);
    if (mu > best) best = mu, threshold = sorted(at);
  }
  // Second half: the bound.
  return support::two_samples_mu_down(above(a.tail(half), threshold),
                                      n - above(b.tail(half), threshold), n, 1 - alpha);
}

TEST(Audit, DoesNotBeatTheCertificateUnlessTheNoiseIsHalved) {
  // Started far out along the first coordinate, where the replaced row (0.28, +-0.96) is saturated
  // and its gradient difference is 2 * 0.96 of the 2 that S allows.
  ChainSpec spec{.inverse_temperature = 0.5,
                 .prior_precision = 0.5,
                 .step_size = 0.5,
                 .iterations = 10,
                 .center = {-40, 0},
                 .key = StreamKey::from_seed(0)};
  const Problem constants{.rows = 3, .features = 2, .prior_precision = 0.5};
  const double mu = path_mu_up(constants.sensitivity_up(0.5, Adjacency::replace_one, 1), 0.5,
                               constants.smoothness_up(0.5, 0.5), spec.step_size, 10);
  const double found = audit_mu_down(draws(0.96F, spec, 1), draws(-0.96F, spec, 2));
  EXPECT_LE(found, mu);
  EXPECT_GT(found, 0.75 * mu);  // the audit is not blind

  // Half the noise: a step four times shorter with four times the drift per unit of time.
  spec.step_size /= 4;
  spec.inverse_temperature *= 4;
  spec.prior_precision *= 4;
  EXPECT_GT(audit_mu_down(draws(0.96F, spec, 3), draws(-0.96F, spec, 4)), mu);
}

}  // namespace audit_test
}  // namespace gibbsite
