#include "gibbsite/mechanism/averaged.hpp"

#include <algorithm>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "mechanism/gap.hpp"
#include "mechanism/tv_target.hpp"

namespace gibbsite {
namespace {

using boost::math::expm1;
using boost::math::log1p;

const Wide rho{"0.97"};

// W2(delta_theta0, pi) <= ||theta0 - theta*|| + W2(delta_theta*, pi).
Wide start_distance(const Wide& d, const Wide& m, const Wide& G) {
  return G / m + sqrt(Wide(d / m));
}

}  // namespace

AveragedSchedule averaged_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm) {
  require_tv_target(features, strong_convexity, smoothness, tv, gradient_norm);
  const Wide d = features, m = strong_convexity, M = smoothness, g = tv;
  const Wide W0 = start_distance(d, m, gradient_norm);
  AveragedSchedule out;
  out.step_size = round_down(std::min(Wide(2 * rho * g * g / (M * d)), Wide(1 / M)));
  const Wide h = out.step_size;
  out.iterations =
      ceil_up(log1p(Wide(m * W0 * W0 / (2 * (2 * g * g - M * d * h)))) / -log1p(Wide(-m * h)));
  return out;
}

double averaged_tv_up(double features, double strong_convexity, double smoothness, double step_size,
                      double iterations, double gradient_norm) {
  const Wide d = features, m = strong_convexity, M = smoothness, h = step_size, K = iterations;
  if (!(h > 0) || !(h * M <= 1)) {
    throw BadInput("step_size: the averaged certificate needs 0 < h <= 1/M; lower it");
  }
  const Wide W0 = start_distance(d, m, gradient_norm);
  // (1 - mh)^-K - 1; at mh = 1 (M = m) one step forgets the start.
  const Wide grown = m * h < 1 ? Wide(expm1(Wide(-K * log1p(Wide(-m * h))))) : Wide("1e1000");
  const Wide kl = m * W0 * W0 / (2 * grown) + M * d * h;
  return round_up(sqrt(Wide(kl / 2)));
}

double averaged_stop(double strong_convexity, double step_size, double iterations,
                     unsigned long long word) {
  const Wide a = -log1p(Wide(-Wide(strong_convexity) * Wide(step_size)));  // weights exp(a (k - 1))
  const Wide u = (Wide(word) + Wide(0.5)) * ldexp(Wide(1), -64);
  // P(tau <= k) = (e^{ak} - 1) / (e^{aK} - 1).
  const Wide k = ceil(log1p(Wide(u * expm1(Wide(a * Wide(iterations))))) / a);
  return std::clamp(static_cast<double>(k), 1.0, iterations);
}

namespace {

Cost lay_out(Averaged& s, const Problem& problem, double tv, const PlanOptions& /*wishes*/) {
  const AveragedSchedule found = averaged_schedule(
      static_cast<double>(problem.features), s.prior_precision,
      problem.smoothness_up(s.beta, s.prior_precision), tv, s.start_gradient_norm);
  s.step_size = found.step_size;
  s.iterations = found.iterations;
  return {s.iterations, s.iterations};
}

GapError gap_error(const Averaged& s, const Problem& problem) {
  if (!start_in_reach(s, problem)) return {};
  const ChainError error = chain_error(
      problem, {s.beta, s.prior_precision, s.step_size, s.iterations}, s.start_gradient_norm, 0);
  GapError out{error.map_error, 1.0};
  if (!std::isfinite(error.map_error)) return out;
  // A 64-bit word chooses the step to stop at.
  out.total = round_up(Wide(averaged_tv_up(static_cast<double>(problem.features), s.prior_precision,
                                           problem.smoothness_up(s.beta, s.prior_precision),
                                           s.step_size, s.iterations, s.start_gradient_norm)) +
                       error.rounding + Wide(s.iterations) * ldexp(Wide(1), -64));
  return out;
}

constexpr GapRules<Averaged> averaged_rules{lay_out, gap_error, chain_merit, false};

}  // namespace

Candidate candidate(std::type_identity<Averaged> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  return paid_gap_candidate(averaged_rules, problem, budget, plan_options);
}

Analysis analyze(const Averaged& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  return chain_analysis(s, problem, who, draws, gap_error(s, problem), false);
}

std::string assumption_of(const Averaged& /*m*/) { return minimizer_assumption; }
std::string_view run_time_tells(const Averaged& /*m*/) { return searches_start; }
std::string basis_of(const Averaged& m) { return gap_basis(m.tv_gap); }
std::string procedure_of(const Averaged& m, const Cost& /*cost*/) {
  return "up to " + steps_words(m.iterations, m.step_size);
}
std::optional<double> coefficient_noise_up(const Averaged& m, const Problem& /*problem*/) {
  return gibbs_noise_up(m.prior_precision);
}

}  // namespace gibbsite
