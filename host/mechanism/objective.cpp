#include "gibbsite/mechanism/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/format_message.hpp"
#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/objective.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/noisy_slope.hpp"
#include "mechanism/objective_pair.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// Gaussian b as computed beside the exact one: 20 roundings of sigma xi a coordinate
// (docs/theory/noise-law.md), and the radius, which is further than `radius_off` from the middle of
// its word with a probability below `radius_missed` a pair.
constexpr int noise_roundings = 20;
const Wide radius_off = ldexp(Wide(1), -48), radius_missed = ldexp(Wide(1), -80);

Wide pairs(const Problem& problem) { return ceil(Wide(problem.features) / 2); }

NoisySlope slope_of(const ObjectivePerturbation& s, const Problem& problem) {
  const Wide roundings = gamma_k(Wide(noise_roundings));
  // ||b|| at most: a pair's norm is its radius.
  const Wide longest =
      Wide(s.noise) * Wide(max_abs_answer_normal) * sqrt(pairs(problem)) * (1 + roundings);
  const Wide normals = roundings * Wide(max_abs_answer_normal) + radius_off;
  return {problem, s.ridge, longest, Wide(s.noise) * sqrt(Wide(problem.features)) * normals};
}

// Pure b = ||zeta|| xi/gamma as computed beside the exact one (docs/theory/objective-pure.md, "The
// noise as computed"): a radius is further than `half_word` from the middle of its word with a
// probability below `first_words`, and the exact normals of a vector, the thrown-away half of a
// last pair included, are longer than sqrt(d + 2) + 13.4 with one below `beyond_normals`.
// - By Lemma 1 with j = 40, a pair is off by 16u of its radius and, but with a probability of
//   2⁻⁸⁷, by 2⁻⁴¹ in it. So ‖ζ̂ − ζ‖ and ‖ξ̂ − ξ‖ are at most e = √(2P)(γ₁₆·13.3729 + 2⁻⁴¹), P =
//   ⌈(d+1)/2⌉ pairs of ζ (ξ has no more).
// - ‖ζ‖ and ‖ξ‖, with the half of a last pair that is thrown away, are at most l = √(d+2) + 13.4,
//   but with a probability of e^{−13.4²/2} < 1.1·10⁻³⁹ each (at most d + 2 normals; Gaussian
//   concentration).
// - ‖ζ̂‖ is summed in 50 digits, the scale and each product are rounded once: ‖b̂‖ ≤
//   (l+e)²(1+γ₄)/γ.
const Wide half_word = ldexp(Wide(1), -41), first_words = ldexp(Wide(1), -87);
const Wide beyond_normals = Wide("1.1e-39");

Wide longest_normals(const Problem& problem) {
  return sqrt(Wide(problem.features) + 2) + Wide("13.4");
}

// Pairs of zeta, which has d + 1 normals; xi has no more.
Wide length_pairs(const Problem& problem) { return ceil((Wide(problem.features) + 1) / 2); }

// ||computed - exact|| of xi, and of zeta.
Wide normals_off(const Problem& problem) {
  return sqrt(2 * length_pairs(problem)) *
         (gamma_k(Wide(normal_roundings)) * Wide(max_abs_answer_normal) + half_word);
}

// b is off by what the normals are, and by the roundings of its scale and of the product.
NoisySlope slope_of(const PureObjectivePerturbation& s, const Problem& problem) {
  const Wide off = normals_off(problem), length = longest_normals(problem);
  const Wide longest = (length + off) * (length + off) * (1 + gamma_k(Wide(4))) / Wide(s.noise);
  return {problem, s.ridge, longest,
          off * (2 * length + off) / Wide(s.noise) + gamma_k(Wide(4)) * longest};
}

ObjectivePair pair_of(const ObjectivePerturbation& s, const Problem& problem) {
  return {s.noise > 0 ? round_up(Wide(problem.lipschitz_up()) / Wide(s.noise)) : 0.0,
          curvature_ratio_up(problem, s.ridge), problem.one_signed || problem.outputs > 1,
          s.calibration, row_rank(problem)};
}

double search_mu_up(const ObjectivePerturbation& s) {
  return round_up(2 * Wide(s.gradient_norm) / (Wide(s.ridge) * Wide(s.output_noise)));
}

