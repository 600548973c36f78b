// Many chains against the exact law of theta_T, on every backend.
//
// Each chain becomes a score vector that is exactly N(0, I_d) under the exact law of Langevin Monte
// Carlo after T steps, discretization included (scores.hpp). A test fires by chance with
// probability at most 5e-8 over the choice of the seed; the seeds are fixed, and there are 12 such
// verdicts per backend here, so at most 1e-6 in all. Each test also shows that it fires when the
// noise is scaled by 1.02 and when beta is scaled by 0.98.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses.hpp"
#include "statistical/problems.hpp"
#include "statistical/quadrature.hpp"
#include "statistical/scores.hpp"

namespace gibbsite {
namespace chains_test {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using problems::Interpolated;
using problems::random_rows;
using problems::squared_loss;
using problems::Table;

constexpr double false_alarm = 5e-8;

/// theta_T of one chain per spec [C x d].
MatrixXd sampled(const std::string& backend, const Table& table, const Loss& loss,
                 std::vector<ChainSpec> specs) {
  const auto engine =
      make_backend(backend)->load({table.x.data(), table.n, table.d}, table.y, loss);
  Ensemble chains = start(std::move(specs), table.d);
  while (!chains.finished()) engine->advance(chains, 1000);
  return Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(
      chains.theta.data(), static_cast<Eigen::Index>(chains.chains()),
      static_cast<Eigen::Index>(table.d));
}

/// `count` chains of one spec on streams 0, 1, ...
std::vector<ChainSpec> copies(const ChainSpec& spec, std::size_t count) {
  std::vector<ChainSpec> out(count, spec);
  for (std::size_t c = 0; c < count; ++c) out[c].stream = static_cast<std::uint32_t>(c);
  return out;
}

/// A chain with the drift of `spec` and its noise sqrt(2h) scaled: a planted bug that any backend
/// runs.
ChainSpec with_noise_scaled(ChainSpec spec, double scale) {
  spec.step_size *= scale * scale;
  spec.inverse_temperature /= scale * scale;
  spec.prior_precision /= scale * scale;
  return spec;
}

ChainSpec with_beta_scaled(ChainSpec spec, double scale) {
  spec.inverse_temperature *= scale;
  return spec;
}

VectorXd center_of(const ChainSpec& spec, std::size_t d) {
  VectorXd out = VectorXd::Zero(static_cast<Eigen::Index>(d));
  for (std::size_t j = 0; j < spec.center.size(); ++j)
    out(static_cast<Eigen::Index>(j)) = spec.center[j];
  return out;
}

/// Law of theta_T for the quadratic loss: N(mean, L L^T), by recursion over the steps.
struct Gaussian {
  VectorXd mean;
  MatrixXd L;
  [[nodiscard]] VectorXd score(const VectorXd& theta) const {
    return L.triangularView<Eigen::Lower>().solve(theta - mean);
  }
};

Gaussian quadratic_law(const Table& table, const ChainSpec& spec) {
  const double h = spec.step_size, beta = spec.inverse_temperature, m = spec.prior_precision;
  const MatrixXd X = table.X(), I = MatrixXd::Identity(X.cols(), X.cols());
  const VectorXd center = center_of(spec, table.d);
  const MatrixXd A = I - h * (beta * X.transpose() * X + m * I);
  const VectorXd b = h * (beta * X.transpose() * table.Y() + m * center);
  VectorXd mean = center;
  MatrixXd covariance = MatrixXd::Zero(X.cols(), X.cols());
  for (std::uint64_t t = 0; t < spec.iterations; ++t) {
    mean = A * mean + b;
    covariance = A * covariance * A.transpose() + 2 * h * I;
  }
  return {mean, covariance.llt().matrixL()};
}

class Chains : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::string backend() const { return GetParam(); }

