#include "gibbsite/mechanism/proximal.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "mechanism/gap.hpp"

namespace gibbsite {
namespace {

template <bool exact>
double smoothness_of(const ProximalDraw<exact>& s, const Problem& problem) {
  return problem.smoothness_up(s.beta, s.prior_precision);
}

// KL_0 of docs/theory/proximal.md.
// Proof of KL_0. E log of the start's density is −(d/2) log(2πe/M). U(θ) ≤ U(θ̂) + ∇U(θ̂)·(θ−θ̂) +
// (M/2)‖θ − θ̂‖², so the mean of U is at most U(θ̂) + d/2. U(θ) ≥ U(θ̂) + ∇U(θ̂)·(θ−θ̂) + (m/2)‖θ
// − θ̂‖², so log ∫e^{−U} ≤ −U(θ̂) + G²/(2m) + (d/2) log(2π/m). Add up. ∎
// How often a proposal is accepted, docs/theory/proximal.md.
// Proof. D ≤ (ϕ/2)Σ(x_i·(θ'−w))², so βD ≤ ½(θ'−w)ᵀQ(θ'−w) with tr Q ≤ A, eigenvalues q_i. For θ' −
// w ~ N(−sr, sI) the Gaussian integral is Π(1+sq_i)^{−1/2} exp(−½Σ q_i b_i²/(1+sq_i)) with b = sr
// in the eigenbasis, and q_i/(1+sq_i) ≤ A. Σ log(1+sq_i) ≤ d log(1+sA/d), log being concave. The
// last step is log(1+x) ≤ x. ∎
// Several outputs, docs/theory/proximal.md.
// - W ⪯ ½(I−11ᵀ/K) wherever z is (Böhning 1992), of trace (K−1)ϕ: the proof above with this Q
//   gives (1+s(K−1)A/d)^{−d/2} exp(−As²‖r‖²/2), d all coordinates.
// - log P(accept) ≥ −E βD by Jensen, and ∂/∂s E ℓ(v + √s ξ) = ½ E Δℓ ≤ ½ sup tr ∇²ℓ (the heat
//   equation). So E βD(w − sr + √s ξ, w) ≤ βD(w−sr, w) + ½ s · 2(1−1/K)A: P(accept) ≥
//   exp(−s(1−1/K)A − As²‖r‖²/2).

// ||grad U|| at the start: at theta0 for a padded run, at a minimizer found to a tolerance else.
template <bool exact>
double start_gradient(const ProximalDraw<exact>& s, const Problem& problem, bool padded) {
  return padded ? start_gradient_up(problem, s.beta) : s.start_gradient_norm;
}

template <bool exact>
Cost lay_out(ProximalDraw<exact>& s, const Problem& problem, double tv,
             const PlanOptions& plan_options) {
  const bool padded = !exact && plan_options.padded;
  const auto d = static_cast<double>(problem.features);
  const double m = s.prior_precision, M = smoothness_of(s, problem),
               G = start_gradient(s, problem, padded);
  const double per_read = proposals_per_read(d);
  const ProximalTarget target{d, m, M, tv, G, problem.traces};
  const auto ends = [&](const ProximalSchedule& tried) {
    return proximal_search_ends(problem, s.beta, m, M, tried, G);
  };
  s.schedule = exact ? rejection_schedule(target, per_read)
                     : proximal_schedule(target, padded, per_read, ends);
  const ProximalSchedule& found = s.schedule;
  const ProximalPasses passes = proximal_passes(
      found,
      proposal_bounds(d, m, M, found.step_size, found.residual, problem.traces).acceptance_down);
  return {passes.gradients + passes.proposals,
          passes.gradients + passes.proposals * batch_cost(found.proposals, per_read)};
}

template <bool exact>
ProximalError error_of(const ProximalDraw<exact>& s, const Problem& problem) {
  if (!s.padded() && !start_in_reach(s, problem)) {
    ProximalError none;
    none.map_error = std::numeric_limits<double>::infinity();
    none.total = 1;
    return none;
  }
  return proximal_error(problem, s.beta, s.prior_precision, smoothness_of(s, problem), s.schedule,
                        start_gradient(s, problem, s.padded()));
}

template <bool exact>
GapError gap_error(const ProximalDraw<exact>& s, const Problem& problem) {
  const ProximalError error = error_of(s, problem);
  return {error.map_error, error.total};
}

template <bool exact>
Message merit(const ProximalDraw<exact>& s) {
  if (exact) {
    return "an exact draw but for the gap, the chance that no proposal is accepted; the number "
           "of passes depends on the data, so keep the time private";
  }
  return s.padded()
             ? "a draw within the gap of the Gibbs posterior, at a public number of passes"
             : format_message(
                   "a draw within the gap of the Gibbs posterior; the number of passes depends "
                   "on the data, so keep the time private or ask for it with {}",
                   Field{"padded"});
}

// What no file holds, but a caller may have changed.
void require_exact(const ProximalSchedule& s) {
  if (s.step_size != 0 || s.iterations != 1 || s.gradients != 0) {
    throw BadInput("schedule: exact rejection has one iteration and no step; leave it as planned");
  }
}

}  // namespace

template <bool exact>
Candidate candidate(std::type_identity<ProximalDraw<exact>> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  constexpr GapRules<ProximalDraw<exact>> rules{lay_out, gap_error, merit, true};
  return paid_gap_candidate(rules, problem, budget, plan_options);
}

template <bool exact>
Analysis analyze(const ProximalDraw<exact>& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  if (exact) {
    require_exact(s.schedule);
  } else if (s.padded() != (s.start_gradient_norm == 0)) {
    throw BadInput(
        "start_gradient_norm: is 0 for a padded run, which starts at a public point, and above 0 "
        "for any other; use the file as it was written");
  }
  const ProximalError error = error_of(s, problem);
  const ProposalNoise noise{s.schedule,      s.prior_precision, smoothness_of(s, problem),
                            error.map_error, error.acceptance,  error.offset};
  return gap_analysis(s, problem, who, draws, error.total, noise);
}

template <bool exact>
std::string assumption_of(const ProximalDraw<exact>& m) {
  return m.padded() ? "" : minimizer_assumption;
}
template <bool exact>
std::string_view run_time_tells(const ProximalDraw<exact>& m) {
  return m.padded() ? "" : proposes;
}
template <bool exact>
std::string basis_of(const ProximalDraw<exact>& m) {
  return gap_basis(m.tv_gap);
}
template <bool exact>
std::string procedure_of(const ProximalDraw<exact>& m, const Cost& cost) {
  const std::string steps =
      exact ? "proposals until one is accepted"
            : fmt::format("{} iterations of step {:.3g}", human_count(m.schedule.iterations),
                          m.schedule.step_size);
  return fmt::format("{}, about {} passes", steps, human_count(cost.passes));
}
template <bool exact>
std::optional<double> coefficient_noise_up(const ProximalDraw<exact>& m,
                                           const Problem& /*problem*/) {
  return gibbs_noise_up(m.prior_precision);
}

template Candidate candidate(std::type_identity<Proximal>, const Problem&, const Budget&,
                             const PlanOptions&);
template Candidate candidate(std::type_identity<Rejection>, const Problem&, const Budget&,
                             const PlanOptions&);
template Analysis analyze(const Proximal&, const Problem&, const Neighbors&, std::uint64_t);
template Analysis analyze(const Rejection&, const Problem&, const Neighbors&, std::uint64_t);
template std::string assumption_of(const Proximal&);
template std::string assumption_of(const Rejection&);
template std::string_view run_time_tells(const Proximal&);
template std::string_view run_time_tells(const Rejection&);
template std::string basis_of(const Proximal&);
template std::string basis_of(const Rejection&);
template std::string procedure_of(const Proximal&, const Cost&);
template std::string procedure_of(const Rejection&, const Cost&);
template std::optional<double> coefficient_noise_up(const Proximal&, const Problem&);
template std::optional<double> coefficient_noise_up(const Rejection&, const Problem&);

}  // namespace gibbsite
