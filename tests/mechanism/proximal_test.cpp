#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"
#include "support/proximal_search.hpp"
#include "support/reference_values.hpp"

namespace gibbsite {
namespace proximal_test {

using support::number;

TEST(Proximal, ReproducesTheReferenceValues) {
  const auto cases = support::reference_cases("schedule");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    const double m = number(c["m"]), eta = number(c["proximal_eta"]), tv = number(c["gamma"]);
    const double kl = proximal_kl_start_up(number(c["d"]), m, number(c["M"]), 0);
    EXPECT_NEAR(kl, number(c["proximal_KL0"]), 1e-14 * kl) << c;
    EXPECT_EQ(proximal_iterations_up(kl, eta, m, tv), number(c["proximal_k"])) << c;
  }
}

TEST(Proximal, OneIterationFewerMissesTheTarget) {
  for (const double tv : {0.1, 1e-6, 1e-10}) {
    const double kl = proximal_kl_start_up(20, 0.5, 300, 0.1), eta = 0.02;
    const double k = proximal_iterations_up(kl, eta, 0.5, tv);
    EXPECT_LE(proximal_tv_up(kl, eta, 0.5, k), tv);
    EXPECT_GT(proximal_tv_up(kl, eta, 0.5, k - 1), tv);
  }
}

// KL of the start, by quadrature: U = b sum log(1 + exp(-y x t)) + (m/2) t^2 in one dimension.
TEST(Proximal, TheStartIsWithinItsBound) {
  for (const double b : {0.5, 5.0, 40.0}) {
    for (const double off : {0.0, 0.4}) {
      const double m = 0.7, M = m + b * 3 * 0.25;
      const auto U = [&](double t) {
        return b * (2 * std::log1p(std::exp(-t)) + std::log1p(std::exp(t))) + m / 2 * t * t;
      };
      const auto slope = [&](double t) {
        return b * (-2 / (1 + std::exp(t)) + 1 / (1 + std::exp(-t))) + m * t;
      };
      double low = -20, high = 20;
      while (high - low > 1e-12) (slope((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
      const double center = low + off, G = std::fabs(slope(center));
      double z = 0, kl = 0;
      const double step = 1e-4;
      for (double t = -15; t < 15; t += step) z += std::exp(U(center) - U(t)) * step;
      for (double t = -15; t < 15; t += step) {
        const double log_start = (std::log(M / (2 * M_PI)) - M * (t - center) * (t - center)) / 2;
        kl += std::exp(log_start) * (log_start - (U(center) - U(t) - std::log(z))) * step;
      }
      const double bound = proximal_kl_start_up(1, m, M, G);
      EXPECT_LE(kl, bound) << b << ' ' << off;
      EXPECT_GT(kl, 0.001 * bound) << "too loose to mean anything";
    }
  }
}

// The rate, on Gaussian targets of curvature K >= m: KL_k <= KL_0/(1 + eta m)^(2k), with equality
// where K = m and only the mean is off.
TEST(Proximal, TheContractionHoldsAndIsAttained) {
  for (const double eta : {0.01, 0.3, 4.0}) {
    for (const double K : {1.0, 1.5, 60.0}) {
      for (const double v : {0.02, 1.0 / K, 2.0}) {
        const double m = 1, mean0 = 3;
        const auto kl_of = [&](double mean, double var) {
          return (K * (var + mean * mean) - 1 - std::log(K * var)) / 2;
        };
        double mean = mean0, var = v;
        const double start = kl_of(mean, var);
        for (int k = 1; k <= 5; ++k) {
          mean /= 1 + eta * K;
          var = (var + eta) / ((1 + eta * K) * (1 + eta * K)) + eta / (1 + eta * K);
          const double bound = start * std::pow(1 + eta * m, -2 * k);
          EXPECT_LE(kl_of(mean, var), bound * (1 + 1e-12) + 1e-15);
          if (K == m && v == 1 / K) {
            EXPECT_NEAR(kl_of(mean, var), bound, 1e-12 * start);
          }
        }
      }
    }
  }
}

// The chance of acceptance for a quadratic loss with spectrum a_i and a mean that is off by b in
// direction i is prod (1 + s a_i)^(-1/2) exp(-a_i b^2/(2(1 + s a_i))).
TEST(Proximal, NoSpectrumOfThatTraceIsAcceptedLess) {
  std::mt19937_64 bits(11);
  std::exponential_distribution<double> exponential;
  for (const int d : {1, 2, 10, 100}) {
    for (const double trace : {0.1, 2.0, 50.0}) {
      for (const double s : {0.01, 0.5, 3.0}) {
        for (const double b : {0.0, 0.1}) {
          const double bound = rejection_acceptance_down(d, trace, s, b);
          EXPECT_GE(bound, std::exp(-trace * (s + b * b) / 2) * (1 - 1e-14));
          for (int spectrum = 0; spectrum < 20; ++spectrum) {
            std::vector<double> a(static_cast<std::size_t>(d));
            double sum = 0;
            for (double& v : a) sum += v = std::pow(exponential(bits), 1 + spectrum % 4);
            double log_p = 0, largest = 0;
            for (double& v : a) {
              v *= trace / sum;
              log_p -= std::log1p(s * v) / 2;
              largest = std::max(largest, v);
            }
            log_p -= largest * b * b / (2 * (1 + s * largest));
            EXPECT_GE(std::exp(log_p), bound * (1 - 1e-12));
          }
          const double flat = std::pow(1 + s * trace / d, -d / 2.0);
          if (b == 0) {
            EXPECT_NEAR(bound, flat, 1e-12 * flat) << "attained where all are equal";
          }
        }
      }
    }
  }
}

// D(x, w) <= (phi/2) sum (x_i . (x - w))^2 and D >= 0, for logistic loss row by row.
TEST(Proximal, TheDivergenceIsWithinItsQuadratic) {
  for (double z = -8; z <= 8; z += 0.37) {
    for (double w = -8; w <= 8; w += 0.41) {
      const auto f = [](long double t) { return std::log1p(std::exp(-t)); };
      const long double D =
          f(z) - f(w) +
          (static_cast<long double>(z) - w) / (1 + std::exp(static_cast<long double>(w)));
      EXPECT_GE(D, -1e-18L);
      EXPECT_LE(D, (z - w) * (z - w) / 8 + 1e-18);
    }
  }
}

// Gradient descent on the worst quadratic: both ends of the spectrum, all of the start's gradient.
TEST(Proximal, ThePaddedCountOfGradientsIsEnough) {
  int tight = 0;
  for (const double eta : {0.01, 0.1, 1.0}) {
    for (const double M : {5.0, 500.0}) {
      const double m = 0.5, start = 1e4, residual = 0.03;
      const double count = proximal_gradients_up(m, M, eta, start, residual);
      for (const double K : {m, 0.5 * (m + M), M}) {
        double x = start / (K + 1 / eta);  // the gradient is (K + 1/eta) x
        for (int j = 1; j < static_cast<int>(count); ++j)
          x -= 2 / (m + M + 2 / eta) * (K + 1 / eta) * x;
        EXPECT_LE(std::fabs((K + 1 / eta) * x), residual);
      }
      double x = start / (M + 1 / eta);
      for (int j = 1; j < static_cast<int>(count * 0.6); ++j)
        x -= 2 / (m + M + 2 / eta) * (M + 1 / eta) * x;
      tight += (M + 1 / eta) * std::fabs(x) > residual;
    }
  }
  EXPECT_GE(tight, 4) << "the count is far larger than needed";
}

TEST(Proximal, RoundsOfABatch) {
  EXPECT_NEAR(expected_rounds(0.25, 1), 4, 1e-12);
  EXPECT_NEAR(expected_rounds(0.25, 2), 1 / (1 - 0.75 * 0.75), 1e-12);
  EXPECT_NEAR(expected_rounds(1e-18, 1), 1e18, 1e6);
}

Problem problem(std::uint64_t rows, std::uint64_t features, double m) {
  Problem c;
  c.rows = rows;
  c.features = features;
  c.prior_precision = m;
  return c;
}

// Every error is paid for, from 1e-2 to 1e-10, and the schedule is the cheapest of its kind.
TEST(Proximal, SchedulesKeepTheirTarget) {
  int feasible = 0;
  for (const auto& [rows, features] :
       {std::pair{1000, 5}, std::pair{32561, 108}, std::pair{1000000, 200}}) {
    for (const double m : {1.0, 30.0}) {
      for (const double tv : {1e-2, 1e-6, 1e-10}) {
        for (const bool padded : {false, true}) {
          const auto c =
              problem(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(features), m);
          const double beta = 0.01 * std::sqrt(m), M = c.smoothness_up(beta, m);
          const double G = padded ? beta * rows * (1 + 1e-15) : 1e-3 * std::sqrt(m);
          const auto d = static_cast<double>(features);
          const double share = tv < 1e-8 ? 0.5 : 0.9;  // rounding takes its part
          const auto s = proximal_schedule({d, m, M, share * tv, G}, padded);
          const auto error = proximal_error(c, beta, m, M, s, G);
          // Decisions at proposals that are rounded take 0.2 to 1.3e-10 at this size.
          const double beyond = rows == 1000000 && tv == 1e-10 ? 1.9 : 1;
          EXPECT_LE(error.total, beyond * tv) << rows << ' ' << m << ' ' << tv << ' ' << padded;
          EXPECT_GT(error.tv_mixing, 0.2 * tv) << "far more iterations than needed";
          EXPECT_EQ(s.gradients > 0, padded);
          feasible += error.total <= tv;
          // A shorter and a longer step with its best batch cost no less.
          const auto cost = [&](const ProximalSchedule& t) {
            const double p = proposal_bounds(d, m, M, t.step_size, t.residual).acceptance_down;
            const auto passes = proximal_passes(t, p);
            return passes.gradients + passes.proposals * batch_cost(t.proposals, 4);
          };
          if (!padded) {
            for (const double factor : {0.25, 4.0}) {
              auto other = s;
              other.step_size *= factor;
              other.residual = s.residual * (m + 1 / other.step_size) / (m + 1 / s.step_size);
              other.iterations = proximal_iterations_up(proximal_kl_start_up(d, m, M, G),
                                                        other.step_size, m, share * tv);
              double least = 1e300;
              for (other.proposals = 1; other.proposals <= 64; other.proposals *= 2)
                least = std::min(least, cost(other));
              EXPECT_GE(least, cost(s) * 0.99);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(feasible, 33);
}

TEST(Proximal, ErrorsThatMustGrow) {
  const auto c = problem(32561, 108, 1);
  const double beta = 0.05, M = c.smoothness_up(beta, 1), G = 1e-3;
  const auto s = proximal_schedule({108, 1, M, 1e-8, G}, false);
  const auto base = proximal_error(c, beta, 1, M, s, G);
  auto fewer = s;
  fewer.rounds = std::ceil(s.rounds / 2);
  EXPECT_GT(proximal_error(c, beta, 1, M, fewer, G).tv_cap, 100 * base.tv_cap);
  auto loose = s;
  loose.residual *= 10;
  EXPECT_GT(proximal_error(c, beta, 1, M, loose, G).tv_cap, base.tv_cap);
  auto shorter = s;
  shorter.iterations = std::ceil(s.iterations * 0.9);
  EXPECT_GT(proximal_error(c, beta, 1, M, shorter, G).tv_mixing, base.tv_mixing * 5);
  // A residual that rounding cannot reach.
  auto strict = s;
  strict.residual = 1e-12;
  EXPECT_EQ(proximal_error(c, beta, 1, M, strict, G).total, 1);
  // A padded run with a gradient too few.
  const double far = beta * 32561 * (1 + 1e-15);
  auto padded = proximal_schedule({108, 1, M, 1e-8, far}, true);
  EXPECT_LE(proximal_error(c, beta, 1, M, padded, far).total, 1.01e-8);
  padded.gradients -= 1;
  EXPECT_EQ(proximal_error(c, beta, 1, M, padded, far).total, 1);
}

// The mean Hessian has eigenvalues between m + 1/eta and M + 1/eta, so the worst function is a
// quadratic: its gradient descent takes as many steps as the bound says, a third of its passes.
TEST(ProximalSearch, EndsWithinItsBound) {
  for (const double m : {1e-3, 1.0}) {
    for (const double relative_step : {0.25, 8.0, 13777.0}) {
      const double M = 100 + m, eta = relative_step / 100, start = 1e4, residual = 1e-3;
      const double most = support::proximal_search_up(m, M, eta, start, residual);
      double worst = 0;
      for (const double K : {m, M}) {
        double gradient = start;
        int steps = 0;
        for (; gradient > residual / 2; ++steps) {
          gradient = std::fabs(1 - 2 / (m + M + 2 / eta) * (K + 1 / eta)) * gradient;
        }
        EXPECT_LE(1 + 3 * steps, most) << relative_step;
        worst = std::max(worst, static_cast<double>(steps));
      }
      EXPECT_GE(1 + 3 * worst, most - 4) << "the bound is loose";
    }
  }
}

// Where rounding's floor is too near the tolerance no step is planned, whatever else it promises.
TEST(ProximalSearch, NeedsRoundingFarBelowItsTolerance) {
  auto c = problem(320000, 1, 1e-4);
  const double beta = 0.001, M = c.smoothness_up(beta, 1e-4), G = 1e-5;
  const auto admits = [&](const ProximalSchedule& t) {
    return proximal_search_ends(c, beta, 1e-4, M, t, G);
  };
  const auto s = proximal_schedule({1, 1e-4, M, 1e-9, G}, false, 4, admits);
  EXPECT_TRUE(admits(s));
  auto strict = s;
  strict.residual *= 1e-7;
  EXPECT_FALSE(proximal_search_ends(c, beta, 1e-4, M, strict, G));
  // The floor is condition times rounding, so where long steps are not provable shorter ones are.
  auto large = problem(1000000000, 2, 1e-3);
  const double b = 1e-2, L = large.smoothness_up(b, 1e-3);
  const auto ends = [&](const ProximalSchedule& t) {
    return proximal_search_ends(large, b, 1e-3, L, t, 3e-5);
  };
  const auto any = proximal_schedule({2, 1e-3, L, 1e-3, 3e-5}, false);
  const auto sure = proximal_schedule({2, 1e-3, L, 1e-3, 3e-5}, false, 4, ends);
  EXPECT_FALSE(ends(any));
  EXPECT_LT(sure.step_size, any.step_size);
  auto padded = proximal_schedule(
      {108, 1, problem(32561, 108, 1).smoothness_up(0.05, 1), 1e-8, 0.05 * 32561}, true);
  EXPECT_TRUE(proximal_search_ends(problem(32561, 108, 1), 0.05, 1,
                                   problem(32561, 108, 1).smoothness_up(0.05, 1), padded,
                                   0.05 * 32561));
  padded.gradients -= 1;
  EXPECT_FALSE(proximal_search_ends(problem(32561, 108, 1), 0.05, 1,
                                    problem(32561, 108, 1).smoothness_up(0.05, 1), padded,
                                    0.05 * 32561));
}

TEST(Rejection, SmallProblemsAreExact) {
  const auto c = problem(200, 5, 4);
  const double beta = 0.3, M = c.smoothness_up(beta, 4), G = 2e-3;
  const auto s = rejection_schedule({5, 4, M, 1e-10, G});
  const auto error = proximal_error(c, beta, 4, M, s, G);
  EXPECT_EQ(s.iterations, 1);
  EXPECT_EQ(error.tv_mixing, 0);
  EXPECT_LE(error.total, 1e-10);
  EXPECT_GT(error.total, 1e-12) << "more rounds than needed";
  // A tolerance below what the start keeps to buys nothing.
  auto claimed = s;
  claimed.residual = G / 100;
  EXPECT_EQ(proximal_error(c, beta, 4, M, claimed, G).tv_cap, error.tv_cap);
  EXPECT_GT(proximal_error(c, beta, 4, M, claimed, 3000 * G).tv_cap, 10 * error.tv_cap);
}

TEST(Proximal, RefusesWhatTheTheoremDoesNotCover) {
  EXPECT_THROW(proximal_schedule({5, 0.0, 7, 0.1, 0}, false), BadInput);
  EXPECT_THROW(proximal_schedule({5, 8.0, 7, 0.1, 0}, false), BadInput);
  EXPECT_THROW(proximal_schedule({5, 1.0, 7, 0.5, 0}, false), BadInput);
  EXPECT_THROW(rejection_schedule({5, 1.0, 7, std::nan(""), 0}), BadInput);
}

}  // namespace proximal_test
}  // namespace gibbsite
