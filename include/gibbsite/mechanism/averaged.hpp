#pragma once
// Langevin Monte Carlo stopped at a random step (docs/theory/averaged.md): a TV target in about
// kappa d/gamma^2 steps.

#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// A Langevin chain stopped at a random step, public settings.
struct Averaged {
  static constexpr std::string_view name = "averaged";
  static constexpr std::string_view theorem = "docs/averaged.md";
  static constexpr SupportedOptions takes{.tv = true, .posterior_calibration = true};
  Calibration calibration = Calibration::gdp;
  double beta = 0;                 ///< inverse temperature
  double prior_precision = 0;      ///< m, the strong convexity of U
  double start_gradient_norm = 0;  ///< ||grad U|| at the start is at most this
  double step_size = 0;            ///< h
  double iterations = 0;           ///< K: the last step it may stop at
  double tv_gap = 0;               ///< gamma of all draws, promised

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("calibration", self.calibration);
    visit("beta", self.beta, Legal::positive);
    visit("prior_precision", self.prior_precision, Legal::positive);
    visit("start_gradient_norm", self.start_gradient_norm, Legal::positive);
    visit("step_size", self.step_size, Legal::positive);
    visit("iterations", self.iterations, Legal::count);
    visit("tv_gap", self.tv_gap, Legal::nonnegative);
  }
};

Candidate candidate(std::type_identity<Averaged>, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options);
Analysis analyze(const Averaged& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const Averaged& settings);
std::string_view run_time_tells(const Averaged& settings);
std::string basis_of(const Averaged& settings);
std::string procedure_of(const Averaged& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const Averaged& settings, const Problem& problem);

struct AveragedSchedule {
  double step_size = 0;   ///< h
  double iterations = 0;  ///< K: the chain stops at tau <= K, P(tau = k) ~ (1 - mh)^-(k-1)
};

///   h = min(2 rho g^2 / (M d), 1/M),   rho = 0.97,
///   K = ceil(log(1 + m W0^2 / (2 (2 g^2 - M d h))) / -log(1 - m h)),   W0 = G/m + sqrt(d/m),
/// from a fixed start with ||grad U(theta_0)|| <= G (Durmus, Majewski, Miasojedow 2019;
/// docs/theory/averaged.md). h is rounded down, K up.
/// Needs gamma in (0, 1/2), 0 < m <= M.
AveragedSchedule averaged_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm = 0);

///   TV(theta_tau, pi) <= sqrt(KL/2),   KL = m W0^2 / (2 ((1 - mh)^-K - 1)) + M d h,
/// rounded up. h <= 1/M; throws BadInput otherwise.
double averaged_tv_up(double features, double strong_convexity, double smoothness, double step_size,
                      double iterations, double gradient_norm);

/// tau in {1, ..., K} for a uniform word w: the smallest one with P(tau <= k) >= (w + 1/2) 2^-64.
double averaged_stop(double strong_convexity, double step_size, double iterations,
                     unsigned long long word);

}  // namespace gibbsite
