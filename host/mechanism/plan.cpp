#include "gibbsite/mechanism/plan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/format_message.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/mechanism/plan_chosen.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/whitened_losses.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {
namespace {

constexpr double most_steps = 0x1p53;  // beyond it a double does not count steps
constexpr double longest_run_passes = 1e9;

}  // namespace

double draws_mu_up(double mu, std::uint64_t draws) {
  return draws == 1 ? mu : round_up(Wide(mu) * sqrt(Wide(draws)));
}

double gibbs_beta_down(const Problem& problem, const Budget& budget, Calibration calibration,
                       double delta, double prior_precision) {
  const double lipschitz = round_up(Wide(problem.lipschitz_up()) * Wide(budget.rows_per_person));
  const double beta = calibrate_beta_down(calibration, budget.epsilon, delta, lipschitz,
                                          prior_precision, budget.adjacency);
  return budget.draws == 1 ? beta : round_down(Wide(beta) / sqrt(Wide(budget.draws)));
}

Cost cost_of(double passes, double work, std::uint64_t draws) {
  const auto k = static_cast<double>(draws);
  return {passes * k, work * k};
}

bool in_reach(const Cost& cost) { return cost.passes <= longest_run_passes; }

std::string out_of_reach(const Cost& cost) {
  return fmt::format("needs {:.2g} passes over the data", cost.passes);
}

std::string steps_words(double iterations, double step_size) {
  return fmt::format("{} steps of {:.3g}", human_count(iterations), step_size);
}

double start_gradient_up(const Problem& problem, double beta) {
  return round_up(Wide(beta) * Wide(problem.most_weight_up()) * Wide(problem.lipschitz_up()));
}

namespace {

// (epsilon, delta) for the Gaussian part when gaps of `tv` are to be paid for: at most the budget's
// epsilon, less where e^epsilon makes them dear.
Budget after_noise(Budget budget, const NoiseCost& paid) {
  const double most = round_down(Wide(budget.epsilon) - Wide(paid.epsilon));
  const auto left_at = [&](double epsilon) {
    return delta_left_down(budget.delta, Wide(epsilon) + Wide(paid.epsilon), paid.tv);
  };
  const auto worth = [&](double epsilon) {
    const double delta = left_at(epsilon);
    return epsilon > 0 && delta > 0 ? gdp_mu_down(epsilon, delta) : 0.0;
  };
  budget.epsilon = most;
  if (most > 0 && !(left_at(most) > 0.99 * budget.delta)) {
    double lo = 0, hi = most;
    for (int i = 0; i < 20; ++i) {  // golden section: mu has one maximum
      const double a = lo + 0.382 * (hi - lo), b = lo + 0.618 * (hi - lo);
      worth(a) >= worth(b) ? hi = b : lo = a;
    }
    if (worth((lo + hi) / 2) > worth(most)) budget.epsilon = (lo + hi) / 2;
  }
  budget.delta = budget.epsilon > 0 ? left_at(budget.epsilon) : 0.0;
  return budget;
}

}  // namespace

Candidate paid_for_noise(const Problem& problem, const Budget& budget,
                         const std::function<Candidate(const Budget&)>& make) {
  NoiseCost paid;
  Candidate out;
  // The cost hardly depends on what is left; a step of the grid may double it.
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Budget left = after_noise(budget, paid);
    if (!(left.epsilon > 0) || !(left.delta > 0)) {
      out.feasible = false;
      out.why = format_message(
          "normals computed in double are off by {:.2g} in total variation, which costs "
          "(1+e^epsilon) times that of delta, and {:.2g} of epsilon, over {} and {:.3g} passes: "
          "more than the budget has; ask for a larger delta, fewer draws or fewer {}",
          paid.tv, paid.epsilon, coefficients_words(problem), out.cost.passes, Field{"iterations"});
      return out;
    }
    out = make(left);
    if (!out.feasible) return out;  // for a reason of its own
    const Analysis found = analyze(out.mechanism, problem, budget.neighbors(), budget.draws);
    out.guarantee = found.guarantee;
    if (found.noise.tv <= paid.tv && found.noise.epsilon <= paid.epsilon) return out;
    paid = {round_up(Wide(1.01) * found.noise.tv), round_up(Wide(1.01) * found.noise.epsilon)};
  }
  out.feasible = false;
  out.why = format_message("the cost of computed noise does not settle; ask for another {}",
                           Field{"iterations"});
  return out;
}

