// Bounds from counts: reference values, the binomial law itself, and every outcome of small
// experiments.
#include "gibbsite/audit/bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"
#include "support/two_samples.hpp"

namespace gibbsite::testing {
namespace bounds_test {

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}
// P(Binomial(n, p) <= k), term by term.
double at_most(std::uint64_t k, std::uint64_t n, double p) {
  double sum = 0;
  for (std::uint64_t i = 0; i <= k; ++i) {
    const auto a = static_cast<double>(i), b = static_cast<double>(n - i);
    sum += std::exp(log_choose(static_cast<double>(n), a) + a * std::log(p) + b * std::log1p(-p));
  }
  return sum;
}
double gaussian_advantage(double mu) { return std::erf(mu / 2 / std::sqrt(2.0)); }

TEST(AuditBounds, AgreeWithTheReferenceValues) {
  const auto cases = support::reference_cases("mechanisms_audit");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  int coupled = 0, two_samples = 0;
  for (const auto& one : cases) {
    const std::uint64_t n = one["n"];
    const double confidence = std::stod(one["confidence"].get<std::string>());
    const double expected = std::stod(one["mu_lower"].get<std::string>());
    double found = 0;
    if (one.contains("k10")) {
      found = coupled_mu_down(one["k10"], one["k01"], n, confidence), ++coupled;
    } else {
      found = support::two_samples_mu_down(one["false_positives"], one["false_negatives"], n,
                                           confidence);
      ++two_samples;
    }
    EXPECT_NEAR(found, expected, 1e-10 * expected) << one;
    EXPECT_LE(found, expected) << one;
  }
  EXPECT_GE(coupled, 4);
  EXPECT_GE(two_samples, 4);
}

TEST(AuditBounds, ClopperPearsonIsTheBinomialLawSolved) {
  for (const std::uint64_t n : {1U, 2U, 7U, 100U, 3000U}) {
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, n / 3, n - 1, n}) {
      for (const double level : {0.3, 0.025, 1e-6}) {
        const double up = clopper_pearson_up(k, n, level), down = clopper_pearson_down(k, n, level);
        EXPECT_LE(down, static_cast<double>(k) / static_cast<double>(n));
        EXPECT_GE(up, static_cast<double>(k) / static_cast<double>(n));
        // On the safe side of the solution, and near it.
        const double above = k < n ? at_most(k, n, up) : level;
        const double below = k > 0 ? 1 - at_most(k - 1, n, down) : level;
        EXPECT_LE(above, level * (1 + 1e-9)) << k << ' ' << n;
        EXPECT_GE(above, level * (1 - 0.01)) << k << ' ' << n;
        EXPECT_NEAR(below, level, 1e-8) << k << ' ' << n;
        EXPECT_EQ(up == 1, k == n);
        EXPECT_EQ(down == 0, k == 0);
      }
    }
  }
  EXPECT_NEAR(clopper_pearson_up(0, 50, 1e-3), 1 - std::pow(1e-3, 1.0 / 50), 1e-12);
}

// P(one of two) of (k10, k01, rest) of N pairs.
double trinomial(std::uint64_t a, std::uint64_t b, std::uint64_t n, double p, double q) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  const double rest = static_cast<double>(n) - x - y;
  const double power = (x > 0 ? x * std::log(p) : 0) + (y > 0 ? y * std::log(q) : 0) +
                       (rest > 0 ? rest * std::log1p(-p - q) : 0);
  return std::exp(std::lgamma(static_cast<double>(n) + 1) - std::lgamma(x + 1) -
                  std::lgamma(y + 1) - std::lgamma(rest + 1) + power);
}

TEST(AuditBounds, ACoupledBoundIsAboveTheTruthNoMoreOftenThanItSays) {
  constexpr std::uint64_t n = 40;
  for (const double p : {0.05, 0.3, 0.6}) {
    for (const double q : {0.001, 0.05, 0.3}) {
      if (!(p > q)) continue;
      for (const double confidence : {0.8, 0.95}) {
        double wrong = 0, all = 0;
        for (std::uint64_t a = 0; a <= n; ++a) {
          for (std::uint64_t b = 0; a + b <= n; ++b) {
            const double chance = trinomial(a, b, n, p, q);
            all += chance;
            if (gaussian_advantage(coupled_mu_down(a, b, n, confidence)) > p - q) wrong += chance;
          }
        }
        ASSERT_NEAR(all, 1, 1e-9);
        EXPECT_LE(wrong, 1 - confidence) << p << ' ' << q;
        if (p > 0.1) {
          EXPECT_GT(wrong, (1 - confidence) / 200) << "blind: " << p << ' ' << q;
        }
      }
    }
  }
}

