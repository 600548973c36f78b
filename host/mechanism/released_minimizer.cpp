#include "mechanism/released_minimizer.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "mechanism/minimizer_reach.hpp"

namespace gibbsite {
namespace {

// The size of a coefficient vector, in logits of the longest row, that the rule for Lambda prepares
// for. A guess costs accuracy, not privacy.
constexpr double expected_logits = 3;
// g in parts of k s L: it adds twice as much to the noise. As small as rounding lets it be found.
constexpr double least_gradient_share = 1e-6, most_gradient_share = 0.1;

double gradients_of(const Neighbors& who) {
  return (who.adjacency == Adjacency::replace_one ? 2.0 : 1.0) *
         static_cast<double>(who.rows_per_person);
}

// Least sum of what noise and shrinking add to the mean loss (docs/theory/output.md): phi R^2
// sigma^2/2 with sigma = sL/(Lambda mu), and Lambda B^2/(2n) with B = logits/R.
double ridge_rule(const Problem& problem, const Neighbors& who, double mu) {
  const double R = problem.full_row_norm_up(), L = gradients_of(who) * problem.lipschitz_up();
  const double B = expected_logits / R, n = static_cast<double>(problem.rows);
  return std::cbrt(2 * n * problem.curvature * R * R * L * L / (B * B * mu * mu));
}

}  // namespace

Wide minimizers_apart(double lipschitz, const Neighbors& who, double ridge, double gradient_norm) {
  require_finite_positive(lipschitz, "lipschitz");
  require_finite_positive(ridge, "ridge");
  require_finite_nonnegative(gradient_norm, "gradient_norm");
  return (Wide(gradients_of(who)) * Wide(lipschitz) + 2 * Wide(gradient_norm)) / Wide(ridge);
}

ReleasedMinimizer released_minimizer(const Problem& problem, const Neighbors& who, double mu) {
  ReleasedMinimizer out;
  out.ridge = problem.prior_precision.value_or(ridge_rule(problem, who, mu));
  if (!(out.ridge > 0 && std::isfinite(out.ridge))) {
    out.ridge = 0;
    out.refused =
        format_message("needs a strongly convex loss; give {} above 0", Field{"prior_precision"});
    return out;
  }
  const double change = gradients_of(who) * problem.lipschitz_up();
  out.gradient_norm = least_gradient_share * change;
  while (!minimizer_found(problem, out.ridge, out.gradient_norm) &&
         out.gradient_norm < most_gradient_share * change) {
    out.gradient_norm *= 2;
  }
  if (!minimizer_found(problem, out.ridge, out.gradient_norm)) {
    out.refused = format_message(
        "the minimizer cannot be computed to within the gradient norm {:.2g} in double; give a "
        "larger {}",
        out.gradient_norm, Field{"prior_precision"});
  }
  return out;
}

std::vector<NamedNumber> minimizer_constants(const Problem& problem, const Neighbors& who,
                                             double ridge) {
  return {{"sensitivity",
           round_up(Wide(gradients_of(who)) * Wide(problem.lipschitz_up()) / Wide(ridge))},
          {"strong_convexity", ridge},
          {"smoothness", problem.smoothness_up(1, ridge)}};
}

double minimizer_reach_up(const Problem& problem, double ridge, double gradient_norm) {
  return round_up(Wide(problem.center_norm) + Wide(problem.minimizer_distance_up(1, ridge)) +
                  Wide(gradient_norm) / Wide(ridge));
}

void count_added_noise(NoiseLaw law, double noise, double reach, const Problem& problem,
                       std::uint64_t draws, Analysis& out) {
  if (law == NoiseLaw::pure) {
    const LaplaceNoise added{noise, reach, problem.features};
    out.release_grid = release_grid(added);
    out.noise = noise_cost_up(added, draws);
  } else {
    const AddedNoise added{noise, reach};
    out.release_grid = release_grid(added);
    out.noise = noise_cost_up(added, problem.features, draws);
  }
}

bool minimizer_found(const Problem& problem, double ridge, double gradient_norm) {
  return minimizer_in_reach(problem, 1, ridge, problem.smoothness_up(1, ridge), gradient_norm);
}

}  // namespace gibbsite