Candidate within_budget(Candidate out, const Budget& budget) {
  if (out.feasible && !(delta_up(out.guarantee, budget.epsilon) <= budget.delta)) {
    out.feasible = false;
    out.why = "rounding takes more than the budget has; ask for a larger delta";
  }
  return out;
}

namespace {

bool of_objective(Calibration calibration) {
  return calibration == Calibration::exact || calibration == Calibration::redberg;
}

// What a mechanism that is yet to be chosen takes. It is path if slopes are bounded in a ball
// alone.
SupportedOptions taken_by_auto(const Problem& problem, const PlanOptions& plan_options) {
  const bool posterior = plan_options.tv || plan_options.beta;
  return {.step_size = !posterior && !plan_options.intervals,
          .iterations = !posterior && !plan_options.intervals,
          .ball = !problem.bounded(),
          .tv = true,
          .posterior_calibration = true,
          .intervals = true};
}

void validate(const Problem& problem, const Budget& budget, const PlanOptions& plan_options) {
  problem.validate();
  budget.validate();
  if (plan_options.mechanism != "auto") static_cast<void>(mechanism_named(plan_options.mechanism));
  if (plan_options.tv) require_between(*plan_options.tv, 0, 0.5, Field{"tv"});
  if (plan_options.beta) require_finite_positive(*plan_options.beta, Field{"beta"});
  if (plan_options.step_size) require_finite_positive(*plan_options.step_size, Field{"step_size"});
  if (plan_options.iterations &&
      !(*plan_options.iterations >= 1 &&
        *plan_options.iterations == std::floor(*plan_options.iterations) &&
        *plan_options.iterations <= most_steps)) {
    throw BadInput(
        Field{"iterations"},
        fmt::format("must be a whole number from 1 to 2^53, got {}", *plan_options.iterations),
        "give one, or leave it out");
  }
  if (problem.of_people() && problem.rows_of_person != budget.rows_per_person) {
    throw BadInput(Field{"rows_per_person"},
                   fmt::format("is {}, and weights hold a person to {} rows",
                               budget.rows_per_person, problem.rows_of_person),
                   "give both the same");
  }
  const bool automatic = plan_options.mechanism == "auto";
  const SupportedOptions takes = automatic ? taken_by_auto(problem, plan_options)
                                           : taken_by(mechanism_named(plan_options.mechanism));
  if ((plan_options.step_size && !takes.step_size) ||
      (plan_options.iterations && !takes.iterations)) {
    throw BadInput(
        format_message("{}, {}", Field{"step_size"}, Field{"iterations"}),
        "every mechanism but path fixes both itself (whitened and metric-path the first)",
        format_message("leave them out, or use {} path", Field{"mechanism"}));
  }
  if (plan_options.padded && !takes.padded) {
    throw BadInput(Field{"padded"},
                   format_message("belongs to {} proximal or metric-proximal", Field{"mechanism"}),
                   "give both or neither");
  }
  if (plan_options.intervals && !takes.intervals) {
    throw BadInput(
        Field{"intervals"},
        fmt::format("{} answers nothing that they could be made from", plan_options.mechanism),
        format_message("leave them out, or use {} whitened", Field{"mechanism"}));
  }
  if (plan_options.intervals && (plan_options.tv || plan_options.beta || plan_options.ball)) {
    throw BadInput(Field{"intervals"},
                   format_message("belong to {} whitened, which takes no {}", Field{"mechanism"},
                                  Field{plan_options.tv     ? "tv"
                                        : plan_options.beta ? "beta"
                                                            : "ball"}),
                   "leave one out");
  }
  if (plan_options.ball) {
    require_ball(*plan_options.ball, Field{"ball"});
    if (!takes.ball) {
      throw BadInput(
          Field{"ball"},
          format_message("only chains of {} path are kept in one, others have no proof there",
                         Field{"mechanism"}),
          fmt::format("leave it out, or use path instead of {}", plan_options.mechanism));
    }
    if (automatic && plan_options.tv) {
      throw BadInput(
          Field{"tv"},
          format_message("chains in a {} keep no distance to the Gibbs posterior", Field{"ball"}),
          "leave one of the two out");
    }
    if (plan_options.calibration != Calibration::gdp) {
      throw BadInput(Field{"ball"},
                     format_message("{} {} is of the posterior on the whole space",
                                    Field{"calibration"}, to_string(plan_options.calibration)),
                     "give gdp, or no ball");
    }
  }
  if (of_objective(plan_options.calibration) && !takes.objective_calibration) {
    throw BadInput(
        format_message("{} {}", Field{"calibration"}, to_string(plan_options.calibration)),
        format_message("belongs to {} objective", Field{"mechanism"}), "give both or neither");
  }
  if (plan_options.calibration != Calibration::gdp && problem.prior_precision == 0.0) {
    throw BadInput(
        format_message("{} {}", Field{"calibration"}, to_string(plan_options.calibration)),
        "needs a prior precision above 0", format_message("give {}", Field{"prior_precision"}));
  }
  const bool of_posterior =
      plan_options.calibration != Calibration::gdp && !of_objective(plan_options.calibration);
  if (plan_options.beta && !takes.tv) {
    throw BadInput(Field{"beta"}, "belongs to draws from the Gibbs posterior",
                   format_message("leave it out, or use another {} than {}", Field{"mechanism"},
                                  plan_options.mechanism));
  }
  if ((plan_options.tv && !takes.tv) || (of_posterior && !takes.posterior_calibration)) {
    throw BadInput(format_message("{}, {}", Field{"tv"}, Field{"calibration"}),
                   "belong to draws from the Gibbs posterior",
                   format_message("leave them out, or use another {} than {}", Field{"mechanism"},
                                  plan_options.mechanism));
  }
}

// Outside of a ball. A radius at which a row of typical norm can predict the ends of the range.
Message unbounded_words(const Problem& problem) {
  const double row =
      problem.typical_row_norm > 0 ? problem.typical_row_norm : problem.full_row_norm_up();
  return format_message(
      "one row can do anything to {}, whose slope grows with the error without bound, unless "
      "chains are kept in a ball: give {} path and a public {} ({:.2g}: a row of typical norm "
      "then predicts the ends of the label's range), or {} huber",
      problem.loss, Field{"mechanism"}, Field{"ball"}, problem.label_bound / row, Field{"model"});
}

template <class M>
Candidate candidate_of(const Problem& problem, const Budget& budget,
                       const PlanOptions& plan_options) {
  if (problem.of_people() && !M::takes.people) {
    return {.mechanism = M{}, .why = no_people(M{}) + "; take whitened, metric-path or path"};
  }
  if (!problem.bounded() && !(M::takes.ball && plan_options.ball)) {
    return {.mechanism = M{}, .why = unbounded_words(problem)};
  }
  return candidate(std::type_identity<M>{}, problem, budget, plan_options);
}

// What offers are made from.
struct Asked {
  const Problem& problem;
  const Problem& chains;
  const Budget& budget;
  const PlanOptions& plan_options;
};

template <class M>
Candidate offer_of(const Asked& asked) {
  PlanOptions wishes = asked.plan_options;  // the table has every mechanism
  if (of_objective(wishes.calibration) && !M::takes.objective_calibration)
    wishes.calibration = Calibration::gdp;
  return candidate_of<M>(M::takes.loss_of_chains ? asked.chains : asked.problem, asked.budget,
                         wishes);
}

template <class... M>
std::vector<Candidate> all_candidates(std::type_identity<std::variant<M...>>, const Asked& asked) {
  return {offer_of<M>(asked)...};
}

template <class... M>
Candidate candidate_named(std::type_identity<std::variant<M...>>, std::string_view name,
                          const Asked& asked) {
  Candidate out;
  static_cast<void>(((M::name == name && (out = offer_of<M>(asked), true)) || ...));
  return out;
}

bool keeps_a_gap(const Mechanism& mechanism) {
  return std::visit(
      [](const auto& m) {
        return requires { m.tv_gap; };
      },
      mechanism);
}

std::size_t index_of(const std::vector<Candidate>& all, std::string_view name) {
  std::size_t i = 0;
  while (name_of(all[i].mechanism) != name) ++i;
  return i;
}

// Mechanisms of which the first in reach is chosen, or the last: the one that is asked for; else
// whitened, then chains in a metric, unless what is asked for is path's alone: the running time of
// all three says nothing of the data. None where all offers are compared: a gap is to be kept.
std::vector<std::string_view> preferred(const PlanOptions& plan_options) {
  if (plan_options.mechanism != "auto") return {plan_options.mechanism};
  if (plan_options.tv || plan_options.beta) return {};
  if (plan_options.intervals) return {Whitened::name};
  const bool asks_for_path = plan_options.ball || plan_options.step_size ||
                             plan_options.iterations ||
                             plan_options.calibration != Calibration::gdp;
  if (asks_for_path) return {Path::name};
  return {Whitened::name, MetricPath::name, Path::name};
}

// The cheapest within reach that keeps the gap, else path.
std::size_t cheapest_that_keeps(const std::vector<Candidate>& all) {
  std::size_t best = index_of(all, Path::name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!keeps_a_gap(all[i].mechanism)) continue;
    const bool first = !keeps_a_gap(all[best].mechanism);
    if (first ||
        (all[i].feasible && (!all[best].feasible || all[i].cost.work < all[best].cost.work))) {
      best = i;
    }
  }
  return best;
}

