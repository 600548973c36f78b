#include "gibbsite/mechanism/output.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/minimizer_reach.hpp"
#include "mechanism/offers.hpp"

namespace gibbsite {
namespace {

// The size of a coefficient vector, in logits of the longest row, that the rule for Lambda prepares
// for. A guess costs accuracy, not privacy.
constexpr double expected_logits = 3;
// g in parts of k s L: it adds twice as much to the noise. As small as rounding lets it be found.
constexpr double least_gradient_share = 1e-6, most_gradient_share = 0.1;
// Newton on rows: gradients, and Hessians as dear as several.
constexpr double expected_passes = 30;

double gradients_of(const Neighbors& who) {
  return (who.adjacency == Adjacency::replace_one ? 2.0 : 1.0) *
         static_cast<double>(who.rows_per_person);
}

// Least sum of what noise and shrinking add to the mean loss (docs/output.md): phi R^2 sigma^2/2
// with sigma = sL/(Lambda mu), and Lambda B^2/(2n) with B = logits/R.
double ridge_rule(const Problem& problem, const Neighbors& who, double mu) {
  const double R = problem.full_row_norm_up(), L = gradients_of(who) * problem.lipschitz_up();
  const double B = expected_logits / R, n = static_cast<double>(problem.rows);
  return std::cbrt(2 * n * problem.curvature * R * R * L * L / (B * B * mu * mu));
}

Offer output_offer(const Problem& problem, const Budget& budget, const Budget& left) {
  const Neighbors who = budget.neighbors();
  const double mu = gdp_split_down(gdp_mu_down(left.epsilon, left.delta), budget.draws);
  OutputPerturbation s;
  Offer out;
  s.ridge = problem.prior_precision.value_or(ridge_rule(problem, who, mu));
  if (!(s.ridge > 0 && std::isfinite(s.ridge))) {
    s.ridge = 0;
    out.mechanism = s;
    out.why = "needs a strongly convex loss; give `prior_precision` above 0";
    return out;
  }
  const double M = problem.smoothness_up(1, s.ridge);
  const double change = gradients_of(who) * problem.lipschitz_up();
  s.gradient_norm = least_gradient_share * change;
  while (!minimizer_in_reach(problem, 1, s.ridge, M, s.gradient_norm) &&
         s.gradient_norm < most_gradient_share * change) {
    s.gradient_norm *= 2;
  }
  // Inverted in 50 digits and rounded up; then up by ulps until the formula itself agrees.
  s.noise_scale = round_up(
      (Wide(gradients_of(who)) * Wide(problem.lipschitz_up()) + 2 * Wide(s.gradient_norm)) /
      (Wide(s.ridge) * Wide(mu)));
  if (!std::isnormal(s.noise_scale)) {
    out.mechanism = s;
    out.why = "its noise is no number of double arithmetic; give another --prior-precision";
    return out;
  }
  const auto mu_now = [&] {
    return output_mu_up(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise_scale);
  };
  while (!(mu_now() <= mu)) s.noise_scale = std::nextafter(s.noise_scale, INFINITY);
  out.mechanism = s;
  out.guarantee.mu = draws_mu_up(mu_now(), budget.draws);
  // One minimizer for all draws.
  out.cost = {expected_passes, expected_passes};
  if (!minimizer_in_reach(problem, 1, s.ridge, M, s.gradient_norm)) {
    out.why = fmt::format(
        "the minimizer cannot be computed to within the gradient norm {:.2g} in double; give a "
        "larger `prior_precision`",
        s.gradient_norm);
    return out;
  }
  out.feasible = true;
  out.why = "one minimizer and one noise vector: few passes, as much noise in every direction";
  return out;
}

}  // namespace

double output_mu_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                    double noise_scale) {
  require_finite_positive(lipschitz, "lipschitz");
  require_finite_positive(ridge, "ridge");
  require_finite_nonnegative(gradient_norm, "gradient_norm");
  require_finite_positive(noise_scale, "noise_scale");
  return round_up((Wide(gradients_of(who)) * Wide(lipschitz) + 2 * Wide(gradient_norm)) /
                  (Wide(ridge) * Wide(noise_scale)));
}

Offer offer(std::type_identity<OutputPerturbation> /*kind*/, const Problem& problem,
            const Budget& budget, const Wishes& /*wishes*/) {
  return paid_for_noise(problem, budget,
                        [&](const Budget& left) { return output_offer(problem, budget, left); });
}

Analysis analyze(const OutputPerturbation& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  Analysis out;
  const double mu =
      output_mu_up(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise_scale);
  out.constants = {{"sensitivity", round_up(Wide(gradients_of(who)) * Wide(problem.lipschitz_up()) /
                                            Wide(s.ridge))},
                   {"strong_convexity", s.ridge},
                   {"smoothness", problem.smoothness_up(1, s.ridge)}};
  const AddedNoise noise{s.noise_scale, round_up(Wide(problem.center_norm) +
                                                 Wide(problem.minimizer_distance_up(1, s.ridge)) +
                                                 Wide(s.gradient_norm) / Wide(s.ridge))};
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, problem.features, draws);
  // Without the reach the search might not end, and g means nothing.
  const bool found =
      minimizer_in_reach(problem, 1, s.ridge, problem.smoothness_up(1, s.ridge), s.gradient_norm);
  out.guarantee = {draws_mu_up(mu, draws), out.noise.epsilon, 0, found ? out.noise.tv : 1.0, who};
  return out;
}

}  // namespace gibbsite
