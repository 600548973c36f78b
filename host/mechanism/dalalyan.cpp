#include "gibbsite/mechanism/dalalyan.hpp"

#include <cmath>

#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "mechanism/gap.hpp"
#include "mechanism/tv_target.hpp"

namespace gibbsite {

DalalyanSchedule dalalyan_schedule(double features, double strong_convexity, double smoothness,
                                   double tv, double gradient_norm) {
  require_tv_target(features, strong_convexity, smoothness, tv, gradient_norm);
  const Wide d = features, m = strong_convexity, M = smoothness, g = tv, G = gradient_norm;
  const Wide A = 4 * log(1 / g) + d * log(M / m) + G * G * (1 / m + 1 / M);
  DalalyanSchedule out;
  out.step_size = round_down(2 * m * g * g / (d * M * M * A));
  // A shorter step needs more of them: K h = A / (2 m) with the h that is used.
  const Wide h = out.step_size;
  out.iterations = ceil_up(A / (2 * m * h));
  const Wide time = Wide(out.iterations) * h;
  out.tv_mixing = round_up(
      Wide(exp(Wide(d / 4 * log(M / m) + G * G * (1 / m + 1 / M) / 4 - time * m / 2)) / 2));
  out.tv_steps = round_up(Wide(M * sqrt(Wide(d * time * h)) / 2));
  return out;
}

namespace {

Cost lay_out(Dalalyan& s, const Problem& problem, double tv, const PlanOptions& /*wishes*/) {
  const DalalyanSchedule found = dalalyan_schedule(
      static_cast<double>(problem.features), s.prior_precision,
      problem.smoothness_up(s.beta, s.prior_precision), tv, s.start_gradient_norm);
  s.step_size = found.step_size;
  s.iterations = found.iterations;
  return {s.iterations, s.iterations};
}

GapError gap_error(const Dalalyan& s, const Problem& problem) {
  if (!start_in_reach(s, problem)) return {};
  const Wide d = problem.features, m = s.prior_precision, h = s.step_size, K = s.iterations;
  const Wide M = problem.smoothness_up(s.beta, s.prior_precision), G = s.start_gradient_norm;
  const Wide spread = sqrt(Wide(d / M)) * Wide(max_abs_normal);  // N(0, I/M) of bounded bits
  const ChainError error =
      chain_error(problem, {s.beta, s.prior_precision, s.step_size, s.iterations},
                  s.start_gradient_norm, spread);
  GapError out{error.map_error, 1.0};
  if (!std::isfinite(error.map_error)) return out;
  const Wide mixing =
      exp(Wide(d / 4 * log(Wide(M / m)) + G * G * (1 / m + 1 / M) / 4 - K * h * m / 2)) / 2;
  // The bound on the steps is proven where h <= 1/M and K is no handful (docs/theory/dalalyan.md).
  if (!(h * M <= 1) || !(K >= 1 + M * G * G / (m * m * d))) return out;
  const Wide steps = M * sqrt(Wide(d * K * h * h)) / 2;
  out.total = round_up(mixing + steps + error.rounding);
  return out;
}

constexpr GapRules<Dalalyan> dalalyan_rules{lay_out, gap_error, chain_merit, false};

}  // namespace

Candidate candidate(std::type_identity<Dalalyan> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  return paid_gap_candidate(dalalyan_rules, problem, budget, plan_options);
}

Analysis analyze(const Dalalyan& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  return chain_analysis(s, problem, who, draws, gap_error(s, problem), true);
}

std::string assumption_of(const Dalalyan& /*m*/) { return minimizer_assumption; }
std::string_view run_time_tells(const Dalalyan& /*m*/) { return searches_start; }
std::string basis_of(const Dalalyan& m) { return gap_basis(m.tv_gap); }
std::string procedure_of(const Dalalyan& m, const Cost& /*cost*/) {
  return steps_words(m.iterations, m.step_size);
}
std::optional<double> coefficient_noise_up(const Dalalyan& m, const Problem& /*problem*/) {
  return gibbs_noise_up(m.prior_precision);
}

}  // namespace gibbsite