// Everything of a plan but its offers.
Plan empty_plan(const Asked& asked) {
  validate(asked.problem, asked.budget, asked.plan_options);
  validate(asked.chains, asked.budget, asked.plan_options);
  if (asked.plan_options.intervals) {
    if (const Message why = information_obstacle(asked.problem); !why.empty())
      throw BadInput(format_message("{}: ", Field{"intervals"}) + why);
  }
  return {asked.problem, asked.budget, {}, 0};
}

Plan of_chosen(Plan plan, const Problem& chains) {
  if (taken_by(plan.candidate().mechanism).loss_of_chains) plan.problem = chains;
  return plan;
}

}  // namespace

Plan plan(const Problem& problem, const Budget& budget, const PlanOptions& plan_options) {
  return plan(problem, problem, budget, plan_options);
}

Plan plan(const Problem& problem, const Problem& chains, const Budget& budget,
          const PlanOptions& plan_options) {
  const StandardArithmetic arithmetic;
  const Asked asked{problem, chains, budget, plan_options};
  Plan out = empty_plan(asked);
  out.candidates = all_candidates(std::type_identity<Mechanism>{}, asked);
  const std::vector<std::string_view> names = preferred(plan_options);
  for (const std::string_view name : names) {
    out.chosen = index_of(out.candidates, name);
    if (out.candidate().feasible) break;
  }
  if (names.empty()) {
    out.chosen = cheapest_that_keeps(out.candidates);
    Candidate& best = out.candidates[out.chosen];
    if (best.feasible) best.why += "; the cheapest within the gap";
  }
  return of_chosen(std::move(out), chains);
}

