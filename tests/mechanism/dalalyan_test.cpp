#include "gibbsite/mechanism/dalalyan.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "support/printed_count.hpp"
#include "support/reference_values.hpp"

namespace gibbsite {
namespace dalalyan_test {

using support::number;

TEST(Dalalyan, ReproducesTheReferenceValues) {
  const auto cases = support::reference_cases("schedule");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    const auto got =
        dalalyan_schedule(number(c["d"]), number(c["m"]), number(c["M"]), number(c["gamma"]));
    const double h = number(c["dalalyan_h"]), K = number(c["dalalyan_K"]);
    EXPECT_NEAR(got.step_size, h, 2e-15 * h) << c;
    EXPECT_NEAR(got.iterations, K, std::max(1.0, 2e-15 * K)) << c;  // a shorter h may need one more
    EXPECT_EQ(got.iterations, std::floor(got.iterations));
  }
}

// gamma_1 + gamma_2 <= gamma up to the last step's rounding up, both halves by construction.
TEST(Dalalyan, SplitsTheErrorInHalves) {
  for (const double tv : {0.3, 1e-2, 1e-8}) {
    for (const double gradient : {0.0, 0.1, 3.0}) {
      const auto got = dalalyan_schedule(5, 0.2, 7, tv, gradient);
      EXPECT_LE(got.tv_mixing, tv / 2 * (1 + 1e-15));
      EXPECT_GT(got.tv_mixing, tv / 2 * 0.99);
      EXPECT_NEAR(got.tv_steps, tv / 2, tv * 1e-3);
    }
  }
}

// 1 + chi^2(N(theta_hat, 1/M) | pi) <= kappa^(1/2) exp(G^2 (1/m + 1/M)/2) in one dimension, by
// quadrature: U = b log(1 + exp(-t)) + (m/2) t^2.
TEST(Dalalyan, TheStartsChiSquareIsWithinItsBound) {
  int beyond = 0;
  for (const double b : {0.0, 1.0, 8.0}) {
    for (const double center : {-0.7, 0.0, 0.5, 1.5}) {
      const double m = 0.6, M = m + 0.25 * b + 0.3;
      const auto U = [&](double t) { return b * std::log1p(std::exp(-t)) + m / 2 * t * t; };
      const double G = std::fabs(-b / (1 + std::exp(center)) + m * center);
      double z = 0, squared = 0;
      const double step = 1e-3;
      for (double t = -25; t < 25; t += step) {
        z += std::exp(U(center) - U(t)) * step;
        squared +=
            M / (2 * M_PI) * std::exp(-M * (t - center) * (t - center) + U(t) - U(center)) * step;
      }
      const double bound = std::sqrt(M / m) * std::exp(G * G * (1 / m + 1 / M) / 2);
      EXPECT_LE(squared * z, bound) << b << ' ' << center;
      beyond += squared * z > std::sqrt(M / m);
    }
  }
  EXPECT_GE(beyond, 6) << "without the term in G the bound would not hold";
}

TEST(Dalalyan, AWorseStartNeedsMoreSteps) {
  EXPECT_GT(dalalyan_schedule(5, 0.2, 7, 1e-3, 3.0).iterations,
            dalalyan_schedule(5, 0.2, 7, 1e-3, 0.0).iterations);
}

// The erratum: with m to the first power the count is short by exactly m (docs/theory/dalalyan.md).
TEST(Dalalyan, ThePrintedCountIsTooSmallForSmallM) {
  const double correct = dalalyan_schedule(1, 0.05, 0.55, 0.02).iterations;
  const double printed = support::dalalyan_iterations_as_printed(1, 0.05, 0.55, 0.02);
  EXPECT_NEAR(printed / correct, 0.05, 1e-3);
}

TEST(Dalalyan, CountsBeyondTwoToThe64) {
  const auto got = dalalyan_schedule(100, 1, 1e4, 1e-12);
  EXPECT_GT(got.iterations, 0x1p64);
  EXPECT_TRUE(std::isfinite(got.iterations));
  EXPECT_GT(got.step_size, 0);
}

TEST(Dalalyan, RefusesWhatTheTheoremDoesNotCover) {
  EXPECT_THROW(dalalyan_schedule(5, 0.0, 7, 0.1), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 8.0, 7, 0.1), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 1.0, 7, 0.5), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 1.0, 7, 0.0), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 1.0, 7, std::nan("")), BadInput);
}

//   h sum_k E||grad U||^2 <= d + kappa G^2/m + 2 M K h d
// from N(theta_hat, I/M), ||grad U(theta_hat)|| <= G, h <= 1/M: exact for quadratics of any
// curvature between m and M.
TEST(Dalalyan, TheGradientsOfARunAreWithinTheirBound) {
  const double m = 0.1, M = 3;
  double closest = 0;
  for (const double curvature : {0.1, 0.5, 3.0}) {
    for (const double G : {0.0, 0.01, 1.0}) {
      for (const double h : {0.01 / M, 0.3 / M, 1 / M}) {
        double mean = G / curvature, variance = 1 / M, sum = 0;
        for (int k = 1; k <= 500; ++k) {
          sum += h * curvature * curvature * (mean * mean + variance);
          mean *= 1 - h * curvature;
          variance = std::pow(1 - h * curvature, 2) * variance + 2 * h;
          const double bound = 1 + M * G * G / (m * m) + 2 * M * k * h;
          EXPECT_LE(sum, bound);
          closest = std::max(closest, sum / bound);
        }
      }
    }
  }
  EXPECT_GT(closest, 0.4);
}

TEST(Dalalyan, NoGapIsClaimedOutsideOfTheProof) {
  Problem problem;
  problem.rows = 10;
  problem.features = 2;
  const double beta = 0.01, M = problem.smoothness_up(beta, 1);
  const auto schedule = dalalyan_schedule(2, 1, M, 0.1, 1e-3);
  const Dalalyan good{.beta = beta,
                      .prior_precision = 1,
                      .start_gradient_norm = 1e-3,
                      .step_size = schedule.step_size,
                      .iterations = schedule.iterations};
  const auto gap = [&](const Dalalyan& settings) {
    return analyze(settings, problem, {}, 1).tv_gap;
  };
  EXPECT_LT(gap(good), 0.11);
  Dalalyan longer = good;
  longer.step_size = 1.01 / M;
  EXPECT_EQ(gap(longer), 1);
  Dalalyan away = good;
  away.start_gradient_norm = 1e4;
  EXPECT_EQ(gap(away), 1);
}

}  // namespace dalalyan_test
}  // namespace gibbsite
