#include "gibbsite/mechanism/whitened.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/whitened_losses.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace whitened_test {

using support::long_rows;
using ::testing::HasSubstr;

const Whitened& settings_of(const Candidate& candidate) {
  return std::get<Whitened>(candidate.mechanism);
}

// mu^2 of a run, question by question: the largest change of its answer, by its definition, over
// the deviation of its noise. `error` comes on top of each sensitivity, twice.
Wide squared_mu(const Whitened& s, const Neighbors& who, double R1, double R2, double C,
                double curvature) {
  const bool replace = who.adjacency == Adjacency::replace_one;
  const Wide k = who.rows_per_person;
  const auto part = [](const Wide& change, double deviation) {
    const Wide ratio = change / Wide(deviation);
    return ratio * ratio;
  };
  const Wide moments = replace ? sqrt(Wide(2)) : Wide(1), gradients = replace ? 2 : 1;
  const double e = 1e-3;
  Wide sum = 0;
  if (s.length_share > 0) {
    sum += part(k * gradients * Wide(0.7) + 2 * Wide(e), length_deviation_up(s, who, 0.7, e));
    // Either of two questions for the same share.
    const Wide second = part(k * moments * Wide(R2) * Wide(R2) + 2 * Wide(e),
                             moment_deviation_up(s, who, true, R2, e));
    const Wide start =
        part(k * gradients * Wide(C) + 2 * Wide(e), start_deviation_up(s, who, C, e));
    EXPECT_LT(abs(start - second), Wide(1e-14) * start);
  }
  sum += part(k * moments * Wide(R1) * Wide(R1) + 2 * Wide(e),
              moment_deviation_up(s, who, false, R1, e));
  if (s.second_moment_share > 0) {
    sum += part(k * moments * Wide(R2) * Wide(R2) + 2 * Wide(e),
                moment_deviation_up(s, who, true, R2, e));
  }
  for (std::uint64_t t = 1; static_cast<double>(t) <= s.iterations; ++t) {
    sum += part(k * gradients * Wide(C) + 2 * Wide(e), gradient_deviation_up(s, who, t, C, e));
    sum += part(k * Wide(curvature) + 2 * Wide(e), curvature_deviation_up(s, who, curvature, e));
  }
  if (s.information_share > 0) {
    const auto T = static_cast<std::uint64_t>(s.iterations);
    sum += part(k * gradients * Wide(C) + 2 * Wide(e), gradient_deviation_up(s, who, T + 1, C, e));
    // v v^T of ||v||^2 <= B = information_limit C^2.
    const double longest = std::sqrt(information_limit(s)) * C;
    sum += part(k * moments * Wide(longest) * Wide(longest) + 2 * Wide(e),
                information_deviation_up(s, who, longest, e));
  }
  if (s.score_share > 0) {  // s s^T of scores s, ||s|| <= C
    sum += part(k * moments * Wide(C) * Wide(C) + 2 * Wide(e), score_deviation_up(s, who, C, e));
  }
  return sum;
}

