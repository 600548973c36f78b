#pragma once
// Objective perturbation (docs/theory/objective-perturbation.md, docs/theory/objective-pure.md):
// noise in the slope of what is minimized.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// What a Gaussian draw claims: it is (epsilon, delta)-private for a delta that follows from the
/// settings. A pure draw has one epsilon, which follows from them too.
struct ProfileClaim {
  Calibration calibration = Calibration::exact;  ///< or redberg
  double epsilon = 0;                            ///< of one draw, where its delta is taken
  double deletion_epsilon = 0;                   ///< the part of it for a person's rows taken away
};
struct NoClaim {};

/// Public settings of theta + c, where to a gradient of norm g
///   theta = argmin sum_i l(theta; x_i, y_i) + (ridge/2) ||theta - theta0||^2 + b.theta,
/// b ~ N(0, noise^2 I), c ~ N(0, output_noise^2 I) or, pure, both of a density proportional to
/// exp(-rate ||.||).
template <NoiseLaw law>
struct PerturbedObjective : std::conditional_t<law == NoiseLaw::pure, NoClaim, ProfileClaim> {
  static constexpr bool is_pure = law == NoiseLaw::pure;
  static constexpr std::string_view name = is_pure ? "objective-pure" : "objective";
  static constexpr std::string_view theorem =
      is_pure ? "docs/objective-pure.md" : "docs/objective-perturbation.md";
  static constexpr SupportedOptions takes{.objective_calibration = !is_pure};

  double ridge = 0;          ///< Lambda
  double noise = 0;          ///< sigma of each coordinate of b; pure: gamma, per unit of its norm
  double gradient_norm = 0;  ///< g, at most, what b is off by as computed included
  double output_noise = 0;   ///< the same of c, which hides how well the minimizer was found

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    if constexpr (!is_pure) visit("calibration", self.calibration);
    visit("ridge", self.ridge, Legal::positive);
    visit(is_pure ? "noise_rate" : "noise_scale", self.noise, Legal::positive);
    visit("gradient_norm", self.gradient_norm, Legal::positive);
    visit(is_pure ? "output_rate" : "output_noise", self.output_noise, Legal::positive);
    if constexpr (!is_pure) {
      visit("epsilon", self.epsilon, Legal::positive);
      visit("deletion_epsilon", self.deletion_epsilon, Legal::positive);
    }
  }
};
using ObjectivePerturbation = PerturbedObjective<NoiseLaw::gaussian>;
using PureObjectivePerturbation = PerturbedObjective<NoiseLaw::pure>;

/// epsilon of one pure draw of the exact minimizer for a person of k = who.rows_per_person rows:
/// k (s gamma L + c*), s = 2 (replace-one) or 1 (add/remove), rounded up. c* is what one row's
/// curvature costs, at most log(1 + t), t = phi R^2/Lambda (docs/theory/objective-pure.md, Theorem
/// 1). Throws BadInput when a number is out of range.
double objective_epsilon_up(const Problem& problem, const Neighbors& who, double ridge,
                            double noise_rate);

/// The gradient norm to which the minimizer of the loss with noise as computed is searched: what
/// computing the noise leaves of g, rounded down; not above 0 where that is nothing. Throws
/// BadInput on settings out of range.
template <NoiseLaw law>
double objective_search_norm_down(const PerturbedObjective<law>& settings, const Problem& problem);

template <NoiseLaw law>
Candidate candidate(std::type_identity<PerturbedObjective<law>>, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options);
template <NoiseLaw law>
Analysis analyze(const PerturbedObjective<law>& settings, const Problem& problem,
                 const Neighbors& who, std::uint64_t draws);
template <NoiseLaw law>
std::string assumption_of(const PerturbedObjective<law>& settings);
template <NoiseLaw law>
std::string_view run_time_tells(const PerturbedObjective<law>& settings);
template <NoiseLaw law>
std::string basis_of(const PerturbedObjective<law>& settings);
template <NoiseLaw law>
std::string procedure_of(const PerturbedObjective<law>& settings, const Cost& cost);
/// That of Gaussian noise; of pure noise nothing is said.
std::optional<double> coefficient_noise_up(const ObjectivePerturbation& settings,
                                           const Problem& problem);

}  // namespace gibbsite