template <NoiseLaw law>
void require_settings(const PerturbedObjective<law>& s) {
  require_finite_positive(s.ridge, "ridge");
  require_finite_positive(s.noise, s.is_pure ? "noise_rate" : "noise_scale");
  require_finite_positive(s.gradient_norm, "gradient_norm");
  require_finite_positive(s.output_noise, s.is_pure ? "output_rate" : "output_noise");
}

// Parts of epsilon and delta for what the minimizer is found to.
constexpr double search_share = 1.0 / 64;

// t in parts of a row's epsilon, measured (docs/theory/objective-perturbation.md and
// docs/theory/objective-pure.md, "The ridge").
constexpr double curvature_share = 0.1, pure_curvature_share = 1.0 / 16;

Message published_of_one_output() {
  return format_message("the published form, redberg, is of losses of one output; leave out {}",
                        Field{"calibration"});
}

// What one draw's noise in the slope takes, and what its search takes: a mu, or an epsilon if pure.
struct ObjectiveShares {
  double epsilon = 0, delta = 0, search = 0;
};
template <NoiseLaw law>
ObjectiveShares shares_of(const Budget& left, std::uint64_t draws) {
  if (law == NoiseLaw::pure) {
    const Wide each = Wide(left.epsilon) / Wide(draws);
    const double search = round_down(Wide(search_share) * each);
    return {round_down(each - Wide(search)), 0, search};
  }
  const double found_epsilon = search_share * left.epsilon, found_delta = search_share * left.delta;
  return {round_down((Wide(left.epsilon) - Wide(found_epsilon)) / Wide(draws)),
          round_down((Wide(left.delta) - Wide(found_delta)) / Wide(draws)),
          gdp_split_down(gdp_mu_down(found_epsilon, found_delta), draws)};
}

// The largest rate found whose epsilon is within that of one draw; 0 where there is none.
double rate_down(const Problem& problem, const Neighbors& who, double ridge, double epsilon) {
  const double steps = who.adjacency == Adjacency::replace_one ? 2 : 1;
  const double free = epsilon / (steps * static_cast<double>(who.rows_per_person) *
                                 problem.lipschitz_up());  // where curvature costs nothing
  if (!std::isnormal(free)) return 0;
  const auto fits = [&](double rate) {
    return objective_epsilon_up(problem, who, ridge, rate) <= epsilon;
  };
  double lo = free * 1e-6, hi = free;
  if (!fits(lo)) return 0;
  if (fits(hi)) return hi;
  while (lo < std::nextafter(hi, 0.0)) {
    const double middle = lo + (hi - lo) / 2;
    if (!(lo < middle && middle < hi)) break;
    (fits(middle) ? lo : hi) = middle;
  }
  return lo;
}

// The noise in the slope that its share pays for; false if none is enough.
bool hide_slope(ObjectivePerturbation& s, const Problem& problem, const Neighbors& who,
                const ObjectiveShares& share) {
  const ObjectiveScale scale =
      objective_scale_down(pair_of(s, problem), s.epsilon, share.delta, who);
  if (!(scale.s > 0)) return false;
  s.deletion_epsilon = scale.deletion_epsilon;
  s.noise = round_up(Wide(problem.lipschitz_up()) / Wide(scale.s));
  while (pair_of(s, problem).s > scale.s) s.noise = std::nextafter(s.noise, INFINITY);
  return true;
}
bool hide_slope(PureObjectivePerturbation& s, const Problem& problem, const Neighbors& who,
                const ObjectiveShares& share) {
  s.noise = rate_down(problem, who, s.ridge, share.epsilon);
  return s.noise > 0;
}

