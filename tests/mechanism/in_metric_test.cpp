#include "gibbsite/mechanism/in_metric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "mechanism/moments_question.hpp"
#include "support/repeats.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace in_metric_test {

using ::testing::HasSubstr;

Problem problem(std::uint64_t rows, std::uint64_t features) {
  Problem p = support::long_rows(rows, features);
  p.intercept = true;
  p.drop_from_zero = support::logistic_drop;
  return p;
}

const MetricPath& settings_of(const Candidate& candidate) {
  return std::get<MetricPath>(candidate.mechanism);
}

// The claim is that of the question and of the chain on rows of norm 1, written out: mu of the
// question is its sensitivity over its noise, and nothing of the raw rows' norm enters the chain.
TEST(InMetric, CostsItsQuestionAndItsChain) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1ULL, 3ULL}) {
      for (const std::uint64_t draws : {1ULL, 4ULL}) {
        const Neighbors who{adjacency, k};
        const double T = 70, h = 1e-3, beta = 0.02, n = 1000;
        const MetricPath s{0.11, 1.7, 0.4, {Calibration::gdp, beta, 0, h, T}};
        const Analysis found = analyze(s, problem(1000, 5), who, draws);
        const double R = 1.7, e = 1e-3, people = static_cast<double>(k);
        const bool replace = adjacency == Adjacency::replace_one;
        const double noise = moment_deviation_up(Wide(s.moments_mu), who, R, e);
        const double of_question = (people * (replace ? std::sqrt(2) : 1) * R * R + 2 * e) / noise;
        const double S = people * (replace ? 2 : 1) * beta;
        const double of_chain = S * std::sqrt(h * T / 2);  // m = 0: plain composition
        const double claimed =
            std::sqrt(of_question * of_question + static_cast<double>(draws) * of_chain * of_chain);
        EXPECT_NEAR(found.guarantee.mu / claimed, 1, 1e-9);
        EXPECT_GE(found.guarantee.mu, claimed * (1 - 1e-14));
        EXPECT_LT(h, 2 / (beta * n / 4)) << "the formula's condition, with rows of norm 1";
        EXPECT_GT(found.guarantee.tv, 0);
        EXPECT_GT(found.noise.epsilon,
                  analyze(s.chain, in_metric(problem(1000, 5)), who, draws).noise.epsilon)
            << "the answer's own rounding is paid for";
      }
    }
  }
}