// Each share is counted once, every question is paid for, and deviations are rounded up: together
// they cost what is claimed and nothing is given away.
TEST(Whitened, ItsQuestionsTogetherCostWhatIsClaimed) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1ULL, 3ULL}) {
      for (const double evenness : {1e-6, 0.3, 1.0, 2.0}) {
        for (const double T : {1.0, 2.0, 40.0}) {
          const Whitened s{.query_mu = 0.2371,
                           .first_clip = 1.7,
                           .first_moment_share = 0.1,
                           .second_moment_share = 0.13,
                           .curvature_share = 0.02,
                           .clip_factor = 0.4,
                           .iterations = T,
                           .length_share = 0.05,
                           .gradient_evenness = evenness};
          Problem problem = long_rows(1000, 5);
          problem.intercept = true;
          const Neighbors who{adjacency, k};
          const Analysis found = analyze(s, problem, who, 1);
          EXPECT_LT(found.guarantee.tv, 1);
          const Wide claimed = Wide(found.guarantee.mu) * Wide(found.guarantee.mu);
          const Wide spent = squared_mu(s, who, s.first_clip, 2.9, 1.3, 0.25);
          EXPECT_TRUE(spent <= claimed && spent >= claimed * (1 - Wide(1e-14))) << T << evenness;
        }
      }
      for (const double second : {0.0, 0.2, 0.37}) {
        for (const auto& [T, information, block] :
             {std::array{1.0, 0.0, 0.0}, std::array{2.0, 0.0, 0.0}, std::array{40.0, 0.0, 0.0},
              std::array{1000.0, 0.0, 0.0}, std::array{1.0, 0.1, 0.4}, std::array{40.0, 0.1, 0.4},
              std::array{3.0, 0.5, 0.01}, std::array{12.0, 1e-3, 0.99}}) {
          const Whitened s{.query_mu = 0.2371,
                           .first_clip = 1.7,
                           .first_moment_share = 0.1,
                           .second_moment_share = second,
                           .curvature_share = 0.02,
                           .clip_factor = 0.4,
                           .iterations = T,
                           .information_share = information,
                           .block_share = block};
          const Neighbors who{adjacency, k};
          const Analysis found = analyze(s, long_rows(1000, 5), who, 1);
          EXPECT_LT(found.guarantee.tv, 1);
          const Wide claimed = Wide(found.guarantee.mu) * Wide(found.guarantee.mu);
          for (const double curvature : {0.25, 1.0}) {  // of classes; of amounts and counts
            const Wide spent = squared_mu(s, who, s.first_clip, 2.9, 1.3, curvature);
            EXPECT_TRUE(spent <= claimed) << T;
            EXPECT_TRUE(spent >= claimed * (1 - Wide(1e-14))) << T;
          }
        }
      }
    }
  }
}

TEST(Whitened, EveryOfferKeepsItsBudgetAndUsesIt) {
  int planned = 0;
  for (const bool intervals : {false, true})
    for (const std::uint64_t rows : {1ULL, 35ULL, 32561ULL, 1'000'000ULL, 1'000'000'000ULL}) {
      for (const std::uint64_t d : {1ULL, 20ULL, 108ULL, 2000ULL}) {
        for (const double epsilon : {0.01, 0.1, 1.0, 8.0}) {
          for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
            // A table of one row gets delta = 1e-3: 1/n^2 would be 1.
            const auto n = static_cast<double>(rows);
            const double delta = std::min(1e-3, 1 / (n * n));
            const Budget budget{epsilon, delta, adjacency, 2, 1};
            const Candidate candidate =
                gibbsite::candidate(std::type_identity<Whitened>{}, long_rows(rows, d), budget,
                                    {.intervals = intervals});
            ASSERT_TRUE(candidate.feasible) << candidate.why;
            const Whitened& s = settings_of(candidate);
            EXPECT_GE(s.iterations, 12);
            EXPECT_LE(candidate.cost.passes, intervals ? 45 : 42);
            EXPECT_EQ(s.information_share > 0, intervals);
            EXPECT_EQ(s.block_share > 0, intervals);
            const Problem p = long_rows(rows, d);
            const Wide claimed = Wide(candidate.guarantee.mu) * Wide(candidate.guarantee.mu);
            const Wide cost =
                squared_mu(s, budget.neighbors(), s.first_clip, 2.9, 1.3, p.curvature);
            EXPECT_TRUE(cost <= claimed && cost >= claimed * (1 - Wide(1e-14)));
            EXPECT_EQ(analyze(s, p, budget.neighbors(), 1).guarantee.mu, candidate.guarantee.mu);
            EXPECT_GE(information_limit(s), 0.25);
            EXPECT_GE(s.clip_factor, 0.25);
            EXPECT_LE(s.clip_factor, 1);
            const double spent = delta_up(candidate.guarantee, epsilon);
            EXPECT_LE(spent, delta);
            EXPECT_GE(spent, delta * (1 - 2.5e-3)) << "less was bought than paid for";
            ++planned;
          }
        }
      }
    }
  EXPECT_EQ(planned, 320);
}

