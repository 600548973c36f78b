// Budgets of zCDP and of Renyi privacy: what is planned for them keeps to them.
#include "gibbsite/run/plan_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/rdp.hpp"
#include "gibbsite/privacy/rdp.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace plan_request_test {

using ::testing::HasSubstr;

FeatureSpace ten_features() {
  FeatureSpace out;
  out.features = 10;
  out.row_norm = 1;
  return out;
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    std::string out = error.what();
    std::erase(out, '`');  // marks of fields
    return out;
  }
  return "accepted";
}

TEST(RenyiBudget, OfRowsIsKeptAndUsed) {
  for (const char* mechanism : {"auto", "path", "output", "output-pure"}) {
    for (const std::uint64_t draws : {1U, 4U}) {
      PlanRequest request{.delta = 1e-6, .rho = 0.02, .draws = draws, .mechanism = mechanism};
      const Budget budget = budget_of(request);
      const Plan made = plan(request, ten_features(), 20'000, budget);
      ASSERT_TRUE(made.candidate().feasible) << mechanism;
      const Guarantee& g = made.candidate().guarantee;
      EXPECT_LE(zero_concentrated_up(g).rho, 0.02);
      EXPECT_GT(zero_concentrated_up(g).rho, 0.0199) << mechanism;
      EXPECT_LE(delta_up(g, made.budget.epsilon), 1e-6);
      // No offer that is not chosen passes for one that keeps to it.
      for (const Candidate& other : made.candidates) {
        if (!other.feasible) continue;
        EXPECT_LE(zero_concentrated_up(other.guarantee).rho, 0.02);
        EXPECT_EQ(other.guarantee.delta0, 0);
      }
      request.rho.reset();
      request.epsilon = 0.3, request.rdp = 10;
      const Plan of_order = plan_chosen(request, ten_features(), 20'000, budget_of(request));
      EXPECT_LE(renyi_up(of_order.candidate().guarantee, 10), 0.3);
      EXPECT_GT(renyi_up(of_order.candidate().guarantee, 10), 0.2985) << mechanism;
    }
  }
}

TEST(RenyiBudget, OfNetworksIsKept) {
  const NetworkProblem problem{.rows = 5000, .levels = {2, 3, 4}};
  const PlanRequest request{.model = "network", .delta = 1e-6, .rho = 0.05, .structure = "private"};
  const NetworkPlan made = plan(request, problem, budget_of(request));
  EXPECT_LE(zero_concentrated_up(made.candidate().guarantee).rho, 0.05);
  EXPECT_GT(zero_concentrated_up(made.candidate().guarantee).rho, 0.0499);
}

TEST(RenyiBudget, OfFamiliesIsTheExactDivergence) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const std::uint64_t draws : {1U, 5U}) {
    for (const bool diffused : {false, true}) {
      const PlanRequest request{.model = "bernoulli",
                                .epsilon = 0.3,
                                .delta = 1e-6,
                                .rdp = 5,
                                .draws = draws,
                                .diffused = diffused};
      const FamilyProblem problem =
          complete(request, {.family = Family::bernoulli, .rows = 1000, .levels = 2});
      const FamilyPlan made = plan(request, problem, budget_of(request));
      const double spent = renyi_up(made.mechanism, problem, {}, draws, 5);
      EXPECT_LE(spent, 0.3);
      EXPECT_GT(spent, 0.29);
    }
  }
  PlanRequest request{.model = "bernoulli", .delta = 1e-6, .rho = 0.02};
  const FamilyProblem problem =
      complete(request, {.family = Family::bernoulli, .rows = 1000, .levels = 2});
  EXPECT_THAT(refusal([&] { plan(request, problem, budget_of(request)); }), HasSubstr("rho: "));
  request.model = "mean";
  const FamilyProblem mean =
      complete(request, {.family = Family::mean, .rows = 1000, .lo = 0, .hi = 1});
  const FamilyPlan made = plan(request, mean, budget_of(request));
  EXPECT_LE(zero_concentrated_up(made.guarantee).rho, 0.02);
}

TEST(RenyiBudget, RefusesWhatHasNone) {
  const auto budget = [](const PlanRequest& r) { return refusal([&] { budget_of(r); }); };
  EXPECT_THAT(budget({.epsilon = 1, .delta = 1e-6, .rho = 1}), HasSubstr("epsilon: "));
  EXPECT_THAT(budget({.delta = 1e-6, .rho = 1, .rdp = 2}), HasSubstr("rdp: "));
  EXPECT_THAT(budget({.delta = 1e-6}), HasSubstr("epsilon: is missing"));
  EXPECT_THAT(budget({.rho = 1}), HasSubstr("delta: is missing"));
  EXPECT_THAT(budget({.delta = 1e-6, .rho = -1}), HasSubstr("rho: "));
  EXPECT_THAT(budget({.epsilon = 1, .delta = 1e-6, .rdp = 1}), HasSubstr("rdp: "));
  EXPECT_THAT(budget({.delta = 0.1, .rho = 1e-9}), HasSubstr("rho: allows less"));
  const PlanRequest objective{.delta = 1e-6, .rho = 0.02, .mechanism = "objective"};
  EXPECT_THAT(refusal([&] { plan(objective, ten_features(), 20'000, budget_of(objective)); }),
              HasSubstr("rho: objective has none"));
}

}  // namespace plan_request_test
}  // namespace gibbsite
