#include "gibbsite/mechanism/objective.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/objective.hpp"
#include "mechanism/noisy_slope.hpp"
#include "mechanism/objective_pair.hpp"
#include "mechanism/offers.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// b as computed beside the exact one: 20 roundings of sigma xi a coordinate (docs/theory/noise-law.md),
// and the radius, which is further than `radius_off` from the middle of its word with a probability
// below `radius_missed` a pair.
constexpr int noise_roundings = 20;
const Wide radius_off = ldexp(Wide(1), -48), radius_missed = ldexp(Wide(1), -80);

Wide pairs(const Problem& problem) { return ceil(Wide(problem.features) / 2); }

// ||b|| at most: a pair's norm is its radius.
Wide longest_noise(const ObjectivePerturbation& s, const Problem& problem) {
  return Wide(s.noise_scale) * Wide(max_abs_answer_normal) * sqrt(pairs(problem)) *
         (1 + gamma_k(Wide(noise_roundings)));
}

NoisySlope slope_of(const ObjectivePerturbation& s, const Problem& problem) {
  const Wide normals = gamma_k(Wide(noise_roundings)) * Wide(max_abs_answer_normal) + radius_off;
  return {problem, s.ridge, longest_noise(s, problem),
          Wide(s.noise_scale) * sqrt(Wide(problem.features)) * normals};
}

ObjectivePair pair_of(const ObjectivePerturbation& s, const Problem& problem) {
  return {s.noise_scale > 0 ? round_up(Wide(problem.lipschitz_up()) / Wide(s.noise_scale)) : 0.0,
          curvature_ratio_up(problem, s.ridge), problem.one_signed, s.calibration};
}

double output_mu_up(const ObjectivePerturbation& s) {
  return round_up(2 * Wide(s.gradient_norm) / (Wide(s.ridge) * Wide(s.output_noise)));
}

void require_settings(const ObjectivePerturbation& s) {
  require_finite_positive(s.ridge, "ridge");
  require_finite_positive(s.noise_scale, "noise_scale");
  require_finite_positive(s.gradient_norm, "gradient_norm");
  require_finite_positive(s.output_noise, "output_noise");
}

// Parts of epsilon and delta for what the minimizer is found to.
constexpr double search_share = 1.0 / 64;

// t in parts of a row's epsilon, measured (docs/theory/objective-perturbation.md, "The ridge").
constexpr double curvature_share = 0.1;

Offer objective_offer(const Problem& problem, const Budget& budget, const Budget& left,
                      const Wishes& wishes) {
  const Neighbors who = budget.neighbors();
  const Wide draws = budget.draws;
  ObjectivePerturbation s;
  if (wishes.calibration == Calibration::redberg) s.calibration = Calibration::redberg;
  const double found_epsilon = search_share * left.epsilon, found_delta = search_share * left.delta;
  s.epsilon = round_down((Wide(left.epsilon) - Wide(found_epsilon)) / draws);
  const double delta = round_down((Wide(left.delta) - Wide(found_delta)) / draws);
  const double output_mu = gdp_split_down(gdp_mu_down(found_epsilon, found_delta), budget.draws);
  s.ridge =
      problem.prior_precision.value_or(curvature_ridge(problem, who, s.epsilon, curvature_share));
  const auto refused = [&](const Message& why) { return Offer{.mechanism = s, .why = why}; };
  if (const Message why = ridge_refused(problem, s.ridge); !why.empty()) return refused(why);
  const ObjectiveScale scale = objective_scale_down(pair_of(s, problem), s.epsilon, delta, who);
  if (!(scale.s > 0)) return refused(curvature_unpaid());
  s.deletion_epsilon = scale.deletion_epsilon;
  s.noise_scale = round_up(Wide(problem.lipschitz_up()) / Wide(scale.s));
  while (pair_of(s, problem).s > scale.s) s.noise_scale = std::nextafter(s.noise_scale, INFINITY);
  const NoisySlope::Search search =
      slope_of(s, problem)
          .search(0.05 * s.noise_scale * output_mu, 0.5 * s.noise_scale * output_mu);
  if (!(search.gradient_norm > 0)) return refused(noise_beyond_double());
  s.gradient_norm = search.gradient_norm;
  s.output_noise = round_up(2 * Wide(s.gradient_norm) / (Wide(s.ridge) * Wide(output_mu)));
  if (!std::isnormal(s.output_noise) || !std::isnormal(s.noise_scale)) {
    return refused(noise_beyond_double());
  }
  while (!(output_mu_up(s) <= output_mu)) s.output_noise = std::nextafter(s.output_noise, INFINITY);
  return {.mechanism = s,
          .cost = cost_of(minimizer_cost.passes, minimizer_cost.work, budget.draws),
          .feasible = search.found,
          .why = search.found ? "one minimizer of the loss with noise in its slope: less noise "
                                "where the data tell more"
                              : slope_search_unfound()};
}

}  // namespace

