#include "gibbsite/mechanism/output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace output_test {

using support::problem;
using ::testing::HasSubstr;

TEST(Output, MuIsThatOfTheReferenceValues) {
  const auto cases = support::reference_cases("mechanisms_output_perturbation");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  ASSERT_GE(cases.size(), 3U);
  for (const auto& c : cases) {
    const auto number = [&](const char* name) { return support::number(c[name]); };
    const auto mu = [&](Adjacency adjacency) {
      return output_mu_up(number("lipschitz"), {adjacency, 1}, number("ridge"),
                          number("gradient_norm"), number("sigma"));
    };
    EXPECT_NEAR(mu(Adjacency::replace_one) / number("mu_replace_one"), 1, 1e-14);
    EXPECT_NEAR(mu(Adjacency::add_remove) / number("mu_add_remove"), 1, 1e-14);
    const double delta = delta_up({.mu = mu(Adjacency::replace_one)}, 1);
    EXPECT_NEAR(delta / number("delta_at_epsilon_1_replace_one"), 1, 1e-11);
    // A person with three rows; the gradient's share is not multiplied.
    EXPECT_NEAR(output_mu_up(1, {Adjacency::add_remove, 3}, 10, 0.5, 2), (3 + 1) / 20.0, 1e-15);
  }
}

// Over sizes, budgets and neighbors: what is claimed follows from the settings, and the budget is
// used.
TEST(Output, EveryOfferKeepsItsBudgetAndUsesIt) {
  support::expect_output_candidates<OutputPerturbation>(
      1e-6, [](const Problem& p, const Budget& budget, const Guarantee& all, const auto& s) {
        Guarantee weaker = all;
        weaker.mu *= 1.001;
        EXPECT_GT(delta_up(weaker, budget.epsilon), 0.999e-6) << "budget left unused";
        const double mu =
            output_mu_up(p.lipschitz_up(), budget.neighbors(), s.ridge, s.gradient_norm, s.noise);
        EXPECT_LE(mu * std::sqrt(static_cast<double>(budget.draws)), all.mu * (1 + 1e-15));
      });
}

TEST(Output, KeepsThePriorThatWasGivenAsItsRidge) {
  Problem p = problem(1000, 5);
  p.prior_precision = 7.5;
  EXPECT_EQ(setting(plan(p, {}, {.mechanism = "output"}).candidate().mechanism, "ridge"), 7.5);
  p.prior_precision = 0.0;
  EXPECT_THAT(plan(p, {}, {.mechanism = "output"}).candidate().why, HasSubstr("above 0"));
}

// Where no gradient of that norm can be promised, nothing is.
TEST(Output, PromisesNothingBeyondItsMinimizersReach) {
  const Problem p = problem(1'000'000, 20);
  const OutputPerturbation good{.ridge = 100, .noise = 1, .gradient_norm = 1e-3};
  EXPECT_LT(analyze(good, p, {}, 1).guarantee.tv, 1e-14);
  OutputPerturbation far = good;
  far.gradient_norm = 1e-15;
  EXPECT_EQ(delta_up(analyze(far, p, {}, 1).guarantee, 10), 1);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    OutputPerturbation s = good;
    s.noise = bad;
    EXPECT_THROW(analyze(s, p, {}, 1), BadInput);
    s = good;
    s.ridge = bad;
    EXPECT_THROW(analyze(s, p, {}, 1), BadInput);
  }
}

}  // namespace output_test
}  // namespace gibbsite
