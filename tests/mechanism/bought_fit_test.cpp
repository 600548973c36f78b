// One budget for a schema and a fit: what is fixed before anything is asked covers every schema
// that may follow.
#include "gibbsite/mechanism/bought_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/network_tree.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/network_tree.hpp"

namespace gibbsite {
namespace bought_fit_test {

Problem fit_problem(std::uint64_t rows, std::uint64_t features) {
  FeatureSpace space{.features = features, .row_norm = 3, .intercept = true};
  space.typical_row_norm = 2;
  return logistic_regression().constants(space, rows);
}

TEST(BoughtFit, BothKeepTheBudgetWhateverSchemaFollows) {
  for (const double epsilon : {0.1, 1.0, 6.0}) {
    for (const std::uint64_t k : {1U, 3U}) {
      const SchemaProblem problem{.rows = 40'000, .columns = 14};
      const Budget budget{.epsilon = epsilon, .delta = 1e-7, .rows_per_person = k};
      std::optional<BoughtFitPlan> made;
      for (const auto& [features, intervals] : std::vector<std::pair<std::uint64_t, bool>>{
               {2, false}, {700, false}, {2000, false}, {2, true}, {2000, true}}) {
        if (!made || features == 2)
          made = plan_bought_fit(problem, budget, {}, {.intervals = intervals});
        const BoughtFitPlan& plan = *made;
        EXPECT_LE(delta_up(plan.guarantee, epsilon), budget.delta);
        EXPECT_NEAR(plan.guarantee.mu / gdp_mu_down(epsilon, .99 * budget.delta), 1, 2e-3);
        const Plan fit = gibbsite::plan(fit_problem(problem.rows, features), plan.fit,
                                        {.mechanism = "whitened", .intervals = intervals});
        ASSERT_TRUE(fit.candidate().feasible) << fit.candidate().why.plain();
        const Analysis own = analyze(fit.candidate().mechanism, fit.problem, plan.guarantee.who, 1);
        const Guarantee both =
            with_schema(own, plan.questions, problem, plan.guarantee.who).guarantee;
        EXPECT_LE(both.mu, plan.guarantee.mu);
        EXPECT_LE(both.epsilon0, plan.guarantee.epsilon0);
        EXPECT_LE(both.tv, plan.guarantee.tv);
        EXPECT_EQ(both.delta0, 0);
        EXPECT_GT(both.mu, (1 - 1e-3) * plan.guarantee.mu);  // little is given away
      }
    }
  }
}

// Fits with intervals answer more numbers: the bound of those without does not hold for them.
TEST(BoughtFit, IntervalsHaveABoundOfTheirOwn) {
  const SchemaProblem problem{.rows = 40'000, .columns = 14};
  // Amounts are asked for their scores' moments too.
  FeatureSpace space{.features = 2000, .row_norm = 3, .intercept = true};
  space.typical_row_norm = 2;
  space.label = LabelKind::amount;
  space.label_bound = 5;
  const Plan fit = gibbsite::plan(glm("huber").constants(space, problem.rows),
                                  plan_bought_fit(problem, {}, {}, {.intervals = true}).fit,
                                  {.mechanism = "whitened", .intervals = true});
  ASSERT_TRUE(fit.candidate().feasible) << fit.candidate().why.plain();
  const NoiseCost noise = analyze(fit.candidate().mechanism, fit.problem, {}, 1).noise;
  const NoiseCost with = largest_fit_noise_up({.intervals = true}),
                  without = largest_fit_noise_up();
  EXPECT_LE(noise.tv, with.tv);
  EXPECT_LE(noise.epsilon, with.epsilon);
  EXPECT_GT(noise.tv + noise.epsilon, without.tv + without.epsilon);
}

// People's scores of K classes have (K - 1)^2 times as many second moments as those of one.
TEST(BoughtFit, ScoresOfPeopleAreBoundedForEveryNumberOfClasses) {
  const SchemaProblem problem{.rows = 40'000, .columns = 14, .rows_of_person = 1};
  for (const std::uint64_t K : {3U, 7U, 20U}) {
    const LargestFit largest{.outputs = K, .intervals = true, .weighed = true};
    Problem rows = fit_problem(problem.rows, most_bought_features(largest) - 1);
    rows.loss = "softmax-" + std::to_string(K);
    rows.outputs = K;
    rows.features *= K;
    rows.weighted = true;
    rows.rows_of_person = 1;
    const Plan fit = gibbsite::plan(rows, plan_bought_fit(problem, {}, {}, largest).fit,
                                    {.mechanism = "whitened", .intervals = true});
    ASSERT_TRUE(fit.candidate().feasible) << fit.candidate().why.plain();
    const NoiseCost noise = analyze(fit.candidate().mechanism, fit.problem, {}, 1).noise;
    const NoiseCost bound = largest_fit_noise_up(largest);
    EXPECT_LE(noise.tv, bound.tv) << K;
    EXPECT_LE(noise.epsilon, bound.epsilon) << K;
    EXPECT_GT(noise.tv, largest_fit_noise_up({.outputs = K, .intervals = true}).tv) << K;
  }
}

// Columns that are left out of a network widen the limit of the others' tables: their numbers are
// fewer than those that are claimed for all that were asked about.
TEST(BoughtFit, TablesOfFewerColumnsAreWithinTheClaimOfAll) {
  for (std::uint64_t asked = 1; asked <= 220; ++asked) {
    const NoiseCost bound = largest_fit_noise_up({.columns = asked});
    for (const std::uint64_t left : {asked, asked - 1, asked / 2, asked / 10, std::uint64_t{10}}) {
      if (left < 1 || left > std::min(asked, most_network_columns)) continue;
      const StructureLimits limits = tree_limits(left);
      std::uint64_t wide = 1;
      while ((wide + 1) * (wide + 1) <= limits.cells) ++wide;
      std::vector<std::uint64_t> mixed(left, limits.cells / most_network_levels);
      mixed.front() = most_network_levels;
      for (const auto& levels : {std::vector<std::uint64_t>(left, wide),
                                 std::vector<std::uint64_t>(left, most_network_levels), mixed}) {
        const double numbers = tree_numbers({.rows = 10'000, .levels = levels, .limits = limits});
        const NoiseCost cost = noise_cost_up(AnsweredNoise{numbers}, 1);
        EXPECT_LE(cost.tv, bound.tv) << asked << ' ' << left;
        EXPECT_LE(cost.epsilon, bound.epsilon) << asked << ' ' << left;
      }
    }
  }
}

// A schema that is not paid for leaves the fit all of mu, and together they are beyond the budget.
TEST(BoughtFit, AnUnpaidShareIsSeen) {
  const SchemaProblem problem{.rows = 40'000, .columns = 14};
  const Budget budget{};
  const BoughtFitPlan plan = plan_bought_fit(problem, budget);
  const Plan whole =
      gibbsite::plan(fit_problem(problem.rows, 100), budget, {.mechanism = "whitened"});
  const Analysis own = analyze(whole.candidate().mechanism, whole.problem, {}, 1);
  EXPECT_LE(delta_up(own.guarantee, budget.epsilon), budget.delta);
  const Guarantee both = with_schema(own, plan.questions, problem, {}).guarantee;
  EXPECT_GT(delta_up(both, budget.epsilon), 1.5 * budget.delta);
}

// Draws of a family: by mu, or by the epsilon that the schema leaves.
TEST(BoughtFit, DrawsKeepTheBudgetOfBoth) {
  for (const double epsilon : {0.1, 1.0, 6.0}) {
    for (const bool gaussian : {true, false}) {
      for (const std::uint64_t draws : {1U, 4U}) {
        const SchemaProblem problem{.rows = 20'000, .columns = 1};
        const Budget budget{.epsilon = epsilon, .delta = 1e-6, .draws = draws};
        const BoughtFitPlan plan = plan_bought_draws(problem, budget, gaussian);
        EXPECT_LE(delta_up(plan.guarantee, epsilon), budget.delta);
        EXPECT_GE(plan.share, .03);
        EXPECT_EQ(plan.fit.draws, draws);
        const Guarantee schema = analyze(SchemaMechanism(plan.questions), problem, {}, 1).guarantee;
        if (gaussian) {
          EXPECT_NEAR(schema.mu * schema.mu / (plan.guarantee.mu * plan.guarantee.mu), plan.share,
                      1e-6);
        } else {
          EXPECT_GE(plan.guarantee.mu, schema.mu);
          EXPECT_NEAR(plan.guarantee.mu / schema.mu, 1, 1e-12);
          EXPECT_GE(plan.guarantee.epsilon0, plan.fit.epsilon);
          EXPECT_GE(plan.guarantee.delta0, plan.fit.delta);
          EXPECT_NEAR(plan.guarantee.delta0 / plan.fit.delta, 1, 1e-12);
          // What the schema takes of epsilon is no less than its profile says, and no waste.
          const double left = epsilon - plan.guarantee.epsilon0;
          EXPECT_LE(gdp_delta_up(left, schema.mu) + plan.guarantee.delta0, budget.delta);
          EXPECT_GT(gdp_delta_up(.97 * left, schema.mu), .485 * budget.delta);
          // Draws that keep all of epsilon, or all of delta, are beyond the budget.
          Guarantee unpaid = plan.guarantee;
          unpaid.epsilon0 = epsilon;
          EXPECT_GT(delta_up(unpaid, epsilon), budget.delta);
        }
      }
    }
  }
}

TEST(BoughtFit, SharesAreWhatTheySay) {
  const SchemaProblem many{.rows = 1'000'000, .columns = 14}, few{.rows = 3'000, .columns = 14};
  EXPECT_EQ(default_schema_share(many, {}), .1);
  EXPECT_EQ(default_schema_share(few, {}), .2);
  for (const double share : {.05, .1, .5}) {
    const BoughtFitPlan plan = plan_bought_fit(many, {}, share);
    const double of_schema =
        analyze(SchemaMechanism(plan.questions), many, {}, 1).guarantee.mu / plan.guarantee.mu;
    EXPECT_NEAR(of_schema * of_schema, share, 1e-6);
  }
  for (const double share : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_THROW(static_cast<void>(plan_bought_fit(many, {}, share)), BadInput);
  for (const double share : {0.0, 1e-300}) {  // of so little the noise is no number
    try {
      static_cast<void>(plan_bought_fit(many, {}, share));
      ADD_FAILURE() << share;
    } catch (const BadInput& error) {
      EXPECT_EQ(error.field(), "schema_share") << error.what();
    }
  }
  // One count a column moves where two did: half the share is enough.
  const SchemaProblem some{.rows = 8'000, .columns = 14};
  EXPECT_EQ(default_schema_share(some, {}), .2);
  EXPECT_NEAR(default_schema_share(some, {.adjacency = Adjacency::add_remove}), .1206, .001);
}

}  // namespace bought_fit_test
}  // namespace gibbsite
