#pragma once
// Offers of mechanisms whose draws are within a total variation gap of the Gibbs posterior.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/minimizer_reach.hpp"

namespace gibbsite {

/// What a draw by these settings can be off, rounded up; `total` is 1 where double arithmetic
/// bounds nothing.
struct GapError {
  double map_error = std::numeric_limits<double>::infinity();  ///< e
  double total = 1;  ///< total variation of one draw, the map error included
};

inline constexpr std::array schedule_shares{0.999, 0.9, 0.5};  // of gamma; the rest for rounding

/// Whether the minimizer that a draw starts from can be found to within its public tolerance.
template <class M>
bool start_in_reach(const M& s, const Problem& problem) {
  return minimizer_in_reach(problem, s.beta, s.prior_precision,
                            problem.smoothness_up(s.beta, s.prior_precision),
                            s.start_gradient_norm);
}

/// mu of a draw from the exact Gibbs posterior: S/sqrt(m), rounded up.
inline double gibbs_mu_up(const Problem& problem, const Neighbors& who, double beta, double m) {
  return round_up(Wide(problem.sensitivity_up(beta, who.adjacency, who.rows_per_person)) /
                  sqrt(Wide(m)));
}

/// Noise of one coefficient of such a draw: 1/sqrt(m), rounded up. Throws BadInput if m is not
/// above 0.
inline double gibbs_noise_up(double m) {
  require_finite_positive(m, "prior_precision");
  return round_up(1 / sqrt(Wide(m)));
}

/// What certificates and people are told of draws within a gap.
inline constexpr const char* minimizer_assumption =
    "the run started from a minimizer whose gradient norm is at most "
    "mechanism.start_gradient_norm";
inline constexpr const char* searches_start = "it searches the minimizer that it starts from";
inline constexpr const char* proposes = "it ends when a proposal is accepted";
inline std::string gap_basis(double tv_gap) {
  return fmt::format("It rests on a draw within {} (total variation) of the exact law",
                     text_up(tv_gap, 3));
}

/// The gap of all draws, from one draw's: what was promised if that is kept.
inline double kept_gap_up(double promised, double of_one, std::uint64_t draws) {
  const double total = draws == 1 ? of_one : round_up(Wide(of_one) * Wide(draws));
  return total <= promised ? promised : total;
}

/// What is particular to a mechanism within a gap.
template <class M>
struct GapRules {
  /// Fills the schedule for that gap of one draw; returns its passes and work.
  Cost (*lay_out)(M& settings, const Problem& problem, double tv, const PlanOptions& plan_options);
  GapError (*error)(const M& settings, const Problem& problem);
  Message (*merit)(const M& settings);  ///< why one would choose it
  bool proposes = false;                ///< rounding can be all that stands in the way
};

/// gamma, and what it leaves of delta for exact Gibbs, rounded down:
/// (epsilon, delta(epsilon; mu) + (1 + e^epsilon) gamma).
struct AskedGap {
  double tv = 0;
  double delta = 0;
  Message obstacle;  ///< "" where there is none
};
AskedGap asked_gap(const Budget& asked, const Budget& left, const PlanOptions& plan_options);

/// An offer of M; `left` is what noise leaves of `asked`.
template <class M>
Candidate gap_candidate(const GapRules<M>& rules, const Problem& problem, const Budget& asked,
                        const Budget& left, const PlanOptions& plan_options) {
  M s;
  s.calibration = plan_options.calibration;
  const double m = problem.prior_precision.value_or(1.0);
  s.prior_precision = m;
  const auto refused = [&](Guarantee guarantee, Cost cost, Message why) {
    return Candidate{s, guarantee, cost, false, std::move(why)};
  };
  if (!(m > 0)) {
    return refused({}, {},
                   format_message("needs a strongly convex potential; give {} above 0",
                                  Field{"prior_precision"}));
  }
  if (!std::isnormal(m)) {  // 1/m is no double
    return refused(
        {}, {},
        format_message("its draws are beyond double; give a larger {}", Field{"prior_precision"}));
  }
  AskedGap gap = asked_gap(asked, left, plan_options);
  s.tv_gap = gap.tv;
  if (!gap.obstacle.empty()) return refused({}, {}, std::move(gap.obstacle));
  // What a budget has beyond the posterior itself is left unspent.
  s.beta = std::min(gibbs_beta_down(problem, left, plan_options.calibration, gap.delta, m),
                    plan_options.beta.value_or(1));
  // A public tolerance for the minimizer that a run starts from: it adds 1e-6 to an exponent. A
  // padded run has no minimizer and starts at theta0.
  const bool padded = plan_options.padded && M::takes.padded;
  if (!padded) s.start_gradient_norm = 1e-3 * std::sqrt(m);

  const double tv = s.tv_gap / static_cast<double>(asked.draws);
  Cost cost;
  GapError error;
  for (const double share : schedule_shares) {
    const Cost laid = rules.lay_out(s, problem, share * tv, plan_options);
    cost = cost_of(laid.passes, laid.work, asked.draws);
    error = rules.error(s, problem);
    if (error.total <= tv || !std::isfinite(laid.passes)) break;
  }
  Guarantee guarantee;
  guarantee.mu = draws_mu_up(gibbs_mu_up(problem, asked.neighbors(), s.beta, m), asked.draws);
  guarantee.tv = s.tv_gap;
  Message why;
  if (!std::isfinite(cost.passes)) {
    why = "accepts less than one proposal in 1e300";
  } else if (!in_reach(cost)) {
    why = out_of_reach(cost);
  } else if (error.total <= tv) {
    return {s, guarantee, cost, true, rules.merit(s)};
  } else if (rules.proposes && error.total < 0.5) {
    // Half of the gap went to the schedule; rounding hardly depends on the rest.
    const double rounding = error.total - schedule_shares.back() * tv;
    why = format_message(
        "rounding in double arithmetic takes {:.2g} of the gap {:.2g}; ask for {} {:.2g}",
        rounding * static_cast<double>(asked.draws), s.tv_gap, Field{"tv"},
        2.2 * rounding * static_cast<double>(asked.draws));
  } else {
    why = out_of_reach(cost) + ", more than double arithmetic can keep exact enough";
  }
  return refused(guarantee, cost, why + "; the path certificate is in reach at the same budget");
}

/// The gap within what computed noise leaves.
template <class M>
Candidate paid_gap_candidate(const GapRules<M>& rules, const Problem& problem, const Budget& budget,
                             const PlanOptions& plan_options) {
  return paid_for_noise(problem, budget, [&](const Budget& left) {
    return gap_candidate(rules, problem, budget, left, plan_options);
  });
}

/// The analysis of settings whose draw is off by `gap` at most.
template <class M, class Noise>
Analysis gap_analysis(const M& s, const Problem& problem, const Neighbors& who, std::uint64_t draws,
                      double gap, const Noise& noise) {
  const double sensitivity = problem.sensitivity_up(s.beta, who.adjacency, who.rows_per_person);
  return gibbs_analysis(problem, who, draws,
                        {sensitivity, gibbs_mu_up(problem, who, s.beta, s.prior_precision),
                         kept_gap_up(s.tv_gap, gap, draws)},
                        noise);
}

/// The analysis of a Langevin chain.
template <class M>
Analysis chain_analysis(const M& s, const Problem& problem, const Neighbors& who,
                        std::uint64_t draws, const GapError& error, bool random_start) {
  const ChainNoise noise{s.step_size,       s.iterations,
                         s.prior_precision, problem.smoothness_up(s.beta, s.prior_precision),
                         error.map_error,   random_start,
                         problem.outputs};
  return gap_analysis(s, problem, who, draws, error.total, noise);
}

template <class M>
Message chain_merit(const M& /*settings*/) {
  return "a draw within the total variation gap of the Gibbs posterior";
}

/// The error of a Langevin chain (docs/theory/dalalyan.md, docs/theory/averaged.md): the bound on
/// its start's distance from theta0, and what its rounding adds (KL of K Gaussian steps whose means
/// differ by at most e, then Pinsker). `spread` is that of a random start.
struct ChainError {
  double map_error = 0;
  Wide rounding;
};
ChainError chain_error(const Problem& problem, const LangevinSteps& steps,
                       double start_gradient_norm, const Wide& spread);

}  // namespace gibbsite