Plan plan_chosen(const Problem& problem, const Problem& chains, const Budget& budget,
                 const PlanOptions& plan_options) {
  const StandardArithmetic arithmetic;
  const std::vector<std::string_view> names = preferred(plan_options);
  if (names.empty()) return plan(problem, chains, budget, plan_options);
  const Asked asked{problem, chains, budget, plan_options};
  Plan out = empty_plan(asked);
  for (const std::string_view name : names) {
    out.candidates = {candidate_named(std::type_identity<Mechanism>{}, name, asked)};
    if (out.candidate().feasible) break;
  }
  return of_chosen(std::move(out), chains);
}

const Candidate& require_feasible(const Plan& plan) {
  const Candidate& chosen = plan.candidate();
  if (!chosen.feasible) {
    throw Infeasible(format_message("{} {}", Field{"mechanism"}, name_of(chosen.mechanism)),
                     chosen.why);
  }
  return chosen;
}

std::optional<Candidate> candidate_with_intervals(const Plan& plan,
                                                  const PlanOptions& plan_options) {
  const Candidate& chosen = plan.candidate();
  const auto* const whitened = std::get_if<Whitened>(&chosen.mechanism);
  if (whitened == nullptr || !chosen.feasible) return {};
  if (whitened->information_share > 0) return chosen;
  const StandardArithmetic arithmetic;
  PlanOptions with = plan_options;
  with.intervals = true;
  Candidate out = candidate(std::type_identity<Whitened>{}, plan.problem, plan.budget, with);
  return out.feasible ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<ExpectedLearning> expected_learning(const Plan& plan,
                                                  const std::optional<PositiveShare>& share) {
  const Candidate& candidate = plan.candidate();
  if (!candidate.feasible) return {};
  const Guarantee& guarantee = candidate.guarantee;
  double mu = guarantee.delta0 > 0 ? gdp_mu_down(plan.budget.epsilon, plan.budget.delta)
                                   : guarantee.mu;  // of objective: what it is worth
  if (!(mu > 0)) return {};
  if (!plan.problem.bounded()) {  // what was measured has slopes of at most 1
    const auto ball = setting(candidate.mechanism, "ball");
    if (!ball) return {};
    mu /= plan.problem.max_abs_derivative_up(*ball);
  }
  const bool from_few = learns_from_few(candidate.mechanism, plan.problem);
  const double evenness = share ? least_evenness(*share) : 1;
  const double signal = signal_per_feature(plan.problem, plan.budget.neighbors(), mu);
  return ExpectedLearning{mu, kept_share(signal, from_few, evenness), from_few, evenness};
}

}  // namespace gibbsite
