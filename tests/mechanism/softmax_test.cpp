// Losses of several outputs: what the proofs use of them by brute force, which mechanisms are
// offered, and what the others say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/ball.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"
#include "gibbsite/model/loss.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace softmax_test {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using ::testing::HasSubstr;

Problem softmax_problem(std::uint64_t rows, std::uint64_t columns, std::uint64_t classes) {
  Problem p;
  p.rows = rows;
  p.features = columns * classes;
  set_loss(p, loss_named(full_loss_name("softmax", classes)));
  return p;
}

VectorXd normals(std::mt19937_64& random, Eigen::Index n) {
  std::normal_distribution<double> normal;
  return VectorXd::NullaryExpr(n, [&] { return normal(random); });
}

// p - e_y.
VectorXd derivative(const Loss& loss, const VectorXd& z, Eigen::Index y) {
  const auto label = static_cast<float>(y);
  VectorXd out(z.size());
  loss.derivatives({z.data(), static_cast<std::size_t>(z.size())}, {&label, 1},
                   {out.data(), static_cast<std::size_t>(out.size())});
  return out;
}
double value(const Loss& loss, const VectorXd& z, Eigen::Index y) {
  const auto label = static_cast<float>(y);
  return loss.value_sum({z.data(), static_cast<std::size_t>(z.size())}, {&label, 1});
}
// grad_z^2 f, a column at a time.
MatrixXd hessian(const Loss& loss, const VectorXd& z) {
  MatrixXd out = MatrixXd::Identity(z.size(), z.size());
  const float label = 0;
  const auto K = static_cast<std::size_t>(z.size());
  for (Eigen::Index k = 0; k < z.size(); ++k) {
    double* const column = out.col(k).data();
    loss.curvature_products({z.data(), K}, {&label, 1}, {column, K}, {column, K});
  }
  return out;
}

// Predictors of every kind: near 0, one far ahead, two level and far ahead.
VectorXd some_predictors(std::mt19937_64& random, Eigen::Index K) {
  VectorXd z =
      std::exp2(std::uniform_real_distribution<double>(-6, 6)(random)) * normals(random, K);
  const auto kind = random() % 3;
  if (kind > 0) z[0] += 40;
  if (kind > 1) z[1] = z[0];
  return z;
}

// Gradients of two records differ by `sensitivity_up` at most, in all coordinates together, and by
// that where both are given up for another class; the curvature is at most `smoothness_up` says.
TEST(SoftmaxProblem, ConstantsBoundEveryRecordAndAreReached) {
  std::mt19937_64 random(1);
  for (const std::uint64_t K : {2ULL, 3ULL, 5ULL}) {
    const Problem p = softmax_problem(1, 4, K);
    ASSERT_EQ(p.row_features(), 4U);
    ASSERT_EQ(p.outputs, K);
    const Loss& loss = loss_named(p.loss);
    const double S = p.sensitivity_up(1, Adjacency::replace_one, 1), M = p.smoothness_up(1, 0);
    EXPECT_NEAR(S, 2 * std::numbers::sqrt2, 1e-14);
    const auto classes = static_cast<Eigen::Index>(K);
    double most = 0, steepest = 0;
    for (int trial = 0; trial < support::repeats(20000, 1000); ++trial) {
      const MatrixXd theta = normals(random, 4 * classes).reshaped(4, classes) * (trial % 40);
      MatrixXd gradients = MatrixXd::Zero(4, classes);
      VectorXd x = normals(random, 4).normalized();
      const VectorXd first = x;
      for (const double sign : {1.0, -1.0}) {
        if (sign < 0) x = trial % 2 == 0 ? VectorXd(-first) : normals(random, 4).normalized();
        // An offset that the other row shares, as an intercept would be.
        VectorXd z = theta.transpose() * x;
        if (trial % 4 < 2) z[classes - 1] += 100;
        const auto y = static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(K));
        gradients += sign * x * derivative(loss, z, trial % 4 == 0 ? 0 : y).transpose();
        steepest = std::max(
            steepest, hessian(loss, z).selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff());
      }
      most = std::max(most, gradients.norm());
    }
    EXPECT_LE(most, S * (1 + 1e-15)) << K;
    EXPECT_TRUE(support::sanitized || most > 0.999999 * S) << K;
    EXPECT_LE(steepest, M * (1 + 1e-14)) << K;
    VectorXd level = VectorXd::Constant(classes, -100);
    level[0] = level[1] = 0;
    EXPECT_NEAR(hessian(loss, level).eigenvalues().real().maxCoeff(), M, 1e-14) << K;
  }
}

