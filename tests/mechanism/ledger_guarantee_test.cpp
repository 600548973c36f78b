#include "gibbsite/mechanism/ledger_guarantee.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/privacy/objective_fit.hpp"
#include "support/repeats.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace ledger_guarantee_test {

Problem ledger_problem(std::uint64_t rows) {
  Problem p = support::problem(rows, 5);
  p.one_signed = true;
  return p;
}

// What every entry holds: nothing pure, nothing lost, the same every time.
void expect_entry(const Guarantee& entry, const Guarantee& own, double delta0) {
  EXPECT_EQ(entry.epsilon0, 0);
  EXPECT_EQ(entry.who, own.who);
  EXPECT_GE(entry.tv, own.tv);
  EXPECT_LE(entry.tv, own.tv * (1 + 1e-9));
  EXPECT_TRUE(entry.delta0 <= delta0 || entry.delta0 == own.delta0);
  EXPECT_GE(entry.mu, own.mu);
}

TEST(LedgerGuarantee, EveryMechanismEnters) {
  constexpr double delta0 = 1e-8;
  std::set<std::string_view> met;
  support::Thinned sweep(3);
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t draws : {1ULL, 4ULL}) {
      if (sweep.skips()) continue;
      const Budget budget{1, 1e-6, adjacency, 1, draws};
      const Problem p = ledger_problem(20'000);
      for (const Candidate& candidate : plan(p, budget).candidates) {
        if (!candidate.feasible) continue;
        const Neighbors who = budget.neighbors();
        const Guarantee entry = ledger_guarantee(candidate.mechanism, p, who, draws, delta0);
        const Guarantee own = analyze(candidate.mechanism, p, who, draws).guarantee;
        SCOPED_TRACE(name_of(candidate.mechanism));
        expect_entry(entry, own, delta0);
        EXPECT_EQ(entry.mu, ledger_guarantee(candidate.mechanism, p, who, draws, delta0).mu);
        EXPECT_LE(entry.delta0, delta0);
        if (own.delta0 == 0) {
          EXPECT_EQ(entry.delta0, 0) << "spends none";
          EXPECT_LE(entry.mu, gdp_cover_up(own).mu);
        }
        if (own.delta0 == 0 && own.mu > 0.1) {  // Gaussian, but for rounding
          EXPECT_LE(entry.mu, own.mu + 2 * own.epsilon0);
        }
        met.insert(name_of(candidate.mechanism));
      }
    }
  }
  EXPECT_GE(met.size(), 10U);
}

TEST(LedgerGuarantee, PureDrawsGrowAsARoot) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  for (const char* name : {"output-pure", "objective-pure"}) {
    const Problem p = ledger_problem(20'000);
    const Mechanism m = plan(p, budget, {.mechanism = name}).candidate().mechanism;
    const double one = ledger_guarantee(m, p, {}, 1, 0).mu;
    EXPECT_NEAR(one, 1.2320, 0.01) << name;  // of epsilon = 1
    EXPECT_NEAR(ledger_guarantee(m, p, {}, 9, 0).mu / (3 * one), 1, 1e-9) << name;
  }
}

TEST(LedgerGuarantee, ObjectivePerturbationIsFitted) {
  support::Thinned sweep(3);
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      for (const std::uint64_t draws : {1ULL, 4ULL}) {
        if (sweep.skips()) continue;
        const Budget budget{1, 1e-6, adjacency, rows, draws};
        const Problem p = ledger_problem(20'000);
        const Candidate candidate = plan(p, budget, {.mechanism = "objective"}).candidate();
        ASSERT_TRUE(candidate.feasible) << candidate.why;
        const Guarantee own = candidate.guarantee;
        const Guarantee entry =
            ledger_guarantee(candidate.mechanism, p, budget.neighbors(), draws, 1e-9);
        expect_entry(entry, own, 1e-9);
        EXPECT_GT(entry.delta0, 0.999e-9);
        // Beside 1.23 of epsilon = 1 alone; what Gaussian noise of that budget has is 0.237.
        EXPECT_LT(entry.mu, 0.36) << rows << ' ' << draws;
        EXPECT_GT(entry.mu, 0.1);
        EXPECT_GE(entry.mu, own.mu);  // of how the minimizer was found: it comes on top
        // Nothing to reveal: what the certificate says.
        const Guarantee none =
            ledger_guarantee(candidate.mechanism, p, budget.neighbors(), draws, 0);
        EXPECT_EQ(none.mu, gdp_cover_up(own).mu);
        EXPECT_EQ(none.delta0, own.delta0);
        // Room for its own delta: still the fit, which is smaller.
        const Guarantee wide =
            ledger_guarantee(candidate.mechanism, p, budget.neighbors(), draws, 1e-6);
        EXPECT_LT(wide.mu, entry.mu * 1.01);
      }
    }
  }
}