TEST(Whitened, TheRuleIsThatOfTheDocuments) {
  const auto rule = [](std::uint64_t rows, std::uint64_t d, double epsilon) {
    return settings_of(plan(long_rows(rows, d), {.epsilon = epsilon, .delta = 1e-9}).candidate());
  };
  const Whitened s = rule(32561, 108, 1);
  const double mu = s.query_mu, rounds = 32561 * mu / (8 * 108);
  EXPECT_NEAR(mu, gdp_mu_down(1, 1e-9), 1e-6);
  EXPECT_EQ(s.iterations, std::round(8 * std::sqrt(rounds)));
  EXPECT_DOUBLE_EQ(s.clip_factor, 0.35 * std::cbrt(rounds));
  EXPECT_EQ(s.first_moment_share, 0.1);
  EXPECT_EQ(s.second_moment_share, 0.2);
  EXPECT_EQ(s.first_clip, 2) << "the typical norm";
  EXPECT_EQ(s.length_share, 0);
  EXPECT_EQ(s.gradient_evenness, 0);
  const Whitened few = rule(500, 108, 0.1);
  EXPECT_EQ(few.first_moment_share, 0.2);
  EXPECT_EQ(few.second_moment_share, 0);
  EXPECT_FALSE(is_small_budget(few)) << "rows have no constant";
  EXPECT_EQ(few.iterations, 12);
  EXPECT_EQ(few.clip_factor, 0.25);
  EXPECT_EQ(rule(100'000'000, 10, 1).iterations, 40);
}

// From N/d = 25 on the rule is the one it was; below, with a constant column, numbers alone and
// without intervals, it is that of small budgets. Amounts have it with the shares of gradients that
// they had; counts do not, nor tables with levels or curves.
TEST(Whitened, SmallBudgetsHaveARuleOfTheirOwn) {
  const auto rule = [](std::uint64_t rows, const char* loss = "logistic", bool intervals = false,
                       bool constant = true, std::optional<double> iterations = {},
                       double typical = std::sqrt(1 + 4.0 / 12), double row_norm = 2) {
    Problem p = long_rows(rows, 5);
    p.typical_row_norm = typical;
    p.row_norm = row_norm;
    p.loss = loss;
    p.intercept = constant;
    return settings_of(gibbsite::candidate(
        std::type_identity<Whitened>{}, p, {.epsilon = 1, .delta = 1e-6},
        {.mechanism = "whitened", .iterations = iterations, .intervals = intervals}));
  };
  const double mu = rule(1000).query_mu;
  const auto rows = [&](double s) { return static_cast<std::uint64_t>(s * 5 / mu); };
  for (const double s : {0.5, 4.0, 16.0, 24.9}) {
    const Whitened small = rule(rows(s));
    EXPECT_EQ(small.length_share, 0.02) << s;
    EXPECT_EQ(small.second_moment_share, 0.1) << s;
    EXPECT_NEAR(1 - small.gradient_evenness, std::clamp(std::log2(s / 16) / 2, -1.0, 1.0), 0.3)
        << s;
    for (const char* loss : {"huber", "pseudo-huber"}) {
      const Whitened held = rule(rows(s), loss);
      EXPECT_EQ(held.length_share, 0.02) << loss;
      EXPECT_EQ(held.second_moment_share, 0.1) << loss;
      EXPECT_EQ(held.gradient_evenness, 0) << loss;
      EXPECT_FALSE(is_small_budget(rule(rows(s), loss, true)));
      EXPECT_FALSE(is_small_budget(rule(rows(s), loss, false, true, {}, 1.5))) << "levels";
      // A category of twelve levels is as long as twelve numbers, and one column.
      EXPECT_FALSE(is_small_budget(
          rule(rows(s), loss, false, true, {}, std::sqrt(1 + 4.0 / 12), std::sqrt(2))));
    }
    // Levels: rows that are shorter on average, or at most as long as one of a single category.
    for (const char* loss : {"logistic", "logistic(0.4,1)", "softmax-3"}) {
      EXPECT_FALSE(is_small_budget(rule(rows(s), loss, false, true, {}, 1.5))) << loss;
      EXPECT_FALSE(is_small_budget(
          rule(rows(s), loss, false, true, {}, std::sqrt(1 + 4.0 / 12), std::sqrt(2))))
          << loss;
    }
    EXPECT_FALSE(is_small_budget(rule(rows(s), "poisson")));
    EXPECT_FALSE(is_small_budget(rule(rows(s), "logistic", true)));
    EXPECT_FALSE(is_small_budget(rule(rows(s), "logistic", false, false)));
    EXPECT_FALSE(is_small_budget(rule(rows(s), "logistic", false, true, 101)));
    EXPECT_TRUE(is_small_budget(rule(rows(s), "logistic(0.4,1)", false, true, 100)));
  }
  const Whitened large = rule(rows(25.5));
  EXPECT_FALSE(is_small_budget(large));
  EXPECT_EQ(large.gradient_evenness, 0);
}

