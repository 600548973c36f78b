#pragma once
// Proximal sampler and exact rejection (docs/theory/proximal.md): a TV target gamma at a cost of
// log(1/gamma).
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"

namespace gibbsite {

/// The last iterate of the proximal sampler, public settings. `exact`: of an infinite step, so one
/// iteration that proposes from the Gaussian around a minimizer (`rejection`).
template <bool exact>
struct ProximalDraw {
  static constexpr std::string_view name = exact ? "rejection" : "proximal";
  static constexpr std::string_view theorem = "docs/proximal.md";
  static constexpr SupportedOptions takes{
      .padded = !exact, .tv = true, .posterior_calibration = true};
  Calibration calibration = Calibration::gdp;
  double beta = 0;                 ///< inverse temperature
  double prior_precision = 0;      ///< m, the strong convexity of U
  double start_gradient_norm = 0;  ///< ||grad U|| at the start is at most this; padded: 0
  /// The schedule of one draw; of an exact one without y.
  ProximalSchedule schedule{.proposals = exact ? 0.0 : 1.0, .rounds = exact ? 0.0 : 1.0};
  double tv_gap = 0;  ///< gamma of all draws, promised

  /// Starts at theta0, which is public, and takes the same number of passes whatever the data.
  [[nodiscard]] bool padded() const { return schedule.gradients > 0; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("calibration", self.calibration);
    visit("beta", self.beta, Legal::positive);
    visit("prior_precision", self.prior_precision, Legal::positive);
    visit("start_gradient_norm", self.start_gradient_norm,
          exact ? Legal::positive : Legal::nonnegative);
    if constexpr (!exact) {
      visit("step_size", self.schedule.step_size, Legal::positive);
      visit("iterations", self.schedule.iterations, Legal::count);
    }
    visit("proposals", self.schedule.proposals, Legal::count);
    visit("rounds", self.schedule.rounds, Legal::count);
    visit("residual", self.schedule.residual, Legal::positive);
    if constexpr (!exact) visit("gradients", self.schedule.gradients, Legal::count_or_none);
    visit("tv_gap", self.tv_gap, Legal::nonnegative);
  }
};
using Proximal = ProximalDraw<false>;
using Rejection = ProximalDraw<true>;

template <bool exact>
Candidate candidate(std::type_identity<ProximalDraw<exact>>, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options);
template <bool exact>
Analysis analyze(const ProximalDraw<exact>& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
template <bool exact>
std::string assumption_of(const ProximalDraw<exact>& settings);
template <bool exact>
std::string_view run_time_tells(const ProximalDraw<exact>& settings);
template <bool exact>
std::string basis_of(const ProximalDraw<exact>& settings);
template <bool exact>
std::string procedure_of(const ProximalDraw<exact>& settings, const Cost& cost);
template <bool exact>
std::optional<double> coefficient_noise_up(const ProximalDraw<exact>& settings,
                                           const Problem& problem);

}  // namespace gibbsite
