#include "gibbsite/chains/potential.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/model.hpp"

namespace gibbsite {
namespace potential_test {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double u = std::numeric_limits<double>::epsilon() / 2;  // unit roundoff

struct Instance {
  std::size_t n, d;
  std::vector<float> x, y;
  std::vector<double> center;
  [[nodiscard]] Potential potential(double beta, double m) const {
    return {make_backend("reference")->load({x.data(), n, d}, y, loss_named("logistic")), beta, m,
            center};
  }
};

// Rows uniform in [-1,1]^d, labels fair coins: not separable when n is large beside d.
Instance random_problem(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Instance p{n, d, std::vector<float>(n * d), std::vector<float>(n), {}};
  for (float& v : p.x) v = uniform(gen);
  for (float& v : p.y) v = uniform(gen) < 0 ? -1.0f : 1.0f;
  return p;
}

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double c : v) sum += c * c;
  return std::sqrt(sum);
}

double gradient_norm(const Potential& potential, const std::vector<double>& theta) {
  std::vector<double> g(theta.size());
  potential.gradient(theta, g);
  return norm(g);
}

// Truncation s^2/6 |U''''| with |f''''| <= 1/8, |x_j| <= 1; rounding of two gradients over 2s.
TEST(Potential, HessianIsTheDerivativeOfTheGradient) {
  for (const auto& [n, d] : {std::pair{1u, 1u}, {40u, 3u}, {5u, 20u}}) {
    const Instance p = random_problem(n, d, 2);
    const double beta = 0.7, m = 0.4, s = 1e-4;
    const Potential potential = p.potential(beta, m);
    std::vector<double> theta(d), up(d), down(d);
    for (std::size_t j = 0; j < d; ++j) theta[j] = std::sin(1.0 + static_cast<double>(j));
    const auto h = hessian(potential, theta), diagonal = hessian_diagonal(potential, theta);
    ASSERT_EQ(h.size(), d * d);
    ASSERT_EQ(diagonal.size(), d);
    const double tolerance = s * s / 6 * beta * n / 8 + 100 * u * (beta * n + m) / s;
    for (std::size_t j = 0; j < d; ++j) {
      auto moved = theta;
      moved[j] = theta[j] + s;
      potential.gradient(moved, up);
      moved[j] = theta[j] - s;
      potential.gradient(moved, down);
      for (std::size_t k = 0; k < d; ++k) {
        EXPECT_NEAR(h[j * d + k], (up[k] - down[k]) / (2 * s), tolerance);
      }
      EXPECT_NEAR(diagonal[j], h[j * d + j], 1e-14 * (beta * n + m));
    }
  }
}

// Truncation s^2/6 |U'''| with |f'''| <= 0.1, |x_j| <= 1; rounding of two values of U over 2s.
TEST(Potential, GradientIsTheDerivativeOfTheValue) {
  for (const auto& [n, d] : {std::pair{1u, 1u}, {40u, 3u}, {100u, 7u}, {5u, 20u}}) {
    Instance p = random_problem(n, d, 1);
    p.center.assign(d, 0.3);
    const double beta = 0.7, m = 0.4, s = 1e-4;
    const Potential potential = p.potential(beta, m);
    std::vector<double> theta(d), g(d);
    for (std::size_t j = 0; j < d; ++j) theta[j] = std::sin(1.0 + static_cast<double>(j));
    potential.gradient(theta, g);
    const double bound = s * s / 6 * 0.1 * beta * n + 2 * (n + d) * u * potential.value(theta) / s;
    for (std::size_t j = 0; j < d; ++j) {
      auto up = theta, down = theta;
      up[j] += s;
      down[j] -= s;
      const double slope = (potential.value(up) - potential.value(down)) / (2 * s);
      EXPECT_TRUE(std::fabs(slope - g[j]) <= bound) << j << ": " << slope << " " << g[j];
    }
  }
}

