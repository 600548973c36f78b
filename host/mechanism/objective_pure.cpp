#include "gibbsite/mechanism/objective_pure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "mechanism/noisy_slope.hpp"
#include "mechanism/offers.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// b = ||zeta|| xi/gamma as computed beside the exact one (docs/theory/objective-pure.md, "The noise as
// computed"): a radius is further than `half_word` from the middle of its word with a probability
// below `first_words`, and the exact normals of a vector, the thrown-away half of a last pair
// included, are longer than sqrt(d + 2) + 13.4 with one below `beyond_normals`.
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

// ||b|| as computed, at most: its scale and the product are rounded.
Wide longest_noise(const PureObjectivePerturbation& s, const Problem& problem) {
  const Wide length = longest_normals(problem) + normals_off(problem);
  return length * length * (1 + gamma_k(Wide(4))) / Wide(s.noise_rate);
}

// b is off by what the normals are, and by the product's roundings.
NoisySlope slope_of(const PureObjectivePerturbation& s, const Problem& problem) {
  const Wide off = normals_off(problem), length = longest_normals(problem);
  const Wide longest = longest_noise(s, problem);
  return {problem, s.ridge, longest,
          off * (2 * length + off) / Wide(s.noise_rate) + gamma_k(Wide(4)) * longest};
}

// 2 g gamma_out/Lambda.
Wide search_epsilon(const PureObjectivePerturbation& s) {
  return 2 * Wide(s.gradient_norm) * Wide(s.output_rate) / Wide(s.ridge);
}

void require_settings(const PureObjectivePerturbation& s) {
  require_finite_positive(s.ridge, "ridge");
  require_finite_positive(s.noise_rate, "noise_rate");
  require_finite_positive(s.gradient_norm, "gradient_norm");
  require_finite_positive(s.output_rate, "output_rate");
}

// Part of epsilon for what the minimizer is found to.
constexpr double pure_search_share = 1.0 / 64;

// t in parts of a row's epsilon, measured (docs/theory/objective-pure.md, "The ridge").
constexpr double pure_curvature_share = 1.0 / 16;

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

Offer pure_objective_offer(const Problem& problem, const Budget& budget, const Budget& left) {
  const Neighbors who = budget.neighbors();
  const Wide each = Wide(left.epsilon) / Wide(budget.draws);
  const double found_epsilon = round_down(Wide(pure_search_share) * each);
  const double epsilon = round_down(each - Wide(found_epsilon));
  PureObjectivePerturbation s;
  s.ridge = problem.prior_precision.value_or(
      curvature_ridge(problem, who, epsilon, pure_curvature_share));
  const auto refused = [&](const Message& why) { return Offer{.mechanism = s, .why = why}; };
  if (const Message why = ridge_refused(problem, s.ridge); !why.empty()) return refused(why);
  s.noise_rate = rate_down(problem, who, s.ridge, epsilon);
  if (!(s.noise_rate > 0)) return refused(curvature_unpaid());
  const NoisySlope::Search search =
      slope_of(s, problem)
          .search(0.05 * found_epsilon / s.noise_rate, 0.5 * found_epsilon / s.noise_rate);
  if (!(search.gradient_norm > 0)) return refused(noise_beyond_double());
  s.gradient_norm = search.gradient_norm;
  s.output_rate = round_down(Wide(found_epsilon) * Wide(s.ridge) / (2 * Wide(s.gradient_norm)));
  if (!std::isnormal(s.output_rate) || !std::isnormal(s.noise_rate)) {
    return refused(noise_beyond_double());
  }
  return {.mechanism = s,
          .cost = cost_of(minimizer_cost.passes, minimizer_cost.work, budget.draws),
          .feasible = search.found,
          .why = search.found ? "one minimizer of the loss with noise in its slope that epsilon "
                                "alone pays for, whatever delta: for few features"
                              : slope_search_unfound()};
}

}  // namespace

double objective_epsilon_up(const Problem& problem, const Neighbors& who, double ridge,
                            double noise_rate) {
  require_finite_positive(ridge, "ridge");
  require_finite_positive(noise_rate, "noise_rate");
  require_one_output(problem);
  const Wide R = problem.full_row_norm_up(), L = problem.lipschitz_up(), gamma = noise_rate;
  const Wide t = Wide(problem.curvature) * R * R / Wide(ridge);
  // f'' <= kappa (F - |f'|): w says how steeply |f'| pays for what f'' costs.
  Wide w = 0;
  if (std::isfinite(problem.self_concordance)) {
    const Wide kappa = std::max(Wide(problem.self_concordance),
                                Wide(problem.curvature) / Wide(problem.max_abs_residual_up()));
    w = gamma * Wide(ridge) / (kappa * R);
  }
  Wide curvature = 0;
  if (w * (1 + t) <= 1) {
    curvature = log1p(t) - w * t;
  } else if (w < 1) {
    curvature = w - 1 - log(w);
  }
  const Wide steps = who.adjacency == Adjacency::replace_one ? 2 : 1;
  return round_up(Wide(who.rows_per_person) * (steps * gamma * L + curvature));
}

double objective_search_norm_down(const PureObjectivePerturbation& s, const Problem& problem) {
  require_settings(s);
  return slope_of(s, problem).search_norm_down(s.gradient_norm);
}

Offer offer(std::type_identity<PureObjectivePerturbation> /*kind*/, const Problem& problem,
            const Budget& budget, const Wishes& /*wishes*/) {
  return within_budget(paid_for_noise(problem, budget,
                                      [&](const Budget& left) {
                                        return pure_objective_offer(problem, budget, left);
                                      }),
                       budget);
}

Analysis analyze(const PureObjectivePerturbation& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  require_settings(s);
  require_one_output(problem);
  const Wide k = draws;
  const Wide one =
      Wide(objective_epsilon_up(problem, who, s.ridge, s.noise_rate)) + search_epsilon(s);
  const NoisySlope slope = slope_of(s, problem);
  const LaplaceNoise noise{s.output_rate, minimizer_reach_up(slope.about, s.ridge, s.gradient_norm),
                           problem.features};
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, draws);
  out.noise.tv =
      round_up(Wide(out.noise.tv) + k * 2 * (length_pairs(problem) * first_words + beyond_normals));
  const bool found = slope.found_to(slope.search_norm_down(s.gradient_norm));
  out.guarantee = {0, round_up(k * one + Wide(out.noise.epsilon)), 0, found ? out.noise.tv : 1.0,
                   who};
  return out;
}

std::string assumption_of(const PureObjectivePerturbation& /*m*/) {
  return noisy_slope_assumption("rate");
}
std::string_view run_time_tells(const PureObjectivePerturbation& /*m*/) {
  return searches_with_noise;
}
std::string basis_of(const PureObjectivePerturbation& m) {
  return fmt::format(
      "It rests on noise in the slope of what is minimized, of a density that falls as "
      "exp(-{:.3g} length), and on some added to the coefficients, exp(-{:.3g} length)",
      m.noise_rate, m.output_rate);
}
std::string procedure_of(const PureObjectivePerturbation& m, const Cost& /*cost*/) {
  return fmt::format(
      "the minimizer at ridge {:.4g} of the loss with noise of rate {:.3g} in its slope", m.ridge,
      m.noise_rate);
}
std::optional<double> coefficient_noise_up(const PureObjectivePerturbation& /*m*/,
                                           const Problem& /*problem*/) {
  return {};
}

}  // namespace gibbsite
