#include "gibbsite/schedule/proximal.hpp"

#include <algorithm>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/schedule/map_error.hpp"
#include "schedule/rounding.hpp"
#include "schedule/tv_target.hpp"

namespace gibbsite {
namespace {

using boost::math::log1p;

constexpr double cap_share = 1e-3, tail_share = 1e-3;  // of the target
constexpr double planned_gradients = 2;  // at the predicted proximal point, and once more
constexpr double most_proposals = 64;
// exp(-0.01): what an inexact proximal point costs in acceptance.
constexpr double offset_exponent = 0.01;
// Of a batch, in proposals: its X is read once, and arithmetic overtakes reading at about 8.
constexpr double proposals_per_read = 8;

Wide variance_of(double m, double eta) {
  return eta == 0 ? Wide(1) / Wide(m) : 1 / (Wide(m) + 1 / Wide(eta));
}

// ||theta - theta*|| <= sqrt((G/m)^2 + d/m) + sqrt(2 log(k/tail)/m) in all of k iterations, but for
// probability `tail`; G/m more from the start's center (docs/proximal.md, "How far out").
Wide radius(const Wide& d, const Wide& m, const Wide& G, const Wide& k, const Wide& tail) {
  const Wide start = G / m;
  return start + sqrt(Wide(start * start + d / m)) + sqrt(Wide(2 * log(Wide(k / tail)) / m));
}

// Rounds whose failure costs `tv` in all k iterations.
double rounds_up(double acceptance, double proposals, double iterations, double tv) {
  const double all = std::log(tv / iterations), one = proposals * std::log1p(-acceptance);
  return std::max(1.0, std::ceil(all / one));
}

ProximalSchedule laid_out(double d, double m, double M, double tv, double G, bool padded,
                          double eta, double kl_start) {
  ProximalSchedule out;
  out.step_size = eta;
  const double trace = M - m;
  const double s = eta == 0 ? 1 / m : 1 / (m + 1 / eta);
  out.residual = eta == 0 ? G : std::sqrt(2 * offset_exponent / trace) / s;
  if (eta != 0) {
    const double log_ratio = std::log(kl_start / (2 * tv * tv));
    out.iterations = std::max(1.0, std::ceil(log_ratio / (2 * std::log1p(eta * m))));
    if (padded) {
      const double far = static_cast<double>(radius(d, m, G, out.iterations, tail_share * tv));
      const double y = far + std::sqrt(eta * d) * max_abs_normal;
      out.gradients = proximal_gradients_up(m, M, eta, G + m * y, out.residual);
    }
  }
  return out;
}

// The cheapest batch for an acceptance probability.
void choose_batch(ProximalSchedule& out, double acceptance, double tv) {
  double least = std::numeric_limits<double>::infinity();
  ProximalSchedule tried = out;
  for (tried.proposals = 1; tried.proposals <= most_proposals; tried.proposals *= 2) {
    tried.rounds = rounds_up(acceptance, tried.proposals, out.iterations, cap_share * tv);
    const double cost = proximal_passes(tried, acceptance).proposals * batch_cost(tried.proposals);
    if (cost < least) {
      least = cost;
      out = tried;
    }
  }
}

double cost_of(const ProximalSchedule& schedule, double acceptance) {
  const ProximalPasses passes = proximal_passes(schedule, acceptance);
  return passes.gradients + passes.proposals * batch_cost(schedule.proposals);
}

}  // namespace

double proximal_kl_start_up(double features, double strong_convexity, double smoothness,
                            double gradient_norm) {
  const Wide d = features, m = strong_convexity, M = smoothness, G = gradient_norm;
  return round_up(d / 2 * log(Wide(M / m)) + G * G / (2 * m));
}

double proximal_iterations_up(double kl_start, double step_size, double strong_convexity,
                              double tv) {
  const Wide g = tv, growth = log1p(Wide(Wide(step_size) * Wide(strong_convexity)));
  return std::max(1.0, ceil_up(log(Wide(Wide(kl_start) / (2 * g * g))) / (2 * growth)));
}

double proximal_tv_up(double kl_start, double step_size, double strong_convexity,
                      double iterations) {
  const Wide growth = log1p(Wide(Wide(step_size) * Wide(strong_convexity)));
  return round_up(sqrt(Wide(kl_start) / 2) * exp(Wide(-Wide(iterations) * growth)));
}

double rejection_acceptance_down(double features, double trace, double variance, double offset) {
  const Wide d = features, A = trace, s = variance, b = offset;
  return round_down(exp(Wide(-d / 2 * log1p(Wide(s * A / d)) - A * b * b / 2)));
}

double expected_rounds(double acceptance, double proposals) {
  return -1 / std::expm1(proposals * std::log1p(-acceptance));
}

ProposalBounds proposal_bounds(double features, double strong_convexity, double smoothness,
                               double step_size, double residual) {
  const Wide s = variance_of(strong_convexity, step_size);
  ProposalBounds out;
  out.variance = round_up(s);
  out.offset = round_up(s * Wide(residual));
  // M is rounded up, so M - m bounds tr(beta phi X^T X) <= beta n phi R^2.
  const double trace = round_up(Wide(smoothness) - Wide(strong_convexity));
  out.acceptance_down = rejection_acceptance_down(features, trace, out.variance, out.offset);
  return out;
}

double proximal_gradients_up(double strong_convexity, double smoothness, double step_size,
                             double start, double residual) {
  const Wide m = strong_convexity, M = smoothness, pull = 1 / Wide(step_size);
  const Wide contraction = (M - m) / (M + m + 2 * pull);
  const Wide reduction = Wide(start) * (M + pull) / (m + pull) / Wide(residual);
  return 1 + std::max(0.0, ceil_up(log(reduction) / -log(contraction)));
}

ProximalPasses proximal_passes(const ProximalSchedule& schedule, double acceptance) {
  const double k = schedule.iterations;
  if (schedule.gradients > 0) return {k * schedule.gradients, k * schedule.rounds};
  // Exact rejection has its gradient from the minimiser.
  return {schedule.step_size == 0 ? 1 : k * planned_gradients,
          k * expected_rounds(acceptance, schedule.proposals)};
}

double batch_cost(double proposals) { return 1 + (proposals - 1) / proposals_per_read; }

ProximalSchedule proximal_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm, bool padded) {
  require_tv_target(features, strong_convexity, smoothness, tv, gradient_norm);
  const double mixing = (1 - cap_share - tail_share) * tv;
  const double kl_start =
      proximal_kl_start_up(features, strong_convexity, smoothness, gradient_norm);
  ProximalSchedule best;
  double least = std::numeric_limits<double>::infinity();
  // eta A = 0.25 2^(j/4), up to where nothing is accepted.
  for (int j = 0; j < 64; ++j) {
    const double eta = 0.25 * std::exp2(j / 4.0) / (smoothness - strong_convexity);
    ProximalSchedule tried = laid_out(features, strong_convexity, smoothness, mixing, gradient_norm,
                                      padded, eta, kl_start);
    const double acceptance =
        proposal_bounds(features, strong_convexity, smoothness, eta, tried.residual)
            .acceptance_down;
    if (!(acceptance > 1e-6)) break;
    choose_batch(tried, acceptance, tv);
    if (const double cost = cost_of(tried, acceptance); cost < least) {
      least = cost;
      best = tried;
    }
  }
  best.iterations = proximal_iterations_up(kl_start, best.step_size, strong_convexity, mixing);
  return best;
}