// tr grad^2 f <= most/2, and one matrix of trace majorant/2 is above all of them.
TEST(SoftmaxProblem, TracesBoundEveryHessian) {
  std::mt19937_64 random(2);
  for (const Eigen::Index K : {2, 3, 5, 10}) {
    const Problem p = softmax_problem(1, 1, static_cast<std::uint64_t>(K));
    const Loss& loss = loss_named(p.loss);
    const MatrixXd majorant =
        (MatrixXd::Identity(K, K) - MatrixXd::Constant(K, K, 1.0 / static_cast<double>(K))) / 2;
    EXPECT_NEAR(majorant.trace(), p.traces.majorant * p.curvature, 1e-14);
    double most = hessian(loss, VectorXd::Zero(K)).trace();
    EXPECT_NEAR(most, p.traces.most * p.curvature, 1e-14);
    for (int trial = 0; trial < 2000; ++trial) {
      const MatrixXd H = hessian(loss, some_predictors(random, K));
      most = std::max(most, H.trace());
      EXPECT_GE(MatrixXd(majorant - H).selfadjointView<Eigen::Lower>().eigenvalues().minCoeff(),
                -1e-14);
    }
    EXPECT_LE(most, p.traces.most * p.curvature * (1 + 1e-15)) << K;
  }
  EXPECT_EQ(softmax_problem(1, 1, 2).traces.most, 1);
  EXPECT_EQ(softmax_problem(1, 1, 2).traces.majorant, 1);
}

// A derivative computed in double is off by `derivative_roundings_of(K)` roundings of sup |f'| at
// most, as a vector, and a value by its roundings and 4K + 16 of 1.
TEST(SoftmaxProblem, ComputedDerivativesAreWithinTheirRoundings) {
  std::mt19937_64 random(3);
  for (const Eigen::Index K : {2, 3, 10, 200}) {
    const Loss& loss = loss_named(full_loss_name("softmax", static_cast<std::uint64_t>(K)));
    double worst = 0;
    for (int trial = 0; trial < support::repeats(600, 60); ++trial) {
      const VectorXd z = some_predictors(random, K);
      const auto y = static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(K));
      const VectorXd computed = derivative(loss, z, y);
      Wide sum = 0, off = 0;
      for (const double v : z) sum += exp(Wide(Wide(v) - Wide(z.maxCoeff())));
      for (Eigen::Index k = 0; k < K; ++k) {
        const Wide exact = exp(Wide(Wide(z[k]) - Wide(z.maxCoeff()))) / sum - (k == y ? 1 : 0);
        off += (exact - Wide(computed[k])) * (exact - Wide(computed[k]));
      }
      worst = std::max(worst, static_cast<double>(sqrt(off)));
      const Wide exact = log(sum) + Wide(z.maxCoeff()) - Wide(z[y]);
      EXPECT_LE(abs(exact - Wide(value(loss, z, y))),
                Wide(support::gamma_k(8)) * exact +
                    Wide(support::gamma_k(4 * static_cast<double>(K) + 16)));
    }
    EXPECT_LE(worst, support::gamma_k(derivative_roundings_of(static_cast<double>(K))) *
                         loss.max_abs_derivative());
    EXPECT_GT(worst, 0.1 * support::unit_roundoff);
  }
  EXPECT_EQ(derivative_roundings_of(1), derivative_roundings);
}

