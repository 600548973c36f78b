#include "gibbsite/run/priced_posterior.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gibbsite/core/error.hpp"
#include "gibbsite/run/planned_fit.hpp"

namespace gibbsite::testing {
namespace priced_posterior_test {

PlanRequest settings(double prior_precision) {
  PlanRequest out;
  out.delta = 1e-6;
  out.prior_precision = prior_precision;
  return out;
}

const FeatureSpace three_features{.features = 3, .row_norm = 1};

// A fit of that epsilon draws from that very posterior, and one of a percent less from a wider one.
TEST(PricedPosterior, NamesTheLeastEpsilonOfAFitThatDrawsFromIt) {
  const PricedPosterior priced = priced_posterior(settings(400), three_features, 1000);
  EXPECT_GT(priced.fit_epsilon, priced.price.epsilon);
  EXPECT_LT(priced.fit_epsilon, 1.1 * priced.price.epsilon);
  PlanRequest fitted = settings(400);
  fitted.beta = 1;
  for (const double factor : {1.0, 0.99}) {
    fitted.epsilon = factor * priced.fit_epsilon;
    const Plan made = plan(fitted, three_features, 1000, budget_of(fitted));
    const bool draws =
        made.candidate().feasible && setting(made.candidate().mechanism, "beta").value_or(0) == 1;
    EXPECT_EQ(draws, factor == 1) << factor;
  }
}

TEST(PricedPosterior, PromisesNothingOfAPosteriorThatOnePersonMovesAtWill) {
  const PricedPosterior priced = priced_posterior(settings(1e-9), three_features, 1000);
  EXPECT_FALSE(std::isfinite(priced.price.epsilon));
  EXPECT_EQ(priced.fit_epsilon, 0);
  const nlohmann::json json = price_json(priced);
  EXPECT_TRUE(json.at("epsilon").is_null());
  EXPECT_TRUE(json.at("fit_epsilon").is_null());
  EXPECT_THROW(priced_posterior(settings(-1), three_features, 1000), BadInput);
}

TEST(PricedPosterior, OfAFamilyNamesTheGuessOfItsOwnLaw) {
  PlanRequest request{.model = "bernoulli", .delta = 1e-6};
  request.prior = {{50, 50}};
  const FamilyProblem problem =
      complete(request, {.family = Family::bernoulli, .rows = 1000, .levels = 2});
  const PricedPosterior priced = priced_posterior(request, problem);
  EXPECT_GT(priced.price.epsilon, 0);
  EXPECT_GT(priced.best_guess, 50);
  EXPECT_LT(priced.best_guess, 60);
  EXPECT_LE(priced.best_guess, best_guess_percent(priced.price.guarantee));
  EXPECT_FALSE(priced.problem);
}

// Without a schema the share of the positive class is the request's, of two classes alone.
TEST(PlannedOffers, OfAShapeTakesTheShareOfTheRequest) {
  PlanRequest request{.epsilon = 1, .delta = 1e-6};
  request.positive_share = PositiveShare{0.01, 0.01};
  const PlannedFit fit = planned_offers(request, three_features, 1000, budget_of(request));
  ASSERT_TRUE(fit.positive_share);
  EXPECT_EQ(fit.positive_share->low, 0.01);
  EXPECT_GT(fit.plan.candidates.size(), 1U);
  EXPECT_FALSE(fit.chosen);
  request.model = "squared";
  EXPECT_THROW(planned_offers(request, three_features, 1000, budget_of(request)), BadInput);
  PlanRequest larger = request;
  larger.epsilon = 12;
  EXPECT_EQ(largest_of(std::vector{request, larger, request}).epsilon, 12);
}

}  // namespace priced_posterior_test
}  // namespace gibbsite::testing
