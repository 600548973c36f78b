#pragma once
// The price of a posterior for every front end: settings of a request that has no budget.
#include <nlohmann/json_fwd.hpp>

#include "gibbsite/mechanism/posterior_price.hpp"
#include "gibbsite/run/plan_request.hpp"

namespace gibbsite {

struct PricedPosterior {
  PosteriorPrice price{};
  std::uint64_t draws = 1;
  double best_guess = 100;           ///< percent, at even odds; 100 where nothing is promised
  std::optional<Problem> problem{};  ///< of a linear model
  double beta = 1;                   ///< of a linear model: what its losses are multiplied by
  /// Least epsilon, of four digits and 0.001 at least, at which a fit of a linear model draws
  /// from that posterior: what computing it adds is in it. 0 where none does.
  double fit_epsilon = 0;
};

/// Throws BadInput as plan_options_of, `constants` and posterior_price.
PricedPosterior priced_posterior(const PlanRequest& request, const FeatureSpace& space,
                                 std::uint64_t rows);
/// That of a family, its problem complete (plan_request.hpp). Throws BadInput as posterior_price.
PricedPosterior priced_posterior(const PlanRequest& request, const FamilyProblem& problem);

/// What `gibbsite plan --json` prints of it; epsilon is null above most_epsilon, fit_epsilon where
/// no fit is known.
nlohmann::json price_json(const PricedPosterior& priced);

}  // namespace gibbsite