template <NoiseLaw law>
Candidate objective_candidate(const Problem& problem, const Budget& budget, const Budget& left,
                              const PlanOptions& plan_options) {
  constexpr bool pure = law == NoiseLaw::pure;
  const Neighbors who = budget.neighbors();
  const ObjectiveShares share = shares_of<law>(left, budget.draws);
  PerturbedObjective<law> s;
  if constexpr (!pure) {
    if (plan_options.calibration == Calibration::redberg) s.calibration = Calibration::redberg;
    s.epsilon = share.epsilon;
  }
  s.ridge = problem.prior_precision.value_or(
      curvature_ridge(problem, who, share.epsilon, pure ? pure_curvature_share : curvature_share));
  const auto refused = [&](const Message& why) { return Candidate{.mechanism = s, .why = why}; };
  if (problem.outputs > 1 && plan_options.calibration == Calibration::redberg) {
    return refused(published_of_one_output());
  }
  if (const Message why = ridge_refused(problem, s.ridge); !why.empty()) return refused(why);
  if (!hide_slope(s, problem, who, share)) return refused(curvature_unpaid());
  const auto far = [&](double part) {  // where the last noise is that part of the slope's
    return pure ? part * share.search / s.noise : part * s.noise * share.search;
  };
  const NoisySlope::Search search = slope_of(s, problem).search(far(0.05), far(0.5));
  if (!(search.gradient_norm > 0)) return refused(noise_beyond_double());
  s.gradient_norm = search.gradient_norm;
  const Wide apart = 2 * Wide(s.gradient_norm), ridge = s.ridge, paid = share.search;
  s.output_noise = pure ? round_down(paid * ridge / apart) : round_up(apart / (ridge * paid));
  if (!std::isnormal(s.output_noise) || !std::isnormal(s.noise)) {
    return refused(noise_beyond_double());
  }
  if constexpr (!pure) {
    while (!(search_mu_up(s) <= share.search)) {
      s.output_noise = std::nextafter(s.output_noise, INFINITY);
    }
  }
  const char* const merit = pure ? "one minimizer of the loss with noise in its slope that epsilon "
                                   "alone pays for, whatever delta: for few features"
                                 : "one minimizer of the loss with noise in its slope: less noise "
                                   "where the data tell more";
  return {.mechanism = s,
          .cost = cost_of(minimizer_cost.passes, minimizer_cost.work, budget.draws),
          .feasible = search.found,
          .why = search.found ? merit : slope_search_unfound()};
}

// What one draw costs, its search included, and the chance that the noise in its slope as computed
// is not within what `slope_of` says.
struct ObjectivePrice {
  double mu = 0, delta = 0;
  Wide epsilon, missed;
};
ObjectivePrice price_of(const ObjectivePerturbation& s, const Problem& problem,
                        const Neighbors& who) {
  return {search_mu_up(s),
          objective_delta_up(pair_of(s, problem), s.epsilon, s.deletion_epsilon, who), s.epsilon,
          pairs(problem) * radius_missed};
}
ObjectivePrice price_of(const PureObjectivePerturbation& s, const Problem& problem,
                        const Neighbors& who) {
  const Wide search = 2 * Wide(s.gradient_norm) * Wide(s.output_noise) / Wide(s.ridge);
  return {0, 0, Wide(objective_epsilon_up(problem, who, s.ridge, s.noise)) + search,
          2 * (length_pairs(problem) * first_words + beyond_normals)};
}

}  // namespace

ObjectivePair objective_pair_of(const ObjectivePerturbation& s, const Problem& problem) {
  require_settings(s);
  require_proved_outputs(problem);
  return pair_of(s, problem);
}

double objective_output_mu_up(const ObjectivePerturbation& s) {
  require_settings(s);
  return search_mu_up(s);
}

