#include "gibbsite/mechanism/output_pure.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "mechanism/offers.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// All draws': epsilons add, and what rounding costs.
double pure_up(double epsilon, std::uint64_t draws, double rounding) {
  return round_up(Wide(draws) * Wide(epsilon) + Wide(rounding));
}

Offer pure_offer(const Problem& problem, const Budget& budget, const Budget& left) {
  const Neighbors who = budget.neighbors();
  const Wide each = Wide(left.epsilon) / Wide(budget.draws);
  // The rule for Lambda asks for a deviation: sqrt(d + 1)/gamma a coordinate.
  const ReleasedMinimizer found =
      released_minimizer(problem, who, round_down(each / sqrt(Wide(problem.features) + 1)));
  PureOutputPerturbation s{found.ridge, 0, found.gradient_norm};
  Offer out{.mechanism = s, .why = found.refused};
  if (!(s.ridge > 0)) return out;
  s.noise_rate =
      round_down(each / minimizers_apart(problem.lipschitz_up(), who, s.ridge, s.gradient_norm));
  out.mechanism = s;
  if (!std::isnormal(s.noise_rate)) {
    out.why = noise_beyond_double();
    return out;
  }
  const auto epsilon_now = [&] {
    const double one =
        output_epsilon_up(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise_rate);
    return pure_up(one, budget.draws, 0);
  };
  while (!(epsilon_now() <= left.epsilon)) s.noise_rate = std::nextafter(s.noise_rate, 0.0);
  out.mechanism = s;
  out.guarantee.pure = epsilon_now();
  out.cost = minimizer_cost;
  if (!found.refused.empty()) return out;
  out.feasible = true;
  out.why = "one minimizer and noise that epsilon alone pays for, whatever delta: for few features";
  return out;
}

}  // namespace

double output_epsilon_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                         double noise_rate) {
  require_finite_positive(noise_rate, "noise_rate");
  return round_up(minimizers_apart(lipschitz, who, ridge, gradient_norm) * Wide(noise_rate));
}

Offer offer(std::type_identity<PureOutputPerturbation> /*kind*/, const Problem& problem,
            const Budget& budget, const Wishes& /*wishes*/) {
  return paid_for_noise(problem, budget,
                        [&](const Budget& left) { return pure_offer(problem, budget, left); });
}

Analysis analyze(const PureOutputPerturbation& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  const double epsilon =
      output_epsilon_up(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise_rate);
  const LaplaceNoise noise{s.noise_rate, minimizer_reach_up(problem, s.ridge, s.gradient_norm),
                           problem.features};
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, draws);
  const bool found = minimizer_found(problem, s.ridge, s.gradient_norm);
  out.guarantee = {0, pure_up(epsilon, draws, out.noise.epsilon), 0, found ? out.noise.tv : 1.0,
                   who};
  return out;
}

std::string assumption_of(const PureOutputPerturbation& /*m*/) {
  return released_minimizer_assumption;
}
std::string_view run_time_tells(const PureOutputPerturbation& /*m*/) { return searches_released; }
std::string basis_of(const PureOutputPerturbation& m) {
  return fmt::format(
      "It rests on noise added to the coefficients, of a density that falls as exp(-{:.3g} length)",
      m.noise_rate);
}
std::string procedure_of(const PureOutputPerturbation& m, const Cost& /*cost*/) {
  return fmt::format("the minimizer at ridge {:.4g} with noise of rate {:.3g}", m.ridge,
                     m.noise_rate);
}
std::optional<double> coefficient_noise_up(const PureOutputPerturbation& /*m*/,
                                           const Problem& /*problem*/) {
  return {};
}

}  // namespace gibbsite