// The search's noise and what rounding costs are in it: an entry made without them is smaller.
TEST(LedgerGuarantee, ObjectivePerturbationPaysForTheSearch) {
  const Problem p = ledger_problem(20'000);
  Mechanism m =
      plan(p, {.epsilon = 1, .delta = 1e-6}, {.mechanism = "objective"}).candidate().mechanism;
  const double before = ledger_guarantee(m, p, {}, 1, 1e-9).mu;
  auto& s = std::get<ObjectivePerturbation>(m);
  const double search = 2 * s.gradient_norm / (s.ridge * s.output_noise);
  const double fit =
      objective_fit_up({p.lipschitz_up() / s.noise, p.curvature / s.ridge, true}, {}, 1e-9);
  const double rounding = analyze(m, p, {}, 1).noise.epsilon;
  ASSERT_GT(rounding, 1e-11);
  const double all = gdp_cover_up(std::hypot(fit, search), rounding);
  EXPECT_NEAR(before / all, 1, rounding / 10);
  s.output_noise /= 10;  // the same minimizer, told ten times as exactly
  const double after = ledger_guarantee(m, p, {}, 1, 1e-9).mu;
  EXPECT_NEAR(after * after - before * before, 99 * search * search, 0.1 * search * search);
}

FamilyProblem column(Family family, std::uint64_t rows, std::vector<double> prior) {
  FamilyProblem p{.family = family, .rows = rows};
  if (p.has_levels()) {
    p.levels = prior.size();
  } else {
    p.lo = family == Family::rate ? 0 : 1;
    p.hi = family == Family::rate ? 2 : 3;
    p.center = p.is_centered() ? 1.5 : 0;
    p.variance = family == Family::mean ? 1 : 0;
  }
  p.prior = std::move(prior);
  return p;
}

TEST(LedgerGuarantee, ConjugateDrawsAreFitted) {
  const std::vector<FamilyProblem> problems{
      column(Family::bernoulli, 100, {6, 18}),     column(Family::bernoulli, 1, {6, 18}),
      column(Family::categorical, 500, {3, 4, 5}), column(Family::rate, 1000, {20, 1}),
      column(Family::waiting, 1000, {50, 100}),    column(Family::bounded_mean, 100, {6, 18}),
      column(Family::variance, 1000, {50, 100})};
  support::Thinned sweep(3);
  for (const FamilyProblem& p : problems) {
    for (const bool concentrated : {false, true}) {
      for (const std::uint64_t draws : {1ULL, 4ULL}) {
        if (sweep.skips()) continue;
        SCOPED_TRACE(std::string(to_string(p.family)));
        Budget budget{.epsilon = 1, .delta = 1e-6};
        budget.draws = draws;
        const FamilyPlan made = plan_family(
            p, budget, {.calibration = Calibration::exact, .concentrated = concentrated});
        const Guarantee entry =
            ledger_guarantee(made.mechanism, p, budget.neighbors(), draws, 1e-9);
        expect_entry(entry, made.guarantee, 1e-9);
        EXPECT_GT(entry.delta0, 0.999e-9);
        EXPECT_LT(entry.mu, 0.5);
        EXPECT_GT(entry.mu, 0.01);
        const Guarantee none = ledger_guarantee(made.mechanism, p, budget.neighbors(), draws, 0);
        EXPECT_EQ(none.delta0, made.guarantee.delta0);
        EXPECT_LT(entry.mu, none.mu);
        if (draws == 4) {
          EXPECT_NEAR(none.mu / (2 * gdp_cover_up(0, 0.25)), 1, 1e-9);
        }
      }
    }
  }
  // docs/theory/gdp-fit.md.
  const ConjugateDraw beta{.weight = 0.404, .epsilon = 1};
  const double mu = ledger_guarantee(beta, problems[0], {}, 1, 1e-9).mu;
  EXPECT_NEAR(mu, 0.2576, 2e-4);
}

// Cut draws are entered by their Gaussian price, which their own (epsilon, delta) does not show.
TEST(LedgerGuarantee, CutDrawsAreEnteredAtTheirGaussianPrice) {
  FamilyProblem p = column(Family::bernoulli, 100, {1, 1});
  p.trim = {0.05, 0.0};
  const FamilyPlan made = plan_family(p, {.epsilon = 1, .delta = 1e-6});
  const auto& settings = std::get<TrimmedDraw>(made.mechanism);
  EXPECT_NEAR(settings.epsilon, 1, 1e-12);
  const Guarantee entry = ledger_guarantee(made.mechanism, p, {}, 1, 0);
  EXPECT_EQ(entry.mu, analyze(TrimmedDraw{settings.weight}, p, {}, 1).guarantee.mu);
  EXPECT_LT(entry.mu, gdp_cover_up(made.guarantee).mu);
  EXPECT_EQ(entry.delta0, 0);
  EXPECT_EQ(entry.epsilon0, 0);
}

// The draw is the same, whoever chose its weight.
TEST(LedgerGuarantee, ConjugateDrawsByRenyiAreFittedExactly) {
  const FamilyProblem p = column(Family::bernoulli, 100, {6, 18});
  ConjugateDraw s{.weight = 0.35, .epsilon = 1};
  const Guarantee exact = ledger_guarantee(s, p, {}, 2, 1e-9);
  s.calibration = Calibration::geumlek_rdp;
  const Guarantee renyi = ledger_guarantee(s, p, {}, 2, 1e-9);
  EXPECT_EQ(exact.mu, renyi.mu);
  EXPECT_EQ(exact.delta0, renyi.delta0);
}

TEST(LedgerGuarantee, ConjugateDrawsOfManyRowsAPerson) {
  const FamilyProblem p = column(Family::bernoulli, 1000, {10, 10});
  const ConjugateDraw s{.weight = 0.05, .epsilon = 1};
  double before = 0;
  for (const std::uint64_t rows : {1ULL, 3ULL, 6ULL}) {
    if (support::sanitized && rows == 6) continue;
    const double mu = ledger_guarantee(s, p, {Adjacency::replace_one, rows}, 1, 1e-9).mu;
    EXPECT_GT(mu, before * 1.5) << rows;
    before = mu;
  }
}

TEST(LedgerGuarantee, FamiliesWithoutADeltaSpendNone) {
  FamilyProblem mean = column(Family::mean, 1000, {1});
  const FamilyPlan made = plan_family(mean, {.epsilon = 1, .delta = 1e-6});
  const Guarantee entry = ledger_guarantee(made.mechanism, mean, {}, 1, 1e-9);
  EXPECT_EQ(entry.mu, made.guarantee.mu);
  EXPECT_EQ(entry.delta0, 0);
  mean.trim = {0.5, 3.5};
  const FamilyPlan cut = plan_family(mean, {.epsilon = 1, .delta = 1e-6});
  EXPECT_EQ(ledger_guarantee(cut.mechanism, mean, {}, 1, 1e-9).mu, cut.guarantee.mu);
}

TEST(LedgerGuarantee, RefusesWhatIsNoReveal) {
  const Problem p = ledger_problem(20'000);
  const Mechanism m = plan(p, {}, {.mechanism = "output"}).candidate().mechanism;
  for (const double delta0 : {-1e-9, 1.0, std::nan("")}) {
    EXPECT_THROW(ledger_guarantee(m, p, {}, 1, delta0), BadInput);
  }
  EXPECT_THROW(ledger_guarantee(m, p, {}, 0, 0), BadInput);
  const FamilyProblem column_of = column(Family::bernoulli, 100, {6, 18});
  EXPECT_THROW(ledger_guarantee(ConjugateDraw{}, column_of, {}, 1, 2), BadInput);
}

}  // namespace ledger_guarantee_test
}  // namespace gibbsite
