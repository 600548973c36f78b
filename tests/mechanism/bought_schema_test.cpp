// The claim of a bought schema against the exact law of its answers on neighboring tables.
#include "gibbsite/mechanism/bought_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <optional>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/gdp.hpp"

namespace gibbsite {
namespace bought_schema_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

double upper(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// The law of a text's answer: not released, or released at a multiple of the grid from tau on.
struct LevelLaw {
  double hidden = 1;
  std::vector<double> at;
};
LevelLaw level_law(double rows, double sigma, double tau, double most) {
  const double grid = answer_grid(sigma);
  LevelLaw out{.hidden = 1, .at = {}};
  if (rows == 0) return out;  // a text that does not occur draws nothing
  const double first = std::ceil(tau / grid);
  out.hidden = 1 - upper(((first - 0.5) * grid - rows) / sigma);
  const auto last = static_cast<std::int64_t>(std::ceil((most + 9 * sigma) / grid));
  for (auto i = static_cast<std::int64_t>(first); i <= last; ++i) {
    const double low = (static_cast<double>(i) - 0.5) * grid, high = low + grid;
    out.at.push_back(upper((low - rows) / sigma) - upper((high - rows) / sigma));
  }
  return out;
}

// sum max(p - e^eps q, 0) over the answers of one text, its law scaled by what else happened.
double excess(const LevelLaw& p, double p_else, const LevelLaw& q, double q_else, double epsilon) {
  const double e = std::exp(epsilon);
  double out = std::max(p.hidden * p_else - e * q.hidden * q_else, 0.0);
  for (std::size_t i = 0; i < std::max(p.at.size(), q.at.size()); ++i) {
    const double a = i < p.at.size() ? p.at[i] : 0, b = i < q.at.size() ? q.at[i] : 0;
    out += std::max(a * p_else - e * b * q_else, 0.0);
  }
  return out;
}

// The larger exact delta of both directions where n rows say "a" in one table, and k of them
// `texts` other texts, alike often, in the other.
double exact_delta(double n, double k, double texts, double sigma, double tau, double epsilon) {
  const LevelLaw all = level_law(n, sigma, tau, n), fewer = level_law(n - k, sigma, tau, n);
  const double one = 1 - level_law(k / texts, sigma, tau, n).hidden;
  const double none = std::pow(1 - one, texts);
  const double forth = 1 - none + excess(fewer, none, all, 1, epsilon);
  return std::max(forth, excess(all, 1, fewer, none, epsilon));
}

// Questions of which the others tell nothing.
SchemaQuestions levels_alone(double sigma, double tau) {
  return {.bins_noise = 1e90, .levels_noise = sigma, .threshold = tau, .refine_noise = 1e90};
}
// Under add-remove the rows tell nothing either.
Guarantee added_claim_of(SchemaQuestions q, std::uint64_t k) {
  q.rows_noise = 1e90;
  const Neighbors who{.adjacency = Adjacency::add_remove, .rows_per_person = k};
  return analyze(q, {.rows = 1000, .columns = 1}, who, 1).guarantee;
}
Guarantee claim_of(const SchemaQuestions& q, std::uint64_t k, std::uint64_t columns = 1) {
  return analyze(q, {.rows = 1000, .columns = columns}, {.rows_per_person = k}, 1).guarantee;
}

// Holds exact(n, k, texts, sigma, tau, epsilon) against claim(questions, k) at thresholds of every
// height, for texts of n rows beside one person's. A threshold that ignores k, or is not paid at
// all, is seen.
void expect_law_of_levels(std::initializer_list<double> rows, const auto& exact_of,
                          const auto& claim_for) {
  std::size_t cases = 0, ignoring_k = 0, ignoring_texts = 0;
  for (const std::uint64_t k : {1U, 2U, 5U}) {
    for (const double n : rows) {
      for (const double sigma : {0.7, 1.5, 4.0, 30.0, 200.0}) {
        for (const double z : {0.5, 2.0, 4.0}) {
          const SchemaQuestions q = levels_alone(sigma, z * sigma);
          const Guarantee claim = claim_for(q, k);
          Guarantee of_one = claim, of_none = claim;
          of_one.tv = claim_for(q, 1).tv;
          of_none.tv = 0;
          for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 3.0}) {
            for (const double texts : {1.0, static_cast<double>(k)}) {
              const std::optional<double> exact =
                  exact_of(n, static_cast<double>(k), texts, sigma, z * sigma, epsilon);
              if (!exact) continue;
              EXPECT_LE(*exact, delta_up(claim, epsilon) + 1e-12)
                  << "k " << k << " n " << n << " sigma " << sigma << " z " << z << " epsilon "
                  << epsilon << " texts " << texts;
              ++cases;
              ignoring_k += *exact > delta_up(of_one, epsilon) + 1e-12;
              ignoring_texts += *exact > delta_up(of_none, epsilon) + 1e-12;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 500U);
  EXPECT_GT(ignoring_k, 0U);
  EXPECT_GT(ignoring_texts, 0U);
}

// A text that only one person has, once or k times, and k texts of one person.
TEST(BoughtSchemaLaw, OfLevelsKeepsTheClaim) {
  expect_law_of_levels(
      {1, 2, 5, 40},
      [](double n, double k, double texts, double sigma, double tau, double epsilon) {
        return n < k ? std::optional<double>() : exact_delta(n, k, texts, sigma, tau, epsilon);
      },
      [](const SchemaQuestions& q, std::uint64_t k) { return claim_of(q, k); });
}

// As above where a person's k rows are there or not: another text's rows, or `texts` of their own,
// which are hidden for sure without them.
double exact_added_delta(double n, double k, double texts, double sigma, double tau,
                         double epsilon) {
  const LevelLaw fewer = level_law(n, sigma, tau, n + k), all = level_law(n + k, sigma, tau, n + k);
  const double alike =
      std::max(excess(all, 1, fewer, 1, epsilon), excess(fewer, 1, all, 1, epsilon));
  const double none = std::pow(level_law(k / texts, sigma, tau, n + k).hidden, texts);
  const double own = 1 - none + std::max(none - std::exp(epsilon), 0.0);
  return std::max({alike, own, std::max(1 - std::exp(epsilon) * none, 0.0)});
}

TEST(BoughtSchemaLaw, OfLevelsThatArriveKeepsTheClaim) {
  expect_law_of_levels(
      {0, 1, 5, 40},
      [](double n, double k, double texts, double sigma, double tau, double epsilon) {
        return std::optional(exact_added_delta(n, k, texts, sigma, tau, epsilon));
      },
      added_claim_of);
}

// The law of a count on its grid.
std::vector<double> count_law(double rows, double sigma) {
  const double grid = answer_grid(sigma);
  const auto most = static_cast<std::int64_t>(std::ceil((20 + 9 * sigma) / grid));
  std::vector<double> out;
  for (std::int64_t i = -most; i <= most; ++i) {
    const double low = (static_cast<double>(i) - 0.5) * grid, high = low + grid;
    out.push_back(low > rows ? upper((low - rows) / sigma) - upper((high - rows) / sigma)
                             : upper((rows - high) / sigma) - upper((rows - low) / sigma));
  }
  return out;
}

// Two counts of a partition that a person's k rows move: a cell at the edge of a bin, on either
// side.
TEST(BoughtSchemaLaw, OfBinsKeepsTheClaim) {
  std::size_t unpaid = 0;
  for (const std::uint64_t k : {1U, 3U}) {
    for (const double sigma : {0.8, 2.0, 6.0}) {
      const SchemaQuestions q{
          .bins_noise = sigma, .levels_noise = 1e90, .threshold = 1e95, .refine_noise = 1e90};
      const Guarantee claim = claim_of(q, k), of_one = claim_of(q, 1);
      const auto moved = static_cast<double>(k);
      const std::vector<double> p = count_law(0, sigma), other = count_law(moved, sigma);
      for (const double epsilon : {0.1, 0.5, 1.0, 2.0}) {
        double exact = 0;
        for (std::size_t i = 0; i < p.size(); ++i)
          for (std::size_t j = 0; j < p.size(); ++j)
            exact += std::max(p[i] * other[j] - std::exp(epsilon) * other[i] * p[j], 0.0);
        EXPECT_LE(exact, delta_up(claim, epsilon) + 1e-9);
        EXPECT_GE(exact, 0.5 * delta_up(claim, epsilon));  // the claim is not idle
        unpaid += exact > delta_up(of_one, epsilon) + 1e-9;
      }
    }
  }
  EXPECT_GE(unpaid, 4U);  // a claim for one row is broken by three
}

// One count that k rows raise, of a column or of all rows.
TEST(BoughtSchemaLaw, OfCountsThatRiseKeepsTheClaim) {
  std::size_t unpaid = 0;
  for (const std::uint64_t k : {1U, 3U}) {
    for (const double sigma : {0.8, 2.0, 6.0}) {
      for (const bool of_rows : {false, true}) {
        const SchemaQuestions q{.bins_noise = of_rows ? 1e90 : sigma,
                                .levels_noise = 1e90,
                                .threshold = 1e95,
                                .refine_noise = 1e90,
                                .rows_noise = of_rows ? sigma : 1e90};
        const auto claim_for = [&](std::uint64_t rows) {
          const Neighbors who{.adjacency = Adjacency::add_remove, .rows_per_person = rows};
          return analyze(q, {.rows = 1000, .columns = 1}, who, 1).guarantee;
        };
        const Guarantee claim = claim_for(k), of_one = claim_for(1);
        const std::vector<double> p = count_law(0, sigma),
                                  other = count_law(static_cast<double>(k), sigma);
        for (const double epsilon : {0.1, 0.5, 1.0, 2.0}) {
          double forth = 0, back = 0;
          for (std::size_t i = 0; i < p.size(); ++i) {
            forth += std::max(p[i] - std::exp(epsilon) * other[i], 0.0);
            back += std::max(other[i] - std::exp(epsilon) * p[i], 0.0);
          }
          const double exact = std::max(forth, back);
          EXPECT_LE(exact, delta_up(claim, epsilon) + 1e-9);
          EXPECT_GE(exact, 0.5 * delta_up(claim, epsilon) - 1e-12);
          unpaid += exact > delta_up(of_one, epsilon) + 1e-9;
        }
      }
    }
  }
  EXPECT_GE(unpaid, 8U);
}

TEST(BoughtSchemaPlan, KeepsTheBudgetAndSplitsIt) {
  for (const double epsilon : {0.05, 1.0, 8.0}) {
    for (const double delta : {1e-10, 1e-6, 1e-3}) {
      for (const std::uint64_t k : {1U, 7U}) {
        const SchemaProblem problem{.rows = 30'000, .columns = 14};
        const Budget budget{.epsilon = epsilon, .delta = delta, .rows_per_person = k};
        const SchemaPlan plan = plan_schema(problem, budget);
        const auto& q = std::get<SchemaQuestions>(plan.mechanism);
        const Guarantee& g = plan.guarantee;
        EXPECT_LE(delta_up(g, epsilon), delta);
        EXPECT_NEAR(g.mu / gdp_mu_down(epsilon, .99 * delta), 1, 1e-3);
        // A hundredth of delta pays for the threshold, up to what the grid takes.
        EXPECT_LE((1 + std::exp(epsilon)) * g.tv, .01 * delta * (1 + 1e-9));
        EXPECT_GT((1 + std::exp(epsilon)) * g.tv, .009 * delta);
        const double change = static_cast<double>(k) * std::sqrt(28.0);
        EXPECT_NEAR(q.bins_noise * g.mu / change, 1 / std::sqrt(.75 * .35), 1e-9);
        EXPECT_NEAR(q.levels_noise * g.mu / change, 1 / std::sqrt(.75 * .65), 1e-9);
        EXPECT_NEAR(refined_deviation_up(q, 14) * g.mu / change, std::sqrt(8.0), 1e-9);
        const Guarantee added = ledger_guarantee(plan), own = own_guarantee(plan);
        EXPECT_EQ(added.epsilon0, 0);
        EXPECT_GE(added.mu, own.mu);
        EXPECT_EQ(added.tv, own.tv);
      }
    }
  }
}

// A ledger has little delta for total variation: the threshold takes at most half of what is left
// of it, and nothing else of the plan changes but the threshold.
TEST(BoughtSchemaPlan, AThresholdKeepsToWhatALedgerHasLeft) {
  std::size_t raised = 0;
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    for (const std::uint64_t of_person : {0U, 3U}) {
      const SchemaProblem problem{.rows = 30'000, .columns = 14, .rows_of_person = of_person};
      const Budget budget{.epsilon = epsilon,
                          .rows_per_person = std::max<std::uint64_t>(of_person, 1)};
      const SchemaPlan plain = plan_schema(problem, budget);
      const auto of_plain = std::get<SchemaQuestions>(plain.mechanism);
      const double noise = analyze(plain.mechanism, problem, budget.neighbors(), 1).noise.tv;
      double last = 0;
      for (const double most_tv : {1.0, 1e-8, 1e-10, 1e-12, 1e-15}) {
        const SchemaPlan plan = plan_schema(problem, budget, most_tv);
        const auto q = std::get<SchemaQuestions>(plan.mechanism);
        EXPECT_LE(plan.guarantee.tv, noise + most_tv / 2);
        EXPECT_LE(delta_up(plan.guarantee, epsilon), budget.delta);
        EXPECT_GE(q.threshold, last);
        EXPECT_EQ(q.levels_noise, of_plain.levels_noise);
        raised += q.threshold > of_plain.threshold ? 1U : 0U;
        last = q.threshold;
      }
      EXPECT_LT(last, 1.45 * of_plain.threshold) << "a tail is cheap";
      // What no threshold keeps to is the ledger's to refuse.
      for (const double none : {0.0, -1.0, 1e-40})
        EXPECT_EQ(std::get<SchemaQuestions>(plan_schema(problem, budget, none).mechanism).threshold,
                  of_plain.threshold);
    }
  }
  EXPECT_GE(raised, 12U);
}

// Rows that are there or not move one count of each question, and their number is one question
// more: it has a twentieth of mu^2.
TEST(BoughtSchemaPlan, UnderAddRemoveRowsArePaidFor) {
  for (const std::uint64_t k : {1U, 7U}) {
    const SchemaProblem problem{.rows = 30'000, .columns = 14};
    const Budget budget{.adjacency = Adjacency::add_remove, .rows_per_person = k};
    const SchemaPlan plan = plan_schema(problem, budget);
    const auto q = std::get<SchemaQuestions>(plan.mechanism);
    const Guarantee& g = plan.guarantee;
    EXPECT_LE(delta_up(g, budget.epsilon), budget.delta);
    EXPECT_NEAR(g.mu / gdp_mu_down(budget.epsilon, .99 * budget.delta), 1, 1e-3);
    const double of_row = static_cast<double>(k), change = of_row * std::sqrt(14.0);
    EXPECT_NEAR(q.rows_noise * g.mu / of_row, 1 / std::sqrt(.05), 1e-9);
    EXPECT_NEAR(q.bins_noise * g.mu / change, 1 / std::sqrt(.95 * .75 * .35), 1e-9);
    EXPECT_NEAR(q.levels_noise * g.mu / change, 1 / std::sqrt(.95 * .75 * .65), 1e-9);
    EXPECT_NEAR(refined_deviation_up(q, 14) * g.mu / change, std::sqrt(8.0 / .95), 1e-9);
    for (double SchemaQuestions::*const field :
         {&SchemaQuestions::bins_noise, &SchemaQuestions::levels_noise, &SchemaQuestions::threshold,
          &SchemaQuestions::refine_noise, &SchemaQuestions::rows_noise}) {
      SchemaQuestions less = q;
      less.*field *= .9;
      EXPECT_GT(delta_up(analyze(less, problem, budget.neighbors(), 1).guarantee, budget.epsilon),
                budget.delta);
    }
    // Noise of replace-one's rows is nobody's, and rows without noise are refused.
    EXPECT_THROW(static_cast<void>(analyze(q, problem, {.rows_per_person = k}, 1)), BadInput);
    SchemaQuestions bare = q;
    bare.rows_noise = 0;
    EXPECT_THROW(static_cast<void>(analyze(bare, problem, budget.neighbors(), 1)), BadInput);
  }
}

// One question less noisy than it was paid for, or a lower threshold, is claimed as what it is.
TEST(BoughtSchemaPlan, EachSettingIsPaidFor) {
  const SchemaProblem problem{.rows = 30'000, .columns = 5};
  const SchemaPlan plan = plan_schema(problem, {});
  const auto q = std::get<SchemaQuestions>(plan.mechanism);
  const auto kept = [&](const SchemaQuestions& changed) {
    return delta_up(analyze(changed, problem, {}, 1).guarantee, plan.budget.epsilon) <=
           plan.budget.delta;
  };
  EXPECT_TRUE(kept(q));
  for (double SchemaQuestions::*const field :
       {&SchemaQuestions::bins_noise, &SchemaQuestions::levels_noise, &SchemaQuestions::threshold,
        &SchemaQuestions::refine_noise}) {
    SchemaQuestions less = q;
    less.*field *= .97;
    EXPECT_FALSE(kept(less));
  }
  const SchemaProblem more{.rows = 30'000, .columns = 6};
  EXPECT_GT(delta_up(analyze(q, more, {}, 1).guarantee, 1), plan.budget.delta);
  EXPECT_GT(delta_up(analyze(q, problem, {.rows_per_person = 2}, 1).guarantee, 1),
            plan.budget.delta);
}

TEST(BoughtSchemaPlan, SaysWhatIsVisible) {
  const auto share = [](std::uint64_t rows, double epsilon) {
    const SchemaPlan plan = plan_schema({.rows = rows, .columns = 14}, {.epsilon = epsilon});
    return least_visible_share(std::get<SchemaQuestions>(plan.mechanism), plan.problem);
  };
  EXPECT_LT(share(32'561, 1), warned_share);
  EXPECT_GT(share(1'000, 1), refused_share);
  EXPECT_NEAR(share(1'000'000, 1) * 10, share(100'000, 1), 1e-12);
}

TEST(BoughtSchemaPlan, RefusesWhatItCannotKeep) {
  const auto refused = [](const SchemaProblem& problem, const Budget& budget, const char* what) {
    EXPECT_THAT([&] { static_cast<void>(plan_schema(problem, budget)); },
                ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  refused({.rows = 0, .columns = 3}, {}, "rows");
  refused({.rows = 10, .columns = 0}, {}, "columns");
  refused({.rows = 10, .columns = 3}, {.rows_per_person = 11}, "rows_per_person");
  refused({.rows = 10, .columns = 3}, {.draws = 2}, "draws");
  refused({.rows = 10, .columns = 3}, {.epsilon = -1}, "epsilon");
  SchemaQuestions q = levels_alone(1, 3);
  q.threshold = std::nan("");
  EXPECT_THROW(static_cast<void>(claim_of(q, 1)), BadInput);
  q = levels_alone(0, 3);
  EXPECT_THROW(static_cast<void>(claim_of(q, 1)), BadInput);
  EXPECT_THROW(static_cast<void>(analyze(SchemaMechanism(levels_alone(1, 3)), {10, 1},
                                         {.adjacency = Adjacency::add_remove}, 1)),
               BadInput);
  // More columns than doubles can add up to still have a plan.
  EXPECT_LE(plan_schema({.rows = 1'000'000, .columns = 1'000'000}, {}).guarantee.mu, 1);
}

}  // namespace bought_schema_test
}  // namespace gibbsite