TEST(SoftmaxProblem, RoundingAndNormalsOfOutputsArePaidFor) {
  const auto error = [](const Problem& p) {
    return map_bounds_up(p, {0.01, 1, 0.001, 100}).map_error;
  };
  Problem p = softmax_problem(10, 3, 500), one_sum = p;
  one_sum.outputs = 1;
  EXPECT_GT(error(p), error(one_sum));
  // Three columns take two pairs of normals an output: more than half of nine coordinates.
  const ChainNoise together{.step_size = 0.01,
                            .iterations = 1e7,
                            .strong_convexity = 1,
                            .smoothness = 10,
                            .map_error = 1e-15};
  ChainNoise apart = together;
  apart.outputs = 3;
  const NoiseCost a = noise_cost_up(together, 9, 1), b = noise_cost_up(apart, 9, 1);
  EXPECT_GT(b.tv, a.tv * 1.15);
  EXPECT_LT(b.tv, a.tv * 1.25);
  EXPECT_EQ(noise_cost_up(apart, 12, 1).tv, noise_cost_up(together, 12, 1).tv);
  // A ball says nothing about a row of several outputs.
  EXPECT_FALSE(ball_sharpens(p));
  EXPECT_EQ(gradient_difference_up(p, {}, 0.1), p.sensitivity_up(1, Adjacency::replace_one, 1));
}

// P(accept) by simulation, at every center: never below the bound, which the bound of one output
// is not. 40,000 draws: a mean of [0, 1] is off by 0.015 with a probability of 2 e^(-18) = 3e-8.
TEST(SoftmaxProposals, AreAcceptedAsOftenAsTheBoundOrMore) {
  std::mt19937_64 random(4);
  const double chance = support::repeats(0.015, 0.07);  // of so many draws
  bool beaten = false;
  for (const Eigen::Index K : {3, 5, 10}) {
    const Problem p = softmax_problem(1, 1, static_cast<std::uint64_t>(K));
    const Loss& loss = loss_named(p.loss);
    const double beta = 1, m = 1e-3, M = p.smoothness_up(beta, m);
    for (const double eta : {0.5, 2.0, 8.0}) {
      for (int place = 0; place < 4; ++place) {
        VectorXd w = VectorXd::Zero(K);
        if (place == 1) w[0] = 3;
        if (place == 2) w[0] = w[1] = 40;
        if (place == 3) w = 2 * normals(random, K);
        const double residual_norm = place % 2 == 0 ? 0.0 : 0.1;
        const auto at = [&](const HessianTraces& traces) {
          return proposal_bounds(static_cast<double>(K), m, M, eta, residual_norm, traces);
        };
        const ProposalBounds bound = at(p.traces);
        const VectorXd slope = derivative(loss, w, 0);
        const VectorXd b = bound.offset * normals(random, K).normalized();
        const int draws = support::repeats(40000, 2000);
        double accepted = 0;
        for (int i = 0; i < draws; ++i) {
          const VectorXd move = b + std::sqrt(bound.variance) * normals(random, K);
          accepted +=
              std::exp(-beta * (value(loss, w + move, 0) - value(loss, w, 0) - slope.dot(move)));
        }
        accepted /= draws;
        EXPECT_GE(accepted, bound.acceptance_down - chance) << K << ' ' << eta << ' ' << place;
        beaten = beaten || accepted < at({}).acceptance_down - chance;
      }
    }
  }
  EXPECT_TRUE(support::sanitized || beaten) << "the trace of one output would do";
}

// The minimizer of sum l + (ridge/2) |theta - center|^2, [columns x K], by damped Newton steps.
struct Table {
  MatrixXd x;  // [n x columns]
  std::vector<Eigen::Index> y;
};
MatrixXd minimizer_of(const Loss& loss, const Table& t, double ridge, const MatrixXd& center) {
  const Eigen::Index d = center.rows(), K = center.cols();
  MatrixXd theta = center;
  const auto derivative_at = [&](const MatrixXd& at) {
    MatrixXd g = ridge * (at - center);
    for (Eigen::Index i = 0; i < t.x.rows(); ++i) {
      g += t.x.row(i).transpose() * derivative(loss, at.transpose() * t.x.row(i).transpose(),
                                               t.y[static_cast<std::size_t>(i)])
                                        .transpose();
    }
    return g;
  };
  for (int step = 0; step < 200; ++step) {
    const MatrixXd g = derivative_at(theta);
    if (g.norm() <= 1e-12 * ridge) break;
    MatrixXd H = ridge * MatrixXd::Identity(d * K, d * K);
    for (Eigen::Index i = 0; i < t.x.rows(); ++i) {
      const MatrixXd W = hessian(loss, theta.transpose() * t.x.row(i).transpose());
      const MatrixXd xx = t.x.row(i).transpose() * t.x.row(i);
      for (Eigen::Index a = 0; a < K; ++a) {
        for (Eigen::Index b = 0; b < K; ++b) H.block(a * d, b * d, d, d) += W(a, b) * xx;
      }
    }
    const VectorXd newton = H.ldlt().solve(g.reshaped());
    const double D = 2 * newton.norm();
    theta -= (D > 1e-3 ? std::log1p(D) / D : 1.0) * newton.reshaped(d, K);
  }
  EXPECT_LE(derivative_at(theta).norm(), 1e-9 * (1 + ridge));
  return theta;
}

