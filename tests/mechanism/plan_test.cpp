#include "gibbsite/mechanism/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/mechanism/plan_chosen.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace plan_test {

using ::testing::HasSubstr;

Problem problem(std::uint64_t rows, std::uint64_t features, bool intercept = false) {
  Problem c;
  c.rows = rows;
  c.features = features;
  c.intercept = intercept;
  return c;
}

const Path& path_of(const Plan& plan) { return std::get<Path>(plan.candidate().mechanism); }

const Candidate& candidate_of(const Plan& plan, std::string_view name) {
  return *std::ranges::find_if(plan.candidates,
                               [&](const Candidate& o) { return name_of(o.mechanism) == name; });
}

// Over sizes, budgets, adjacencies and calibrations: what is claimed follows from the numbers
// alone.
TEST(Plan, EveryFeasiblePathKeepsItsBudget) {
  int planned = 0;
  support::Thinned sweep(5);
  for (const std::uint64_t rows : {1ULL, 100ULL, 32561ULL, 1'000'000'000ULL}) {
    for (const double epsilon : {1e-3, 1.0, 100.0}) {
      for (const double delta : {1e-10, 1e-6, 0.1}) {
        for (const std::uint64_t draws : {1ULL, 7ULL}) {
          for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
            if (sweep.skips()) continue;
            const Budget budget{epsilon, delta, adjacency, 2, draws};
            const auto c = problem(rows, 20, true);
            const Candidate chosen = candidate(std::type_identity<Path>{}, c, budget, {});
            ASSERT_TRUE(chosen.feasible) << chosen.why;
            const auto& path = std::get<Path>(chosen.mechanism);
            const auto again = path_certificate(
                c, budget.neighbors(),
                {path.beta, path.prior_precision, path.step_size, path.iterations});
            EXPECT_LE(again.mu * std::sqrt(static_cast<double>(draws)),
                      chosen.guarantee.mu * (1 + 1e-15));
            EXPECT_LE(delta_up(chosen.guarantee, epsilon), delta);
            // Where e^epsilon makes gaps dear, the best epsilon to pay at is found roughly.
            const double more = epsilon > 50 ? 1.05 : 1.0001;
            Guarantee weaker = chosen.guarantee;
            weaker.mu *= more;
            EXPECT_GT(delta_up(weaker, epsilon), delta * 0.999) << "budget left unused";
            EXPECT_EQ(chosen.cost.passes, path.iterations * static_cast<double>(draws));
            ++planned;
          }
        }
      }
    }
  }
  EXPECT_EQ(planned, support::repeats(144, 29));
}

TEST(Plan, IsPureInItsPublicNumbers) {
  const PlanOptions path{.mechanism = "path"};
  const Plan a = plan(problem(5000, 9), Budget{}, path), b = plan(problem(5000, 9), Budget{}, path);
  EXPECT_EQ(path_of(a).beta, path_of(b).beta);
  EXPECT_EQ(path_of(a).step_size, path_of(b).step_size);
}

// Alone or among all offers, feasible or not: to the same bits.
TEST(Plan, OfTheChosenOfferAloneIsThatOffer) {
  Problem steep = problem(5000, 9);
  steep.prior_precision = 0.5;
  int in_reach = 0, out_of_reach = 0;
  for (const Problem& p : {problem(3, 40, true), steep}) {
    Problem chains = p;
    chains.loss = "logistic-capped";
    for (const Budget& budget : {Budget{}, Budget{0.1, 1e-9, Adjacency::add_remove, 2, 3}}) {
      std::vector<PlanOptions> asked{{}, {.iterations = 50.0}, {.tv = 1e-8}};
      for (const Candidate& row : plan(p, chains, budget).candidates)
        asked.push_back({.mechanism = std::string(name_of(row.mechanism))});
      for (const PlanOptions& wishes : asked) {
        SCOPED_TRACE(::testing::Message() << wishes.mechanism << " " << budget.epsilon);
        const Plan all = plan(p, chains, budget, wishes);
        const Plan alone = plan_chosen(p, chains, budget, wishes);
        const Candidate &a = all.candidate(), &b = alone.candidate();
        ASSERT_EQ(name_of(a.mechanism), name_of(b.mechanism));
        EXPECT_EQ(alone.candidates.size(), wishes.tv ? all.candidates.size() : 1U);
        for (const char* name : {"beta", "step_size", "iterations", "prior_precision", "ridge",
                                 "tv_gap", "sigma", "gradient_norm"})
          EXPECT_EQ(setting(a.mechanism, name), setting(b.mechanism, name)) << name;
        EXPECT_EQ(a.guarantee.mu, b.guarantee.mu);
        EXPECT_EQ(a.guarantee.epsilon0, b.guarantee.epsilon0);
        EXPECT_EQ(a.guarantee.delta0, b.guarantee.delta0);
        EXPECT_EQ(a.guarantee.tv, b.guarantee.tv);
        EXPECT_EQ(a.cost.passes, b.cost.passes);
        EXPECT_EQ(a.cost.work, b.cost.work);
        EXPECT_EQ(a.feasible, b.feasible);
        EXPECT_EQ(a.why.plain(), b.why.plain());
        EXPECT_EQ(all.problem.loss, alone.problem.loss);
        ++(a.feasible ? in_reach : out_of_reach);
      }
    }
  }
  EXPECT_GT(in_reach, 15);
  EXPECT_GT(out_of_reach, 0);
  EXPECT_THROW((void)plan_chosen(steep, steep, Budget{-1, 1e-6}), BadInput);
  EXPECT_THROW((void)plan_chosen(steep, steep, Budget{}, {.mechanism = "none"}), BadInput);
}

