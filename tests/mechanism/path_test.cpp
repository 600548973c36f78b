#include "gibbsite/mechanism/path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"

namespace gibbsite {
namespace path_test {

using ::testing::HasSubstr;

using support::number;

// The reference has 17 digits, so it is itself off by up to 5e-17 of its value.
void expect_rounded_up(double got, const std::string& reference) {
  const Wide exact(reference.c_str());
  EXPECT_GE(Wide(got), exact * (1 - Wide("1e-16"))) << reference;
  EXPECT_LE(Wide(got), exact * (1 + Wide("4e-16"))) << reference;
}

TEST(Path, ReproducesTheReferenceValues) {
  const auto cases = support::reference_cases("path");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    // Decimal inputs such as 0.19 are not doubles; mu reacts by at most ten times their rounding.
    const double mu = path_mu_up(number(c["sensitivity"]), number(c["m"]), number(c["M"]),
                                 number(c["h"]), number(c["T"]));
    const double reference = number(c["mu"]);
    EXPECT_NEAR(mu, reference, 4e-15 * reference) << c;
  }
}

// Closed forms with exact binary inputs: T = 1 is one Gaussian step, S h / sqrt(2h).
TEST(Path, OneStepIsTheGaussianMechanism) {
  expect_rounded_up(path_mu_up(2, 1, 10, 0.125, 1), "0.5");
  expect_rounded_up(path_mu_up(3, 0, 1, 0.5, 1), "1.5");
}

TEST(Path, WithoutAPriorItIsPlainComposition) {
  // S sqrt(hT/2) = 1 * sqrt(0.5 * 9 / 2)
  expect_rounded_up(path_mu_up(1, 0, 2, 0.5, 9), "1.5");
  // ... and the limit of small m.
  EXPECT_NEAR(path_mu_up(1, 1e-14, 2, 0.5, 9), 1.5, 1e-12);
  // hM = 2: no contraction at all either.
  expect_rounded_up(path_mu_up(1, 1, 4, 0.5, 9), "1.5");
}

TEST(Path, LimitIsNeverWorseThanExactGibbs) {
  for (const double m : {1e-3, 0.5, 3.0}) {
    for (const double kappa : {1.0, 2.0, 100.0}) {
      for (const double a : {0.01, 0.5, 1.0, 2.0}) {
        const double M = kappa * m;
        const double h = a / (M + m);
        const double limit = path_mu_up(1.7, m, M, h, 1e12);
        EXPECT_NEAR(limit, 1.7 / std::sqrt(m) * std::sqrt(1 - h * m / 2), 1e-12 * limit);
        EXPECT_LE(limit, 1.7 / std::sqrt(m));
      }
    }
  }
}

TEST(Path, GrowsWithIterationsAndSensitivity) {
  double last = 0;
  for (const double T : {1., 2., 3., 10., 100.}) {
    const double mu = path_mu_up(1, 0.1, 2, 0.3, T);
    EXPECT_GT(mu, last);
    last = mu;
  }
  EXPECT_DOUBLE_EQ(path_mu_up(2, 0.1, 2, 0.3, 7), 2 * path_mu_up(1, 0.1, 2, 0.3, 7));
}

TEST(Path, RefusesADivergingStep) {
  try {
    path_mu_up(1, 1, 10, 0.2000001, 5);
    FAIL() << "h above 2/M was accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("above 2/M"));
  }
  EXPECT_THROW(path_mu_up(1, 11, 10, 0.1, 5), BadInput);
  EXPECT_THROW(path_mu_up(1, 1, 10, 0.1, 0), BadInput);
  EXPECT_THROW(path_mu_up(std::nan(""), 1, 10, 0.1, 1), BadInput);
}

Problem adult() {
  Problem c;
  c.rows = 32561;
  c.features = 108;
  return c;
}

// The largest beta: its certificate keeps the budget, a beta 1e-9 larger does not.
TEST(PathCalibration, IsTightAndNeverOverstates) {
  const Neighbors one, several{Adjacency::add_remove, 3};
  for (const Neighbors& who : {one, several}) {
    for (const double mu : {1e-4, 0.02754, 0.2367, 2.0, 20.0}) {
      for (const double m : {0.0, 0.05, 1.0, 300.0}) {
        for (const double T : {1.0, 50.0, 3000.0}) {
          for (const double a : {0.3, 1.0, 1.9}) {
            const auto found = path_calibrate_relative(adult(), who, mu, {0, m, 0, T}, a);
            EXPECT_LE(found.mu, mu);
            EXPECT_GT(found.map_error, 0);
            const double beta = found.beta * (1 + 1e-9);
            const double h = a / (adult().smoothness_up(beta, m) + m);
            EXPECT_GT(path_certificate(adult(), who, {beta, m, h, T}).mu, mu)
                << "mu " << mu << " m " << m << " T " << T << " a " << a;
          }
        }
      }
    }
  }
}

TEST(PathCalibration, KeepsAFixedStepInsideItsRange) {
  const Neighbors who;
  for (const double h : {1e-6, 1e-3, 1.0}) {
    const auto found = path_calibrate_fixed(adult(), who, 0.2, {0, 0.05, h, 200});
    EXPECT_LE(found.mu, 0.2);
    EXPECT_EQ(found.step_size, h);
    EXPECT_LE(h * (found.smoothness + 0.05), 2.0);
    EXPECT_GT(found.beta, 0);
  }
  EXPECT_THROW(path_calibrate_fixed(adult(), who, 0.2, {0, 5.0, 1.0, 200}), BadInput);
}

// A short chain may use a larger beta than the stationary law (docs/theory/path.md).
TEST(PathCalibration, ShortChainsMayBeColder) {
  const Neighbors who;
  const double gibbs = 0.2 / 2;  // mu sqrt(m) / (2 L), m = 1
  EXPECT_GT(path_calibrate_relative(adult(), who, 0.2, {0, 1, 0, 10}, 1.9).beta, 3 * gibbs);
  EXPECT_NEAR(path_calibrate_relative(adult(), who, 0.2, {0, 1, 0, 1e7}, 0.01).beta, gibbs,
              1e-3 * gibbs);
}

TEST(MapError, DepthOfTheSum) {
  EXPECT_EQ(accumulation_depth(1), 1 + 0 + 64);
  EXPECT_EQ(accumulation_depth(1024), 1024 + 0 + 64);
  EXPECT_EQ(accumulation_depth(1025), 1024 + 1 + 64);
  EXPECT_EQ(accumulation_depth(1'000'000), 1024 + 10 + 64);
}

// A rough count expects about 1e-9 of S h at a million rows; worst-case noise bits and a worst-case
// iterate norm cost us more, and still nothing that a budget would notice.
TEST(MapError, IsSmallBesideTheSensitivity) {
  const Neighbors who;
  for (const std::uint64_t rows : {100ULL, 32561ULL, 1'000'000ULL, 100'000'000ULL}) {
    Problem c = adult();
    c.rows = rows;
    const auto found = path_calibrate_relative(c, who, 0.2, {0, 0, 0, 500}, 1);
    const double share = 2 * found.map_error / (found.sensitivity * found.step_size);
    EXPECT_LT(share, 1e-6 + 1e-11 * static_cast<double>(rows)) << rows;
    EXPECT_GT(share, 1e-14 * static_cast<double>(rows)) << rows;
  }
}

TEST(MapError, GrowsAndGivesUpRatherThanLie) {
  Problem c = adult();
  const auto at = [&](double T) { return map_bounds_up(c, {0.1, 0, 1e-4, T}); };
  EXPECT_LT(at(10).map_error, at(1000).map_error);
  EXPECT_LT(at(10).iterate_norm, at(1000).iterate_norm);
  EXPECT_TRUE(std::isinf(at(1e16).map_error));
  const Neighbors who;
  EXPECT_THROW(path_calibrate_relative(c, who, 0.2, {0, 0, 0, 1e18}, 1), Infeasible);
}

}  // namespace path_test
}  // namespace gibbsite
