#include "gibbsite/mechanism/proximal_schedule.hpp"

#include <algorithm>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "mechanism/tv_target.hpp"

namespace gibbsite {
namespace {

using boost::math::log1p;

constexpr double cap_share = 1e-3;       // of the target
constexpr double planned_gradients = 2;  // at the predicted proximal point, and once more
constexpr double most_proposals = 64;
// exp(-0.01): what an inexact proximal point costs in acceptance.
constexpr double offset_exponent = 0.01;

Wide variance_of(double m, double eta) {
  return eta == 0 ? Wide(1) / Wide(m) : 1 / (Wide(m) + 1 / Wide(eta));
}

// ||xi|| of d normals of bounded bits.
Wide kicks(const Wide& d) { return sqrt(d) * Wide(max_abs_normal); }

// ||theta - theta*|| of every iterate, whatever the data and the bits: from a start G/m and a kick
// of 1/M away, (||theta - theta*|| + ||y's kick||)/(1 + eta m), then at most 2 offset and a
// proposal's kick (docs/theory/proximal.md, "How far out").
Wide radius(const Wide& d, const Wide& m, const Wide& M, const Wide& eta, const Wide& offset,
            const Wide& G) {
  const Wide start = G / m + kicks(d) / sqrt(M);
  if (eta == 0) return start + G / m + kicks(d) / sqrt(m);
  const Wide s = 1 / (m + 1 / eta);
  const Wide fixed =
      (sqrt(eta) * kicks(d) + (1 + eta * m) * (2 * offset + sqrt(s) * kicks(d))) / (eta * m);
  return std::max(start, fixed);
}

// Rounds whose failure costs `tv` in all k iterations.
double rounds_up(double acceptance, double proposals, double iterations, double tv) {
  const double all = std::log(tv / iterations), one = proposals * std::log1p(-acceptance);
  return std::max(1.0, std::ceil(all / one));
}

// ||grad U(y)|| of every y, when ||grad U(theta0)|| <= G = beta n L: the loss adds at most G, the
// prior m ||y - theta0||.
double far_gradient_up(double d, double m, double M, double eta, double offset, double G) {
  const Wide away = G / Wide(m) + radius(d, m, M, eta, offset, G) + sqrt(Wide(eta)) * kicks(d);
  return round_up(Wide(G) + Wide(m) * away);
}

ProximalSchedule laid_out(const ProximalTarget& target, double tv, bool padded, double eta,
                          double kl_start) {
  const double d = target.features, m = target.strong_convexity, M = target.smoothness,
               G = target.gradient_norm;
  ProximalSchedule out;
  out.step_size = eta;
  const double trace = M - m;
  const double s = eta == 0 ? 1 / m : 1 / (m + 1 / eta);
  out.residual = eta == 0 ? G : std::sqrt(2 * offset_exponent / trace) / s;
  if (eta != 0) {
    const double log_ratio = std::log(kl_start / (2 * tv * tv));
    out.iterations = std::max(1.0, std::ceil(log_ratio / (2 * std::log1p(eta * m))));
    if (padded) {
      out.gradients = proximal_gradients_up(
          m, M, eta, far_gradient_up(d, m, M, eta, s * out.residual, G), out.residual);
    }
  }
  return out;
}

// The cheapest batch for an acceptance probability.
void choose_batch(ProximalSchedule& out, double acceptance, double tv, double per_read) {
  double least = std::numeric_limits<double>::infinity();
  ProximalSchedule tried = out;
  for (tried.proposals = 1; tried.proposals <= most_proposals; tried.proposals *= 2) {
    tried.rounds = rounds_up(acceptance, tried.proposals, out.iterations, cap_share * tv);
    const double cost =
        proximal_passes(tried, acceptance).proposals * batch_cost(tried.proposals, per_read);
    if (cost < least) {
      least = cost;
      out = tried;
    }
  }
}

// The probability that one proposal is accepted.
double acceptance_of(const ProximalTarget& target, double step_size, double residual) {
  return proposal_bounds(target.features, target.strong_convexity, target.smoothness, step_size,
                         residual, target.traces)
      .acceptance_down;
}

void require_target(const ProximalTarget& t) {
  require_tv_target(t.features, t.strong_convexity, t.smoothness, t.tv, t.gradient_norm);
}

double cost_of_schedule(const ProximalSchedule& schedule, double acceptance, double per_read) {
  const ProximalPasses passes = proximal_passes(schedule, acceptance);
  return passes.gradients + passes.proposals * batch_cost(schedule.proposals, per_read);
}

// ‖θ_k − θ*‖ never exceeds max(G/m+‖ξ‖/√M, (√η‖ξ‖ + (1+ηm)(2s‖r‖+√s‖ξ‖))/(ηm)) with ‖ξ‖ ≤
// 9.4926√d: the proximal map contracts by 1/(1+ηm) toward θ*, the mean is within 2s‖r‖ of the
// proximal point. That bounds logits, and with them the slack, for every data set: plan refuses
// where the slack is not negligible.
//
// How far things get in exact numbers, whatever the data and the bits, and what the slope of a
// tangent is off there.
struct Extent {
  Wide away;    // ||theta_k - theta*||
  Wide y_kick;  // ||y - theta||
  Wide x_kick;  // ||x - mean||
  Wide reach;   // ||x - w|| of any proposal
  Wide norm;    // of iterates, y, w and proposals from the origin
  Wide tilt;    // ||computed - exact|| of a gradient of the proximal problem at norm / 2 or less
  Wide growth;  // what a unit of ||theta|| adds to it
};

Extent extent_of(const Problem& constants, double beta, double strong_convexity,
                 const ProximalSchedule& schedule, const ProposalBounds& proposal, double G) {
  const Wide d = constants.features, n = constants.most_weight_up(), m = strong_convexity, b = beta;
  const Wide eta = schedule.step_size;
  const Wide row = constants.full_row_norm_up(), L = constants.lipschitz_up();
  const bool exact = schedule.step_size == 0;
  const Wide s = proposal.variance, offset = proposal.offset;
  const Wide M = Wide(constants.smoothness_up(beta, strong_convexity));

  Extent out;
  out.away = radius(d, m, M, eta, offset, G);
  out.y_kick = exact ? Wide(0) : Wide(sqrt(eta) * kicks(d));
  out.x_kick = sqrt(s) * kicks(d);
  out.reach = offset + out.x_kick;
  out.norm = Wide(constants.center_norm) +
             Wide(constants.minimizer_distance_up(beta, strong_convexity)) + out.away + out.y_kick +
             out.reach + Wide(constants.offset_bound) / row;  // as its part of the logits
  // The loss gradient (docs/theory/map-error.md, steps 2 and 3), and the few operations that make a
  // slope of it.
  const Wide depth = Wide(accumulation_depth(constants.most_rows())) + 1;
  const Wide stiffness = exact ? m : Wide(m + 1 / eta);
  out.growth =
      b * n * row * Wide(constants.curvature) * gamma_k(d + 2) * row + 4 * gamma_k(10) * stiffness;
  const Wide loss_gradient =
      n * row *
      ((gamma_k(depth) +
        gamma_k(Wide(derivative_roundings_of(static_cast<double>(constants.outputs))))) *
           Wide(constants.max_abs_derivative_up()) +
       Wide(constants.curvature) * gamma_k(d + 2) * row * out.norm);
  // 1.01: of gamma_up, by which the run counts.
  out.tilt =
      Wide("1.01") *
      (b * loss_gradient +
       gamma_k(10) * (2 * b * n * L + 2 * stiffness * (2 * (out.away + out.y_kick) + out.reach) +
                      4 * m * out.norm + 2 * stiffness * out.norm));
  return out;
}

// Exact rejection proposes around the minimizer as it was found.
ProposalBounds bounds_of(const Problem& constants, double m, double M,
                         const ProximalSchedule& schedule, double G) {
  return proposal_bounds(
      static_cast<double>(constants.features), m, M, schedule.step_size,
      schedule.step_size == 0 ? std::max(schedule.residual, G) : schedule.residual,
      constants.traces);
}

// q, and what it becomes when each step is rounded.
struct Descent {
  Wide q, floor;  // ||grad|| falls by q a step, down to the floor
};
Descent descent_of(const Problem& constants, double beta, double strong_convexity,
                   const ProximalSchedule& schedule, const Extent& extent) {
  const Wide m = strong_convexity, pull = 1 / Wide(schedule.step_size);
  const Wide M = Wide(constants.smoothness_up(beta, strong_convexity)), L = M + pull;
  const Wide q = (M - m) / (M + m + 2 * pull);
  // A step adds 4 tilts and L times the rounding of w; both grow with ||w||, which is within
  // ||grad||/(m + 1/eta) of the proximal point.
  const Wide more = (4 * extent.growth + 4 * gamma_k(10) + L * gamma_k(4)) / (m + pull);
  const Wide rounded = q + more;
  if (!(rounded < 1)) return {1, std::numeric_limits<double>::infinity()};
  const Wide search_norm = extent.norm + 2 * (extent.away + extent.y_kick);
  return {rounded,
          (4 * (extent.tilt + extent.growth * search_norm) + L * gamma_k(4) * search_norm) /
              (1 - rounded)};
}

}  // namespace

bool proximal_search_ends(const Problem& constants, double beta, double strong_convexity,
                          double smoothness, const ProximalSchedule& schedule,
                          double gradient_norm) {
  if (schedule.step_size == 0) return true;
  const double m = strong_convexity, M = smoothness, G = gradient_norm;
  const ProposalBounds proposal = bounds_of(constants, m, M, schedule, G);
  const Extent extent = extent_of(constants, beta, m, schedule, proposal, G);
  const Descent descent = descent_of(constants, beta, m, schedule, extent);
  if (!(2 * descent.floor <= Wide(schedule.residual))) return false;
  if (schedule.gradients == 0) return true;
  const auto d = static_cast<double>(constants.features);
  const double start = far_gradient_up(d, m, M, schedule.step_size, proposal.offset, G);
  const Wide left = pow(descent.q, Wide(schedule.gradients) - 1) * Wide(start) + descent.floor;
  return schedule.gradients >=
             proximal_gradients_up(m, M, schedule.step_size, start, schedule.residual) &&
         left <= Wide(schedule.residual);
}

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
                               double step_size, double residual, const HessianTraces& traces) {
  const Wide s = variance_of(strong_convexity, step_size);
  ProposalBounds out;
  out.variance = round_up(s);
  out.offset = round_up(s * Wide(residual));
  // M is rounded up, so M - m bounds tr(beta phi X^T X) <= beta n phi R^2.
  const double trace = round_up(Wide(smoothness) - Wide(strong_convexity));
  out.acceptance_down = rejection_acceptance_down(features, trace, out.variance, out.offset);
  if (traces.majorant >
      1) {  // several outputs (docs/theory/proximal.md): `trace` bounds the norm alone
    const Wide d = features, A = trace, s2 = out.variance, b = out.offset;
    const Wide of_majorant = d / 2 * log1p(Wide(s2 * Wide(traces.majorant) * A / d));
    const Wide of_mean = s2 * Wide(traces.most) * A / 2;
    out.acceptance_down = round_down(exp(Wide(-std::min(of_majorant, of_mean) - A * b * b / 2)));
  }
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
  // Exact rejection has its gradient from the minimizer.
  return {schedule.step_size == 0 ? 1 : k * planned_gradients,
          k * expected_rounds(acceptance, schedule.proposals)};
}

