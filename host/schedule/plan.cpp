#include "gibbsite/schedule/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/schedule/dalalyan.hpp"
#include "gibbsite/schedule/map_error.hpp"
#include "gibbsite/schedule/path.hpp"

namespace gibbsite {
namespace {

constexpr double unlimited_steps = 0x1p53;              // beyond it a double does not count steps
constexpr double longest_run_seconds = 30 * 86400;      // a month: longer is out of reach
constexpr double longest_run_passes = 1e9;              // when no speed is known
constexpr double default_tv_share = 0.01;               // of delta, reserved for gamma (THEORY 3)
constexpr std::array schedule_shares{0.999, 0.9, 0.5};  // of gamma; the rest is for map error
constexpr double stationary_tolerance = 1e-3;  // c^T when the stationary law is what is wanted

double budget_lipschitz_up(const ProblemConstants& constants, const Budget& budget) {
  return round_up(Wide(constants.lipschitz_up()) * Wide(budget.rows_per_person));
}

double draws_mu_up(double mu, const Budget& budget) {
  return budget.draws == 1 ? mu : round_up(Wide(mu) * sqrt(Wide(budget.draws)));
}

// beta of a calibration for exact Gibbs, `budget.draws` draws composing to (epsilon, delta): mu is
// proportional to beta, so sqrt(draws) comes off beta.
double gibbs_beta_down(const ProblemConstants& constants, const Budget& budget,
                       Calibration calibration, double delta, double prior_precision) {
  const double beta = calibrate_beta_down(calibration, budget.epsilon, delta,
                                          budget_lipschitz_up(constants, budget), prior_precision,
                                          budget.adjacency);
  return budget.draws == 1 ? beta : round_down(Wide(beta) / sqrt(Wide(budget.draws)));
}

CertificatePlan blank(CertificateKind kind, const Budget& budget, const PlanOptions& options) {
  CertificatePlan out;
  out.kind = kind;
  out.calibration = options.calibration;
  out.epsilon = budget.epsilon;
  out.delta = budget.delta;
  out.seconds = std::numeric_limits<double>::quiet_NaN();
  return out;
}

void count_passes(CertificatePlan& out, const Budget& budget, const PlanOptions& options) {
  out.passes = out.iterations * static_cast<double>(budget.draws);
  if (options.seconds_per_pass) out.seconds = out.passes * *options.seconds_per_pass;
}

bool in_reach(const CertificatePlan& out) {
  if (out.iterations > unlimited_steps) return false;
  return std::isnan(out.seconds) ? out.passes <= longest_run_passes
                                 : out.seconds <= longest_run_seconds;
}

std::string out_of_reach(const CertificatePlan& out) {
  const std::string passes = fmt::format("needs {:.2g} passes over the data", out.passes);
  if (std::isnan(out.seconds)) return passes;
  return fmt::format("{}: {:.2g} years on this machine", passes, out.seconds / (365.25 * 86400));
}

PathCertificate path_schedule(const ProblemConstants& constants, const Budget& budget,
                              const PlanOptions& options) {
  const auto& m = constants.prior_precision;
  if (options.calibration == Calibration::gdp) {
    const double mu = gdp_split_down(gdp_mu_down(budget.epsilon, budget.delta), budget.draws);
    const DefaultChoice choice = default_rule(constants, budget, mu, m, options.iterations);
    return options.step_size
               ? path_calibrate_fixed(constants, budget, mu, choice.prior_precision,
                                      *options.step_size, choice.iterations)
               : path_calibrate_relative(constants, budget, mu, choice.prior_precision,
                                         choice.relative_step, choice.iterations);
  }
  // The seeds' calibrations fix beta for the stationary law; run until its start is forgotten.
  const double prior = m.value_or(1.0);
  const double beta = gibbs_beta_down(constants, budget, options.calibration, budget.delta, prior);
  const double M = constants.smoothness_up(beta, prior);
  const double h = options.step_size.value_or(1 / (M + prior));
  const double T = options.iterations.value_or(
      std::ceil(std::log(stationary_tolerance) / std::log1p(-std::min(h * prior, 2 - h * M))));
  return path_certificate(constants, budget, beta, prior, h, std::max(T, 1.0));
}

CertificatePlan plan_path(const ProblemConstants& constants, const Budget& budget,
                          const PlanOptions& options) {
  CertificatePlan out = blank(CertificateKind::path, budget, options);
  const PathCertificate found = path_schedule(constants, budget, options);
  out.beta = found.beta;
  out.prior_precision = found.prior_precision;
  out.step_size = found.step_size;
  out.iterations = found.iterations;
  out.sensitivity = found.sensitivity;
  out.smoothness = found.smoothness;
  out.map_error = found.map_error;
  out.iterate_norm = found.iterate_norm;
  out.mu = draws_mu_up(found.mu, budget);
  count_passes(out, budget, options);
  out.feasible = true;
  if (!(gdp_delta_up(budget.epsilon, out.mu) <= budget.delta)) {
    out.feasible = false;
    out.why =
        "this step size makes the chain less private than its stationary law; leave out "
        "--step-size, or lower it below 2/(M+m)";
  } else if (!in_reach(out)) {
    out.feasible = false;
    out.why = out_of_reach(out) + "; ask for fewer with --iterations";
  } else {
    out.why =
        "private at every iteration count, converged or not; says nothing of the distance "
        "to the Gibbs posterior";
  }
  return out;
}

CertificatePlan plan_dalalyan(const ProblemConstants& constants, const Budget& budget,
                              const PlanOptions& options) {
  CertificatePlan out = blank(CertificateKind::dalalyan, budget, options);
  const double m = constants.prior_precision.value_or(1.0);
  out.prior_precision = m;
  if (!(m > 0)) {
    out.why = "needs a strongly convex potential; give --prior-precision above 0";
    return out;
  }
  // (epsilon, delta(epsilon; mu) + (1 + e^epsilon) gamma): what gamma costs comes off delta first.
  const Wide price = 1 + exp(Wide(budget.epsilon));
  out.tv_gap =
      options.tv ? *options.tv : round_down(Wide(default_tv_share) * Wide(budget.delta) / price);
  const double delta = round_down(Wide(budget.delta) - price * Wide(out.tv_gap));
  if (!(delta > 0)) {
    out.why = fmt::format(
        "a total variation gap of {:.3g} costs (1+e^epsilon) gamma = {:.3g}, more than delta; ask "
        "for --tv below {:.3g}",
        out.tv_gap, static_cast<double>(price) * out.tv_gap,
        budget.delta / static_cast<double>(price));
    return out;
  }
  out.beta = gibbs_beta_down(constants, budget, options.calibration, delta, m);
  out.sensitivity = constants.sensitivity_up(out.beta, budget.adjacency, budget.rows_per_person);
  out.smoothness = constants.smoothness_up(out.beta, m);
  out.mu = draws_mu_up(round_up(Wide(out.sensitivity) / sqrt(Wide(m))), budget);
  // A public tolerance for the minimiser that the chain starts from; it adds 1e-6 to the exponent.
  out.start_gradient_norm = 1e-3 * std::sqrt(m);

  const double tv = out.tv_gap / static_cast<double>(budget.draws);
  DalalyanError error;
  for (const double share : schedule_shares) {
    const DalalyanSchedule schedule =
        dalalyan_schedule(static_cast<double>(constants.features), m, out.smoothness, share * tv,
                          out.start_gradient_norm);
    out.step_size = schedule.step_size;
    out.iterations = schedule.iterations;
    error = dalalyan_error(constants, out);
    if (error.total <= tv) break;
  }
  count_passes(out, budget, options);
  out.map_error = error.map_error;
  out.iterate_norm = error.iterate_norm;
  if (!(error.total <= tv)) {
    out.why = out_of_reach(out) + ", more than double arithmetic can keep exact enough";
  } else if (!in_reach(out)) {
    out.why = out_of_reach(out);
  } else {
    out.feasible = true;
    out.why = "a draw within the total variation gap of the Gibbs posterior";
    return out;
  }
  out.why += "; the path certificate is in reach at the same budget";
  return out;
}

void validate(const ProblemConstants& constants, const Budget& budget, const PlanOptions& options) {
  constants.validate();
  budget.validate();
  if (options.tv) require_between(*options.tv, 0, 0.5, "--tv");
  if (options.step_size) require_finite_positive(*options.step_size, "--step-size");
  if (options.iterations &&
      !(*options.iterations >= 1 && *options.iterations == std::floor(*options.iterations) &&
        *options.iterations <= unlimited_steps)) {
    throw BadInput(fmt::format(
        "--iterations: must be a whole number from 1 to 2^53, got {}; give one, or leave it out",
        *options.iterations));
  }
  if (options.certificate == CertificateKind::dalalyan &&
      (options.step_size || options.iterations)) {
    throw BadInput(
        "--certificate dalalyan: fixes the step size and the iterations itself; leave out "
        "--step-size and --iterations, or use --certificate path");
  }
  if (options.calibration != Calibration::gdp && constants.prior_precision == 0.0) {
    throw BadInput(
        fmt::format("--calibration {}: needs a prior precision above 0; give --prior-precision",
                    to_string(options.calibration)));
  }
}

constexpr std::array<std::pair<CertificateKind, std::string_view>, 3> kind_names{
    {{CertificateKind::automatic, "auto"},
     {CertificateKind::path, "path"},
     {CertificateKind::dalalyan, "dalalyan"}}};

}  // namespace

std::string_view to_string(CertificateKind kind) {
  for (const auto& [value, name] : kind_names) {
    if (value == kind) return name;
  }
  return "?";
}

CertificateKind certificate_from_string(std::string_view name) {
  for (const auto& [value, known] : kind_names) {
    if (known == name) return value;
  }
  if (name == "averaged" || name == "proximal") {
    throw Infeasible(fmt::format(
        "--certificate {}: is not in this version; use path, or dalalyan for a total variation gap",
        name));
  }
  throw BadInput(fmt::format("--certificate: '{}' is unknown; give auto, path or dalalyan", name));
}

DalalyanError dalalyan_error(const ProblemConstants& constants,
                             const CertificatePlan& certificate) {
  const Wide d = constants.features, m = certificate.prior_precision;
  const Wide M = certificate.smoothness, h = certificate.step_size, K = certificate.iterations;
  const Wide G = certificate.start_gradient_norm;
  // theta_hat = theta0 - (beta grad - g)/m, plus N(0, I/M) of bounded bits.
  const double start = round_up(
      (Wide(certificate.beta) * Wide(constants.rows) * Wide(constants.lipschitz_up()) + G) / m +
      sqrt(Wide(d / M)) * Wide(max_abs_normal));
  const MapBounds bounds = map_bounds_up(constants, certificate.beta, certificate.prior_precision,
                                         certificate.step_size, certificate.iterations, start);
  DalalyanError out{bounds.map_error, bounds.iterate_norm, 1.0};
  if (!std::isfinite(bounds.map_error)) return out;
  const Wide mixing =
      exp(Wide(d / 4 * log(Wide(M / m)) + G * G * (1 / m + 1 / M) / 4 - K * h * m / 2)) / 2;
  const Wide steps = M * sqrt(Wide(d * K * h * h)) / 2;
  // K Gaussian steps whose means differ by at most e: KL <= K e^2 / (4h), then Pinsker.
  const Wide rounding = Wide(bounds.map_error) * sqrt(Wide(K / (8 * h)));
  out.total = round_up(mixing + steps + rounding);
  return out;
}

Plan plan(const ProblemConstants& constants, const Budget& budget, const PlanOptions& options) {
  validate(constants, budget, options);
  Plan out{constants, budget, {}, 0};
  out.certificates.push_back(plan_path(constants, budget, options));
  out.certificates.push_back(plan_dalalyan(constants, budget, options));
  out.chosen = options.certificate == CertificateKind::dalalyan ? 1 : 0;
  return out;
}

const CertificatePlan& require_feasible(const Plan& plan) {
  const CertificatePlan& certificate = plan.certificate();
  if (!certificate.feasible) {
    throw Infeasible(
        fmt::format("--certificate {}: {}", to_string(certificate.kind), certificate.why));
  }
  return certificate;
}

}  // namespace gibbsite