// Against 64-bit significands with logits up to +-1e4. Bound: each row's residual is within 4u of
// itself plus 1/4 of the rounding of its logit, (d+1) u sum |x||theta|; then n+2 roundings of the
// sum.
TEST(Potential, GradientAndValueAtExtremeLogits) {
  for (const double scale : {1.0, 800.0, 1e4}) {
    for (const std::size_t d : {1u, 9u}) {
      const std::size_t n = 50;
      Instance p = random_problem(n, d, 2);
      for (std::size_t i = 0; i < n; ++i) p.x[i * d] = i % 2 ? 1.0f : -1.0f;
      const Potential potential = p.potential(1.0, 0.5);
      std::vector<double> theta(d, 0.25), g(d);
      theta[0] = scale;
      potential.gradient(theta, g);
      EXPECT_TRUE(std::isfinite(potential.value(theta)));
      const auto ud = static_cast<double>(d), un = static_cast<double>(n);
      for (std::size_t j = 0; j < d; ++j) {
        long double exact = 0.5L * theta[j];
        double bound = 4 * u * 0.5 * std::fabs(theta[j]);
        for (std::size_t i = 0; i < n; ++i) {
          long double z = 0;
          double magnitude = 0;
          for (std::size_t k = 0; k < d; ++k) {
            z += static_cast<long double>(p.x[i * d + k]) * theta[k];
            magnitude += std::fabs(static_cast<double>(p.x[i * d + k]) * theta[k]);
          }
          const long double t = z * p.y[i];
          const long double r = -p.y[i] / (1 + std::exp(t));
          const auto xij = static_cast<double>(p.x[i * d + j]);
          exact += r * xij;
          bound += std::fabs(xij) * (static_cast<double>(std::fabs(r)) * (un + 6) * u +
                                     0.25 * (ud + 1) * u * magnitude);
        }
        EXPECT_TRUE(std::fabs(g[j] - exact) <= bound) << scale << " " << j;
      }
    }
  }
}

TEST(Minimize, ReachesItsToleranceOnRandomProblems) {
  for (const std::size_t n : {1u, 2u, 50u, 1500u}) {
    for (const std::size_t d : {1u, 3u, 40u}) {
      for (const double m : {1e-3, 1.0, 100.0}) {
        Instance p = random_problem(n, d, static_cast<unsigned>(n + d));
        p.center.assign(d, -2.0);
        const Potential potential = p.potential(0.5, m);
        const Minimum minimum = minimize(potential, 1e-9);
        EXPECT_LE(minimum.gradient_norm, 1e-9);
        EXPECT_TRUE(std::fabs(gradient_norm(potential, minimum.theta) - minimum.gradient_norm) <=
                    1e-15);
        // Strong convexity: no point has a smaller value.
        auto other = minimum.theta;
        other[0] += 1e-2;
        EXPECT_GT(potential.value(other), potential.value(minimum.theta));
      }
    }
  }
}

// One row, d = 1: m t = beta sigmoid(-t), by bisection.
TEST(Minimize, FindsTheRootInOneDimension) {
  const Instance p{1, 1, {1.0f}, {1.0f}, {}};
  const double beta = 3, m = 0.01;
  long double lo = 0, hi = 100;
  for (int i = 0; i < 200; ++i) {
    const long double mid = (lo + hi) / 2;
    (m * mid < beta / (1 + std::exp(mid)) ? lo : hi) = mid;
  }
  const Minimum minimum = minimize(p.potential(beta, m), 1e-13);
  // ||theta - theta*|| <= ||grad|| / m, and the rounding of the gradient itself.
  EXPECT_TRUE(std::fabs(minimum.theta[0] - static_cast<double>(lo)) <= 2e-13 / m);
}

Instance separable() { return {4, 1, {-2.0f, -1.0f, 1.0f, 2.0f}, {-1.0f, -1.0f, 1.0f, 1.0f}, {}}; }

TEST(Minimize, SeparableDataHasAMinimumWithAPrior) {
  const Minimum minimum = minimize(separable().potential(1.0, 1e-6), 1e-9);
  EXPECT_LE(minimum.gradient_norm, 1e-9);
  EXPECT_GT(minimum.theta[0], 5.0);
}

TEST(Minimize, WithoutAPriorOnDataThatOverlaps) {
  const Instance overlapping = random_problem(200, 5, 3);
  EXPECT_LE(minimize(overlapping.potential(1.0, 0.0), 1e-9).gradient_norm, 1e-9);
  // A one-hot pair beside an intercept: collinear, so the minimizer is not unique but exists.
  Instance p = random_problem(300, 3, 4);
  for (std::size_t i = 0; i < p.n; ++i) {
    p.x[i * 3] = i % 2 ? 1.0f : 0.0f;
    p.x[i * 3 + 1] = i % 2 ? 0.0f : 1.0f;
    p.x[i * 3 + 2] = 1.0f;
  }
  const Minimum minimum = minimize(p.potential(1.0, 0.0), 1e-9);
  EXPECT_LE(minimum.gradient_norm, 1e-9);
  EXPECT_LT(norm(minimum.theta), 10);
}