// Shares that a file names and that no proof is about promise nothing.
TEST(Whitened, SettingsOfSmallBudgetsThatAreNotSharesOfOneBudgetPromiseNothing) {
  Problem problem = long_rows(300, 5);
  problem.intercept = true;
  problem.typical_row_norm = std::sqrt(1 + 4.0 / 12);
  problem.row_norm = 2;
  const Whitened good = settings_of(plan(problem, {.epsilon = 1, .delta = 1e-6}).candidate());
  ASSERT_TRUE(is_small_budget(good));
  const auto delta = [&](const Whitened& s, const Problem& p) {
    return delta_up(analyze(s, p, {}, 1).guarantee, 1);
  };
  EXPECT_LE(delta(good, problem), 1e-6);
  const auto promises_nothing = [&](double Whitened::*field, double value, const char* why) {
    Whitened bad = good;
    bad.*field = value;
    EXPECT_EQ(delta(bad, problem), 1) << why << " " << value;
  };
  for (const double value : {-0.1, -1e-300, 0.8, 1.0, static_cast<double>(NAN)})
    promises_nothing(&Whitened::length_share, value, "more than the whole, or less than none");
  promises_nothing(&Whitened::length_share, 0, "even gradients without lengths");
  promises_nothing(&Whitened::second_moment_share, 0, "no second question");
  for (const double value : {-0.1, 2.01, 1e300, static_cast<double>(NAN)})
    promises_nothing(&Whitened::gradient_evenness, value, "no such power");
  promises_nothing(&Whitened::iterations, 101, "shares that are not added up");
  // Files that strangers wrote name any number of gradients: nothing takes time in proportion.
  promises_nothing(&Whitened::iterations, 1e15, "shares that are not added up");
  Whitened many = good;
  many.iterations = 1e15;
  EXPECT_GT(gradient_deviation_up(many, {}, 3, 1, 0), gradient_deviation_up(good, {}, 3, 1, 0));
  for (const char* loss : {"huber", "poisson", "softmax-3", "squared"}) {
    Problem other = problem;
    other.loss = loss;
    if (other.loss == "softmax-3") other.outputs = 3, other.features *= 3;
    EXPECT_EQ(delta(good, other) < 1, other.loss != "squared") << loss;
  }
  Problem without = problem;
  without.intercept = false;
  EXPECT_EQ(delta(good, without), 1);
  Whitened intervals = good;
  intervals.information_share = 0.1, intervals.block_share = 0.2;
  EXPECT_EQ(delta(intervals, problem), 1);
}

