#include "gibbsite/privacy/guarantee.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp.hpp"

namespace gibbsite {
namespace guarantee_test {

TEST(Guarantee, DeltaIsTheSumOfItsParts) {
  EXPECT_EQ(delta_up({}, 1), 0);
  EXPECT_GE(delta_up({.mu = 0.5}, 1), gdp_delta_up(1, 0.5));
  EXPECT_NEAR(delta_up({.mu = 0.5}, 1), gdp_delta_up(1, 0.5), 1e-17);
  EXPECT_NEAR(delta_up({.mu = 0.5, .epsilon0 = 0.25}, 1), gdp_delta_up(0.75, 0.5), 1e-15);
  EXPECT_NEAR(delta_up({.mu = 0.5, .delta0 = 1e-3}, 1), gdp_delta_up(1, 0.5) + 1e-3, 1e-15);
  // Never above what is paid at epsilon itself, and at most what is paid at the cheapest before.
  const Guarantee gap{.mu = 0.5, .tv = 1e-9};
  EXPECT_LE(delta_up(gap, 1), gdp_delta_up(1, 0.5) + (1 + std::exp(1.0)) * 1e-9 + 1e-17);
  double best = 1;
  for (double e = 0; e <= 20; e += 0.01) {
    best = std::min(best, gdp_delta_up(e, 0.5) + (1 + std::exp(e)) * 1e-9);
  }
  EXPECT_NEAR(delta_up(gap, 20) / best, 1, 1e-3);
  // Without a Gaussian part that is at the pure part's epsilon.
  EXPECT_NEAR(delta_up({.epsilon0 = 1, .tv = 1e-9}, 20) / ((1 + std::exp(1.0)) * 1e-9), 1, 1e-14);
}

// A pure part multiplies the gap too: the split of epsilon that is best without it cost 1.5 % here.
TEST(Guarantee, SplitsEpsilonWithThePurePartInMind) {
  const Guarantee g{.0187817, 7.42273, 3.37811e-11, 1.05986e-13, {}};
  const double found = delta_up(g, g.epsilon0 + 1);
  EXPECT_GT(found, 2.338e-10);
  EXPECT_LT(found, 2.341e-10);
  for (double at = 0; at < 1; at += 0.001) {
    const double delta = gdp_delta_up(at, g.mu) + g.delta0 + (1 + std::exp(at + g.epsilon0)) * g.tv;
    EXPECT_GE(delta, found * (1 - 1e-5)) << at;
  }
}

TEST(Guarantee, PromisesNothingWhereNothingIsLeft) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Guarantee& none :
       {Guarantee{.mu = infinity}, Guarantee{.epsilon0 = 1.1}, Guarantee{.delta0 = 1},
        Guarantee{.tv = 0.5}, Guarantee{.tv = infinity}, Guarantee{.epsilon0 = infinity}}) {
    EXPECT_EQ(delta_up(none, 1), 1);
  }
}

// At even odds the best test between two laws is right with probability (1 + TV)/2.
TEST(Guarantee, TheBestGuessIsThatOfItsParts) {
  const auto normal_cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  EXPECT_EQ(best_guess({}), 0.5);
  EXPECT_NEAR(best_guess({.mu = 0.3}), normal_cdf(0.15), 1e-15);
  EXPECT_NEAR(best_guess({.mu = 0.3}), (1 + gdp_delta_up(0, 0.3)) / 2, 1e-15);
  EXPECT_NEAR(best_guess({.epsilon0 = 1}), 1 / (1 + std::exp(-1.0)), 1e-15)
      << "randomized response";
  EXPECT_NEAR(best_guess({.mu = 0.3, .delta0 = 0.01}), normal_cdf(0.15) + 0.005, 1e-15);
  EXPECT_NEAR(best_guess({.mu = 0.3, .tv = 0.01}), normal_cdf(0.15) + 0.01, 1e-15);
  EXPECT_EQ(best_guess({.mu = 100}), 1);
}

TEST(Guarantee, ComposesByPythagorasAndSums) {
  const std::array parts{Guarantee{.mu = 3, .epsilon0 = 0.5, .delta0 = 1e-9, .tv = 1e-12},
                         Guarantee{.mu = 4, .epsilon0 = 0.25, .delta0 = 2e-9, .tv = 3e-12}};
  const Guarantee all = compose_up(parts);
  EXPECT_GE(all.mu, 5);
  EXPECT_NEAR(all.mu, 5, 1e-14);
  EXPECT_NEAR(all.epsilon0, 0.75, 1e-15);
  EXPECT_NEAR(all.delta0, 3e-9, 1e-23);
  EXPECT_NEAR(all.tv, 4e-12, 1e-26);
  auto others = parts;
  others[1].who.rows_per_person = 2;
  EXPECT_THROW(compose_up(others), BadInput);
  EXPECT_THROW(compose_up({}), BadInput);
}

}  // namespace guarantee_test
}  // namespace gibbsite
