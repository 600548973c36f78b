#include "gibbsite/mechanism/objective.hpp"

#include <algorithm>
#include <cmath>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/objective.hpp"
#include "mechanism/minimizer_reach.hpp"
#include "mechanism/objective_pair.hpp"
#include "mechanism/offers.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// b as computed beside the exact one: 20 roundings of sigma xi a coordinate (docs/noise-law.md),
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

// J + b.theta is J about theta0 - b/Lambda, less a constant.
Problem about_noise(const ObjectivePerturbation& s, const Problem& problem) {
  Problem out = problem;
  out.center_norm = round_up(Wide(problem.center_norm) + longest_noise(s, problem) / Wide(s.ridge));
  return out;
}

// How far the noise that the computed center stands for is from b: the normals', and those of the
// center itself.
Wide noise_off(const ObjectivePerturbation& s, const Problem& about) {
  const Wide normals = gamma_k(Wide(noise_roundings)) * Wide(max_abs_answer_normal) + radius_off;
  return Wide(s.noise_scale) * sqrt(Wide(about.features)) * normals +
         gamma_k(Wide(4)) * Wide(s.ridge) * Wide(about.center_norm);
}

double search_norm_down(const ObjectivePerturbation& s, const Problem& about) {
  return round_down(Wide(s.gradient_norm) - noise_off(s, about));
}

bool found_to(const ObjectivePerturbation& s, const Problem& about, double norm) {
  return norm > 0 && minimizer_found(about, s.ridge, norm);
}

ObjectivePair pair_of(const ObjectivePerturbation& s, const Problem& problem) {
  const Wide R = problem.full_row_norm_up();
  return {s.noise_scale > 0 ? round_up(Wide(problem.lipschitz_up()) / Wide(s.noise_scale)) : 0.0,
          round_up(Wide(problem.curvature) * R * R / Wide(s.ridge)), problem.one_signed,
          s.calibration};
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

// t = phi R^2/Lambda in parts of a row's epsilon, measured (docs/objective-perturbation.md, "The
// ridge"), and at most.
constexpr double curvature_share = 0.1, most_curvature = 0.5;

double objective_ridge(const Problem& problem, const Neighbors& who, double epsilon) {
  const double R = problem.full_row_norm_up();
  const double each = epsilon / static_cast<double>(who.rows_per_person);
  return problem.curvature * R * R / std::min(curvature_share * each, most_curvature);
}

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
  s.ridge = problem.prior_precision.value_or(objective_ridge(problem, who, s.epsilon));
  Offer out{.mechanism = s};
  if (!(s.ridge > 0 && std::isfinite(s.ridge))) {
    out.why = "needs a strongly convex loss; give `prior_precision` above 0";
    return out;
  }
  constexpr const char* beyond_double =
      "its noise is no number of double arithmetic; give another --prior-precision";
  const double t = pair_of(s, problem).t;
  if (!(t > 1e-30 && t < 1e30)) {
    out.why = beyond_double;
    return out;
  }
  const ObjectiveScale scale = objective_scale_down(pair_of(s, problem), s.epsilon, delta, who);
  if (!(scale.s > 0)) {
    out.why =
        "no noise is enough for what the curvature of one row changes; give a larger "
        "`prior_precision`";
    return out;
  }
  s.deletion_epsilon = scale.deletion_epsilon;
  s.noise_scale = round_up(Wide(problem.lipschitz_up()) / Wide(scale.s));
  while (pair_of(s, problem).s > scale.s) s.noise_scale = std::nextafter(s.noise_scale, INFINITY);
  // The search as far as its noise stays a tenth of that of b, where the data tell most; else as
  // far as rounding lets it.
  const Problem about = about_noise(s, problem);
  const double off = round_up(noise_off(s, about));
  double search = 0.05 * s.noise_scale * output_mu * s.ridge / about.smoothness_up(1, s.ridge);
  const double most = 0.5 * s.noise_scale * output_mu;
  out.mechanism = s;
  if (!std::isnormal(search) || !std::isnormal(most) || !std::isfinite(off)) {
    out.why = beyond_double;
    return out;
  }
  while (!found_to(s, about, search) && search < most) search *= 2;
  s.gradient_norm = round_up(Wide(search) + Wide(off));
  while (!(search_norm_down(s, about) >= search)) {
    s.gradient_norm = std::nextafter(s.gradient_norm, INFINITY);
  }
  s.output_noise = round_up(2 * Wide(s.gradient_norm) / (Wide(s.ridge) * Wide(output_mu)));
  out.mechanism = s;
  if (!std::isnormal(s.output_noise) || !std::isnormal(s.noise_scale)) {
    out.why = beyond_double;
    return out;
  }
  while (!(output_mu_up(s) <= output_mu)) s.output_noise = std::nextafter(s.output_noise, INFINITY);
  out.mechanism = s;
  out.cost = {minimizer_cost.passes * static_cast<double>(budget.draws),
              minimizer_cost.work * static_cast<double>(budget.draws)};
  if (!found_to(s, about, search)) {
    out.why =
        "the minimizer cannot be computed well enough in double; give a larger `prior_precision`";
    return out;
  }
  out.feasible = true;
  out.why =
      "one minimizer of the loss with noise in its slope: less noise where the data tell more";
  return out;
}

}  // namespace

ObjectivePair objective_pair_of(const ObjectivePerturbation& s, const Problem& problem) {
  require_settings(s);
  return pair_of(s, problem);
}

double objective_output_mu_up(const ObjectivePerturbation& s) {
  require_settings(s);
  return output_mu_up(s);
}

double objective_search_norm_down(const ObjectivePerturbation& s, const Problem& problem) {
  require_settings(s);
  return search_norm_down(s, about_noise(s, problem));
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
  const double delta = objective_delta_up(pair_of(s, problem), s.epsilon, s.deletion_epsilon, who);
  const Problem about = about_noise(s, problem);
  const AddedNoise noise{s.output_noise, minimizer_reach_up(about, s.ridge, s.gradient_norm)};
  const Wide k = draws;
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, problem.features, draws);
  out.noise.tv = round_up(Wide(out.noise.tv) + k * pairs(problem) * radius_missed);
  const bool found = found_to(s, about, search_norm_down(s, about));
  out.guarantee = {draws_mu_up(output_mu_up(s), draws),
                   round_up(k * Wide(s.epsilon) + Wide(out.noise.epsilon)),
                   round_up(k * Wide(delta)), found ? out.noise.tv : 1.0, who};
  return out;
}

}  // namespace gibbsite