TEST(Whitened, WhatItDoesNotDoIsSaidWhenItIsPlanned) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const auto why = [&](Problem p, Budget b) {
    const Plan made = plan(p, b, {.mechanism = "whitened"});
    EXPECT_FALSE(made.candidate().feasible);
    return made.candidate().why.text();
  };
  Budget draws = budget;
  draws.draws = 2;
  EXPECT_THAT(why(long_rows(1000, 5), draws), HasSubstr("`draws`"));
  Problem prior = long_rows(1000, 5);
  prior.prior_precision = 1;
  EXPECT_THAT(why(prior, budget), HasSubstr("`prior_precision`"));
  Problem other = long_rows(1000, 5);
  other.loss = "squared";
  EXPECT_THAT(why(other, budget), HasSubstr("logistic"));
  EXPECT_THAT(why(long_rows(1000, 2001), budget), HasSubstr("2001 features"));
  EXPECT_THAT(why(long_rows(1ULL << 53, 5), {.epsilon = 8, .delta = 1e-6}), HasSubstr("resolved"));
  // auto takes chains there, in a metric where they can be, and path where what is asked for is
  // its.
  const auto chosen = [&](const Problem& p, const Budget& b, const PlanOptions& w) {
    return name_of(plan(p, b, w).candidate().mechanism);
  };
  EXPECT_EQ(chosen(long_rows(1000, 5), budget, {}), "whitened");
  EXPECT_EQ(chosen(long_rows(1000, 5), draws, {}), "metric-path");
  EXPECT_EQ(chosen(prior, budget, {}), "path");
  EXPECT_EQ(chosen(long_rows(1000, 2001), budget, {}), "path");
  EXPECT_EQ(chosen(long_rows(1000, 5), budget, {.step_size = 1e-3}), "path");
  EXPECT_EQ(chosen(long_rows(1000, 5), budget, {.iterations = 100}), "path");
  EXPECT_EQ(
      settings_of(plan(long_rows(1000, 5), budget, {.mechanism = "whitened", .iterations = 100})
                      .candidate())
          .iterations,
      100);
}

// A start has a number for each class and feature, second moments one for each pair of features:
// with many classes the start has more, and the noise of all that may be asked is paid for.
TEST(Whitened, CountsTheNumbersOfAStartOfManyClasses) {
  for (const std::uint64_t K : {3U, 40U}) {
    Problem p = long_rows(300, 3);
    p.loss = "softmax-" + std::to_string(K);
    p.outputs = K;
    p.features = 3 * K;
    p.intercept = true;
    p.typical_row_norm = std::sqrt(1 + 2.0 / 12);
    p.row_norm = 2;
    const Candidate made =
        gibbsite::candidate(std::type_identity<Whitened>{}, p, {.epsilon = 0.5, .delta = 1e-6}, {});
    const Whitened& s = settings_of(made);
    ASSERT_TRUE(is_small_budget(s));
    const Analysis found = analyze(s, p, {}, 1);
    double numbers = 0;
    for (const auto& [name, value] : found.constants) {
      if (std::string_view(name) == "answered_numbers") numbers = value;
    }
    const auto of_start = static_cast<double>(3 * K);
    const double moments = 6, second = std::max(moments, of_start);
    EXPECT_EQ(numbers, 1 + moments + second + s.iterations * (of_start + 1)) << K;
  }
}

Problem with_loss(const char* loss) {
  Problem p = long_rows(1000, 5);
  p.loss = loss;
  if (p.loss.starts_with("logistic")) return p;
  p.label_bound = 5;
  p.curvature = 1;
  return p;
}

// The settings are those of classes: what differs is within the rule. Losses whose predictions
// under a cap are not known are refused, and auto goes on to chains.
TEST(Whitened, AmountsAndCountsAreTaken) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const Whitened of_classes = settings_of(plan(with_loss("logistic"), budget).candidate());
  for (const char* loss : {"huber", "pseudo-huber", "poisson"}) {
    const Plan made = plan(with_loss(loss), budget);
    ASSERT_EQ(name_of(made.candidate().mechanism), "whitened") << loss;
    const Whitened s = settings_of(made.candidate());
    EXPECT_EQ(s.clip_factor, of_classes.clip_factor);
    EXPECT_EQ(s.iterations, of_classes.iterations);
    EXPECT_EQ(s.query_mu, of_classes.query_mu);
    EXPECT_FALSE(is_two_class_logistic(loss));
  }
  EXPECT_TRUE(is_two_class_logistic("logistic"));
  EXPECT_TRUE(is_two_class_logistic("logistic(0.4,1)"));
  EXPECT_FALSE(is_two_class_logistic("logistic-capped"));
  EXPECT_FALSE(is_two_class_logistic("softmax-3"));
  for (const char* loss : {"smoothed-hinge", "logistic-capped"}) {
    const Plan made = plan(with_loss(loss), budget, {.mechanism = "whitened"});
    EXPECT_FALSE(made.candidate().feasible);
    EXPECT_THAT(made.candidate().why, HasSubstr(loss));
    EXPECT_NE(name_of(plan(with_loss(loss), budget).candidate().mechanism), "whitened");
  }
}

