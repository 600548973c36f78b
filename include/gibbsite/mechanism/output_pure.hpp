#pragma once
// Output perturbation without a delta (docs/theory/output-pure.md): noise whose density falls by a
// constant factor a unit of length, added to the minimizer of a strongly convex loss.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// theta* + b, b of a density proportional to exp(-gamma ||b||), theta* as of `output`; public
/// settings.
struct PureOutputPerturbation {
  static constexpr std::string_view name = "output-pure";
  static constexpr std::string_view theorem = "docs/output-pure.md";
  static constexpr Takes takes{};

  double ridge = 0;          ///< Lambda, the strong convexity of what is minimized
  double noise_rate = 0;     ///< gamma, per unit of the coefficients' norm
  double gradient_norm = 0;  ///< g: the gradient that the minimizer is found to, at most

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("ridge", self.ridge, Legal::positive);
    visit("noise_rate", self.noise_rate, Legal::positive);
    visit("gradient_norm", self.gradient_norm, Legal::positive);
  }
};

/// epsilon = gamma (k s L + 2g)/Lambda of one draw, s = 2 (replace-one) or 1 (add/remove), k rows a
/// person, rounded up (Chaudhuri, Monteleoni, Sarwate 2011, Theorem 6).
double output_epsilon_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                         double noise_rate);

Offer offer(std::type_identity<PureOutputPerturbation>, const Problem& problem,
            const Budget& budget, const Wishes& wishes);
Analysis analyze(const PureOutputPerturbation& settings, const Problem& problem,
                 const Neighbors& who, std::uint64_t draws);
std::string assumption_of(const PureOutputPerturbation& settings);
std::string_view run_time_tells(const PureOutputPerturbation& settings);
std::string basis_of(const PureOutputPerturbation& settings);
std::string procedure_of(const PureOutputPerturbation& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const PureOutputPerturbation& settings,
                                           const Problem& problem);

}  // namespace gibbsite