  /// Runs `specs`, then the same with both planted bugs: noise times 1.02, beta times `cooled`.
  /// `score` maps (theta_T, chain) to scores.
  template <class Score>
  void judge_all(const Table& table, const Loss& loss, const std::vector<ChainSpec>& specs,
                 Score score, double cooled = 0.98) {
    const auto verdict = [&](auto doctor) {
      std::vector<ChainSpec> run = specs;
      for (ChainSpec& spec : run) spec = doctor(spec);
      MatrixXd w = sampled(backend(), table, loss, run);
      for (Eigen::Index c = 0; c < w.rows(); ++c) {
        w.row(c) = score(VectorXd(w.row(c)), static_cast<std::size_t>(c));
      }
      return scores::judge(w, false_alarm);
    };
    const auto honest = verdict([](const ChainSpec& s) { return s; });
    EXPECT_LE(honest.worst(), 1) << honest.text();
    if (backend() != "cpu") return;  // the power of a statistic is no matter of the backend
    const auto noisy = verdict([](const ChainSpec& s) { return with_noise_scaled(s, 1.02); });
    EXPECT_GT(noisy.worst(), 1) << "noise x 1.02 passes: " << noisy.text();
    const auto cold = verdict([cooled](const ChainSpec& s) { return with_beta_scaled(s, cooled); });
    EXPECT_GT(cold.worst(), 1) << "beta x " << cooled << " passes: " << cold.text();
  }

  void quadratic(std::size_t d, std::size_t count, const std::vector<ChainSpec>& kinds) {
    const Table table = random_rows(7, d, 11 + d);
    std::vector<ChainSpec> specs = copies(kinds.front(), count);
    std::vector<Gaussian> laws;
    for (const ChainSpec& kind : kinds) laws.push_back(quadratic_law(table, kind));
    for (std::size_t c = 0; c < count; ++c) {
      specs[c] = kinds[c % kinds.size()];
      specs[c].stream = static_cast<std::uint32_t>(c);
    }
    judge_all(table, squared_loss, specs, [&](const VectorXd& theta, std::size_t c) {
      return laws[c % kinds.size()].score(theta);
    });
  }
};

StreamKey chacha_key(std::uint8_t seed) {
  StreamKey key(NoiseKind::chacha20, {});
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    key.bytes[i] = static_cast<std::uint8_t>(seed * 37 + i);
  }
  return key;
}

TEST_P(Chains, QuadraticInOneDimension) {
  quadratic(1, 200000,
            {{.inverse_temperature = 1.5,
              .prior_precision = 0.3,
              .step_size = 0.05,
              .iterations = 6,
              .center = {-4},
              .key = StreamKey::from_seed(1)}});
}

// Run long, the chain keeps the bias of its step: variance 1/(K (1 - hK/2)), not 1/K.
TEST_P(Chains, QuadraticLimitHasTheBiasOfTheStep) {
  const Table table = random_rows(7, 1, 12);
  const double K = table.X().squaredNorm() + 0.5, mode = table.X().col(0).dot(table.Y()) / K;
  const ChainSpec spec{.inverse_temperature = 1.0,
                       .prior_precision = 0.5,
                       .step_size = 0.4 / K,
                       .iterations = 50,  // 0.6^50: what is left of the start
                       .center = {},
                       .key = StreamKey::from_seed(6)};
  const MatrixXd theta = sampled(backend(), table, squared_loss, copies(spec, 20000));
  const auto judged = [&](double variance) {
    return scores::judge((theta.array() - mode) / std::sqrt(variance), false_alarm);
  };
  EXPECT_LE(judged(1 / (K * (1 - 0.4 / 2))).worst(), 1);
  EXPECT_TRUE(judged(1 / K).worst() > 1) << "the posterior itself passes: no power to see the bias";
}