double proposals_per_read(double features) { return features < 50 ? 2 : 4; }

double batch_cost(double proposals, double per_read) { return 1 + (proposals - 1) / per_read; }

ProximalSchedule proximal_schedule(const ProximalTarget& target, bool padded, double per_read,
                                   const std::function<bool(const ProximalSchedule&)>& admits) {
  require_target(target);
  const double m = target.strong_convexity, M = target.smoothness;
  const double mixing = (1 - cap_share) * target.tv;
  const double kl_start = proximal_kl_start_up(target.features, m, M, target.gradient_norm);
  ProximalSchedule best;
  double least = std::numeric_limits<double>::infinity();
  // eta A = 0.25 2^(j/4), up to where nothing is accepted.
  for (int j = 0; j < 64; ++j) {
    const double eta = 0.25 * std::exp2(j / 4.0) / (M - m);
    ProximalSchedule tried = laid_out(target, mixing, padded, eta, kl_start);
    const double acceptance = acceptance_of(target, eta, tried.residual);
    if (j > 0 && (!(acceptance > 1e-6) || (admits && !admits(tried)))) break;
    choose_batch(tried, acceptance, target.tv, per_read);
    if (const double cost = cost_of_schedule(tried, acceptance, per_read); cost < least) {
      least = cost;
      best = tried;
    }
  }
  best.iterations = proximal_iterations_up(kl_start, best.step_size, m, mixing);
  return best;
}

