#include "gibbsite/mechanism/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/planning.hpp"

namespace gibbsite {
namespace {

constexpr double unlimited_steps = 0x1p53;          // beyond it a double does not count steps
constexpr double longest_run_seconds = 30 * 86400;  // a month: longer is out of reach
constexpr double longest_run_passes = 1e9;          // when no speed is known
constexpr double stationary_tolerance = 1e-3;       // c^T when the stationary law is what is wanted

double budget_lipschitz_up(const Problem& constants, const Budget& budget) {
  return round_up(Wide(constants.lipschitz_up()) * Wide(budget.rows_per_person));
}

}  // namespace

double draws_mu_up(double mu, const Budget& budget) {
  return budget.draws == 1 ? mu : round_up(Wide(mu) * sqrt(Wide(budget.draws)));
}

double gibbs_beta_down(const Problem& constants, const Budget& budget, Calibration calibration,
                       double delta, double prior_precision) {
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

void count_passes(CertificatePlan& out, double passes, double work, const Budget& budget,
                  const PlanOptions& options) {
  const auto draws = static_cast<double>(budget.draws);
  out.passes = passes * draws;
  out.work = work * draws;
  if (options.seconds_per_pass) out.seconds = out.work * *options.seconds_per_pass;
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

double start_gradient_up(const Problem& constants, double beta) {
  return round_up(Wide(beta) * Wide(constants.rows) * Wide(constants.lipschitz_up()));
}

double delta_up(const CertificatePlan& c, double mu) {
  const double most = round_down(Wide(c.epsilon) - Wide(c.release_epsilon));
  const Wide gap = Wide(c.tv_gap) + Wide(c.noise_tv);
  if (!(most >= 0) || !(gap < Wide(0.5))) return 1;
  // A guarantee at a smaller epsilon holds at this one: gaps are multiplied by e^epsilon, so the
  // best is where Phi(-mu/2 - epsilon/mu) = gap.
  double epsilon = most;
  if (gap > 0 && mu > 0) {
    const double z =
        -boost::math::quantile(boost::math::normal{}, std::max(static_cast<double>(gap), 1e-300));
    epsilon = std::clamp(mu * (z - mu / 2), 0.0, most);
  }
  return round_up(Wide(gdp_delta_up(epsilon, mu)) +
                  (1 + exp(Wide(epsilon) + Wide(c.release_epsilon))) * gap);
}

namespace {

// (epsilon, delta) for the Gaussian part when gaps of `tv` are to be paid for: at most the budget's
// epsilon, less where e^epsilon makes them dear.
Budget after_noise(Budget budget, const NoiseCost& paid) {
  const double most = round_down(Wide(budget.epsilon) - Wide(paid.epsilon));
  const auto left_at = [&](double epsilon) {
    return round_down(Wide(budget.delta) -
                      (1 + exp(Wide(epsilon) + Wide(paid.epsilon))) * Wide(paid.tv));
  };
  const auto worth = [&](double epsilon) {
    const double delta = left_at(epsilon);
    return epsilon > 0 && delta > 0 ? gdp_mu_down(epsilon, delta) : 0.0;
  };
  budget.epsilon = most;
  if (most > 0 && !(left_at(most) > 0.99 * budget.delta)) {
    double lo = 0, hi = most;
    for (int i = 0; i < 20; ++i) {  // golden section: mu has one maximum
      const double a = lo + 0.382 * (hi - lo), b = lo + 0.618 * (hi - lo);
      worth(a) >= worth(b) ? hi = b : lo = a;
    }
    if (worth((lo + hi) / 2) > worth(most)) budget.epsilon = (lo + hi) / 2;
  }
  budget.delta = budget.epsilon > 0 ? left_at(budget.epsilon) : 0.0;
  return budget;
}

}  // namespace

CertificatePlan paid_for_noise(const Problem& constants, const Budget& budget,
                               const std::function<CertificatePlan(const Budget&)>& make) {
  NoiseCost paid;
  CertificatePlan out;
  // The cost hardly depends on what is left; a step of the grid may double it.
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Budget left = after_noise(budget, paid);
    if (!(left.epsilon > 0) || !(left.delta > 0)) {
      out.feasible = false;
      out.why = fmt::format(
          "normals computed in double are off by {:.2g} in total variation, which costs "
          "(1+e^epsilon) times that of delta, and {:.2g} of epsilon, over {} features and {:.3g} "
          "steps: more than the budget has; ask for a larger delta, fewer draws or fewer "
          "--iterations",
          paid.tv, paid.epsilon, constants.features, out.iterations);
      return out;
    }
    out = make(left);
    out.epsilon = budget.epsilon;
    out.delta = budget.delta;
    if (!out.feasible) return out;  // for a reason of its own
    const NoiseCost cost = noise_cost_up(constants, out, budget.draws);
    out.noise_tv = cost.tv;
    out.release_epsilon = cost.epsilon;
    if (cost.tv <= paid.tv && cost.epsilon <= paid.epsilon) return out;
    paid = {round_up(Wide(1.01) * cost.tv), round_up(Wide(1.01) * cost.epsilon)};
  }
  out.feasible = false;
  out.why = "the cost of computed noise does not settle; ask for another --iterations";
  return out;
}

namespace {

// `budget` is what noise leaves of `asked`, by which the rule goes.
PathCertificate path_schedule(const Problem& constants, const Budget& asked, const Budget& budget,
                              const PlanOptions& options) {
  const auto& m = constants.prior_precision;
  if (options.calibration == Calibration::gdp) {
    const auto share = [](const Budget& of) {
      return gdp_split_down(gdp_mu_down(of.epsilon, of.delta), of.draws);
    };
    const double mu = share(budget);
    const DefaultChoice choice =
        default_rule(constants, asked, share(asked), m, options.iterations);
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

CertificatePlan plan_path_with(const Problem& constants, const Budget& asked, const Budget& budget,
                               const PlanOptions& options) {
  CertificatePlan out = blank(CertificateKind::path, budget, options);
  const PathCertificate found = path_schedule(constants, asked, budget, options);
  out.beta = found.beta;
  out.prior_precision = found.prior_precision;
  out.step_size = found.step_size;
  out.iterations = found.iterations;
  out.sensitivity = found.sensitivity;
  out.smoothness = found.smoothness;
  out.map_error = found.map_error;
  out.iterate_norm = found.iterate_norm;
  out.mu = draws_mu_up(found.mu, budget);
  count_passes(out, out.iterations, out.iterations, budget, options);
  out.feasible = true;
  if (!(gdp_delta_up(budget.epsilon, out.mu) <= budget.delta)) {  // of what noise leaves
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

CertificatePlan plan_path(const Problem& constants, const Budget& budget,
                          const PlanOptions& options) {
  return paid_for_noise(constants, budget, [&](const Budget& left) {
    return plan_path_with(constants, budget, left, options);
  });
}

void validate(const Problem& constants, const Budget& budget, const PlanOptions& options) {
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
  const bool tv_only = options.certificate != CertificateKind::path &&
                       (options.tv || options.certificate != CertificateKind::automatic);
  if (tv_only && (options.step_size || options.iterations)) {
    throw BadInput(
        "--step-size, --iterations: a total variation certificate fixes both itself; leave them "
        "out, or use --certificate path");
  }
  if (options.padded && options.certificate != CertificateKind::proximal) {
    throw BadInput("--padded: belongs to --certificate proximal; give both or neither");
  }
  if (options.calibration != Calibration::gdp && constants.prior_precision == 0.0) {
    throw BadInput(
        fmt::format("--calibration {}: needs a prior precision above 0; give --prior-precision",
                    to_string(options.calibration)));
  }
}

constexpr std::array<std::pair<CertificateKind, std::string_view>, 6> kind_names{
    {{CertificateKind::automatic, "auto"},
     {CertificateKind::path, "path"},
     {CertificateKind::rejection, "rejection"},
     {CertificateKind::proximal, "proximal"},
     {CertificateKind::averaged, "averaged"},
     {CertificateKind::dalalyan, "dalalyan"}}};

// The cheapest TV certificate within reach; path where there is none, or where no gap was asked
// for: it spends all of delta on beta, and its running time says nothing of the data.
std::size_t automatic_choice(const std::vector<CertificatePlan>& all, bool tv_asked) {
  std::size_t best = tv_asked ? 1 : 0;
  for (std::size_t i = 1; tv_asked && i < all.size(); ++i) {
    const bool better = all[i].feasible && (!all[best].feasible || all[i].work < all[best].work);
    if (better) best = i;
  }
  return best;
}

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
  throw BadInput(fmt::format(
      "--certificate: '{}' is unknown; give auto, path, rejection, proximal, averaged or dalalyan",
      name));
}

Plan plan(const Problem& constants, const Budget& budget, const PlanOptions& options) {
  validate(constants, budget, options);
  Plan out{constants, budget, {}, 0};
  out.certificates.push_back(plan_path(constants, budget, options));
  for (const auto kind : {CertificateKind::rejection, CertificateKind::proximal,
                          CertificateKind::averaged, CertificateKind::dalalyan}) {
    out.certificates.push_back(plan_tv(kind, constants, budget, options));
  }
  auto& all = out.certificates;
  if (options.certificate == CertificateKind::automatic) {
    out.chosen = automatic_choice(all, options.tv.has_value());
    if (options.tv && all[out.chosen].feasible) {
      all[out.chosen].why += "; the cheapest within the gap";
    }
  } else {
    while (all[out.chosen].kind != options.certificate) ++out.chosen;
  }
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