TEST(Plan, KeepsWhatTheUserFixed) {
  auto c = problem(5000, 9);
  c.prior_precision = 2.5;
  const Plan p = plan(c, Budget{}, {.iterations = 77});
  EXPECT_EQ(path_of(p).prior_precision, 2.5);
  EXPECT_EQ(path_of(p).iterations, 77);
  const Plan fixed = plan(c, Budget{}, {.step_size = 1e-3});
  EXPECT_EQ(path_of(fixed).step_size, 1e-3);
}

TEST(Plan, WeakerCalibrationsNeverPromiseMore) {
  auto c = problem(5000, 9);
  c.prior_precision = 1.0;
  for (const auto calibration :
       {Calibration::minami_cor8, Calibration::minami_thm7, Calibration::geumlek_rdp}) {
    const Plan p = plan(c, Budget{}, {.calibration = calibration});
    const auto& chosen = require_feasible(p);
    EXPECT_LE(gdp_delta_up(1.0, chosen.guarantee.mu), 1e-6);
    EXPECT_LT(gdp_delta_up(1.0, chosen.guarantee.mu), 0.5e-6) << "these calibrations are loose";
  }
  c.prior_precision = 0.0;
  EXPECT_THROW(plan(c, Budget{}, {.calibration = Calibration::minami_cor8}), BadInput);
}

TEST(Plan, DalalyanBeyondReachSaysHowFar) {
  const Plan p = plan(problem(32561, 108), Budget{});
  const Candidate& row = candidate_of(p, "dalalyan");
  EXPECT_FALSE(row.feasible);
  const double iterations = std::get<Dalalyan>(row.mechanism).iterations;
  EXPECT_GT(iterations, 0x1p64);
  EXPECT_TRUE(std::isfinite(iterations));
  EXPECT_THAT(row.why, HasSubstr("passes over the data"));
  const Plan asked = plan(problem(32561, 108), Budget{}, {.mechanism = "dalalyan"});
  EXPECT_THROW(require_feasible(asked), Infeasible);
}

// A loose TV target on a tiny problem can be run: (epsilon, delta(mu) + (1+e^eps) gamma) <= delta.
TEST(Plan, DalalyanInReachKeepsItsTotalGuarantee) {
  auto c = problem(3, 1);
  c.prior_precision = 1.0;
  const Budget budget{.epsilon = 1.0, .delta = 0.1};
  const Plan p = plan(c, budget, {.mechanism = "dalalyan", .tv = 0.005});
  const Candidate& row = require_feasible(p);
  const auto& dalalyan = std::get<Dalalyan>(row.mechanism);
  EXPECT_LT(dalalyan.iterations, 1e9);
  EXPECT_LE(gdp_delta_up(1.0, row.guarantee.mu) + (1 + std::exp(1.0)) * dalalyan.tv_gap,
            0.1 * (1 + 1e-12));
  Dalalyan promises_nothing = dalalyan;
  promises_nothing.tv_gap = 0;
  EXPECT_LE(analyze(promises_nothing, c, {}, 1).tv_gap, dalalyan.tv_gap);
}