// Theorem 1 of docs/theory/objective-pure.md.
// Proof: densities. ∇J is strongly monotone and Lipschitz, so θ ↦ b = −∇J(θ) is a bijection of
// ℝ^d, Lipschitz both ways. By Rademacher's theorem θ̂ has the density
//   p(θ) = p_b(−∇J(θ)) det H(θ) ∝ e^{−γ‖∇J(θ)‖} det H(θ)      H = Σ f''(xᵢ·θ, yᵢ) xᵢxᵢᵀ + ΛI
// for almost every θ: f'(·, y) is differentiable outside of a null set of ℝ, which x·θ meets on a
// null set of ℝ^d where x ≠ 0. The constant depends on γ and d alone.
// One row more. Let D⁺ be D and (x, f). As ∇J⁺ = ∇J + f'x and H⁺ = H + f''xxᵀ, at one and the same
// θ
//   log p⁺/p = γ(‖∇J‖−‖∇J+f'x‖) + log(1 + f'' xᵀH⁻¹x),
//   H ⪰ ΛI:  the last term is in [0, log(1+f''‖x‖²/Λ)]
//   −γ|f'|‖x‖ ≤ log p⁺/p ≤ γ|f'|‖x‖ + log(1+f''‖x‖²/Λ)        (1)
// Inserted (p against p⁺) it is at most γL, deleted at most γL + log(1+t). Both need f' and f'' at
// the same point. Where κ is finite f''(u+s) ≥ f''(u)e^{−κ|s|}, so F ≥ sup f' ≥ f'(u) + ∫₀^∞
// f''(u+s) ds ≥ f'(u) + f''(u)/κ, and likewise below: f'' ≤ κ(F−|f'|). (1) grows with ‖x‖; with p
// = |f'| it is at most
//   max over p ≤ F of  γRp + log(1 + (R²/Λ) min{ϕ, κ(F−p)})
// which rises for p ≤ F − ϕ/κ, where the minimum is ϕ, and is concave beyond. With A = κR²/Λ (so w
// = γR/A) its slope there is γR − A/(1+A(F−p)). It is at p = F where w ≥ 1: γL. At p = F − ϕ/κ,
// where A(F−p) = t, where w ≤ 1/(1+t): γL − γRϕ/κ + log(1+t), and γRϕ/κ = wt. Between, 1 + A(F−p)
// = 1/w: γL − (1−w) − log w. That is γL + c*. (F − ϕ/κ < 0 only bounds more points than there are.
// κ is taken to be ϕ/F at least, as f'' ≤ κF asks.)
// A person. k rows deleted one after the other: (1) holds for each with H of the rows that are
// left, at the same θ, so the k losses add: k(γL+c*). Inserted: kγL. Replaced: with C the common
// rows,
//   log p_D/p_D' = γ(‖∇J_D'‖−‖∇J_D‖) + log det H_D/det H_C − log det H_D'/det H_C
// the first part is at most γ Σ|f'|‖x‖ over all 2k rows, the last is not positive. So (1) is paid
// for the k rows that D has and γL for each of those that D' has: the determinant enters once, for
// nothing is divided by a determinant that is smaller than det H_C. ∎
//
// K classes: (1) with ‖∇f‖ = ‖p−e_y‖ =: q ≤ √2 for |f'| and, for the last term, log det(I+‖x‖²HG),
// H = diag p − ppᵀ, 0 ⪯ G ⪯ I/Λ: at most (K−1) log(1+R²tr H/(Λ(K−1))) (rank K − 1, log concave).
// tr H = 1 − ‖p‖² ≤ 1 − 1/K, and 2 − q² = 1 + 2p_y − ‖p‖² ≥ tr H gives tr H ≤ (√2−q)(√2+q) ≤
// 2√2(√2−q). So with ϕ' = 1 − 1/K, κ' = 2√2 (of two classes q = √2(1−p_y), tr H = 2p_y(1−p_y) ≤
// √2(√2−q) also holds; 2√2 does) and t = R²/(KΛ) the maximum is that above for γ/(K−1) and
// R²/(Λ(K−1)), times K − 1: w = γΛ/(κ'R) as before, c* = (K−1)(log(1+t)−wt), and so on. ∎
double objective_epsilon_up(const Problem& problem, const Neighbors& who, double ridge,
                            double noise_rate) {
  require_finite_positive(ridge, "ridge");
  require_finite_positive(noise_rate, "noise_rate");
  require_proved_outputs(problem);
  const Wide R = problem.full_row_norm_up(), L = problem.lipschitz_up(), gamma = noise_rate;
  const Wide rank = row_rank(problem);
  const Wide t = Wide(problem.curvature) * Wide(problem.traces.most) * R * R / (Wide(ridge) * rank);
  // f'' <= kappa (F - |f'|): w says how steeply |f'| pays for what f'' costs.
  Wide w = 0;
  if (problem.outputs > 1) {
    w = gamma * Wide(ridge) / (2 * sqrt(Wide(2)) * R);
  } else if (std::isfinite(problem.self_concordance)) {
    const Wide kappa = std::max(Wide(problem.self_concordance),
                                Wide(problem.curvature) / Wide(problem.max_abs_derivative_up()));
    w = gamma * Wide(ridge) / (kappa * R);
  }
  Wide curvature = 0;
  if (w * (1 + t) <= 1) {
    curvature = log1p(t) - w * t;
  } else if (w < 1) {
    curvature = w - 1 - log(w);
  }
  const Wide steps = who.adjacency == Adjacency::replace_one ? 2 : 1;
  return round_up(Wide(who.rows_per_person) * (steps * gamma * L + rank * curvature));
}

