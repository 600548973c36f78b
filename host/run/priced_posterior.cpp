#include "gibbsite/run/priced_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gibbsite/mechanism/mechanism.hpp"

namespace gibbsite {
namespace {

Neighbors neighbors_of(const PlanRequest& request) {
  return {adjacency_from_string(request.adjacency), request.rows_per_person.value_or(1)};
}

double epsilon_of_fit(PlanRequest request, const FeatureSpace& space, std::uint64_t rows,
                      const PricedPosterior& of) {
  request.beta = of.beta;
  const double least = std::max(of.price.epsilon, 1e-3);  // delta alone may pay for the draw
  const double unit = std::pow(10.0, std::floor(std::log10(least)) - 3);
  double steps = std::ceil(least / unit);
  for (int attempt = 0; attempt < 12; ++attempt, steps = std::ceil(steps * 1.002)) {
    request.epsilon = steps * unit;
    if (!(*request.epsilon <= most_epsilon)) return 0;
    const Plan made = plan(request, space, rows, budget_of(request));
    const auto drawn = setting(made.candidate().mechanism, "beta");
    if (made.candidate().feasible && drawn && *drawn == of.beta) return *request.epsilon;
  }
  return 0;
}

}  // namespace

PricedPosterior priced_posterior(const PlanRequest& request, const FeatureSpace& space,
                                 std::uint64_t rows) {
  static_cast<void>(plan_options_of(request));
  PricedPosterior out{.draws = request.draws.value_or(1)};
  out.problem = constants(request, space, rows);
  out.beta = request.beta.value_or(1);
  out.price =
      posterior_price(*out.problem, neighbors_of(request), out.draws, out.beta, *request.delta);
  out.best_guess = best_guess_percent(out.price.guarantee);
  if (std::isfinite(out.price.epsilon)) out.fit_epsilon = epsilon_of_fit(request, space, rows, out);
  return out;
}

PricedPosterior priced_posterior(const PlanRequest& request, const FamilyProblem& problem) {
  PricedPosterior out{.draws = request.draws.value_or(1)};
  out.price = posterior_price(problem, neighbors_of(request), out.draws, *request.delta);
  if (!std::isfinite(out.price.epsilon)) return out;
  const FamilyMechanism mechanism =
      problem.trim
          ? FamilyMechanism(TrimmedDraw{})
          : ConjugateDraw{.epsilon = out.price.guarantee.epsilon0 / static_cast<double>(out.draws)};
  out.best_guess = best_guess_percent(mechanism, problem, out.price.guarantee, out.draws);
  return out;
}

nlohmann::json price_json(const PricedPosterior& priced) {
  const PosteriorPrice& price = priced.price;
  const bool promised = std::isfinite(price.epsilon);
  nlohmann::json out = {
      {"delta", price.delta}, {"draws", priced.draws}, {"best_guess", priced.best_guess}};
  out["epsilon"] = promised ? nlohmann::json(price.epsilon) : nullptr;
  out["fit_epsilon"] = priced.fit_epsilon > 0 ? nlohmann::json(priced.fit_epsilon) : nullptr;
  Guarantee::fields(price.guarantee, [&](const char* name, double value) { out[name] = value; });
  return out;
}

}  // namespace gibbsite