ProximalSchedule rejection_schedule(const ProximalTarget& target, double per_read) {
  require_target(target);
  ProximalSchedule out = laid_out(target, target.tv, false, 0, 0);
  // The cap is all there is to pay for.
  choose_batch(out, acceptance_of(target, 0, target.gradient_norm), target.tv / cap_share,
               per_read);
  return out;
}

ProximalError proximal_error(const Problem& constants, double beta, double strong_convexity,
                             double smoothness, const ProximalSchedule& schedule,
                             double gradient_norm) {
  const Wide d = constants.features, m = strong_convexity, k = schedule.iterations;
  const Wide eta = schedule.step_size;
  const bool exact = schedule.step_size == 0;
  const ProposalBounds proposal =
      bounds_of(constants, strong_convexity, smoothness, schedule, gradient_norm);
  const Wide s = proposal.variance;

  ProximalError out;
  out.total = 1;
  out.map_error = std::numeric_limits<double>::infinity();
  if (!exact) {
    const double kl_start = proximal_kl_start_up(static_cast<double>(constants.features),
                                                 strong_convexity, smoothness, gradient_norm);
    out.tv_mixing =
        proximal_tv_up(kl_start, schedule.step_size, strong_convexity, schedule.iterations);
  }
  const Extent extent =
      extent_of(constants, beta, strong_convexity, schedule, proposal, gradient_norm);
  const Wide &y_kick = extent.y_kick, &x_kick = extent.x_kick, &tilt = extent.tilt;
  out.iterate_norm =
      round_up(Wide(constants.minimizer_distance_up(beta, strong_convexity)) + extent.away);
  if (!(tilt * 4 <= Wide(schedule.residual)) || !(gamma_k(d) < Wide(0.01))) return out;
  if (!proximal_search_ends(constants, beta, strong_convexity, smoothness, schedule,
                            gradient_norm)) {
    return out;
  }
  const Wide acceptance = Wide(proposal.acceptance_down) * exp(Wide(-tilt * extent.reach));
  if (!(acceptance > 0)) return out;
  out.acceptance = round_down(acceptance);
  out.offset = proposal.offset;

  // All N B proposals of some iteration are turned down.
  const Wide trials = Wide(schedule.rounds) * Wide(schedule.proposals);
  out.tv_cap = round_up(k * exp(Wide(trials * log1p(Wide(-acceptance)))));

  // Gaussian moves that are off by e: KL <= e^2/(2 variance) each; decisions about proposals that
  // are off by u xi each tilt the law by t, KL <= t^2/2; then Pinsker. Positions are pairs of
  // doubles, so that only the moves are rounded; a uniform word decides within 2^-64.
  const Wide move = gamma_k(4 + normal_roundings);
  const Wide pair = gamma_k(4) * gamma_k(4) * extent.norm;
  const Wide e_y = move * y_kick + pair;
  const Wide e_x = move * x_kick + pair;
  const Wide e_start = exact ? Wide(0) : Wide(move * kicks(d) / sqrt(Wide(smoothness)) + pair);
  out.map_error = round_up(e_y + e_x);
  const Wide spread = sqrt(s * sqrt(d * (d + 2))), offset = proposal.offset;
  const Wide A = Wide(smoothness) - m;
  const Wide tilted = A * (spread + offset) * (move * (spread + 2 * offset) + pair);
  if (!(A * extent.reach * (e_x + pair) < Wide(0.005))) return out;
  const Wide kl_x = e_x * e_x / s + Wide("1.01") * tilted * tilted;
  const Wide kl = exact ? kl_x : Wide(e_y * e_y / eta + kl_x);
  const Wide kl_start = exact ? Wide(0) : Wide(e_start * e_start / eta);
  out.tv_rounding =
      round_up(sqrt(Wide((k * kl + kl_start) / 4)) + k * trials * ldexp(Wide(1), -64));
  out.total = round_up(Wide(out.tv_mixing) + out.tv_cap + out.tv_rounding);
  return out;
}

}  // namespace gibbsite
