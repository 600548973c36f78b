#include "gibbsite/mechanism/objective_pure.hpp"

#include <algorithm>
#include <cmath>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "mechanism/minimizer_reach.hpp"
#include "mechanism/offers.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {
namespace {

// b = ||zeta|| xi/gamma as computed beside the exact one (docs/objective-pure.md, "The noise as
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

// J + b.theta is J about theta0 - b/Lambda, less a constant.
Problem about_noise(const PureObjectivePerturbation& s, const Problem& problem) {
  Problem out = problem;
  out.center_norm = round_up(Wide(problem.center_norm) + longest_noise(s, problem) / Wide(s.ridge));
  return out;
}

// How far the noise that the computed center stands for is from b: the normals', the product's and
// those of the center itself.
Wide noise_off(const PureObjectivePerturbation& s, const Problem& about) {
  const Wide off = normals_off(about), length = longest_normals(about);
  return off * (2 * length + off) / Wide(s.noise_rate) +
         gamma_k(Wide(4)) * longest_noise(s, about) +
         gamma_k(Wide(4)) * Wide(s.ridge) * Wide(about.center_norm);
}

double search_norm_down(const PureObjectivePerturbation& s, const Problem& about) {
  return round_down(Wide(s.gradient_norm) - noise_off(s, about));
}

bool found_to(const PureObjectivePerturbation& s, const Problem& about, double norm) {
  return norm > 0 && minimizer_found(about, s.ridge, norm);
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

double curvature_ratio_up(const Problem& problem, double ridge) {
  const Wide R = problem.full_row_norm_up();
  return round_up(Wide(problem.curvature) * R * R / Wide(ridge));
}

// Part of epsilon for what the minimizer is found to.
constexpr double pure_search_share = 1.0 / 64;

// t = phi R^2/Lambda in parts of a row's epsilon, measured (docs/objective-pure.md, "The ridge"),
// and at most.
constexpr double pure_curvature_share = 1.0 / 16, most_pure_curvature = 0.5;

double pure_objective_ridge(const Problem& problem, const Neighbors& who, double epsilon) {
  const double R = problem.full_row_norm_up();
  const double each = epsilon / static_cast<double>(who.rows_per_person);
  return problem.curvature * R * R / std::min(pure_curvature_share * each, most_pure_curvature);
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

Offer pure_objective_offer(const Problem& problem, const Budget& budget, const Budget& left) {
  const Neighbors who = budget.neighbors();
  const Wide each = Wide(left.epsilon) / Wide(budget.draws);
  const double found_epsilon = round_down(Wide(pure_search_share) * each);
  const double epsilon = round_down(each - Wide(found_epsilon));
  PureObjectivePerturbation s;
  s.ridge = problem.prior_precision.value_or(pure_objective_ridge(problem, who, epsilon));
  Offer out{.mechanism = s};
  if (!(s.ridge > 0 && std::isfinite(s.ridge))) {
    out.why = "needs a strongly convex loss; give `prior_precision` above 0";
    return out;
  }
  constexpr const char* beyond_double =
      "its noise is no number of double arithmetic; give another --prior-precision";
  const double t = curvature_ratio_up(problem, s.ridge);
  if (!(t > 1e-30 && t < 1e30)) {
    out.why = beyond_double;
    return out;
  }
  s.noise_rate = rate_down(problem, who, s.ridge, epsilon);
  if (!(s.noise_rate > 0)) {
    out.why =
        "no noise is enough for what the curvature of one row changes; give a larger "
        "`prior_precision`";
    return out;
  }
  // The search as far as its noise stays a tenth of that of b, where the data tell most; else as
  // far as rounding lets it.
  const Problem about = about_noise(s, problem);
  const double off = round_up(noise_off(s, about));
  double search = 0.05 * found_epsilon / s.noise_rate * s.ridge / about.smoothness_up(1, s.ridge);
  const double most = 0.5 * found_epsilon / s.noise_rate;
  out.mechanism = s;
  if (!std::isnormal(search) || !std::isnormal(most) || !std::isfinite(off)) {
    out.why = beyond_double;
    return out;
  }
  while (!found_to(s, about, search) && search < most) search *= 2;
  s.gradient_norm = round_up(Wide(search) + Wide(off));
  while (!(search_norm_down(s, about) >= search)) {
    s.gradient_norm = std::nextafter(s.gradient_norm, INFINITY);
  }
  s.output_rate = round_down(Wide(found_epsilon) * Wide(s.ridge) / (2 * Wide(s.gradient_norm)));
  out.mechanism = s;
  if (!std::isnormal(s.output_rate) || !std::isnormal(s.noise_rate)) {
    out.why = beyond_double;
    return out;
  }
  out.cost = {minimizer_cost.passes * static_cast<double>(budget.draws),
              minimizer_cost.work * static_cast<double>(budget.draws)};
  if (!found_to(s, about, search)) {
    out.why =
        "the minimizer cannot be computed well enough in double; give a larger `prior_precision`";
    return out;
  }
  out.feasible = true;
  out.why =
      "one minimizer of the loss with noise in its slope that epsilon alone pays for, whatever "
      "delta: for few features";
  return out;
}

}  // namespace

double objective_epsilon_up(const Problem& problem, const Neighbors& who, double ridge,
                            double noise_rate) {
  require_finite_positive(ridge, "ridge");
  require_finite_positive(noise_rate, "noise_rate");
  const Wide R = problem.full_row_norm_up(), L = problem.lipschitz_up(), gamma = noise_rate;
  const Wide t = Wide(problem.curvature) * R * R / Wide(ridge);
  // f'' <= kappa (F - |f'|): w says how steeply |f'| pays for what f'' costs.
  Wide w = 0;
  if (std::isfinite(problem.self_concordance)) {
    const Wide kappa = std::max(Wide(problem.self_concordance),
                                Wide(problem.curvature) / Wide(problem.max_abs_residual));
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
  return search_norm_down(s, about_noise(s, problem));
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
  const Wide k = draws;
  const Wide one =
      Wide(objective_epsilon_up(problem, who, s.ridge, s.noise_rate)) + search_epsilon(s);
  const Problem about = about_noise(s, problem);
  const LaplaceNoise noise{s.output_rate, minimizer_reach_up(about, s.ridge, s.gradient_norm),
                           problem.features};
  Analysis out;
  out.constants = minimizer_constants(problem, who, s.ridge);
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, draws);
  out.noise.tv =
      round_up(Wide(out.noise.tv) + k * 2 * (length_pairs(problem) * first_words + beyond_normals));
  const bool found = found_to(s, about, search_norm_down(s, about));
  out.guarantee = {0, round_up(k * one + Wide(out.noise.epsilon)), 0, found ? out.noise.tv : 1.0,
                   who};
  return out;
}

}  // namespace gibbsite