// Chains of one ensemble differ in beta, m, h, T and theta0.
TEST_P(Chains, QuadraticInThreeDimensionsWithMixedChains) {
  const StreamKey key = StreamKey::from_seed(2);
  quadratic(3, 60000,
            {{.inverse_temperature = 1.0,
              .prior_precision = 0.5,
              .step_size = 0.15,
              .iterations = 12,
              .center = {},
              .key = key},
             {.inverse_temperature = 2.0,
              .prior_precision = 0.0,
              .step_size = 0.1,
              .iterations = 7,
              .center = {-5, 0, 5},
              .key = key},
             {.inverse_temperature = 1.5,
              .prior_precision = 2.0,
              .step_size = 0.05,
              .iterations = 10,
              .center = {5, 5, -5},
              .key = key}});
}

TEST_P(Chains, QuadraticInFiveDimensionsWithChaCha) {
  quadratic(5, 40000,
            {{.inverse_temperature = 3.0,
              .prior_precision = 0.2,
              .step_size = 0.1,
              .iterations = 8,
              .center = {1, -1, 2, -2, 3},
              .key = chacha_key(1)}});
}

template <class F>
quadrature::Slope slope_of(const Table& table, const ChainSpec& spec) {
  return [table, spec](double theta) {
    double sum = 0;
    for (std::size_t i = 0; i < table.n; ++i) {
      const double x = static_cast<double>(table.x[i]);
      sum += F::derivative(x * theta, static_cast<double>(table.y[i])) * x;
    }
    return spec.inverse_temperature * sum + spec.prior_precision * (theta - spec.center[0]);
  };
}

/// Scores of theta_T in one dimension by quadrature; `resolution` where U'' jumps is more.
Interpolated score_of(const quadrature::Slope& slope, const ChainSpec& spec, double resolution) {
  quadrature::ChainLaw chain(slope, spec.center[0], spec.step_size, resolution);
  for (std::uint64_t t = 1; t < spec.iterations; ++t) chain.step();
  const quadrature::Mixture& law = chain.law();
  const double spacing = law.scale / 6, lo = -60 * law.scale;
  VectorXd table_of_scores(720);
  for (Eigen::Index i = 0; i < 720; ++i) {
    const double x = lo + spacing * static_cast<double>(i);
    table_of_scores(i) = quadrature::normal_score(law.below(x), law.above(x));
  }
  const Interpolated score(lo, spacing, table_of_scores);
  for (const double x : {-2.03, -0.4, 0.31, 1.77}) {
    EXPECT_NEAR(score(x), quadrature::normal_score(law.below(x), law.above(x)), 1e-5);
  }
  return score;
}

TEST_P(Chains, LogisticInOneDimension) {
  Table table = random_rows(5, 1, 31);
  table.y = {1, 1, -1, 1, 1};
  for (float& x : table.x) x = std::fabs(x) + 0.1F;
  const ChainSpec spec{.inverse_temperature = 3.0,
                       .prior_precision = 0.1,
                       .step_size = 0.15,
                       .iterations = 10,
                       .center = {-1.0},
                       .key = StreamKey::from_seed(3)};
  const Interpolated score = score_of(slope_of<losses::logistic>(table, spec), spec, 2);
  judge_all(
      table, loss_named("logistic"), copies(spec, 200000),
      [&](const VectorXd& theta, std::size_t) { return VectorXd::Constant(1, score(theta(0))); });
}

// Amounts and counts, whose U'' jumps where chains go.
TEST_P(Chains, AmountsAndCountsInOneDimension) {
  Table table = random_rows(5, 1, 31);
  for (float& x : table.x) x = std::fabs(x) + 0.3F;
  const ChainSpec spec{.inverse_temperature = 2.0,
                       .prior_precision = 0.3,
                       .step_size = 0.1,
                       .iterations = 10,
                       .center = {0.5},
                       .key = StreamKey::from_seed(12)};
  const auto judged = [&](const char* name, const Interpolated& score) {
    SCOPED_TRACE(name);
    judge_all(
        table, loss_named(name), copies(spec, 100000),
        [&](const VectorXd& theta, std::size_t) { return VectorXd::Constant(1, score(theta(0))); },
        0.94);
  };
  table.y = {1.5F, 0.2F, -3, 4, 1};
  judged("huber", score_of(slope_of<losses::huber>(table, spec), spec, 12));
  table.y = {1, 0.2F, 0, 0.5F, 1};
  judged("poisson", score_of(slope_of<losses::poisson>(table, spec), spec, 12));
}

