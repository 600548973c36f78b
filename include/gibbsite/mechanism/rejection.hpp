#pragma once
// Exact rejection (docs/theory/proximal.md): one iteration of the proximal sampler with an
// infinite step.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"

namespace gibbsite {

/// A draw by rejection from the Gaussian around a minimizer, public settings.
struct Rejection {
  static constexpr std::string_view name = "rejection";
  static constexpr std::string_view theorem = "docs/proximal.md";
  static constexpr Takes takes{.tv = true, .posterior_calibration = true};
  Calibration calibration = Calibration::gdp;
  double beta = 0;                 ///< inverse temperature
  double prior_precision = 0;      ///< m, the strong convexity of U
  double start_gradient_norm = 0;  ///< ||grad U|| at the center of the proposals is at most this
  double proposals = 0;            ///< B, evaluated in one pass
  double rounds = 0;               ///< N: most passes
  double residual = 0;             ///< as in ProximalSchedule
  double tv_gap = 0;               ///< gamma of all draws, promised

  /// As a schedule of the proximal sampler: no y, one iteration.
  [[nodiscard]] ProximalSchedule schedule() const {
    return {.step_size = 0,
            .iterations = 1,
            .proposals = proposals,
            .rounds = rounds,
            .residual = residual,
            .gradients = 0};
  }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("calibration", self.calibration);
    visit("beta", self.beta, Legal::positive);
    visit("prior_precision", self.prior_precision, Legal::positive);
    visit("start_gradient_norm", self.start_gradient_norm, Legal::positive);
    visit("proposals", self.proposals, Legal::count);
    visit("rounds", self.rounds, Legal::count);
    visit("residual", self.residual, Legal::positive);
    visit("tv_gap", self.tv_gap, Legal::nonnegative);
  }
};

Offer offer(std::type_identity<Rejection>, const Problem& problem, const Budget& budget,
            const Wishes& wishes);
Analysis analyze(const Rejection& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const Rejection& settings);
std::string_view run_time_tells(const Rejection& settings);
std::string basis_of(const Rejection& settings);
std::string procedure_of(const Rejection& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const Rejection& settings, const Problem& problem);

}  // namespace gibbsite