// output: neighbors' minimizers are at most 2 sqrt(2) R/Lambda apart; over tables of one class, of
// one row, of one column, of the same row many times; and nearly so where both rows are given up.
TEST(SoftmaxOutput, MinimizersOfNeighborsAreWithinTheSensitivity) {
  std::mt19937_64 random(5);
  double nearest = 0;
  for (const Eigen::Index K : {2, 3, 5}) {
    const Loss& loss = loss_named(full_loss_name("softmax", static_cast<std::uint64_t>(K)));
    for (int trial = 0; trial < support::repeats(120, 12); ++trial) {
      const Eigen::Index d = 1 + trial % 3, n = 1 + trial % 5;
      const double ridge = std::exp2(std::uniform_real_distribution<double>(-6, 4)(random));
      MatrixXd center = MatrixXd::Zero(d, K);
      Table t{MatrixXd(n, d), {}};
      for (Eigen::Index i = 0; i < n; ++i) {
        t.x.row(i) =
            trial % 4 == 0 && i > 0 ? VectorXd(t.x.row(0)) : normals(random, d).normalized();
        t.y.push_back(trial % 4 < 2
                          ? 0
                          : static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(K)));
      }
      Table neighbor = t;
      neighbor.x.row(0) = trial % 3 == 0 ? VectorXd(-t.x.row(0)) : normals(random, d).normalized();
      neighbor.y[0] = static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(K));
      if (trial % 6 == 1 && d > 1) {  // a center where class 1 is far ahead of both rows
        for (Table* const table : {&t, &neighbor}) {
          table->x.setZero();
          table->x(0, 0) = 0.01;
          table->x(0, 1) = (table == &t ? 1 : -1) * std::sqrt(1 - 1e-4);
          table->y.assign(static_cast<std::size_t>(n), 0);
        }
        center(0, 1) = 1e4 + 200 * std::sqrt(2.0) / ridge;
      }
      const double sensitivity = softmax_problem(1, 1, static_cast<std::uint64_t>(K))
                                     .sensitivity_up(1, Adjacency::replace_one, 1) /
                                 ridge;
      const double apart =
          (minimizer_of(loss, t, ridge, center) - minimizer_of(loss, neighbor, ridge, center))
              .norm();
      EXPECT_LE(apart, sensitivity * (1 + 1e-9)) << K << ' ' << trial;
      nearest = std::max(nearest, apart / sensitivity);
    }
  }
  EXPECT_GT(nearest, 0.999)
      << "no pair comes near: the check would not see a bound that is too small";
}