ObjectivePair objective_pair_of(const ObjectivePerturbation& s, const Problem& problem) {
  require_settings(s);
  require_one_output(problem);
  return pair_of(s, problem);
}

double objective_output_mu_up(const ObjectivePerturbation& s) {
  require_settings(s);
  return output_mu_up(s);
}

double objective_search_norm_down(const ObjectivePerturbation& s, const Problem& problem) {
  require_settings(s);
  return slope_of(s, problem).search_norm_down(s.gradient_norm);
}

Offer offer(std::type_identity<ObjectivePerturbation> /*kind*/, const Problem& problem,
            const Budget& budget, const Wishes& wishes) {
  return within_budget(paid_for_noise(problem, budget,
                                      [&](const Budget& left) {
                                        return objective_offer(problem, budget, left, wishes);
                                      }),
                       budget);
}

Analysis analyze(const ObjectivePerturbation& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  require_settings(s);
  require_one_output(problem);
  const double delta = objective_delta_up(pair_of(s, problem), s.epsilon, s.deletion_epsilon, who);
  const NoisySlope slope = slope_of(s, problem);
  const AddedNoise noise{s.output_noise, minimizer_reach_up(slope.about, s.ridge, s.gradient_norm)};
  const Wide k = draws;
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, problem.features, draws);
  out.noise.tv = round_up(Wide(out.noise.tv) + k * pairs(problem) * radius_missed);
  const bool found = slope.found_to(slope.search_norm_down(s.gradient_norm));
  out.guarantee = {draws_mu_up(output_mu_up(s), draws),
                   round_up(k * Wide(s.epsilon) + Wide(out.noise.epsilon)),
                   round_up(k * Wide(delta)), found ? out.noise.tv : 1.0, who};
  return out;
}

std::string assumption_of(const ObjectivePerturbation& /*m*/) {
  return noisy_slope_assumption("noise");
}
std::string_view run_time_tells(const ObjectivePerturbation& /*m*/) { return searches_with_noise; }
std::string basis_of(const ObjectivePerturbation& m) {
  return fmt::format(
      "It rests on noise of deviation {:.3g} in the slope of what is minimized, and of {:.3g} "
      "added "
      "to every coefficient",
      m.noise_scale, m.output_noise);
}
std::string procedure_of(const ObjectivePerturbation& m, const Cost& /*cost*/) {
  return fmt::format("the minimizer at ridge {:.4g} of the loss with noise of {:.3g} in its slope",
                     m.ridge, m.noise_scale);
}
std::optional<double> coefficient_noise_up(const ObjectivePerturbation& m,
                                           const Problem& /*problem*/) {
  require_finite_positive(m.ridge, "ridge");
  const Wide inside = Wide(m.noise_scale) / Wide(m.ridge), added = m.output_noise;
  return round_up(sqrt(inside * inside + added * added));
}

}  // namespace gibbsite
