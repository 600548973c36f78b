#include "gibbsite/mechanism/output.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/offers.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

Offer output_offer(const Problem& problem, const Budget& budget, const Budget& left) {
  const Neighbors who = budget.neighbors();
  const double mu = gdp_split_down(gdp_mu_down(left.epsilon, left.delta), budget.draws);
  const ReleasedMinimizer found = released_minimizer(problem, who, mu);
  OutputPerturbation s{found.ridge, 0, found.gradient_norm};
  Offer out{.mechanism = s, .why = found.refused};
  if (!(s.ridge > 0)) return out;
  // Inverted in 50 digits and rounded up; then up by ulps until the formula itself agrees.
  s.noise_scale =
      round_up(minimizers_apart(problem.lipschitz_up(), who, s.ridge, s.gradient_norm) / Wide(mu));
  out.mechanism = s;
  if (!std::isnormal(s.noise_scale)) {
    out.why = noise_beyond_double();
    return out;
  }
  const auto mu_now = [&] {
    return output_mu_up(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise_scale);
  };
  while (!(mu_now() <= mu)) s.noise_scale = std::nextafter(s.noise_scale, INFINITY);
  out.mechanism = s;
  out.guarantee.mu = draws_mu_up(mu_now(), budget.draws);
  out.cost = minimizer_cost;
  if (!found.refused.empty()) return out;
  out.feasible = true;
  out.why = "one minimizer and one noise vector: few passes, as much noise in every direction";
  return out;
}

}  // namespace

double output_mu_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                    double noise_scale) {
  require_finite_positive(noise_scale, "noise_scale");
  return round_up(minimizers_apart(lipschitz, who, ridge, gradient_norm) / Wide(noise_scale));
}

Offer offer(std::type_identity<OutputPerturbation> /*kind*/, const Problem& problem,
            const Budget& budget, const Wishes& /*wishes*/) {
  return paid_for_noise(problem, budget,
                        [&](const Budget& left) { return output_offer(problem, budget, left); });
}

Analysis analyze(const OutputPerturbation& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  const double mu =
      output_mu_up(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise_scale);
  const AddedNoise noise{s.noise_scale, minimizer_reach_up(problem, s.ridge, s.gradient_norm)};
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, problem.features, draws);
  const bool found = minimizer_found(problem, s.ridge, s.gradient_norm);
  out.guarantee = {draws_mu_up(mu, draws), out.noise.epsilon, 0, found ? out.noise.tv : 1.0, who};
  return out;
}

std::string assumption_of(const OutputPerturbation& /*m*/) { return released_minimizer_assumption; }
std::string_view run_time_tells(const OutputPerturbation& /*m*/) { return searches_released; }
std::string basis_of(const OutputPerturbation& m) {
  return fmt::format("It rests on noise of deviation {:.3g} added to every coefficient",
                     m.noise_scale);
}
std::string procedure_of(const OutputPerturbation& m, const Cost& /*cost*/) {
  return fmt::format("the minimizer at ridge {:.4g} with noise of {:.3g}", m.ridge, m.noise_scale);
}
std::optional<double> coefficient_noise_up(const OutputPerturbation& m,
                                           const Problem& /*problem*/) {
  return m.noise_scale;
}

}  // namespace gibbsite