template <NoiseLaw law>
double objective_search_norm_down(const PerturbedObjective<law>& s, const Problem& problem) {
  require_settings(s);
  return slope_of(s, problem).search_norm_down(s.gradient_norm);
}

template <NoiseLaw law>
Candidate candidate(std::type_identity<PerturbedObjective<law>> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  return within_budget(paid_for_noise(problem, budget,
                                      [&](const Budget& left) {
                                        return objective_candidate<law>(problem, budget, left,
                                                                        plan_options);
                                      }),
                       budget);
}

template <NoiseLaw law>
Analysis analyze(const PerturbedObjective<law>& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  require_settings(s);
  require_proved_outputs(problem);
  const ObjectivePrice price = price_of(s, problem, who);
  const NoisySlope slope = slope_of(s, problem);
  const Wide k = draws;
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  count_added_noise(law, s.output_noise, minimizer_reach_up(slope.about, s.ridge, s.gradient_norm),
                    problem, draws, out);
  out.noise.tv = round_up(Wide(out.noise.tv) + k * price.missed);
  const bool found = slope.found_to(slope.search_norm_down(s.gradient_norm));
  out.guarantee = {draws_mu_up(price.mu, draws),
                   round_up(k * price.epsilon + Wide(out.noise.epsilon)),
                   round_up(k * Wide(price.delta)), found ? out.noise.tv : 1.0, who};
  return out;
}

template <NoiseLaw law>
std::string assumption_of(const PerturbedObjective<law>& m) {
  return fmt::format(
      "the minimizer of the loss, the ridge and the noise together was found to a gradient norm of "
      "at most mechanism.gradient_norm, before noise of mechanism.output_{} was added",
      m.is_pure ? "rate" : "noise");
}
template <NoiseLaw law>
std::string_view run_time_tells(const PerturbedObjective<law>& /*m*/) {
  return "it searches the minimizer of the loss with noise";
}
template <NoiseLaw law>
std::string basis_of(const PerturbedObjective<law>& m) {
  if (m.is_pure) {
    return fmt::format(
        "It rests on noise in the slope of what is minimized, of a density that falls as "
        "exp(-{:.3g} length), and on some added to the coefficients, exp(-{:.3g} length)",
        m.noise, m.output_noise);
  }
  return fmt::format(
      "It rests on noise of deviation {:.3g} in the slope of what is minimized, and of {:.3g} "
      "added to every coefficient",
      m.noise, m.output_noise);
}
template <NoiseLaw law>
std::string procedure_of(const PerturbedObjective<law>& m, const Cost& /*cost*/) {
  return fmt::format(
      "the minimizer at ridge {:.4g} of the loss with noise of {}{:.3g} in its slope", m.ridge,
      m.is_pure ? "rate " : "", m.noise);
}
std::optional<double> coefficient_noise_up(const ObjectivePerturbation& m,
                                           const Problem& /*problem*/) {
  require_finite_positive(m.ridge, "ridge");
  const Wide inside = Wide(m.noise) / Wide(m.ridge), added = m.output_noise;
  return round_up(sqrt(inside * inside + added * added));
}

template double objective_search_norm_down(const ObjectivePerturbation&, const Problem&);
template double objective_search_norm_down(const PureObjectivePerturbation&, const Problem&);
template Candidate candidate(std::type_identity<ObjectivePerturbation>, const Problem&,
                             const Budget&, const PlanOptions&);
template Candidate candidate(std::type_identity<PureObjectivePerturbation>, const Problem&,
                             const Budget&, const PlanOptions&);
template Analysis analyze(const ObjectivePerturbation&, const Problem&, const Neighbors&,
                          std::uint64_t);
template Analysis analyze(const PureObjectivePerturbation&, const Problem&, const Neighbors&,
                          std::uint64_t);
template std::string assumption_of(const ObjectivePerturbation&);
template std::string assumption_of(const PureObjectivePerturbation&);
template std::string_view run_time_tells(const ObjectivePerturbation&);
template std::string_view run_time_tells(const PureObjectivePerturbation&);
template std::string basis_of(const ObjectivePerturbation&);
template std::string basis_of(const PureObjectivePerturbation&);
template std::string procedure_of(const ObjectivePerturbation&, const Cost&);
template std::string procedure_of(const PureObjectivePerturbation&, const Cost&);

}  // namespace gibbsite
