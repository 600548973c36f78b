#include "gibbsite/mechanism/objective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/objective.hpp"
#include "support/repeats.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace objective_test {

using ::testing::HasSubstr;

Problem problem(std::uint64_t rows, std::uint64_t features) {
  Problem p = support::problem(rows, features);
  p.one_signed = true;
  return p;
}

Candidate offered(const Problem& p, const Budget& budget = {}, Calibration calibration = {}) {
  return plan(p, budget, {.mechanism = "objective", .calibration = calibration}).candidate();
}

ObjectivePerturbation settings_of(const Candidate& candidate) {
  EXPECT_TRUE(candidate.feasible) << candidate.why;
  return std::get<ObjectivePerturbation>(candidate.mechanism);
}

// Over sizes, budgets and neighbors: what is claimed follows from the settings, and the budget is
// used.
TEST(ObjectiveOffer, EveryOneKeepsItsBudgetAndUsesIt) {
  support::expect_output_candidates<ObjectivePerturbation>(
      1e-6, [](const Problem& p, const Budget& budget, const Guarantee& all, const auto& s) {
        EXPECT_GT(delta_up(all, budget.epsilon), 0.9e-6) << "budget left unused";
        EXPECT_EQ(delta_up(all, budget.epsilon * 0.98), 1);
        const ObjectivePair pair{p.lipschitz_up() / s.noise, p.curvature / s.ridge * (1 - 1e-15),
                                 p.one_signed, s.calibration};
        const double delta =
            objective_delta_up(pair, s.epsilon, s.deletion_epsilon, budget.neighbors());
        const auto draws = static_cast<double>(budget.draws);
        EXPECT_NEAR(all.delta0 / (delta * draws), 1, 1e-9);
        EXPECT_LE(s.epsilon * draws, all.epsilon0);
        const double search = 2 * s.gradient_norm / (s.ridge * s.output_noise);
        EXPECT_NEAR(all.mu / (search * std::sqrt(draws)), 1, 1e-12);
      });
}

// Where the gaps of noise are dear too, a feasible offer is one that verifies.
TEST(ObjectiveOffer, KeepsTheBudgetAtLargeEpsilonAndSmallDelta) {
  int feasible = 0;
  support::Thinned sweep(7);
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const double epsilon : {12.0, 30.0, 36.0, 60.0, 100.0}) {
      for (const double delta : {1e-10, 1e-11, 1e-12}) {
        if (sweep.skips()) continue;
        Budget budget{.epsilon = epsilon, .delta = delta};
        budget.adjacency = adjacency;
        const Candidate candidate = gibbsite::candidate(std::type_identity<ObjectivePerturbation>{},
                                                        problem(400, 3), budget, {});
        if (!candidate.feasible) continue;
        ++feasible;
        EXPECT_LE(delta_up(candidate.guarantee, epsilon), delta) << epsilon;
      }
    }
  }
  EXPECT_GT(feasible, support::repeats(10, 0));
}

// What the search for the minimizer costs: of epsilon, and of noise beside that of the objective
// where the data tell most.
TEST(ObjectiveOffer, PaysLittleForTheSearch) {
  for (const std::uint64_t rows : {100ULL, 32561ULL}) {
    const Problem p = problem(rows, 20);
    const ObjectivePerturbation s = settings_of(offered(p));
    EXPECT_GT(s.epsilon, 0.98);
    EXPECT_LT(s.output_noise, 0.2 * s.noise / s.ridge);
    EXPECT_GT(objective_search_norm_down(s, p), 0);
    EXPECT_LT(objective_search_norm_down(s, p), s.gradient_norm);
  }
}

TEST(ObjectiveOffer, KeepsThePriorThatWasGivenAsItsRidge) {
  Problem p = problem(1000, 5);
  p.prior_precision = 7.5;
  EXPECT_EQ(settings_of(offered(p)).ridge, 7.5);
  p.prior_precision = 0.0;
  EXPECT_THAT(offered(p).why, HasSubstr("above 0"));
}

// The published form asks for more noise, and for a ridge of more than one row's curvature.
TEST(ObjectiveOffer, OfThePublishedFormHasMoreNoise) {
  Problem p = problem(10000, 10);
  p.prior_precision = 2;
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    const Budget budget{1, 1e-6, adjacency, 1, 1};
    const ObjectivePerturbation sharp = settings_of(offered(p, budget)),
                                same = settings_of(offered(p, budget, Calibration::exact)),
                                published = settings_of(offered(p, budget, Calibration::redberg));
    EXPECT_EQ(sharp.calibration, Calibration::exact);
    EXPECT_EQ(sharp.noise, same.noise);
    EXPECT_EQ(published.calibration, Calibration::redberg);
    EXPECT_GT(published.noise, 1.05 * sharp.noise);
  }
  p.prior_precision = 0.2;
  const Candidate none = offered(p, {}, Calibration::redberg);
  EXPECT_FALSE(none.feasible);
  EXPECT_THAT(none.why, HasSubstr("prior_precision"));
  EXPECT_TRUE(offered(p).feasible);
}

