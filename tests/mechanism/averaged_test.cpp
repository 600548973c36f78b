#include "gibbsite/mechanism/averaged.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace averaged_test {

using support::number;

TEST(Averaged, ReproducesTheReferenceValues) {
  const auto cases = support::reference_cases("schedule");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    const auto got =
        averaged_schedule(number(c["d"]), number(c["m"]), number(c["M"]), number(c["gamma"]));
    const double h = number(c["averaged_h"]), K = number(c["averaged_K"]);
    EXPECT_NEAR(got.step_size, h, 2e-15 * h) << c;
    EXPECT_NEAR(got.iterations, K, std::max(1.0, 2e-14 * K)) << c;  // a shorter h needs more
    EXPECT_LE(averaged_tv_up(number(c["d"]), number(c["m"]), number(c["M"]), got.step_size,
                             got.iterations, 0),
              number(c["gamma"]) * (1 + 1e-14));
  }
}

// One fewer step, or a longer one, misses the target.
TEST(Averaged, TheScheduleIsTight) {
  for (const double tv : {0.3, 0.05, 1e-3}) {
    for (const double gradient : {0.0, 2.0}) {
      const auto s = averaged_schedule(7, 0.3, 12, tv, gradient);
      EXPECT_LE(averaged_tv_up(7, 0.3, 12, s.step_size, s.iterations, gradient), tv * (1 + 1e-14));
      EXPECT_GT(averaged_tv_up(7, 0.3, 12, s.step_size, s.iterations * 0.999, gradient), tv);
      EXPECT_GT(averaged_tv_up(7, 0.3, 12, s.step_size * 1.05, s.iterations, gradient), tv);
    }
  }
}

// Durmus, Majewski, Miasojedow 2019:
//   2h KL(mu R | pi) <= (1 - mh) W2^2(mu, pi) - W2^2(mu R, pi) + 2 h^2 M d,
// on Gaussians, where all three are known: U = (K/2) theta^2, mu = N(a, v).
TEST(Averaged, TheOneStepInequalityHolds) {
  const double m = 0.5, M = 4;
  double closest = 1e300;
  for (const double K : {0.5, 1.0, 4.0}) {
    for (const double h : {1e-3, 0.1, 0.25}) {
      for (const double a : {0.0, 0.3, 5.0}) {
        for (const double v : {0.0, 0.01, 1.0, 9.0}) {
          const double q = 1 - h * K, mean = q * a, var = q * q * v + 2 * h;
          const double kl = (K * (var + mean * mean) - 1 - std::log(K * var)) / 2;
          const auto w2 = [&](double x, double s) {
            const double spread = std::sqrt(s) - 1 / std::sqrt(K);
            return x * x + spread * spread;
          };
          const double right = (1 - m * h) * w2(a, v) - w2(mean, var) + 2 * h * h * M;
          EXPECT_LE(2 * h * kl, right * (1 + 1e-12) + 1e-15)
              << K << ' ' << h << ' ' << a << ' ' << v;
          if (2 * h * kl > 0) closest = std::min(closest, right / (2 * h * kl));
        }
      }
    }
  }
  EXPECT_LT(closest, 1.5) << "the grid has no case that could have failed";
}

// TV(theta_tau, pi) by integrating the mixture of the chain's exact laws in one dimension, where
// U = (K/2) theta^2 and theta_0 lies a gradient norm away from the minimum.
double tv_of_mixture(double K, double m, double h, double steps, double start, double weight_sign) {
  const double s = 1 / std::sqrt(K);
  const int points = 4001;
  std::vector<double> mixture(points, 0.0);
  const double lo = -12 * s - std::fabs(start), step = -2 * lo / (points - 1);
  double mean = start, var = 0, total = 0;
  for (int k = 1; k <= static_cast<int>(steps); ++k) {
    mean *= 1 - h * K;
    var = (1 - h * K) * (1 - h * K) * var + 2 * h;
    const double weight = std::exp(weight_sign * -(k - 1 - steps) * std::log1p(-m * h));
    total += weight;
    for (int i = 0; i < points; ++i) {
      const double z = (lo + i * step - mean) / std::sqrt(var);
      mixture[static_cast<std::size_t>(i)] +=
          weight * std::exp(-z * z / 2) / std::sqrt(2 * M_PI * var);
    }
  }
  double tv = 0;
  for (int i = 0; i < points; ++i) {
    const double z = (lo + i * step) / s;
    tv += std::fabs(mixture[static_cast<std::size_t>(i)] / total -
                    std::exp(-z * z / 2) / (s * std::sqrt(2 * M_PI)));
  }
  return tv * step / 2;
}

TEST(Averaged, TheExactLawIsWithinTheGap) {
  for (const double K : {0.5, 2.0}) {  // the curvature of the target, m <= K <= M
    for (const double tv : {0.3, 0.1}) {
      const double m = 0.5, M = 2, gradient = 3;
      const auto s = averaged_schedule(1, m, M, tv, gradient);
      const double found = tv_of_mixture(K, m, s.step_size, s.iterations, gradient / K, 1);
      EXPECT_LE(found, tv) << K;
      // A tenth of the steps is not enough: the integral can tell.
      EXPECT_GT(tv_of_mixture(K, m, s.step_size, std::ceil(s.iterations / 50), gradient / K, 1),
                tv);
    }
  }
}

TEST(Averaged, TheStopFollowsItsWeights) {
  const double m = 1, h = 0.05, K = 40;
  std::mt19937_64 words(5);
  const int draws = support::repeats(200000, 1500);  // each a quotient of logarithms in 50 digits
  std::vector<double> seen(41, 0.0);
  for (int i = 0; i < draws; ++i)
    seen[static_cast<std::size_t>(averaged_stop(m, h, K, words()))] += 1;
  double total = 0, chi = 0;
  for (int k = 1; k <= 40; ++k) total += std::pow(1 - m * h, -(k - 1));
  for (int k = 1; k <= 40; ++k) {
    const double expected = draws * std::pow(1 - m * h, -(k - 1)) / total;
    chi += (seen[static_cast<std::size_t>(k)] - expected) *
           (seen[static_cast<std::size_t>(k)] - expected) / expected;
  }
  EXPECT_LT(chi, 106.4);  // chi^2_39 exceeds it with probability 3e-8
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(averaged_stop(m, h, K, 0), 1);
  EXPECT_EQ(averaged_stop(m, h, K, ~0ULL), K);
  EXPECT_EQ(averaged_stop(1e-6, 1e-9, 1e10, ~0ULL), 1e10);
}

TEST(Averaged, RefusesWhatTheTheoremDoesNotCover) {
  EXPECT_THROW(averaged_schedule(5, 0.0, 7, 0.1), BadInput);
  EXPECT_THROW(averaged_schedule(5, 8.0, 7, 0.1), BadInput);
  EXPECT_THROW(averaged_schedule(5, 1.0, 7, 0.5), BadInput);
  EXPECT_THROW(averaged_schedule(5, 1.0, 7, std::nan("")), BadInput);
  EXPECT_THROW(averaged_tv_up(5, 1, 7, 0.15, 10, 0), BadInput);
}

}  // namespace averaged_test
}  // namespace gibbsite
