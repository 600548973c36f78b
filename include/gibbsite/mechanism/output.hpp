#pragma once
// Output perturbation (docs/theory/output.md, docs/theory/output-pure.md): noise added to the
// minimizer of a strongly convex loss.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Public settings of theta* + b,
///   theta* = argmin sum_i l(theta; x_i, y_i) + (ridge/2) ||theta - theta0||^2,
/// b ~ N(0, noise^2 I) or, pure, of a density proportional to exp(-noise ||b||).
template <NoiseLaw law>
struct PerturbedMinimizer {
  static constexpr bool is_pure = law == NoiseLaw::pure;
  static constexpr std::string_view name = is_pure ? "output-pure" : "output";
  static constexpr std::string_view theorem = is_pure ? "docs/output-pure.md" : "docs/output.md";
  static constexpr SupportedOptions takes{};

  double ridge = 0;          ///< Lambda, the strong convexity of what is minimized
  double noise = 0;          ///< sigma of each coordinate; pure: gamma, per unit of the norm
  double gradient_norm = 0;  ///< g: the gradient that the minimizer is found to, at most

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("ridge", self.ridge, Legal::positive);
    visit(is_pure ? "noise_rate" : "noise_scale", self.noise, Legal::positive);
    visit("gradient_norm", self.gradient_norm, Legal::positive);
  }
};
using OutputPerturbation = PerturbedMinimizer<NoiseLaw::gaussian>;
using PureOutputPerturbation = PerturbedMinimizer<NoiseLaw::pure>;

/// mu = (k s L/Lambda + 2g/Lambda)/sigma of one draw, s = 2 (replace-one) or 1 (add/remove), k rows
/// a person, rounded up (docs/theory/output.md; Chaudhuri, Monteleoni, Sarwate 2011, Lemma 7, with
/// the profile of Balle & Wang 2018).
double output_mu_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                    double noise_scale);
/// epsilon = gamma (k s L + 2g)/Lambda of one draw, s and k as above, rounded up (Chaudhuri,
/// Monteleoni, Sarwate 2011, Theorem 6).
double output_epsilon_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                         double noise_rate);

template <NoiseLaw law>
Candidate candidate(std::type_identity<PerturbedMinimizer<law>>, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options);
template <NoiseLaw law>
Analysis analyze(const PerturbedMinimizer<law>& settings, const Problem& problem,
                 const Neighbors& who, std::uint64_t draws);
template <NoiseLaw law>
std::string assumption_of(const PerturbedMinimizer<law>& settings);
template <NoiseLaw law>
std::string_view run_time_tells(const PerturbedMinimizer<law>& settings);
template <NoiseLaw law>
std::string basis_of(const PerturbedMinimizer<law>& settings);
template <NoiseLaw law>
std::string procedure_of(const PerturbedMinimizer<law>& settings, const Cost& cost);
/// That of the Gaussian; of a pure one nothing is said.
inline std::optional<double> coefficient_noise_up(const OutputPerturbation& settings,
                                                  const Problem& /*problem*/) {
  return settings.noise;
}

}  // namespace gibbsite