TEST(InMetric, EveryOfferKeepsItsBudgetAndUsesIt) {
  int planned = 0;
  support::Thinned sweep(5);
  for (const std::uint64_t rows : {35ULL, 32561ULL, 1'000'000ULL, 1'000'000'000ULL}) {
    for (const std::uint64_t d : {1ULL, 20ULL, 108ULL}) {
      for (const double epsilon : {0.1, 1.0, 8.0}) {
        for (const std::uint64_t draws : {1ULL, 10ULL}) {
          if (sweep.skips()) continue;
          const double delta = draws > 1 ? 1e-8 : 1e-10;
          const Budget budget{epsilon, delta, Adjacency::replace_one, 2, draws};
          const Candidate candidate =
              gibbsite::candidate(std::type_identity<MetricPath>{}, problem(rows, d), budget, {});
          ASSERT_TRUE(candidate.feasible) << candidate.why;
          const double spent = delta_up(candidate.guarantee, epsilon);
          EXPECT_LE(spent, delta);
          EXPECT_GE(spent, delta * (1 - 1e-2)) << "less was bought than paid for";
          EXPECT_LE(candidate.cost.passes, 602.0 * static_cast<double>(draws));
          ++planned;
        }
      }
    }
  }
  EXPECT_EQ(planned, support::repeats(72, 15));
}

// A gap is dearer at the whole epsilon than at the chain's own.
TEST(InMetric, ProximalKeepsItsBudgetWithItsGap) {
  int feasible = 0;
  support::Thinned sweep(3);
  for (const double epsilon : {0.5, 2.0}) {
    for (const bool padded : {false, true}) {
      if (sweep.skips()) continue;
      const Budget budget{.epsilon = epsilon, .delta = 1e-4};
      const Plan made = plan(problem(2000, 4), budget,
                             {.mechanism = "metric-proximal", .tv = 1e-6, .padded = padded});
      const Candidate& candidate = require_feasible(made);
      const auto& s = std::get<MetricProximal>(candidate.mechanism);
      EXPECT_EQ(s.chain.padded(), padded);
      EXPECT_GE(candidate.guarantee.tv, 1e-6);
      EXPECT_LE(delta_up(candidate.guarantee, epsilon), 1e-4);
      EXPECT_GE(delta_up(candidate.guarantee, epsilon), 0.98e-4);
      EXPECT_EQ(setting(candidate.mechanism, "tv_gap"), 1e-6);
      ++feasible;
    }
  }
  EXPECT_EQ(feasible, support::repeats(4, 2));
}

TEST(InMetric, IsTakenWhereWhitenedIsNot) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const auto chosen = [&](const Problem& p, const Budget& b, const PlanOptions& w) {
    return name_of(plan(p, b, w).candidate().mechanism);
  };
  Budget draws = budget;
  draws.draws = 3;
  EXPECT_EQ(chosen(problem(1000, 5), draws, {}), "metric-path");
  Problem capped = problem(1000, 5);
  capped.loss = "logistic-capped";
  capped.max_abs_derivative = 0.5;
  EXPECT_EQ(chosen(capped, budget, {}), "metric-path");
  EXPECT_EQ(chosen(capped, budget, {.iterations = 50}), "path");
  EXPECT_EQ(
      settings_of(plan(capped, budget, {.mechanism = "metric-path", .iterations = 50}).candidate())
          .chain.iterations,
      50);
  const auto why = [&](const Problem& p) {
    const Plan made = plan(p, budget, {.mechanism = "metric-path"});
    EXPECT_FALSE(made.candidate().feasible);
    return made.candidate().why.text();
  };
  Problem prior = problem(1000, 5);
  prior.prior_precision = 1;
  EXPECT_THAT(why(prior), HasSubstr("`prior_precision`"));
  Problem centered = problem(1000, 5);
  centered.center_norm = 1;
  EXPECT_THAT(why(centered), HasSubstr("center"));
  EXPECT_THAT(why(problem(1000, 2001)), HasSubstr("2001 features"));
  EXPECT_THROW(plan(problem(1000, 5), budget, {.mechanism = "metric-path", .tv = 1e-3}), BadInput);
  EXPECT_THROW(plan(problem(1000, 5), budget, {.mechanism = "metric-path", .step_size = 1e-3}),
               BadInput);
  EXPECT_THROW(plan(problem(1000, 5), budget,
                    {.mechanism = "metric-proximal", .calibration = Calibration::minami_cor8}),
               BadInput);
}

// A certificate may hold any settings: what they do not add up to is not promised.
TEST(InMetric, SettingsThatCannotBePromiseNothing) {
  const MetricPath good = settings_of(
      plan(problem(1000, 5), {.epsilon = 1, .delta = 1e-6}, {.mechanism = "metric-path"})
          .candidate());
  const auto delta = [](const MetricPath& s, std::uint64_t rows = 1000) {
    return delta_up(analyze(s, problem(rows, 5), {}, 1).guarantee, 1);
  };
  EXPECT_LE(delta(good), 1e-6);
  MetricPath bad = good;
  bad.moments_mu *= 1.01;
  EXPECT_GT(delta(bad), 1e-6);
  bad = good;
  bad.chain.beta *= 1.01;
  EXPECT_GT(delta(bad), 1e-6);
  bad = good;
  bad.chain.iterations += 5;
  EXPECT_GT(delta(bad), 1e-6);
  bad = good;
  bad.moments_mu = 1e-200;
  EXPECT_EQ(delta(bad), 1) << "noise beyond double";
  bad = good;
  bad.first_clip = 1e200;
  EXPECT_EQ(delta(bad), 1) << "noise beyond double";
  bad = good;
  bad.chain.calibration = Calibration::minami_cor8;
  EXPECT_THROW(delta(bad), BadInput);
  bad = good;
  bad.chain.step_size *= 10;
  EXPECT_THROW(delta(bad), BadInput) << "above 2/M";
}

}  // namespace in_metric_test
}  // namespace gibbsite
