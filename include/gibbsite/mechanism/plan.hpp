#pragma once
// From public constants and a budget to a schedule. Pure: it never sees data.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/privacy/budget.hpp"
#include "gibbsite/privacy/calibrate.hpp"

namespace gibbsite {

enum class CertificateKind { automatic, path, rejection, proximal, averaged, dalalyan };
std::string_view to_string(CertificateKind kind);                // "auto", "path", ...
CertificateKind certificate_from_string(std::string_view name);  // throws BadInput

/// What a user may fix; the rest is chosen from public numbers.
struct PlanOptions {
  CertificateKind certificate = CertificateKind::automatic;
  Calibration calibration = Calibration::gdp;
  /// gamma of a TV certificate; default: 1 % of delta's worth. Asking for one asks for a draw near
  /// the posterior, which `path` does not give.
  std::optional<double> tv{};
  std::optional<double> step_size{};   ///< h
  std::optional<double> iterations{};  ///< T
  /// proximal: the same public number of passes whatever the data.
  bool padded = false;
  /// Seconds that one pass over the data takes on this machine, for `seconds`; absent: not
  /// predicted.
  std::optional<double> seconds_per_pass{};
};

/// One certificate with its schedule: a row of `plan`'s table. Every number is public.
struct CertificatePlan {
  CertificateKind kind = CertificateKind::path;
  Calibration calibration = Calibration::gdp;
  double beta = 0;             ///< inverse temperature
  double prior_precision = 0;  ///< m, the strong convexity of U
  double step_size = 0;        ///< h; proximal: eta; rejection: 0, there is none
  double iterations = 0;    ///< T: whole, may exceed 2^64; averaged: the last step it may stop at
  double sensitivity = 0;   ///< S
  double smoothness = 0;    ///< M
  double map_error = 0;     ///< e
  double iterate_norm = 0;  ///< bound on ||theta_k - theta0||, for the release grid
  double start_gradient_norm = 0;  ///< TV: ||grad U|| <= this at the start's center
  double proposals = 0;            ///< proximal, rejection: B, evaluated in one pass
  double rounds = 0;               ///< and N, most passes with proposals in an iteration
  double residual = 0;             ///< and ||grad U(w) + (w - y)/eta|| <= this when they are made
  double gradients = 0;            ///< proximal, padded: gradient passes of an iteration; else 0
  double mu = 0;                   ///< GDP parameter of all draws together
  double tv_gap = 0;               ///< gamma of all draws together
  double noise_tv = 0;             ///< what the normals' finite range and grid add (noise_law.hpp)
  double release_epsilon = 0;      ///< what rounding to the release grid takes off epsilon
  /// The guarantee: delta >= H(epsilon - release_epsilon; mu) + (1+e^eps)(tv_gap + noise_tv).
  double epsilon = 0, delta = 0;
  double passes = 0;  ///< over the whole data, all draws; expected, where it depends on data
  double work = 0;  ///< the same in gradient passes of one chain: a batch costs more than its read
  double seconds = 0;     ///< predicted; NaN when there is no measurement
  bool feasible = false;  ///< can be run in this universe (T <= 1e12) and meets the budget
  std::string why;        ///< why it was chosen, or why it is out of reach and what is not
};

struct Plan {
  Problem constants;
  Budget budget;
  std::vector<CertificatePlan> certificates;  ///< path, rejection, proximal, averaged, dalalyan
  std::size_t chosen = 0;                     ///< index into certificates

  [[nodiscard]] const CertificatePlan& certificate() const { return certificates[chosen]; }
};

/// Plans every certificate and chooses one: the one asked for; `path` where only privacy is; the
/// cheapest TV certificate where a TV gap is. Throws BadInput on an illegal request, Infeasible
/// when the certificate asked for cannot give the guarantee (the message says what would).
Plan plan(const Problem& constants, const Budget& budget, const PlanOptions& options = {});

/// The chosen certificate; throws Infeasible with its `why` when it is out of reach.
const CertificatePlan& require_feasible(const Plan& plan);

/// The errors of a TV certificate as it is run, rounded up; `total` is 1 where double arithmetic
/// bounds none.
struct TvError {
  double map_error = 0;     ///< e
  double iterate_norm = 0;  ///< bound on ||theta_k - theta0||
  double total = 0;         ///< TV of one draw, the map error included
};
/// From the certificate's beta, m, M, its schedule and start_gradient_norm (docs/dalalyan.md,
/// docs/averaged.md, docs/proximal.md). Throws BadInput for `path`, which has no TV.
TvError tv_error(const Problem& constants, const CertificatePlan& certificate);

/// H(epsilon - release_epsilon; mu) + (1 + e^epsilon)(tv_gap + noise_tv) of a certificate, rounded
/// up: the delta that its epsilon holds with. `mu`: of all draws together.
double delta_up(const CertificatePlan& certificate, double mu);

/// The (T, m, a) that the default rule picks, h = a / (M + m) (docs/default-rule.md).
struct DefaultChoice {
  double iterations = 1;
  double prior_precision = 0;
  double relative_step = 1;
};
/// `prior_precision` and `iterations` are kept when the user fixed them.
DefaultChoice default_rule(const Problem& constants, const Budget& budget, double mu,
                           std::optional<double> prior_precision, std::optional<double> iterations);

}  // namespace gibbsite