// With intervals amounts are also asked for the second moments of their scores, with a share of its
// own: all questions together cost what is claimed, whatever the shares are.
TEST(Whitened, QuestionsOfAmountsTogetherCostWhatIsClaimed) {
  int seen = 0;
  for (const char* loss : {"huber", "pseudo-huber", "poisson"}) {
    for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
      const Budget budget{.epsilon = 1, .delta = 1e-6, .adjacency = adjacency};
      const Plan made = plan(with_loss(loss), budget, {.intervals = true});
      ASSERT_EQ(name_of(made.candidate().mechanism), "whitened");
      for (const double scores : {0.03, 1e-3, 0.2}) {
        Whitened s = settings_of(made.candidate());
        EXPECT_EQ(s.score_share, 0.03);
        s.score_share = scores;
        const Neighbors who = budget.neighbors();
        const Analysis found = analyze(s, with_loss(loss), who, 1);
        EXPECT_LT(found.guarantee.tv, 1);
        const Wide claimed = Wide(found.guarantee.mu) * Wide(found.guarantee.mu);
        const Wide spent = squared_mu(s, who, s.first_clip, 2.9, 1.3, 1.0);
        EXPECT_TRUE(spent <= claimed && spent >= claimed * (1 - Wide(1e-14))) << scores;
        // A limit that takes no part of a row of typical length.
        for (const double kappa : {0.25, 0.6, 1.0}) {
          s.clip_factor = kappa;
          EXPECT_DOUBLE_EQ(information_limit(s) * kappa * kappa,
                           std::max(1.0, 4 * std::pow(kappa, 3)));
        }
        ++seen;
      }
      const auto promises = [&](double share, double information, double block, const char* of) {
        Whitened s = settings_of(made.candidate());
        s.score_share = share;
        s.information_share = information;
        s.block_share = block;
        return analyze(s, with_loss(of), budget.neighbors(), 1).guarantee.tv < 1;
      };
      EXPECT_TRUE(promises(0.03, 0.1, 0.4, loss));
      EXPECT_TRUE(promises(0, 0, 0, loss));
      for (const auto& [largest, of] :
           {std::pair{1.0, "poisson"}, {0.5, "poisson"}, {1.0, "huber"}}) {
        Whitened s = settings_of(made.candidate());
        s.largest_count = largest;
        EXPECT_EQ(analyze(s, with_loss(of), budget.neighbors(), 1).guarantee.tv < 1,
                  largest >= 1 && of == std::string_view("poisson"));
      }
      EXPECT_FALSE(promises(0, 0.1, 0.4, loss)) << "another limit than without scores";
      EXPECT_FALSE(promises(0.03, 0, 0, loss)) << "scores without a block";
      EXPECT_FALSE(promises(0.03, 0.1, 0.4, "softmax-3")) << "scores of classes are not asked";
      for (const double share : {-0.01, 0.9, 1.0, static_cast<double>(NAN)})
        EXPECT_FALSE(promises(share, 0.1, 0.4, loss)) << share;
    }
  }
  EXPECT_EQ(seen, 18);
}

