#include "gibbsite/mechanism/output.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// mu of one draw; pure: its epsilon.
template <NoiseLaw law>
double price_of_one_up(const PerturbedMinimizer<law>& s, const Problem& problem,
                       const Neighbors& who) {
  constexpr auto* price = law == NoiseLaw::pure ? output_epsilon_up : output_mu_up;
  return price(problem.lipschitz_up(), who, s.ridge, s.gradient_norm, s.noise);
}

// The guarantee of all draws: epsilons add, with what rounding costs, and mu grows as a root.
template <NoiseLaw law>
Guarantee guarantee_up(double of_one, std::uint64_t draws, double rounding) {
  if (law == NoiseLaw::gaussian) return {.mu = draws_mu_up(of_one, draws), .epsilon0 = rounding};
  return {.epsilon0 = round_up(Wide(draws) * Wide(of_one) + Wide(rounding))};
}

template <NoiseLaw law>
Candidate output_candidate(const Problem& problem, const Budget& budget, const Budget& left) {
  constexpr bool pure = law == NoiseLaw::pure;
  const Neighbors who = budget.neighbors();
  const Wide each = Wide(left.epsilon) / Wide(budget.draws);
  const double mu =
      pure ? 0.0 : gdp_split_down(gdp_mu_down(left.epsilon, left.delta), budget.draws);
  // The rule for Lambda asks for a deviation: of pure noise sqrt(d + 1)/gamma a coordinate.
  const ReleasedMinimizer found = released_minimizer(
      problem, who, pure ? round_down(each / sqrt(Wide(problem.features) + 1)) : mu);
  PerturbedMinimizer<law> s{found.ridge, 0, found.gradient_norm};
  Candidate out{.mechanism = s, .why = found.refused};
  if (!(s.ridge > 0)) return out;
  // Inverted in 50 digits and rounded to the safe side; then on by ulps until the formula agrees.
  const Wide apart = minimizers_apart(problem.lipschitz_up(), who, s.ridge, s.gradient_norm);
  s.noise = pure ? round_down(each / apart) : round_up(apart / Wide(mu));
  out.mechanism = s;
  if (!std::isnormal(s.noise)) {
    out.why = noise_beyond_double();
    return out;
  }
  const auto fits = [&] {
    const double one = price_of_one_up(s, problem, who);
    return pure ? guarantee_up<law>(one, budget.draws, 0).epsilon0 <= left.epsilon : one <= mu;
  };
  while (!fits()) s.noise = std::nextafter(s.noise, pure ? 0.0 : INFINITY);
  out.mechanism = s;
  out.guarantee = guarantee_up<law>(price_of_one_up(s, problem, who), budget.draws, 0);
  out.cost = minimizer_cost;
  if (!found.refused.empty()) return out;
  out.feasible = true;
  out.why = pure ? "one minimizer and noise that epsilon alone pays for, whatever delta: for few "
                   "features"
                 : "one minimizer and one noise vector: few passes, as much noise in every "
                   "direction";
  return out;
}

}  // namespace

double output_mu_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                    double noise_scale) {
  require_finite_positive(noise_scale, "noise_scale");
  return round_up(minimizers_apart(lipschitz, who, ridge, gradient_norm) / Wide(noise_scale));
}

double output_epsilon_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                         double noise_rate) {
  require_finite_positive(noise_rate, "noise_rate");
  return round_up(minimizers_apart(lipschitz, who, ridge, gradient_norm) * Wide(noise_rate));
}

template <NoiseLaw law>
Candidate candidate(std::type_identity<PerturbedMinimizer<law>> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& /*wishes*/) {
  return paid_for_noise(problem, budget, [&](const Budget& left) {
    return output_candidate<law>(problem, budget, left);
  });
}

template <NoiseLaw law>
Analysis analyze(const PerturbedMinimizer<law>& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  const double of_one = price_of_one_up(s, problem, who);
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  count_added_noise(law, s.noise, minimizer_reach_up(problem, s.ridge, s.gradient_norm), problem,
                    draws, out);
  out.guarantee = guarantee_up<law>(of_one, draws, out.noise.epsilon);
  out.guarantee.tv = minimizer_found(problem, s.ridge, s.gradient_norm) ? out.noise.tv : 1.0;
  out.guarantee.who = who;
  return out;
}

template <NoiseLaw law>
std::string assumption_of(const PerturbedMinimizer<law>& /*m*/) {
  return released_minimizer_assumption;
}
template <NoiseLaw law>
std::string_view run_time_tells(const PerturbedMinimizer<law>& /*m*/) {
  return searches_released;
}
template <NoiseLaw law>
std::string basis_of(const PerturbedMinimizer<law>& m) {
  return law == NoiseLaw::pure
             ? fmt::format(
                   "It rests on noise added to the coefficients, of a density that falls "
                   "as exp(-{:.3g} length)",
                   m.noise)
             : fmt::format("It rests on noise of deviation {:.3g} added to every coefficient",
                           m.noise);
}
template <NoiseLaw law>
std::string procedure_of(const PerturbedMinimizer<law>& m, const Cost& /*cost*/) {
  return fmt::format("the minimizer at ridge {:.4g} with noise of {}{:.3g}", m.ridge,
                     law == NoiseLaw::pure ? "rate " : "", m.noise);
}

template Candidate candidate(std::type_identity<OutputPerturbation>, const Problem&, const Budget&,
                             const PlanOptions&);
template Candidate candidate(std::type_identity<PureOutputPerturbation>, const Problem&,
                             const Budget&, const PlanOptions&);
template Analysis analyze(const OutputPerturbation&, const Problem&, const Neighbors&,
                          std::uint64_t);
template Analysis analyze(const PureOutputPerturbation&, const Problem&, const Neighbors&,
                          std::uint64_t);
template std::string assumption_of(const OutputPerturbation&);
template std::string assumption_of(const PureOutputPerturbation&);
template std::string_view run_time_tells(const OutputPerturbation&);
template std::string_view run_time_tells(const PureOutputPerturbation&);
template std::string basis_of(const OutputPerturbation&);
template std::string basis_of(const PureOutputPerturbation&);
template std::string procedure_of(const OutputPerturbation&, const Cost&);
template std::string procedure_of(const PureOutputPerturbation&, const Cost&);

}  // namespace gibbsite