ProximalSchedule rejection_schedule(double features, double strong_convexity, double smoothness,
                                    double tv, double gradient_norm) {
  require_tv_target(features, strong_convexity, smoothness, tv, gradient_norm);
  ProximalSchedule out =
      laid_out(features, strong_convexity, smoothness, tv, gradient_norm, false, 0, 0);
  const double acceptance =
      proposal_bounds(features, strong_convexity, smoothness, 0, gradient_norm).acceptance_down;
  choose_batch(out, acceptance, tv / cap_share);  // the cap is all there is to pay for
  return out;
}

ProximalError proximal_error(const ProblemConstants& constants, double beta,
                             double strong_convexity, double smoothness,
                             const ProximalSchedule& schedule, double gradient_norm) {
  const auto features = static_cast<double>(constants.features);
  const Wide d = features, n = constants.rows, m = strong_convexity, b = beta;
  const Wide G = gradient_norm, k = schedule.iterations, eta = schedule.step_size;
  const Wide row = constants.full_row_norm_up(), L = constants.lipschitz_up();
  const bool exact = schedule.step_size == 0;
  const Wide kicks = sqrt(d) * Wide(max_abs_normal);  // ||xi|| of bounded bits
  const ProposalBounds proposal = proposal_bounds(features, strong_convexity, smoothness,
                                                  schedule.step_size, schedule.residual);
  const Wide s = proposal.variance, offset = proposal.offset;

  ProximalError out;
  out.total = 1;
  out.map_error = out.iterate_norm = std::numeric_limits<double>::infinity();
  if (!exact) {
    const double kl_start =
        proximal_kl_start_up(features, strong_convexity, smoothness, gradient_norm);
    out.tv_mixing =
        proximal_tv_up(kl_start, schedule.step_size, strong_convexity, schedule.iterations);
    // A tail as large as what is left to pay for it: a tenth of a percent of the mixing error.
    out.tv_tail = round_up(Wide(out.tv_mixing) * Wide(tail_share));
    if (!(out.tv_tail > 0)) return out;
  }

  // Where iterates are, from the start's center: with y as far again as its noise reaches.
  const Wide x = exact ? Wide(0) : radius(d, m, G, k, out.tv_tail);
  const Wide y = exact ? Wide(0) : Wide(x + sqrt(eta) * kicks);
  const Wide mean = exact ? Wide(2 * G / m) : Wide(y + 2 * G / m + 2 * offset);
  const Wide reach = offset + sqrt(s) * kicks;  // ||x - w|| of any proposal
  out.iterate_norm = round_up(mean + sqrt(s) * kicks);

  // A gradient of the loss sum, as in docs/map-error.md, steps 2 and 3.
  const Wide theta = Wide(constants.center_norm) + b * n * L / m + mean + reach;
  const Wide depth = Wide(accumulation_depth(constants.rows)) + 1;
  const Wide loss_gradient =
      n * row *
      ((gamma_k(depth) + gamma_k(residual_roundings)) * Wide(constants.max_abs_residual) +
       Wide(constants.curvature) * gamma_k(d + 2) * row * theta);
  const Wide tilt = b * loss_gradient + gamma_k(4) * 2 * (b * n * L + G);
  if (!(tilt * 4 <= Wide(schedule.residual)) || !(gamma_k(d) < Wide(0.01))) return out;
  if (schedule.gradients > 0 &&
      !(schedule.gradients >= proximal_gradients_up(strong_convexity, smoothness,
                                                    schedule.step_size, round_up(G + m * y),
                                                    schedule.residual))) {
    return out;
  }
  const Wide acceptance = Wide(proposal.acceptance_down) * exp(Wide(-tilt * reach));
  if (!(acceptance > 0)) return out;

  // All N B proposals of some iteration are turned down.
  const Wide trials = Wide(schedule.rounds) * Wide(schedule.proposals);
  out.tv_cap = round_up(k * exp(Wide(trials * log1p(Wide(-acceptance)))));

  // Means of Gaussian moves that are off by e: KL <= e^2/(2 variance) each, Pinsker, twice for the
  // tail; a uniform word decides within 2^-64.
  const Wide e_y = exact ? Wide(0) : Wide(gamma_k(4) * (x + sqrt(eta) * kicks));
  const Wide e_x = gamma_k(8) * (2 * y + 2 * mean + sqrt(s) * kicks);
  out.map_error = round_up(e_y + e_x);
  const Wide kl = exact ? Wide(e_x * e_x / s) : Wide(e_y * e_y / eta + e_x * e_x / s);
  out.tv_rounding = round_up(2 * sqrt(Wide(k * kl / 4)) + k * trials * ldexp(Wide(1), -64));
  out.total = round_up(Wide(out.tv_mixing) + out.tv_cap + out.tv_tail + out.tv_rounding);
  return out;
}

}  // namespace gibbsite
