#include "gibbsite/mechanism/ledger_guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/privacy/objective_fit.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/conjugate_profile.hpp"
#include "mechanism/objective_pair.hpp"

namespace gibbsite {
namespace {

constexpr double ledger_reveal_share = 1e-3;  // of the budget's delta

void require_delta0(double delta0, std::uint64_t draws) {
  if (!(delta0 >= 0 && delta0 < 1)) {
    throw BadInput("reveal: must be at least 0 and less than 1; give the probability to spend");
  }
  if (draws < 1) throw BadInput("draws: must be at least 1, got 0; give the number of releases");
}

// One release's guarantee as that of `draws`, which are independent given the table: mu of several
// grows as a root.
Guarantee of_draws(const Guarantee& one, std::uint64_t draws, const Guarantee& all) {
  Guarantee out = all;
  const bool bounded = std::isfinite(one.mu);
  out.mu = bounded ? draws_mu_up(one.mu, draws) : one.mu;
  out.epsilon0 = one.epsilon0;
  out.delta0 = round_up(Wide(draws) * Wide(one.delta0));
  return out;
}

// The smaller mu of what the reveal allows; `own` where it allows neither.
Guarantee better(const Guarantee& own, const Guarantee& other, double delta0) {
  if (!(other.delta0 <= delta0)) return own;
  return !(own.delta0 <= delta0) && std::isfinite(other.mu) ? other
         : other.mu < own.mu                                ? other
                                                            : own;
}

double each_down(double delta0, std::uint64_t draws) {
  return round_down(Wide(delta0) / Wide(draws));
}

Guarantee of(const auto& mechanism, const Problem& problem, const Neighbors& who,
             std::uint64_t draws, double /*reveal*/) {
  return gdp_cover_up(analyze(mechanism, problem, who, draws).guarantee);
}

// What is pure adds up; covered draw by draw it grows as a root.
template <class M>
requires(M::is_pure) Guarantee of(const M& mechanism, const Problem& problem, const Neighbors& who,
                                  std::uint64_t draws, double delta0) {
  const Guarantee all = analyze(mechanism, problem, who, draws).guarantee;
  const Guarantee own = gdp_cover_up(all);
  if (draws == 1) return own;
  const Guarantee one = gdp_cover_up(analyze(mechanism, problem, who, 1).guarantee);
  Guarantee each = of_draws(one, draws, own);
  each.tv = std::max(all.tv, round_up(Wide(draws) * Wide(one.tv)));
  return better(own, each, delta0);
}

// The exact minimizers' fits, the noise that hides how they were found, and what rounding costs.
Guarantee of(const ObjectivePerturbation& m, const Problem& problem, const Neighbors& who,
             std::uint64_t draws, double delta0) {
  const Analysis all = analyze(m, problem, who, draws);
  const Guarantee own = gdp_cover_up(all.guarantee);
  const double each = each_down(delta0, draws);
  if (!(each > 0)) return own;
  const double fit = objective_fit_up(objective_pair_of(m, problem), who, each);
  if (!std::isfinite(fit)) return own;
  const std::vector<double> parts{fit, objective_output_mu_up(m)};
  const double mu = draws_mu_up(gdp_compose_up(parts), draws);
  Guarantee fitted = own;
  fitted.mu = gdp_cover_up(mu, all.noise.epsilon);
  fitted.delta0 = round_up(Wide(draws) * Wide(each));
  return better(own, fitted, delta0);
}

// A bounded range and curvature are Gaussian for every weight, and cost less than what covers one
// (epsilon, delta).
Guarantee of(const TrimmedDraw& m, const FamilyProblem& problem, const Neighbors& who,
             std::uint64_t draws, double delta0) {
  const Guarantee own = gdp_cover_up(analyze(FamilyMechanism(m), problem, who, draws).guarantee);
  const TrimmedDraw gaussian{m.weight};
  return better(own, analyze(FamilyMechanism(gaussian), problem, who, draws).guarantee, delta0);
}

// A table to fit for that covers the problem's: of fewer rows, as long as that costs little, for
// every table of n rows is a claim of its own.
FamilyProblem fitted_problem(const ConjugateDraw& m, const FamilyProblem& problem, double delta0) {
  FamilyProblem out = problem;
  if (!problem.is_beta()) return out;
  const double least = *std::ranges::min_element(problem.prior) * m.prior_scale;
  const bool alike = m.weight * static_cast<double>(problem.rows) < 0.1 * least;
  const std::uint64_t most = alike ? 1 : delta0 < 1e-13 ? 200 : 2000;
  out.rows = std::min(out.rows, most);
  return out;
}

// Evaluations take a time that grows as the root of the largest shape: the fewer.
std::size_t fitted_points(const ConjugateDraw& m, const FamilyProblem& problem) {
  double shape = *std::ranges::max_element(problem.prior) * m.prior_scale;
  if (problem.is_waiting()) shape += m.weight * static_cast<double>(problem.rows);
  return shape > 1e9 ? 10 : shape > 1e7 ? 14 : shape > 1e5 ? 24 : most_fit_points;
}

Guarantee of(const ConjugateDraw& m, const FamilyProblem& problem, const Neighbors& who,
             std::uint64_t draws, double delta0) {
  Guarantee own = gdp_cover_up(analyze(FamilyMechanism(m), problem, who, draws).guarantee);
  if (problem.family == Family::mean) return own;
  if (m.calibration == Calibration::exact) {  // draw by draw: delta adds, mu grows as a root
    own.mu = std::min(own.mu, draws_mu_up(gdp_cover_up(0, m.epsilon), draws));
  }
  const double each = each_down(delta0, draws);
  if (!(each > 0)) return own;
  const FamilyProblem fitted = fitted_problem(m, problem, each);
  const auto profile = [&](Digits digits) {
    return [&m, &fitted, &who, digits](double epsilon) {
      return conjugate_delta_up(m, fitted, who, epsilon, digits);
    };
  };
  const double fit =
      gdp_fit_up(profile(Digits::fifty), each, profile(Digits::few), fitted_points(m, problem));
  return better(own, of_draws({.mu = fit, .delta0 = each}, draws, own), delta0);
}

}  // namespace

Guarantee ledger_guarantee(const Mechanism& mechanism, const Problem& problem, const Neighbors& who,
                           std::uint64_t draws, double delta0) {
  require_delta0(delta0, draws);
  return std::visit([&](const auto& m) { return of(m, problem, who, draws, delta0); }, mechanism);
}

Guarantee ledger_guarantee(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                           const Neighbors& who, std::uint64_t draws, double delta0) {
  require_delta0(delta0, draws);
  return std::visit([&](const auto& m) { return of(m, problem, who, draws, delta0); }, mechanism);
}

Guarantee ledger_guarantee(const NetworkMechanism& mechanism, const NetworkProblem& problem,
                           const Neighbors& who, std::uint64_t draws, double delta0) {
  require_delta0(delta0, draws);
  return gdp_cover_up(analyze(mechanism, problem, who, draws).guarantee);
}

Guarantee in_a_ledger(Guarantee of_rows, bool people) {
  if (people) of_rows.who.rows_per_person = any_rows;
  return of_rows;
}

Guarantee ledger_guarantee(const Plan& plan) {
  return in_a_ledger(
      ledger_guarantee(plan.candidate().mechanism, plan.problem, plan.candidate().guarantee.who,
                       plan.budget.draws, plan.budget.delta * ledger_reveal_share),
      plan.problem.of_people());
}

Guarantee ledger_guarantee(const FamilyPlan& plan) {
  return ledger_guarantee(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws,
                          plan.budget.delta * ledger_reveal_share);
}

Guarantee ledger_guarantee(const NetworkPlan& plan) {
  return in_a_ledger(
      ledger_guarantee(plan.candidate().mechanism, plan.problem, plan.candidate().guarantee.who,
                       plan.budget.draws, plan.budget.delta * ledger_reveal_share),
      plan.problem.of_people());
}

// Gaussian alone: no reveal is spent.
Guarantee ledger_guarantee(const HistogramPlan& plan) {
  return gdp_cover_up(
      analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee);
}

Guarantee ledger_guarantee(const CovariancePlan& plan) { return gdp_cover_up(own_guarantee(plan)); }

Guarantee own_guarantee(const CovariancePlan& plan) {
  return in_a_ledger(
      analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee,
      plan.problem.of_people());
}

// Gaussian but for the threshold, which is a total variation.
Guarantee ledger_guarantee(const SchemaPlan& plan) {
  return in_a_ledger(
      gdp_cover_up(
          analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee),
      plan.problem.of_people());
}

// A bounded range costs less than what its pure part alone says.
Guarantee ledger_guarantee(const SelectPlan& plan) {
  return select_cover_up(plan.mechanism, plan.problem, plan.guarantee.who);
}

Guarantee own_guarantee(const SelectPlan& plan) {
  return analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee;
}

Guarantee own_guarantee(const Plan& plan) {
  const Candidate& candidate = plan.candidate();
  return in_a_ledger(
      analyze(candidate.mechanism, plan.problem, candidate.guarantee.who, plan.budget.draws)
          .guarantee,
      plan.problem.of_people());
}

Guarantee own_guarantee(const FamilyPlan& plan) {
  return analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee;
}

Guarantee own_guarantee(const NetworkPlan& plan) {
  const NetworkCandidate& candidate = plan.candidate();
  return in_a_ledger(
      analyze(candidate.mechanism, plan.problem, candidate.guarantee.who, plan.budget.draws)
          .guarantee,
      plan.problem.of_people());
}

Guarantee own_guarantee(const HistogramPlan& plan) {
  return analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee;
}

Guarantee own_guarantee(const SchemaPlan& plan) {
  return in_a_ledger(
      analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws).guarantee,
      plan.problem.of_people());
}

}  // namespace gibbsite