// A certificate may hold any settings: what they do not add up to is not promised.
TEST(Whitened, SettingsThatAreNotSharesOfOneBudgetPromiseNothing) {
  const Whitened good =
      settings_of(plan(long_rows(1000, 5), {.epsilon = 1, .delta = 1e-6}).candidate());
  const auto delta = [](const Whitened& s, std::uint64_t rows = 1000) {
    return delta_up(analyze(s, long_rows(rows, 5), {}, 1).guarantee, 1);
  };
  EXPECT_LE(delta(good), 1e-6);
  Whitened bad = good;
  bad.second_moment_share = 0.9;
  EXPECT_EQ(delta(bad), 1) << "shares above one";
  bad = good;
  bad.curvature_share = 1;
  EXPECT_EQ(delta(bad), 1) << "nothing is left for gradients";
  bad = good;
  bad.query_mu = 1e-200;
  EXPECT_EQ(delta(bad), 1) << "noise beyond double";
  bad = good;
  bad.first_clip = 1e200;
  EXPECT_EQ(delta(bad), 1) << "noise beyond double";
  EXPECT_EQ(delta(good, 1ULL << 60), 1) << "sums that double does not resolve";
  bad = good;
  bad.query_mu *= 1.001;
  EXPECT_GT(delta(bad), 1e-6);
  for (double Whitened::*const share :
       {&Whitened::first_moment_share, &Whitened::second_moment_share, &Whitened::curvature_share,
        &Whitened::information_share, &Whitened::block_share}) {
    for (const double value : {-0.3, -1e-300, 1.0, 2.0, static_cast<double>(NAN)}) {
      bad = good;
      bad.*share = value;
      EXPECT_EQ(delta(bad), 1) << value << ": a share that gives to the others";
    }
  }
  for (const double T : {0.0, -3.0, static_cast<double>(NAN)}) {
    bad = good;
    bad.iterations = T;
    EXPECT_EQ(delta(bad), 1) << T;
  }
  // Two releases by the same settings.
  EXPECT_DOUBLE_EQ(analyze(good, long_rows(1000, 5), {}, 4).guarantee.mu, 2 * good.query_mu);
}

// With intervals: the block and the information go together, within the whole, where a row's
// information has a limit.
TEST(Whitened, SettingsOfIntervalsThatAreNotSharesOfOneBudgetPromiseNothing) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const PlanOptions plan_options{.mechanism = "whitened", .intervals = true};
  const Problem problem = long_rows(1000, 5);
  const Whitened good = settings_of(plan(problem, budget, plan_options).candidate());
  const auto delta = [&](const Whitened& s, const Problem& p) {
    return delta_up(analyze(s, p, {}, 1).guarantee, 1);
  };
  EXPECT_LE(delta(good, problem), 1e-6);
  const auto promises_nothing = [&](double Whitened::*field, double value, const char* why) {
    Whitened bad = good;
    bad.*field = value;
    EXPECT_EQ(delta(bad, problem), 1) << why << " " << value;
  };
  promises_nothing(&Whitened::information_share, 0, "a block without information");
  promises_nothing(&Whitened::block_share, 0, "information without a block");
  for (const double value : {-0.1, -1e-300, 0.8, 1.0, 1e300, static_cast<double>(NAN)})
    promises_nothing(&Whitened::information_share, value, "more than the whole, or less than none");
  for (const double value : {-0.1, 1.0, 1.5, static_cast<double>(NAN)})
    promises_nothing(&Whitened::block_share, value, "nothing is left for the other gradients");
  promises_nothing(&Whitened::clip_factor, 1.42, "a row's information may be beyond its limit");
  promises_nothing(&Whitened::second_moment_share, 0.9, "shares above one");
  for (const double value : {-0.01, 0.9, 1.0, static_cast<double>(NAN)})
    promises_nothing(&Whitened::score_share, value, "more than the whole, or less than none");
  Whitened most = good;
  most.clip_factor = 1.4;
  EXPECT_LE(delta(most, problem), 1e-6);
  // Files of before did not ask two classes for the scores' moments.
  Whitened former = good;
  former.score_share = 0;
  EXPECT_EQ(good.score_share, 0.03);
  EXPECT_LE(delta(former, problem), 1e-6);
  for (const char* loss :
       {"huber", "pseudo-huber", "poisson", "logistic(0.4,1)", "softmax-3(0.4,1,1)"}) {
    Problem other = problem;
    other.loss = loss;
    if (other.loss.starts_with("softmax")) other.outputs = 3, other.features *= 3;
    EXPECT_EQ(delta(former, other), 1) << loss << " has no information that is limited";
  }
  Problem classes = problem;
  classes.loss = "softmax-3", classes.outputs = 3, classes.features *= 3;
  EXPECT_LE(delta(former, classes), 1.01e-6);
}

