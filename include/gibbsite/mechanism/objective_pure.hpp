#pragma once
// Objective perturbation without a delta (docs/theory/objective-pure.md): noise whose density falls by a
// constant factor a unit of length, in the slope of what is minimized.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// theta + c, theta the minimizer of `objective` to a gradient of norm g with b of a density
/// proportional to exp(-gamma ||b||), c of one proportional to exp(-gamma_out ||c||); public
/// settings.
struct PureObjectivePerturbation {
  static constexpr std::string_view name = "objective-pure";
  static constexpr std::string_view theorem = "docs/objective-pure.md";
  static constexpr Takes takes{};

  double ridge = 0;          ///< Lambda
  double noise_rate = 0;     ///< gamma, per unit of the norm of b
  double gradient_norm = 0;  ///< g, at most, what b is off by as computed included
  double output_rate = 0;    ///< gamma_out: hides how well the minimizer was found

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("ridge", self.ridge, Legal::positive);
    visit("noise_rate", self.noise_rate, Legal::positive);
    visit("gradient_norm", self.gradient_norm, Legal::positive);
    visit("output_rate", self.output_rate, Legal::positive);
  }
};

/// epsilon of one draw of the exact minimizer for a person of k = who.rows_per_person rows:
/// k (s gamma L + c*), s = 2 (replace-one) or 1 (add/remove), rounded up. c* is what one row's
/// curvature costs, at most log(1 + t), t = phi R^2/Lambda (docs/theory/objective-pure.md, Theorem 1).
/// Throws BadInput when a number is out of range.
double objective_epsilon_up(const Problem& problem, const Neighbors& who, double ridge,
                            double noise_rate);

/// The gradient norm to which the minimizer of the loss with noise as computed is searched: what
/// computing the noise leaves of g, rounded down; not above 0 where that is nothing. Throws
/// BadInput on settings out of range.
double objective_search_norm_down(const PureObjectivePerturbation& settings,
                                  const Problem& problem);

Offer offer(std::type_identity<PureObjectivePerturbation>, const Problem& problem,
            const Budget& budget, const Wishes& wishes);
Analysis analyze(const PureObjectivePerturbation& settings, const Problem& problem,
                 const Neighbors& who, std::uint64_t draws);
std::string assumption_of(const PureObjectivePerturbation& settings);
std::string_view run_time_tells(const PureObjectivePerturbation& settings);
std::string basis_of(const PureObjectivePerturbation& settings);
std::string procedure_of(const PureObjectivePerturbation& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const PureObjectivePerturbation& settings,
                                           const Problem& problem);

}  // namespace gibbsite
