#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/output.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "support/reference_values.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace output_pure_test {

using boost::math::quadrature::gauss_kronrod;
using support::problem;
using ::testing::HasSubstr;

// gamma in the place of 1/sigma: what mu is for Gaussian noise.
TEST(OutputPure, EpsilonIsThatOfTheReferenceValues) {
  const auto cases = support::reference_cases("mechanisms_output_perturbation");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  ASSERT_GE(cases.size(), 3U);
  for (const auto& c : cases) {
    const auto number = [&](const char* name) { return support::number(c[name]); };
    const auto epsilon = [&](Adjacency adjacency) {
      return output_epsilon_up(number("lipschitz"), {adjacency, 1}, number("ridge"),
                               number("gradient_norm"), 1 / number("sigma"));
    };
    EXPECT_NEAR(epsilon(Adjacency::replace_one) / number("mu_replace_one"), 1, 1e-14);
    EXPECT_NEAR(epsilon(Adjacency::add_remove) / number("mu_add_remove"), 1, 1e-14);
  }
}

// P(noise <= x) in one dimension, of ||zeta|| xi/rate by quadrature over the length of zeta.
double noise_below(double x, double rate) {
  return gauss_kronrod<double, 61>::integrate(
      [&](double r) {
        return r * std::exp(-r * r / 2) * 0.5 * std::erfc(-x * rate / r / std::sqrt(2.0));
      },
      0.0, 40.0, 12, 1e-13);
}

// Neighbors as far apart as they may be, in one dimension: no cell of any grid, and no half line,
// is more than e^epsilon times as likely on one table, and some all but are.
TEST(OutputPure, NoCellTellsNeighborsApartBeyondEpsilon) {
  const Neighbors who{Adjacency::replace_one, 2};
  const double lipschitz = 1.5, ridge = 40, gradient_norm = 0.05;
  const double apart = (2 * 2 * lipschitz + 2 * gradient_norm) / ridge;
  for (const double rate : {1.0, 7.0, 40.0}) {
    const double claim = output_epsilon_up(lipschitz, who, ridge, gradient_norm, rate);
    double most = 0;
    for (const double grid : {0.1 / rate, 1 / rate}) {
      for (double at = -6 / rate; at < 6 / rate + apart; at += grid) {
        const auto mass = [&](double center) {
          return noise_below(at + grid - center, rate) - noise_below(at - center, rate);
        };
        most = std::max(most, std::fabs(std::log(mass(0) / mass(apart))));
      }
    }
    EXPECT_LE(most, claim + 1e-6);
    EXPECT_GE(most, 0.999 * claim);
  }
}

TEST(OutputPure, EveryOfferKeepsItsBudgetAndUsesIt) {
  support::expect_output_candidates<PureOutputPerturbation>(
      1e-26, [](const Problem& p, const Budget& budget, const Guarantee& all, const auto& s) {
        EXPECT_EQ(all.mu, 0);
        EXPECT_LE(all.epsilon0, budget.epsilon);
        EXPECT_GE(all.epsilon0, budget.epsilon * (1 - 1e-7)) << "budget left unused";
        EXPECT_EQ(delta_up(all, budget.epsilon * 0.999), 1);
        const double one = output_epsilon_up(p.lipschitz_up(), budget.neighbors(), s.ridge,
                                             s.gradient_norm, s.noise);
        EXPECT_LE(one * static_cast<double>(budget.draws), all.epsilon0);
      });
}

// Least of phi R^2 (d + 1)/(2 gamma^2) + Lambda B^2/(2n) with gamma = epsilon Lambda/(s L).
TEST(OutputPure, ItsRidgeIsTheRulesOptimum) {
  const Problem p = problem(10000, 24);
  const auto s = std::get<PureOutputPerturbation>(
      plan(p, {.epsilon = 2, .delta = 1e-20}, {.mechanism = "output-pure"}).candidate().mechanism);
  const double R = p.full_row_norm_up(), B = 3 / R, L = 2 * p.lipschitz_up();
  const auto loss = [&](double ridge) {
    const double gamma = 2 * ridge / L;
    return p.curvature * R * R * 25 / (2 * gamma * gamma) + ridge * B * B / (2 * 10000);
  };
  EXPECT_LT(loss(s.ridge), loss(1.01 * s.ridge));
  EXPECT_LT(loss(s.ridge), loss(0.99 * s.ridge));
}

TEST(OutputPure, KeepsThePriorThatWasGivenAsItsRidge) {
  Problem p = problem(1000, 5);
  const PlanOptions plan_options{.mechanism = "output-pure"};
  p.prior_precision = 7.5;
  EXPECT_EQ(setting(plan(p, {}, plan_options).candidate().mechanism, "ridge"), 7.5);
  p.prior_precision = 0.0;
  EXPECT_THAT(plan(p, {}, plan_options).candidate().why, HasSubstr("above 0"));
}

TEST(OutputPure, IsNeverChosenUnasked) {
  for (const std::uint64_t features : {1ULL, 100ULL}) {
    for (const double delta : {1e-6, 1e-30}) {
      const Plan made = plan(problem(1000, features), {.epsilon = 1, .delta = delta}, {});
      EXPECT_NE(name_of(made.candidate().mechanism), "output-pure");
    }
  }
}

// Deltas that its arithmetic does not resolve are refused; so is what the minimizer cannot reach.
TEST(OutputPure, PromisesNothingBeyondItsArithmetic) {
  const Problem p = problem(1'000'000, 20);
  const PlanOptions plan_options{.mechanism = "output-pure"};
  EXPECT_TRUE(plan(p, {.epsilon = 1, .delta = 1e-30}, plan_options).candidate().feasible);
  const Candidate none = plan(p, {.epsilon = 1, .delta = 1e-34}, plan_options).candidate();
  EXPECT_FALSE(none.feasible);
  EXPECT_THAT(none.why, HasSubstr("computed in double"));

  const PureOutputPerturbation good{.ridge = 100, .noise = 1, .gradient_norm = 1e-3};
  EXPECT_LT(analyze(good, p, {}, 1).guarantee.tv, 1e-30);
  // All draws' epsilons, and what rounding costs.
  const Analysis two = analyze(good, p, {}, 2);
  EXPECT_GT(two.noise.epsilon, 0);
  EXPECT_NEAR(two.guarantee.epsilon0 -
                  2 * output_epsilon_up(p.lipschitz_up(), {}, good.ridge, good.gradient_norm, 1),
              two.noise.epsilon, 1e-16);
  PureOutputPerturbation far = good;
  far.gradient_norm = 1e-15;
  EXPECT_EQ(delta_up(analyze(far, p, {}, 1).guarantee, 10), 1);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    PureOutputPerturbation s = good;
    s.noise = bad;
    EXPECT_THROW(analyze(s, p, {}, 1), BadInput);
    s = good;
    s.ridge = bad;
    EXPECT_THROW(analyze(s, p, {}, 1), BadInput);
  }
}

}  // namespace output_pure_test
}  // namespace gibbsite
