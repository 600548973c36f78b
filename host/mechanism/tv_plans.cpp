// Certificates that bound the total variation between a draw and the posterior.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/averaged.hpp"
#include "gibbsite/mechanism/dalalyan.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "gibbsite/mechanism/proximal.hpp"
#include "mechanism/minimiser_reach.hpp"
#include "mechanism/planning.hpp"

namespace gibbsite {
namespace {

constexpr double default_tv_share = 0.01;               // of delta, reserved for gamma (THEORY 3)
constexpr std::array schedule_shares{0.999, 0.9, 0.5};  // of gamma; the rest is for rounding

ProximalSchedule schedule_of(const CertificatePlan& c) {
  return {c.step_size, c.iterations, c.proposals, c.rounds, c.residual, c.gradients};
}

// Langevin chains: KL of K Gaussian steps whose means differ by at most e, then Pinsker.
TvError langevin_error(const Problem& constants, const CertificatePlan& c) {
  const Wide d = constants.features, m = c.prior_precision, M = c.smoothness, h = c.step_size;
  const Wide K = c.iterations, G = c.start_gradient_norm;
  const bool averaged = c.kind == CertificateKind::averaged;
  // theta_hat = theta0 - (beta grad - g)/m; dalalyan adds N(0, I/M) of bounded bits.
  const Wide spread = averaged ? Wide(0) : Wide(sqrt(Wide(d / M)) * Wide(max_abs_normal));
  const double start = round_up((Wide(start_gradient_up(constants, c.beta)) + G) / m + spread);
  const MapBounds bounds =
      map_bounds_up(constants, c.beta, c.prior_precision, c.step_size, c.iterations, start);
  TvError out{bounds.map_error, bounds.iterate_norm, 1.0};
  if (!std::isfinite(bounds.map_error)) return out;
  const Wide rounding = Wide(bounds.map_error) * sqrt(Wide(K / (8 * h)));
  if (averaged) {
    // A 64-bit word chooses the step to stop at.
    out.total = round_up(
        Wide(averaged_tv_up(static_cast<double>(constants.features), c.prior_precision,
                            c.smoothness, c.step_size, c.iterations, c.start_gradient_norm)) +
        rounding + K * ldexp(Wide(1), -64));
    return out;
  }
  const Wide mixing =
      exp(Wide(d / 4 * log(Wide(M / m)) + G * G * (1 / m + 1 / M) / 4 - K * h * m / 2)) / 2;
  // The bound on the steps is proven where h <= 1/M and K is no handful (docs/dalalyan.md).
  if (!(h * M <= 1) || !(K >= 1 + M * G * G / (m * m * d))) return out;
  const Wide steps = M * sqrt(Wide(d * K * h * h)) / 2;
  out.total = round_up(mixing + steps + rounding);
  return out;
}

// Fills the schedule for that TV of one draw, started where ||grad U|| <= G; returns passes and
// work of it.
std::array<double, 2> lay_out(CertificatePlan& c, const Problem& constants, double G, double tv,
                              bool padded) {
  const auto d = static_cast<double>(constants.features);
  const double m = c.prior_precision, M = c.smoothness;
  if (c.kind == CertificateKind::dalalyan) {
    const DalalyanSchedule s = dalalyan_schedule(d, m, M, tv, G);
    c.step_size = s.step_size;
    c.iterations = s.iterations;
    return {c.iterations, c.iterations};
  }
  if (c.kind == CertificateKind::averaged) {
    const AveragedSchedule s = averaged_schedule(d, m, M, tv, G);
    c.step_size = s.step_size;
    c.iterations = s.iterations;
    return {c.iterations, c.iterations};
  }
  const double per_read = proposals_per_read(d);
  const auto ends = [&](const ProximalSchedule& tried) {
    return proximal_search_ends(constants, c.beta, m, M, tried, G);
  };
  const ProximalSchedule s = c.kind == CertificateKind::rejection
                                 ? rejection_schedule(d, m, M, tv, G, per_read)
                                 : proximal_schedule(d, m, M, tv, G, padded, per_read, ends);
  c.step_size = s.step_size;
  c.iterations = s.iterations;
  c.proposals = s.proposals;
  c.rounds = s.rounds;
  c.residual = s.residual;
  c.gradients = s.gradients;
  const ProximalPasses passes =
      proximal_passes(s, proposal_bounds(d, m, M, s.step_size, s.residual).acceptance_down);
  return {passes.gradients + passes.proposals,
          passes.gradients + passes.proposals * batch_cost(s.proposals, per_read)};
}

std::string_view merit(CertificateKind kind, bool padded) {
  switch (kind) {
    case CertificateKind::rejection:
      return "an exact draw but for the gap, the chance that no proposal is accepted; the number "
             "of passes depends on the data, so keep the time private";
    case CertificateKind::proximal:
      return padded ? "a draw within the gap of the Gibbs posterior, at a public number of passes"
                    : "a draw within the gap of the Gibbs posterior; the number of passes depends "
                      "on the data, so keep the time private or ask for it with --padded";
    default:
      return "a draw within the total variation gap of the Gibbs posterior";
  }
}

}  // namespace

namespace {

// `budget` is what noise leaves of `asked`.
CertificatePlan plan_tv_with(CertificateKind kind, const Problem& constants, const Budget& asked,
                             const Budget& budget, const PlanOptions& options) {
  CertificatePlan out = blank(kind, budget, options);
  const double m = constants.prior_precision.value_or(1.0);
  out.prior_precision = m;
  if (!(m > 0)) {
    out.why = "needs a strongly convex potential; give --prior-precision above 0";
    return out;
  }
  // (epsilon, delta(epsilon; mu) + (1 + e^epsilon) gamma): what gamma costs comes off delta first.
  const Wide price = 1 + exp(Wide(asked.epsilon));
  out.tv_gap =
      options.tv ? *options.tv : round_down(Wide(default_tv_share) * Wide(asked.delta) / price);
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
  const bool padded = options.padded && kind == CertificateKind::proximal;
  // A public tolerance for the minimiser that a run starts from: it adds 1e-6 to an exponent. A
  // padded run has no minimiser and starts at theta0.
  if (!padded) out.start_gradient_norm = 1e-3 * std::sqrt(m);
  const double G = padded ? start_gradient_up(constants, out.beta) : out.start_gradient_norm;

  const double tv = out.tv_gap / static_cast<double>(budget.draws);
  TvError error;
  for (const double share : schedule_shares) {
    const auto [passes, work] = lay_out(out, constants, G, share * tv, padded);
    count_passes(out, passes, work, budget, options);
    error = tv_error(constants, out);
    if (error.total <= tv || !std::isfinite(passes)) break;
  }
  out.map_error = error.map_error;
  out.iterate_norm = error.iterate_norm;
  if (!std::isfinite(out.passes)) {
    out.why = "accepts less than one proposal in 1e300";
  } else if (!in_reach(out)) {
    out.why = out_of_reach(out);
  } else if (!(error.total <= tv) && out.proposals > 0 && error.total < 0.5) {
    // Half of the gap went to the schedule; rounding hardly depends on the rest.
    const double rounding = error.total - schedule_shares.back() * tv;
    out.why = fmt::format(
        "rounding in double arithmetic takes {:.2g} of the gap {:.2g}; ask for --tv {:.2g}",
        rounding * static_cast<double>(budget.draws), out.tv_gap,
        2.2 * rounding * static_cast<double>(budget.draws));
  } else if (!(error.total <= tv)) {
    out.why = out_of_reach(out) + ", more than double arithmetic can keep exact enough";
  } else {
    out.feasible = true;
    out.why = merit(kind, padded);
    return out;
  }
  out.why += "; the path certificate is in reach at the same budget";
  return out;
}

}  // namespace

CertificatePlan plan_tv(CertificateKind kind, const Problem& constants, const Budget& budget,
                        const PlanOptions& options) {
  return paid_for_noise(constants, budget, [&](const Budget& left) {
    return plan_tv_with(kind, constants, budget, left, options);
  });
}

TvError tv_error(const Problem& constants, const CertificatePlan& c) {
  if (c.kind != CertificateKind::path && !(c.gradients > 0) &&
      !minimiser_in_reach(constants, c.beta, c.prior_precision, c.smoothness,
                          c.start_gradient_norm)) {
    return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 1.0};
  }
  switch (c.kind) {
    case CertificateKind::dalalyan:
    case CertificateKind::averaged:
      return langevin_error(constants, c);
    case CertificateKind::proximal:
    case CertificateKind::rejection: {
      const double G =
          c.gradients > 0 ? start_gradient_up(constants, c.beta) : c.start_gradient_norm;
      const ProximalError error =
          proximal_error(constants, c.beta, c.prior_precision, c.smoothness, schedule_of(c), G);
      return {error.map_error, error.iterate_norm, error.total};
    }
    default:
      throw BadInput("certificate: has no total variation gap; give a TV certificate");
  }
}

}  // namespace gibbsite