// Two dimensions: the scores of x1, and of x2 given x1 (Rosenblatt), from the two-dimensional law.
TEST_P(Chains, LogisticInTwoDimensions) {
  Table table = random_rows(6, 2, 41);
  table.y = {1, 1, -1, 1, -1, 1};
  const ChainSpec spec{.inverse_temperature = 6.0,
                       .prior_precision = 0.1,
                       .step_size = 0.3,
                       .iterations = 5,
                       .center = {2.0, -3.0},
                       .key = StreamKey::from_seed(4)};
  const MatrixXd X = table.X();
  const VectorXd Y = table.Y();
  const Eigen::Vector2d center(2, -3);
  const auto slope = [&](const Eigen::Vector2d& theta) -> Eigen::Vector2d {
    Eigen::Vector2d g = spec.prior_precision * (theta - center);
    for (Eigen::Index i = 0; i < X.rows(); ++i) {
      g += spec.inverse_temperature * losses::logistic::derivative(X.row(i).dot(theta), Y(i)) *
           X.row(i).transpose();
    }
    return g;
  };
  const auto law = quadrature::law_after_2d(slope, center, spec.step_size,
                                            static_cast<int>(spec.iterations), 1.75);
  EXPECT_NEAR(law.weight.sum(), 1, 1e-9);
  // Scores on a grid of 7 standard deviations to each side.
  constexpr Eigen::Index size = 160;
  const Eigen::Vector2d mean = law.center.transpose() * law.weight;
  const double sd =
      std::sqrt((law.center.rowwise() - mean.transpose()).rowwise().squaredNorm().dot(law.weight) +
                law.scale * law.scale);
  const Eigen::Vector2d lo = mean.array() - 7 * sd;
  const double spacing = 14 * sd / size;
  const auto terms = law.weight.size();
  MatrixXd g(terms, size), below(terms, size), above(terms, size);
  VectorXd first(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const double x1 = lo(0) + spacing * static_cast<double>(i);
    const double x2 = lo(1) + spacing * static_cast<double>(i);
    double lower = 0, upper = 0;
    for (Eigen::Index j = 0; j < terms; ++j) {
      const double z1 = (x1 - law.center(j, 0)) / law.scale;
      const double z2 = (x2 - law.center(j, 1)) / law.scale;
      g(j, i) = law.weight(j) * std::exp(-0.5 * z1 * z1);
      below(j, i) = quadrature::upper_tail(-z2);
      above(j, i) = quadrature::upper_tail(z2);
      lower += law.weight(j) * quadrature::upper_tail(-z1);
      upper += law.weight(j) * quadrature::upper_tail(z1);
    }
    first(i) = quadrature::normal_score(lower, upper);
  }
  const Interpolated first_score(lo(0), spacing, first);
  const MatrixXd lower = g.transpose() * below, upper = g.transpose() * above;
  const MatrixXd second =
      (lower.array() / (lower + upper).array())
          .binaryExpr((upper.array() / (lower + upper).array()),
                      [](double a, double b) { return quadrature::normal_score(a, b); });
  judge_all(table, loss_named("logistic"), copies(spec, 100000),
            [&](const VectorXd& theta, std::size_t) {
              const auto [i, wi] = Interpolated::weights(theta(0), lo(0), spacing, size);
              const auto [j, wj] = Interpolated::weights(theta(1), lo(1), spacing, size);
              VectorXd w(2);
              w << first_score(theta(0)), wi.dot(second.block<4, 4>(i, j) * wj);
              return w;
            });
}

