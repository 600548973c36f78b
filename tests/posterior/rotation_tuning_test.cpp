#include "posterior/rotation_tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace gibbsite {
namespace rotation_tuning_test {

constexpr double pi = std::numbers::pi;

/// Rotations of Gaussian chains of three parameters, accepted with a chance that the angle tells.
template <class Acceptance>
RotationTuning tuned(int rotations, Acceptance acceptance) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  RotationTuning tuning(4);
  Rowwise from(4, 3), to(4, 3);
  for (int t = 0; t < rotations; ++t) {
    const double a = RotationTuning::angle(uniform(random));
    for (Eigen::Index k = 0; k < from.size(); ++k) {
      from.data()[k] = normal(random);
      to.data()[k] = std::cos(a) * from.data()[k] + std::sin(a) * normal(random);
    }
    tuning.add(a, from, to, Eigen::VectorXd::Constant(4, acceptance(a)));
  }
  return tuning;
}

/// What is best for a known acceptance, on a fine grid.
template <class Acceptance>
double best(Acceptance acceptance) {
  double found = 0, most = 0;
  for (double a = 0.45 * pi; a <= 0.65 * pi; a += 1e-4) {
    const double m = acceptance(a) * (1 - std::cos(a)),
                 s = acceptance(a) * std::pow(std::sin(a), 2);
    const double least = std::min(m / (2 - m), 1.5 * s / (2 - s));
    if (least > most) found = a;
    most = std::max(most, least);
  }
  return found;
}

// Where every move is accepted, x = -cos a solves (1 + x)/(1 - x) = 1.5 (1 - x^2)/(1 + x^2):
// 0.171. Steps of the grid are 0.005 pi.
TEST(RotationTuning, BalancesMeansAndSquares) {
  const auto always = [](double) { return 1.0; };
  EXPECT_NEAR(best(always), std::acos(-0.171), 2e-3);
  EXPECT_NEAR(tuned(400, always).best_angle(), best(always), 0.006 * pi);
  // Refused the more the longer: 1 at 0.45 pi, 0.2 at 0.65 pi.
  const auto falling = [](double a) { return 1 - 4 * (a / pi - 0.45); };
  EXPECT_LT(best(falling), 0.545 * pi);
  EXPECT_NEAR(tuned(400, falling).best_angle(), best(falling), 0.006 * pi);
}

TEST(RotationTuning, TooFewRotationsChooseNothing) {
  const auto always = [](double) { return 1.0; };
  EXPECT_EQ(tuned(9, always).best_angle(), usual_angle);
  EXPECT_EQ(tuned(0, always).best_angle(), usual_angle);
  const auto never = [](double) { return 0.0; };
  EXPECT_EQ(tuned(50, never).best_angle(), usual_angle);
}

TEST(RotationTuning, TrajectoriesAreRareWhereNoChainIsStuck) {
  const auto always = [](double) { return 1.0; };
  EXPECT_EQ(tuned(124, always).period(), usual_period);
  RotationTuning tuning = tuned(125, always);
  EXPECT_EQ(tuning.period(), rare_period);
  for (int k = 0; k < 7; ++k) tuning.took(2, false);
  tuning.took(1, false);
  tuning.took(2, true);
  tuning.took(2, false);
  EXPECT_EQ(tuning.period(), rare_period);
  for (int k = 0; k < 7; ++k) tuning.took(1, false);
  EXPECT_EQ(tuning.period(), usual_period);
}

}  // namespace rotation_tuning_test
}  // namespace gibbsite