TEST(Minimize, WithoutAPriorOnSeparableDataSaysSo) {
  for (const double tolerance : {1e-1, 1e-6, 1e-9, 1e-12, 0.0}) {
    EXPECT_THAT([=] { minimize(separable().potential(1.0, 0.0), tolerance); },
                ThrowsMessage<BadInput>(HasSubstr("prior_precision: 0")))
        << tolerance;
    // Quasi-complete: the first coordinate overlaps, the second belongs to one class alone.
    const Instance p{6, 2, {1, 0, -1, 0, 1, 0, -1, 0, 0.5, 1, -0.5, 1}, {1, 1, -1, -1, 1, 1}, {}};
    EXPECT_THAT([=] { minimize(p.potential(1.0, 0.0), tolerance); }, testing::Throws<BadInput>())
        << tolerance;
  }
}

// A tolerance that double cannot reach ends soon, with the norm that was reached.
TEST(Minimize, StopsWhenRoundingStopsProgress) {
  const Minimum minimum = minimize(random_problem(2000, 10, 5).potential(1.0, 1.0), 0.0);
  EXPECT_GE(minimum.gradient_norm, 0);
  EXPECT_LE(minimum.gradient_norm, 2000 * 2000 * u);
  EXPECT_LT(minimum.iterations, 30);
}

TEST(Minimize, ComesHomeFromAFarCenter) {
  Instance p = random_problem(100, 2, 6);
  p.center = {3000, -5000};
  const Minimum minimum = minimize(p.potential(1.0, 1e-4), 1e-9);
  EXPECT_LE(minimum.gradient_norm, 1e-9);
}

TEST(Model, ConstantsArePublicNumbers) {
  const Model model = logistic_regression({.prior_precision = 2.0, .center = {0, 3, 4}});
  const auto c = model.constants({.features = 3, .row_norm = 1.5, .intercept = true}, 77);
  EXPECT_EQ(c.rows, 77u);
  EXPECT_EQ(c.features, 3u);
  EXPECT_EQ(c.row_norm, 1.5);
  EXPECT_TRUE(c.intercept);
  EXPECT_EQ(c.loss, "logistic");
  EXPECT_EQ(c.max_abs_derivative, 1.0);
  EXPECT_EQ(c.curvature, 0.25);
  EXPECT_EQ(c.prior_precision, 2.0);
  EXPECT_GE(c.center_norm, 5.0);  // rounded up
  EXPECT_LE(c.center_norm, 5.0 + 1e-15);
  EXPECT_FALSE(logistic_regression().constants({.features = 3}, 1).prior_precision.has_value());
}

TEST(Model, RefusesWhatHasNoMeaning) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const FeatureSpace space{.features = 3};
  for (const double m : {-1.0, inf, nan}) {
    EXPECT_THAT(
        [=] {
          (void)logistic_regression({m, {}}).constants(space, 9);
        },
        ThrowsMessage<BadInput>(HasSubstr("prior_precision")));
  }
  for (const auto& center : {std::vector<double>{1, 2}, {1, 2, 3, 4}, {1, nan, 3}, {inf, 0, 0}}) {
    EXPECT_THAT(
        [=] {
          (void)logistic_regression({{}, center}).constants(space, 9);
        },
        ThrowsMessage<BadInput>(HasSubstr("center")));
  }
  EXPECT_THAT([] { glm("probit"); }, ThrowsMessage<BadInput>(HasSubstr("not Lipschitz")));
  EXPECT_THAT([] { glm("nothing"); }, ThrowsMessage<BadInput>(HasSubstr("logistic")));
}

// Ten thousand features, far more than rows: no Hessian is formed. U is m-strongly convex, so theta
// is within gradient_norm/m of the minimizer, whoever computes the gradient.
TEST(Minimize, ConjugateGradientsForManyFeatures) {
  const std::size_t n = 300, d = 10000, per_row = 20;
  std::mt19937 bits(3);
  SparseTable table;
  std::vector<float> y;
  for (std::size_t i = 0; i < n; ++i) {
    std::set<std::uint32_t> features;
    while (features.size() < per_row) features.insert(static_cast<std::uint32_t>(bits() % d));
    for (const std::uint32_t j : features) {
      table.feature.push_back(j);
      table.value.push_back(static_cast<float>(bits() % 1000) / 1000);
    }
    table.begin.push_back(table.value.size());
    y.push_back(bits() % 3 == 0 ? -1.0f : 1.0f);
  }
  const Potential potential{
      make_backend("reference")->load(Rows(table.view(), d), y, loss_named("logistic")),
      2.0,
      0.01,
      {}};
  const Minimum found = minimize(potential, 1e-9);
  EXPECT_LE(found.gradient_norm, 1e-9);
  EXPECT_LE(found.iterations, 30);
  std::vector<double> gradient(d);
  potential.gradient(found.theta, gradient);
  EXPECT_LE(std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0)),
            1.0001e-9);
  EXPECT_LT(potential.value(found.theta), potential.value(std::vector<double>(d, 0.0)) * 0.9);
}

}  // namespace potential_test
}  // namespace gibbsite