// Noise of other chains, other keys, other generators and other steps is independent. One column
// per stream, all pairwise correlations, and the variances of sums and differences.
TEST_P(Chains, StreamsAreIndependent) {
  const Table table = random_rows(3, 1, 51);
  const ChainSpec spec{.inverse_temperature = 1.0,
                       .prior_precision = 0.5,
                       .step_size = 0.2,
                       .iterations = 3,
                       .center = {},
                       .key = StreamKey::from_seed(0)};
  const Gaussian law = quadratic_law(table, spec);
  constexpr std::size_t count = 40000;
  const auto column = [&](const StreamKey& key, std::uint32_t first, std::uint32_t stride) {
    std::vector<ChainSpec> specs = copies(spec, count);
    for (ChainSpec& s : specs) {
      s.key = key;
      s.stream = first + stride * s.stream;
    }
    const MatrixXd theta = sampled(backend(), table, squared_loss, specs);
    return VectorXd((theta.col(0).array() - law.mean(0)) / law.L(0, 0));
  };
  MatrixXd w(count, 6);  // neighboring streams of one key, then the same streams of the next key
  w << column(StreamKey::from_seed(7), 0, 2), column(StreamKey::from_seed(7), 1, 2),
      column(StreamKey::from_seed(8), 0, 2), column(chacha_key(7), 0, 2),
      column(chacha_key(7), 1, 2), column(chacha_key(8), 0, 2);
  EXPECT_LE(scores::judge(w, false_alarm).worst(), 1) << scores::judge(w, false_alarm).text();

  MatrixXd rotated(count, 2);
  const auto rotate = [&](const VectorXd& a, const VectorXd& b) {
    rotated << (a - b) / std::sqrt(2.0), (a + b) / std::sqrt(2.0);
    return scores::judge(rotated, false_alarm).worst();
  };
  EXPECT_LE(rotate(w.col(0), w.col(1)), 1);
  EXPECT_LE(rotate(w.col(3), w.col(4)), 1);
  // One noise vector for two chains, wholly or for one chain in 10: seen.
  EXPECT_GT(rotate(w.col(0), w.col(0)), 1);
  VectorXd shared = w.col(1);
  shared.head(count / 10) = w.col(0).head(count / 10);
  EXPECT_TRUE(rotate(w.col(0), shared) > 1);
}

TEST_P(Chains, StepsAreIndependent) {
  const Table table = random_rows(3, 2, 52);
  const ChainSpec spec{.inverse_temperature = 1.0,
                       .prior_precision = 0.5,
                       .step_size = 0.2,
                       .iterations = 4,
                       .center = {1, 2},
                       .key = StreamKey::from_seed(9)};
  constexpr std::size_t count = 40000;
  const auto engine =
      make_backend(backend())->load({table.x.data(), table.n, table.d}, table.y, squared_loss);
  Ensemble chains = start(copies(spec, count), table.d);
  const MatrixXd X = table.X();
  const VectorXd Y = table.Y(), center = center_of(spec, table.d);
  // The innovations (theta_{k+1} - phi(theta_k)) / sqrt(2h): 4 steps of 2 coordinates.
  MatrixXd w(count, 8);
  for (Eigen::Index step = 0; step < 4; ++step) {
    const std::vector<double> before = chains.theta;
    engine->advance(chains, 1);
    for (std::size_t c = 0; c < count; ++c) {
      const VectorXd from = Eigen::Map<const VectorXd>(&before[2 * c], 2);
      const VectorXd to = Eigen::Map<const VectorXd>(&chains.theta[2 * c], 2);
      const VectorXd gradient = X.transpose() * (X * from - Y) + 0.5 * (from - center);
      w.row(static_cast<Eigen::Index>(c)).segment<2>(2 * step) =
          (to - from + 0.2 * gradient) / std::sqrt(0.4);
    }
  }
  EXPECT_LE(scores::judge(w, false_alarm).worst(), 1) << scores::judge(w, false_alarm).text();
  w.col(5).head(count / 10) = w.col(1).head(count / 10);  // a step's noise used again
  EXPECT_TRUE(scores::judge(w, false_alarm).worst() > 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, Chains, ::testing::Values("reference", "cpu"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace chains_test
}  // namespace gibbsite