// What is offered is within the budget; auto takes one that holds.
TEST(SoftmaxPlan, OffersKeepTheBudget) {
  support::Thinned sweep(4);
  for (const std::uint64_t K : {2ULL, 3ULL, 10ULL}) {
    for (const std::uint64_t rows : {1ULL, 500ULL, 100000ULL}) {
      if (sweep.skips()) continue;
      Problem p = softmax_problem(rows, 5, K);
      p.intercept = true;
      const Budget budget{1, 1e-6};
      const Plan automatic = plan(p, budget, {});
      EXPECT_EQ(name_of(automatic.candidate().mechanism), "whitened");
      EXPECT_TRUE(automatic.candidate().feasible);
      Budget draws = budget;
      draws.draws = 3;
      EXPECT_EQ(name_of(plan(p, draws, {}).candidate().mechanism), "metric-path");
      for (const bool prior : {false, true}) {
        if (prior) p.prior_precision = 1;
        for (const Candidate& o : plan(p, budget, {}).candidates) {
          const std::string name(name_of(o.mechanism));
          if (o.feasible) {
            EXPECT_LE(delta_up(o.guarantee, budget.epsilon), budget.delta) << name;
            const Analysis again = analyze(o.mechanism, p, budget.neighbors(), 1);
            EXPECT_LE(delta_up(again.guarantee, budget.epsilon), budget.delta) << name;
          }
        }
      }
      EXPECT_TRUE(plan(p, budget, {.mechanism = "output"}).candidate().feasible) << rows;
      EXPECT_TRUE(plan(p, budget, {.mechanism = "path"}).candidate().feasible) << rows;
      EXPECT_TRUE(plan(p, budget, {.mechanism = "proximal"}).candidate().feasible)
          << plan(p, budget, {.mechanism = "proximal"}).candidate().why;
    }
  }
}

// Moments are of columns, gradients of all coordinates; with two classes the rule is that of
// logistic regression, whose slopes are 1 long and not sqrt(2).
TEST(SoftmaxPlan, WhitenedAsksForColumnsAndGradientsOfEveryClass) {
  const Budget budget{1, 1e-6};
  const auto settings = [&](const Problem& p) {
    const Plan made = plan(p, budget, {.mechanism = "whitened"});
    EXPECT_TRUE(made.candidate().feasible) << made.candidate().why;
    return std::get<Whitened>(made.candidate().mechanism);
  };
  for (const std::uint64_t K : {2ULL, 3ULL, 10ULL}) {
    const Problem p = softmax_problem(5000, 6, K);
    const Whitened s = settings(p);
    const Analysis found = analyze(s, p, {}, 1);
    EXPECT_EQ(found.constants.at(0).value, s.iterations * static_cast<double>(6 * K + 1) +
                                               (s.second_moment_share > 0 ? 2.0 : 1.0) * 21);
    EXPECT_LE(delta_up(found.guarantee, 1), 1e-6);
    // sup of a row's trace, 1 - 1/K: what replaces a row moves the sum by that at most.
    const double trace = p.curvature * p.traces.most;
    EXPECT_GE(trace, 1 - 1 / static_cast<double>(K));
    EXPECT_LE(trace, (1 - 1 / static_cast<double>(K)) * (1 + 1e-15));
  }
  Problem one = softmax_problem(5000, 6, 2);
  one.features = 6;
  one.outputs = 1;
  set_loss(one, loss_named("logistic"));
  const Whitened two = settings(softmax_problem(5000, 6, 2)), logistic = settings(one);
  EXPECT_EQ(two.iterations, logistic.iterations);
  EXPECT_EQ(two.first_moment_share, logistic.first_moment_share);
  EXPECT_NEAR(two.clip_factor, std::sqrt(2.0) * logistic.clip_factor, 1e-6);
  EXPECT_THAT(
      plan(softmax_problem(5000, 2001, 3), budget, {.mechanism = "whitened"}).candidate().why,
      HasSubstr("2001 features"));
}

// Moments are of columns, draws of all coordinates.
TEST(SoftmaxPlan, AMetricIsOfColumns) {
  const Problem p = softmax_problem(5000, 6, 4);
  const Plan made = plan(p, {1, 1e-6}, {.mechanism = "metric-path"});
  ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
  const Analysis found = analyze(made.candidate().mechanism, p, {}, 1);
  const auto numbers = std::ranges::find_if(
      found.constants, [](const auto& c) { return c.name == std::string("answered_numbers"); });
  ASSERT_NE(numbers, found.constants.end());
  EXPECT_EQ(numbers->value, 21);
  EXPECT_EQ(in_metric(p).features, 24U);
  EXPECT_EQ(in_metric(p).row_features(), 6U);
  // 2000 columns of any number of classes.
  EXPECT_THAT(
      plan(softmax_problem(5000, 2001, 3), {1, 1e-6}, {.mechanism = "metric-path"}).candidate().why,
      HasSubstr("2001 features"));
}

}  // namespace softmax_test
}  // namespace gibbsite
