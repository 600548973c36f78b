#pragma once
// Path certificate (docs/theory/path.md): the privacy of the last iterate of Langevin Monte Carlo,
// for every T.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/map_error.hpp"

namespace gibbsite {

/// The last iterate of T steps of Langevin Monte Carlo of length h from theta0, public settings.
struct Path {
  static constexpr std::string_view name = "path";
  static constexpr std::string_view theorem = "docs/path.md";
  static constexpr SupportedOptions takes{.step_size = true,
                                          .iterations = true,
                                          .ball = true,
                                          .tv = true,
                                          .posterior_calibration = true,
                                          .loss_of_chains = true,
                                          .people = true};
  Calibration calibration = Calibration::gdp;
  double beta = 0;             ///< inverse temperature
  double prior_precision = 0;  ///< m, the strong convexity of U
  double step_size = 0;        ///< h
  double iterations = 0;       ///< T: whole, may exceed 2^64
  double ball = 0;  ///< B: theta_1 ... theta_(T-1) and what is released are in ||theta|| <=
                    ///< B; 0: in no ball

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("calibration", self.calibration);
    visit("beta", self.beta, Legal::positive);
    visit("prior_precision", self.prior_precision, Legal::nonnegative);
    visit("step_size", self.step_size, Legal::positive);
    visit("iterations", self.iterations, Legal::count);
    visit("ball", self.ball, Legal::positive_or_absent);
  }
};

Candidate candidate(std::type_identity<Path>, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options);
Analysis analyze(const Path& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const Path& settings);
std::string_view run_time_tells(const Path& settings);
std::string basis_of(const Path& settings);
std::string procedure_of(const Path& settings, const Cost& cost);
std::optional<double> coefficient_noise_up(const Path& settings, const Problem& problem);

/// mu_T = S sqrt(h/2) sqrt((1+c)/(1-c)) sqrt((1-c^T)/(1+c^T)), c = max(|1-hm|, |1-hM|) (Bok, Su,
/// Altschuler 2024, shifted interpolation, applied to LMC), rounded up; m = 0 is the limit S
/// sqrt(hT/2). Needs 0 < h <= 2/M, m <= M, T >= 1; throws BadInput otherwise.
double path_mu_up(double sensitivity, double strong_convexity, double smoothness, double step_size,
                  double iterations);

/// A path schedule at one (beta, m, h, T) with everything that the certificate needs.
struct PathCertificate : LangevinSteps {
  double sensitivity = 0;   ///< S, without the map error
  double smoothness = 0;    ///< M
  double map_error = 0;     ///< e
  double iterate_norm = 0;  ///< bound on ||theta_k - theta0||
  double mu = 0;            ///< of one draw, map error included
};

/// Evaluates the certificate: S + 2e/h in place of S. With a ball (docs/theory/ball.md) S is what
/// holds inside it, and e includes what the projection is off by. Throws BadInput when h > 2/M, the
/// ball is none that `require_ball` takes, or theta0 is outside of it.
PathCertificate path_certificate(const Problem& constants, const Neighbors& who,
                                 const LangevinSteps& steps);

/// Largest beta (rounded down) with mu_T(beta) <= mu for h = a / (M(beta) + m): `relative_step` a
/// in (0,2). `steps` has m, T and the ball; its beta and h are not read.
PathCertificate path_calibrate_relative(const Problem& constants, const Neighbors& who, double mu,
                                        const LangevinSteps& steps, double relative_step);
/// Largest beta for the step size h of `steps`, whose beta is not read; also capped so that
/// h <= 2/(M + m).
PathCertificate path_calibrate_fixed(const Problem& constants, const Neighbors& who, double mu,
                                     const LangevinSteps& steps);

}  // namespace gibbsite
