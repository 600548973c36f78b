#pragma once
// Output perturbation (docs/theory/output.md): noise added to the minimizer of a strongly convex loss.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Public settings of
///   theta* + N(0, sigma^2 I),
///   theta* = argmin sum_i l(theta; x_i, y_i) + (ridge/2) ||theta - theta0||^2.
struct OutputPerturbation {
  static constexpr std::string_view name = "output";
  static constexpr std::string_view theorem = "docs/output.md";
  static constexpr Takes takes{};

  double ridge = 0;          ///< Lambda, the strong convexity of what is minimized
  double noise_scale = 0;    ///< sigma, of each coordinate
  double gradient_norm = 0;  ///< g: the gradient that the minimizer is found to, at most

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("ridge", self.ridge, Legal::positive);
    visit("noise_scale", self.noise_scale, Legal::positive);
    visit("gradient_norm", self.gradient_norm, Legal::positive);
  }
};

/// mu = (k s L/Lambda + 2g/Lambda)/sigma of one draw, s = 2 (replace-one) or 1 (add/remove), k rows
/// a person, rounded up (docs/theory/output.md; Chaudhuri, Monteleoni, Sarwate 2011, Lemma 7, with the
/// profile of Balle & Wang 2018).
double output_mu_up(double lipschitz, const Neighbors& who, double ridge, double gradient_norm,
                    double noise_scale);

Offer offer(std::type_identity<OutputPerturbation>, const Problem& problem, const Budget& budget,
            const Wishes& wishes);
Analysis analyze(const OutputPerturbation& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const OutputPerturbation& settings);
std::string_view run_time_tells(const OutputPerturbation& settings);
std::string basis_of(const OutputPerturbation& settings);
std::string procedure_of(const OutputPerturbation& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const OutputPerturbation& settings,
                                           const Problem& problem);

}  // namespace gibbsite
