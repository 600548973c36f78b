#pragma once
// Dalalyan's schedule, corrected (docs/theory/dalalyan.md): step size and iteration count for a TV
// target.

#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// The last iterate of a Langevin chain that started near the minimizer, public settings.
struct Dalalyan {
  static constexpr std::string_view name = "dalalyan";
  static constexpr std::string_view theorem = "docs/dalalyan.md";
  static constexpr SupportedOptions takes{.tv = true, .posterior_calibration = true};
  Calibration calibration = Calibration::gdp;
  double beta = 0;                 ///< inverse temperature
  double prior_precision = 0;      ///< m, the strong convexity of U
  double start_gradient_norm = 0;  ///< ||grad U|| at the start is at most this
  double step_size = 0;            ///< h
  double iterations = 0;           ///< K: whole, may exceed 2^64
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

Candidate candidate(std::type_identity<Dalalyan>, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options);
Analysis analyze(const Dalalyan& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const Dalalyan& settings);
std::string_view run_time_tells(const Dalalyan& settings);
std::string basis_of(const Dalalyan& settings);
std::string procedure_of(const Dalalyan& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const Dalalyan& settings, const Problem& problem);

struct DalalyanSchedule {
  double step_size = 0;   ///< h
  double iterations = 0;  ///< K, a whole number; may exceed 2^64, so a double (rounded up)
  double tv_mixing = 0;   ///< gamma_1: the chain has not forgotten its start
  double tv_steps = 0;    ///< gamma_2: discretization
};

///   h = 2 m g^2 / (d M^2 A),   K = ceil(d M^2 A^2 / (4 m^2 g^2)),
///   A = 4 log(1/g) + d log(M/m) + G^2 (1/m + 1/M),
/// started from N(theta_hat, I/M) with ||grad U(theta_hat)|| <= G.
/// Both errors are gamma/2 by this choice (docs/theory/dalalyan.md). Needs gamma in (0, 1/2), 0 < m
/// <= M.
DalalyanSchedule dalalyan_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm = 0);

}  // namespace gibbsite