TEST(Whitened, IntervalsAreRefusedWhereNothingAnswersThem) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const auto refusal = [&](const Problem& p, const PlanOptions& plan_options) -> std::string {
    try {
      const Plan made = plan(p, budget, plan_options);
      const Candidate& candidate = made.candidate();
      if (!candidate.feasible) return candidate.why.text();
      return setting(candidate.mechanism, "information_share").value_or(0) > 0 ? "none" : "silence";
    } catch (const std::exception& e) {
      return e.what();
    }
  };
  const Problem good = long_rows(1000, 5);
  EXPECT_EQ(refusal(good, {.mechanism = "whitened", .intervals = true}), "none");
  EXPECT_EQ(refusal(good, {.intervals = true}), "none");
  for (const char* loss : {"huber", "pseudo-huber", "poisson"})
    EXPECT_EQ(refusal(with_loss(loss), {.intervals = true}), "none") << loss;
  for (const char* mechanism : {"path", "metric-path", "output", "proximal", "objective"}) {
    EXPECT_THAT(refusal(good, {.mechanism = mechanism, .intervals = true}),
                HasSubstr("`intervals`"))
        << mechanism;
  }
  Problem classes = good;
  classes.loss = "softmax-3", classes.outputs = 3, classes.features *= 3;
  EXPECT_EQ(refusal(classes, {.intervals = true}), "none");
  // A budget at which kappa is sqrt(2) and no more: engines take no limit below 1/4.
  Problem large = long_rows(10'000, 7);
  large.loss = "softmax-3", large.outputs = 3, large.features *= 3;
  const Whitened most = settings_of(
      plan(large, {.epsilon = 4, .delta = 1e-8}, {.mechanism = "whitened", .intervals = true})
          .candidate());
  EXPECT_GE(most.clip_factor, 1.41);
  EXPECT_GE(information_limit(most), 0.25);
  // So many that estimates would take too long.
  Problem wide = long_rows(100'000, 300);
  wide.loss = "softmax-3", wide.outputs = 3, wide.features *= 3;
  EXPECT_EQ(refusal(wide, {.intervals = true}), "none");
  wide = long_rows(100'000, 301);
  wide.loss = "softmax-3", wide.outputs = 3, wide.features *= 3;
  EXPECT_THAT(refusal(wide, {.intervals = true}), HasSubstr("`intervals`: of 3 classes and 301"));
  wide = long_rows(100'000, 3);
  wide.loss = "softmax-21", wide.outputs = 21, wide.features *= 21;
  EXPECT_THAT(refusal(wide, {.intervals = true}), HasSubstr("at most 20 classes"));
  for (const char* loss : {"logistic(0.4,1)", "softmax-3(0.4,1,1)"}) {
    for (const char* mechanism : {"auto", "whitened"}) {
      Problem other = good;
      other.loss = loss;
      if (other.loss.starts_with("softmax")) other.outputs = 3, other.features *= 3;
      EXPECT_EQ(refusal(other, {.mechanism = mechanism, .intervals = true}), "none")
          << loss << mechanism;
    }
  }
  for (const char* mechanism : {"auto", "whitened"}) {
    PlanOptions tv{.mechanism = mechanism, .intervals = true}, ball = tv;
    tv.tv = 1e-6;
    ball.ball = 1;
    EXPECT_THAT(refusal(good, tv), HasSubstr("`tv`")) << mechanism;
    EXPECT_THAT(refusal(good, ball), HasSubstr("`ball`")) << mechanism;
  }
}

}  // namespace whitened_test
}  // namespace gibbsite