bool is_gap_candidate(const Candidate& candidate) {
  return setting(candidate.mechanism, "tv_gap").has_value();
}

TEST(Plan, ATvGapThatCostsMoreThanDeltaIsNamed) {
  const Plan p = plan(problem(100, 2), Budget{}, {.tv = 0.01});
  for (const Candidate& candidate : p.candidates) {
    if (!is_gap_candidate(candidate)) continue;
    EXPECT_FALSE(candidate.feasible);
    EXPECT_THAT(candidate.why, HasSubstr("ask for `tv` below 2.69e-07"));
  }
  EXPECT_THROW(require_feasible(p), Infeasible) << "a gap was asked for, and path keeps none";
}

TEST(Plan, WithoutStrongConvexityThereIsNoGap) {
  auto c = problem(100, 2);
  c.prior_precision = 0.0;
  const Plan p = plan(c, Budget{}, {.tv = 1e-10});
  for (const Candidate& candidate : p.candidates) {
    if (!is_gap_candidate(candidate) && name_of(candidate.mechanism) != "output") continue;
    if (name_of(candidate.mechanism) == "metric-proximal")
      continue;  // takes no prior of coefficients
    EXPECT_THAT(candidate.why, HasSubstr("`prior_precision` above 0"));
  }
  EXPECT_THROW(require_feasible(p), Infeasible);
}

// Where rounding takes more than the gap, the message names one that can be kept.
TEST(Plan, AGapBelowRoundingNamesTheSmallestThatWouldDo) {
  auto c = problem(1'000'000, 200);
  c.prior_precision = 1.0;
  c.drop_from_zero = 0.6931471805599454;
  const Budget budget{.epsilon = 1.0, .delta = 1e-6};
  const Plan p = plan(c, budget, {.mechanism = "proximal", .tv = 1e-15});
  const std::string why = p.candidate().why.text();
  ASSERT_FALSE(p.candidate().feasible);
  const std::string ask = "ask for `tv` ";
  ASSERT_THAT(why, HasSubstr(ask));
  const double smallest = std::stod(why.substr(why.find(ask) + ask.size()));
  PlanOptions options{.mechanism = "proximal", .tv = smallest};
  EXPECT_TRUE(plan(c, budget, options).candidate().feasible);
  options.tv = smallest / 4;
  EXPECT_FALSE(plan(c, budget, options).candidate().feasible);
}

// Asked for a gap, the cheapest certificate that keeps it: exact rejection where the prior is
// strong, the proximal sampler where it is not; asked for privacy alone, path.
TEST(Plan, TheCheapestWithinTheGapIsChosen) {
  auto c = problem(1000, 5);
  c.prior_precision = 10.0;
  const auto chosen = [&](const PlanOptions& plan_options) {
    return name_of(plan(c, Budget{}, plan_options).candidate().mechanism);
  };
  EXPECT_EQ(chosen({.tv = 1e-10}), "rejection");
  EXPECT_EQ(chosen({}), "path");
  c = problem(32561, 108);
  c.prior_precision = 1.0;
  const Plan p = plan(c, Budget{}, {.tv = 1e-10});
  EXPECT_EQ(name_of(p.candidate().mechanism), "proximal");
  EXPECT_THAT(p.candidate().why, HasSubstr("cheapest"));
  EXPECT_LT(p.candidate().cost.passes, 1e5);
  EXPECT_GT(candidate_of(p, "dalalyan").cost.passes, 1e20) << "Dalalyan's bound at the same gap";
}