// A loss that is not known to push one way pays for both.
TEST(ObjectiveOffer, OfATwoSignedLossHasMoreNoise) {
  Problem p = problem(10000, 10);
  p.prior_precision = 20;
  const double one = settings_of(offered(p)).noise;
  p.one_signed = false;
  EXPECT_GT(settings_of(offered(p)).noise, 1.01 * one);
  EXPECT_FALSE(Problem{}.one_signed) << "a bare problem promises nothing";
}

TEST(ObjectiveOffer, SaysWhereItsCalibrationsBelong) {
  const auto message = [](const PlanOptions& plan_options) {
    try {
      static_cast<void>(plan(problem(1000, 5), {}, plan_options));
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* other : {"auto", "path", "output", "whitened"}) {
    EXPECT_THAT(message({.mechanism = other, .calibration = Calibration::redberg}),
                HasSubstr("belongs to `mechanism` objective"));
  }
  EXPECT_THAT(message({.mechanism = "objective", .calibration = Calibration::minami_cor8}),
              HasSubstr("`calibration`"));
  EXPECT_THAT(message({.mechanism = "objective", .tv = 1e-9}), HasSubstr("`tv`"));
  EXPECT_NE(name_of(plan(problem(1000, 5), Budget{}).candidate().mechanism), "objective");
}

// Settings of which one is wrong promise nothing, or less.
TEST(ObjectiveAnalysis, PromisesNoMoreThanItsSettings) {
  const Problem p = problem(10000, 20);
  const ObjectivePerturbation good = settings_of(offered(p));
  const auto delta = [&](const ObjectivePerturbation& s) {
    return delta_up(analyze(s, p, {}, 1).guarantee, 1);
  };
  ASSERT_LE(delta(good), 1e-6);
  const auto with = [&](double ObjectivePerturbation::*field, double factor) {
    ObjectivePerturbation s = good;
    s.*field *= factor;
    return delta(s);
  };
  EXPECT_GT(with(&ObjectivePerturbation::noise, 0.5), 1e-4);
  EXPECT_GT(with(&ObjectivePerturbation::ridge, 0.5), 1e-6);
  EXPECT_GT(with(&ObjectivePerturbation::output_noise, 0.5), 1e-6);
  EXPECT_GT(with(&ObjectivePerturbation::gradient_norm, 2), 1e-6);
  EXPECT_GT(with(&ObjectivePerturbation::epsilon, 0.99), 1e-6);
  EXPECT_EQ(with(&ObjectivePerturbation::epsilon, 1.02), 1);
  EXPECT_GT(with(&ObjectivePerturbation::deletion_epsilon, 0.9), 1e-6);
  EXPECT_GT(with(&ObjectivePerturbation::deletion_epsilon, 1.1), 1e-6);
  // Below what computing the noise takes, and what the search can reach.
  ObjectivePerturbation far = good;
  far.gradient_norm = (good.gradient_norm - objective_search_norm_down(good, p)) * 0.99;
  EXPECT_LE(objective_search_norm_down(far, p), 0);
  EXPECT_EQ(delta(far), 1);
  far.gradient_norm /= 0.98;
  EXPECT_GT(objective_search_norm_down(far, p), 0);
  EXPECT_EQ(delta(far), 1);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (double ObjectivePerturbation::*const field :
         std::initializer_list<double ObjectivePerturbation::*>{
             &ObjectivePerturbation::ridge, &ObjectivePerturbation::noise,
             &ObjectivePerturbation::gradient_norm, &ObjectivePerturbation::output_noise,
             &ObjectivePerturbation::epsilon, &ObjectivePerturbation::deletion_epsilon}) {
      ObjectivePerturbation s = good;
      s.*field = bad;
      EXPECT_THROW(static_cast<void>(analyze(s, p, {}, 1)), BadInput);
    }
  }
}

// One row far on its losing side of where the prior is: how far its minimizer is from the center.
TEST(ObjectiveAnalysis, NoMinimizerIsFurtherFromAFarCenterThanBounded) {
  double closest = 0;
  for (const double ridge : {0.01, 0.1, 2.0}) {
    for (const double center : {1e-3, 1.0, 10.0, 50.0, 1000.0}) {
      Problem p = problem(1, 1);
      p.center_norm = center;
      double lo = -center, hi = -center + 1 / ridge;
      for (int i = 0; i < 200; ++i) {
        const double theta = (lo + hi) / 2;
        (ridge * (theta + center) < 1 / (1 + std::exp(theta)) ? lo : hi) = theta;
      }
      EXPECT_LE(lo + center, p.minimizer_distance_up(1, ridge)) << ridge << ' ' << center;
      closest = std::max(closest, (lo + center) / p.minimizer_distance_up(1, ridge));
    }
  }
  EXPECT_GT(closest, 0.97);
}

// theta is (1/Lambda)-Lipschitz in b.
TEST(ObjectiveAnalysis, TheNoiseOfACoefficientIsAtMostThatOfTheRidgeAlone) {
  const ObjectivePerturbation s{{Calibration::exact, 1, 0.5}, 2, 6, 1e-3, 4};
  EXPECT_NEAR(*coefficient_noise_up(s, problem(10, 2)), 5, 1e-14);
}

}  // namespace objective_test
}  // namespace gibbsite