TEST(AuditBounds, TheBoundOnEpsilonIsAboveTheTruthNoMoreOftenThanItSays) {
  // (k10, k01, k11) of N: alone above, and together.
  constexpr std::uint64_t n = support::repeats(24, 14);
  const double confidence = 0.8, delta = 0.02;
  for (const auto& [p10, p01, p11] : {std::array{0.3, 0.02, 0.1}, std::array{0.5, 0.1, 0.2}}) {
    const double truth = std::log((p10 + p11 - delta) / (p01 + p11));
    double wrong = 0, all = 0;
    for (std::uint64_t a = 0; a <= n; ++a) {
      for (std::uint64_t b = 0; a + b <= n; ++b) {
        const double outside = trinomial(a, b, n, p10, p01);
        const std::uint64_t left = n - a - b;
        for (std::uint64_t c = 0; c <= left; ++c) {
          const double chance = outside * trinomial(c, 0, left, p11 / (1 - p10 - p01), 0.0);
          all += chance;
          if (coupled_epsilon_down(a, b, b + c, n, delta, confidence) > truth) wrong += chance;
        }
      }
    }
    ASSERT_NEAR(all, 1, 1e-9);
    EXPECT_LE(wrong, 1 - confidence);
  }
  // Many samples give a bound near the truth.
  EXPECT_NEAR(coupled_epsilon_down(300000, 20000, 120000, 1000000, delta, 0.95),
              std::log(0.38 / 0.12), 0.02);
}

TEST(AuditBounds, NothingFoundIsZero) {
  EXPECT_EQ(coupled_mu_down(0, 0, 10, 0.95), 0);
  EXPECT_EQ(coupled_mu_down(3, 9, 10, 0.95), 0);
  EXPECT_EQ(support::two_samples_mu_down(500, 500, 1000, 0.95), 0);
  EXPECT_EQ(support::two_samples_mu_down(10, 10, 10, 0.95), 0);
  EXPECT_EQ(coupled_epsilon_down(2, 2, 5, 10, 0, 0.95), 0);
  EXPECT_EQ(coupled_epsilon_down(90, 0, 5, 100, 0.9, 0.95), 0);
  EXPECT_EQ(mu_of_advantage_down(-0.1), 0);
}

TEST(AuditBounds, AnAdvantageIsThatOfTheClaimRoundedUp) {
  for (const double mu : {1e-3, 0.24, 1.0, 3.0}) {
    const double found = advantage_up({.mu = mu});
    EXPECT_GE(found, gaussian_advantage(mu));
    EXPECT_NEAR(found, gaussian_advantage(mu), 1e-10);
    EXPECT_NEAR(mu_of_advantage_down(found), mu, 1e-9);
  }
  for (const double pure : {0.1, 1.0, 4.0}) {
    EXPECT_NEAR(advantage_up({.epsilon0 = pure}), std::tanh(pure / 2), 1e-10);
    EXPECT_GE(advantage_up({.epsilon0 = pure}), std::tanh(pure / 2));
  }
  EXPECT_NEAR(advantage_up({.delta0 = 0.01}), 0.01, 1e-10);
  EXPECT_NEAR(advantage_up({.tv = 0.01}), 0.02, 1e-10);
  for (const Guarantee& g : {Guarantee{1, 0.5, 0.01, 0.02, {}}, Guarantee{0.2, 0, 0, 1e-9, {}}}) {
    EXPECT_NEAR(advantage_up(g), 2 * best_guess(g) - 1, 1e-10);
    // No more than what (epsilon, delta) at 0 allows, where that is anything.
    EXPECT_LE(advantage_up(g), (g.epsilon0 == 0 ? delta_up(g, 0) : 1) + 1e-10);
  }
  EXPECT_EQ(advantage_up({.tv = 1}), 1);
  EXPECT_EQ(advantage_up({.mu = std::numeric_limits<double>::quiet_NaN()}), 1);
}

TEST(AuditBounds, RefuseWhatIsNoCountAndNoProbability) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(clopper_pearson_up(3, 2, 0.1), BadInput);
  EXPECT_THROW(clopper_pearson_up(0, 0, 0.1), BadInput);
  EXPECT_THROW(clopper_pearson_down(1, 2, 0), BadInput);
  EXPECT_THROW(clopper_pearson_down(1, 2, nan), BadInput);
  EXPECT_THROW(coupled_mu_down(1, 0, 2, 1), BadInput);
  EXPECT_THROW(coupled_mu_down(1, 0, 2, 2), BadInput);
  EXPECT_THROW(coupled_epsilon_down(1, 0, 1, 2, 0, nan), BadInput);
  EXPECT_THROW(mu_of_advantage_down(1), BadInput);
  EXPECT_THROW(mu_of_advantage_down(nan), BadInput);
}

}  // namespace bounds_test
}  // namespace gibbsite::testing