// What a TV certificate claims follows from its own numbers, for every kind that is in reach.
TEST(Plan, EveryTvCertificateKeepsItsTotalGuarantee) {
  int checked = 0;
  support::Thinned sweep(5);
  for (const std::uint64_t rows : {100ULL, 32561ULL, 1'000'000ULL}) {
    for (const double delta : {1e-9, 1e-3, 0.1}) {
      for (const std::uint64_t draws : {1ULL, 4ULL}) {
        for (const bool padded : {false, true}) {
          if (sweep.skips()) continue;
          auto c = problem(rows, 20);
          c.prior_precision = 3.0;
          const Budget budget{.epsilon = 1.0, .delta = delta, .draws = draws};
          for (const Candidate& row :
               plan(c, budget, {.mechanism = "proximal", .padded = padded}).candidates) {
            if (!is_gap_candidate(row) || !row.feasible) continue;
            const double promised = *setting(row.mechanism, "tv_gap");
            EXPECT_LE(gdp_delta_up(1.0, row.guarantee.mu) + (1 + std::exp(1.0)) * promised,
                      delta * (1 + 1e-12));
            Mechanism nothing_promised = row.mechanism;
            std::visit(
                [](auto& m) {
                  if constexpr (requires { m.tv_gap; }) m.tv_gap = 0;
                },
                nothing_promised);
            const double kept = analyze(nothing_promised, c, budget.neighbors(), draws).tv_gap;
            EXPECT_LE(kept, promised * (1 + 1e-12));
            EXPECT_GT(kept, promised * 0.03);
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_GT(checked, support::repeats(30, 5));
}

void expect_bad(const PlanOptions& options, const std::string& name,
                std::optional<double> m = std::nullopt) {
  auto c = problem(100, 2);
  c.prior_precision = m;
  try {
    plan(c, Budget{}, options);
    FAIL() << name << " was accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr(name));
  }
}

TEST(Plan, RefusesBadRequests) {
  expect_bad({.tv = 0.5}, "`tv`");
  expect_bad({.tv = -1.0}, "`tv`");
  expect_bad({.step_size = 0.0}, "`step_size`");
  expect_bad({.iterations = 0.0}, "`iterations`");
  expect_bad({.iterations = 1.5}, "`iterations`");
  expect_bad({.iterations = std::nan("")}, "`iterations`");
  expect_bad({}, "`prior_precision`", -1.0);
  expect_bad({}, "`prior_precision`", INFINITY);
  expect_bad({.mechanism = "dalalyan", .iterations = 5.0}, "`mechanism`");
  expect_bad({.mechanism = "proximal", .step_size = 0.1}, "`step_size`");
  expect_bad({.tv = 1e-9, .iterations = 5.0}, "`iterations`");
  expect_bad({.padded = true}, "`padded`");
  expect_bad({.mechanism = "magic"}, "`mechanism`");
  expect_bad({.mechanism = "output", .tv = 1e-9}, "`tv`");
  expect_bad({.mechanism = "output", .iterations = 9.0}, "`iterations`");
  expect_bad({.mechanism = "output-pure", .tv = 1e-9}, "`tv`");
}

// Legal numbers that output perturbation has no noise for are its own trouble, not the plan's.
TEST(Plan, OutputPerturbationBeyondDoubleLeavesTheOthersInReach) {
  struct Case {
    double row_norm;
    std::optional<double> prior_precision;
  };
  for (const auto& [row_norm, prior] :
       {Case{1e60, {}}, Case{1, 1e300}, Case{1e-60, {}}, Case{1, 1e-320}}) {
    Problem c = problem(1000, 5);
    c.row_norm = row_norm;
    c.prior_precision = prior;
    const Plan made = plan(c, Budget{});
    EXPECT_EQ(name_of(made.candidate().mechanism), "path");
    EXPECT_TRUE(made.candidate().feasible) << row_norm << ": " << made.candidate().why;
    for (const Candidate& candidate : made.candidates) {
      if (name_of(candidate.mechanism) != "output-pure") continue;
      EXPECT_FALSE(candidate.feasible) << row_norm;
      EXPECT_NE(candidate.why, "") << row_norm;
    }
  }
}

// Values of mu: L, Lambda, g, sigma given, 50 digits elsewhere.
TEST(OutputPerturbation, ReproducesItsReferenceValues) {
  struct Case {
    double lipschitz, ridge, gradient_norm, sigma, replace_one, add_remove;
  };
  for (const Case& c :
       {Case{1, 100, 0, 0.05, 0.4, 0.2},
        Case{1.4142135623730951, 325.61, 1e-6, 0.01, 0.86865548501157526, 0.43432804962166245},
        Case{1, 10, 0.001, 1, 0.2002, 0.1002}}) {
    const auto mu = [&](Adjacency adjacency, std::uint64_t k) {
      return output_mu_up(c.lipschitz, {adjacency, k}, c.ridge, c.gradient_norm, c.sigma);
    };
    EXPECT_NEAR(mu(Adjacency::replace_one, 1) / c.replace_one, 1, 1e-15);
    EXPECT_NEAR(mu(Adjacency::add_remove, 1) / c.add_remove, 1, 1e-15);
    EXPECT_DOUBLE_EQ(mu(Adjacency::add_remove, 2), mu(Adjacency::replace_one, 1));
  }
}

TEST(DefaultRule, IsFiniteAndLegalEverywhere) {
  for (const std::uint64_t rows : {1ULL, 50ULL, 1'000'000'000ULL}) {
    for (const std::uint64_t features : {1ULL, 100ULL, 1'000'000ULL}) {
      for (const double mu : {1e-6, 0.2, 30.0}) {
        const auto choice =
            default_rule(problem(rows, features), Budget{}, mu, std::nullopt, std::nullopt);
        EXPECT_GE(choice.iterations, 1);
        EXPECT_LE(choice.iterations, 5000);
        EXPECT_EQ(choice.iterations, std::floor(choice.iterations));
        EXPECT_GT(choice.relative_step, 0);
        EXPECT_LT(choice.relative_step, 2);
        EXPECT_GE(choice.prior_precision, 0);
      }
    }
  }
}

// Values of an independent implementation; a change of the rule must come with new measurements.
TEST(DefaultRule, ReproducesItsReferenceValues) {
  struct Case {
    std::uint64_t rows, features;
    double epsilon, delta, row_norm;
    bool intercept;
    double iterations, relative_step, beta, step_size;
  };
  const double adult_delta = 1.0 / (32561.0 * 32561.0);
  const Case cases[] = {
      {32561, 108, 0.1, adult_delta, 1, false, 73, 1, 0.0220241102288742, 0.00557781216363387},
      {32561, 108, 1, adult_delta, 1, false, 544, 1.9, 0.129939867257766, 0.00179627753813118},
      {32561, 109, 0.5, adult_delta, 1, true, 500, 1.31184460907264, 0.0542612616747459,
       0.00148499423827511},
      {32561, 109, 2, adult_delta, 1, true, 1689, 1.9, 0.156227276296205, 0.000747014447145371},
      {1, 1, 1, 1e-6, 1, false, 1, 0.0354876752474817, 0.197353600350437, 0.719270896187694},
      {1000000, 1, 2, 1e-12, 1, false, 5000, 1.9, 1.16363630016563, 6.53125035624813e-06},
      {1000, 10, 100, 1e-6, 3, true, 2862, 1.9, 2.40147759682799, 0.000316471825930773},
  };
  for (const Case& c : cases) {
    Problem constants = problem(c.rows, c.features, c.intercept);
    constants.row_norm = c.row_norm;
    const Budget budget{.epsilon = c.epsilon, .delta = c.delta};
    const double mu = gdp_mu_down(c.epsilon, c.delta);
    const auto choice = default_rule(constants, budget, mu, std::nullopt, std::nullopt);
    EXPECT_EQ(choice.iterations, c.iterations) << c.rows << " rows, epsilon " << c.epsilon;
    EXPECT_NEAR(choice.relative_step, c.relative_step, 1e-9 * c.relative_step);
    EXPECT_EQ(choice.prior_precision, 0);
    // The map error costs beta up to its share of the sensitivity, computed noise its share of
    // delta.
    const Plan planned = plan(constants, budget, {.mechanism = "path"});
    const Path& found = path_of(planned);
    EXPECT_LE(found.beta, c.beta * (1 + 1e-12));
    if (c.epsilon > 50) continue;  // (1 + e^epsilon) times what normals are off by: beta falls
    const double share =
        2e-5 + (1 + std::exp(c.epsilon)) * planned.candidate().guarantee.tv / c.delta;
    EXPECT_LT(share, 0.01);
    EXPECT_NEAR(found.beta, c.beta, share * c.beta);
    EXPECT_NEAR(found.step_size, c.step_size, share * c.step_size);
  }
}

TEST(DefaultRule, KnowsWhatAPersonCosts) {
  const auto at = [](const Budget& budget) {
    return default_rule(problem(32561, 108), budget, 0.1, std::nullopt, std::nullopt);
  };
  const Budget one;
  EXPECT_LT(at({.rows_per_person = 3}).iterations, at(one).iterations);
  EXPECT_GT(at({.adjacency = Adjacency::add_remove}).iterations, at(one).iterations);
}

}  // namespace plan_test
}  // namespace gibbsite
