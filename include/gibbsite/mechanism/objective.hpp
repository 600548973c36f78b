#pragma once
// Objective perturbation (docs/theory/objective-perturbation.md): noise in the slope of what is minimized.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// theta + N(0, output_noise^2 I), where to a gradient of norm g
///   theta = argmin sum_i l(theta; x_i, y_i) + (ridge/2) ||theta - theta0||^2 + b.theta,
/// b ~ N(0, sigma^2 I); public settings. A draw of it is (epsilon, delta)-private at `epsilon` for
/// a delta that follows from the others.
struct ObjectivePerturbation {
  static constexpr std::string_view name = "objective";
  static constexpr std::string_view theorem = "docs/objective-perturbation.md";
  static constexpr Takes takes{.objective_calibration = true};

  Calibration calibration = Calibration::exact;  ///< or redberg
  double ridge = 0;                              ///< Lambda
  double noise_scale = 0;                        ///< sigma, of each coordinate of b
  double gradient_norm = 0;     ///< g, at most, what b is off by as computed included
  double output_noise = 0;      ///< of each coordinate, hides how well the minimizer was found
  double epsilon = 0;           ///< of one draw, where its delta is taken
  double deletion_epsilon = 0;  ///< the part of it for a person's rows taken away

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("calibration", self.calibration);
    visit("ridge", self.ridge, Legal::positive);
    visit("noise_scale", self.noise_scale, Legal::positive);
    visit("gradient_norm", self.gradient_norm, Legal::positive);
    visit("output_noise", self.output_noise, Legal::positive);
    visit("epsilon", self.epsilon, Legal::positive);
    visit("deletion_epsilon", self.deletion_epsilon, Legal::positive);
  }
};

/// The gradient norm to which the minimizer of the loss with noise as computed is searched: what
/// computing the noise leaves of g, rounded down; not above 0 where that is nothing. Throws
/// BadInput on settings out of range.
double objective_search_norm_down(const ObjectivePerturbation& settings, const Problem& problem);

Offer offer(std::type_identity<ObjectivePerturbation>, const Problem& problem, const Budget& budget,
            const Wishes& wishes);
Analysis analyze(const ObjectivePerturbation& settings, const Problem& problem,
                 const Neighbors& who, std::uint64_t draws);
std::string assumption_of(const ObjectivePerturbation& settings);
std::string_view run_time_tells(const ObjectivePerturbation& settings);
std::string basis_of(const ObjectivePerturbation& settings);
std::string procedure_of(const ObjectivePerturbation& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const ObjectivePerturbation& settings,
                                           const Problem& problem);

}  // namespace gibbsite
