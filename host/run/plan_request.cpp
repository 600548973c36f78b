#include "gibbsite/run/plan_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/mechanism/rdp.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/covariance_model.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/tree_model.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/rdp.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "gibbsite/run/planned_fit.hpp"

namespace gibbsite {
namespace {

Model glm_of(const PlanRequest& request, const std::string& loss) {
  return glm(loss, {.prior_precision = request.prior_precision, .center = {}});
}

std::uint64_t public_rows(const PlanRequest& request, std::uint64_t rows,
                          std::string_view unit = "rows") {
  if (request.rows_cap && rows > *request.rows_cap) {
    throw BadInput(Field{"rows_cap"},
                   fmt::format("the table has more than {} {}", *request.rows_cap, unit),
                   fmt::format("give a public bound that holds (private: how many {} there are is "
                               "not public)",
                               unit));
  }
  return request.rows_cap.value_or(rows);
}

Problem constants_of(const PlanRequest& request, const std::string& loss, const FeatureSpace& space,
                     std::uint64_t rows) {
  Problem out = glm_of(request, loss)
                    .constants(space, public_rows(request, rows, space.people ? "people" : "rows"));
  if (space.people) out.rows_of_person = request.rows_per_person.value_or(1);
  return out;
}

void require_cap(const PlanRequest& request, Adjacency adjacency) {
  const bool needs_cap = adjacency == Adjacency::add_remove;
  if (needs_cap && !request.rows_cap) {
    throw BadInput(Field{"adjacency"}, "the number of rows is private under add-remove",
                   format_message("give a public upper bound, {}", Field{"rows_cap"}));
  }
  if (!needs_cap && request.rows_cap) {
    throw BadInput(Field{"rows_cap"}, "has a meaning under the adjacency add-remove only",
                   "leave it out");
  }
}

// The first field that the request gives of another kind than its model's.
std::string strange_field(const PlanRequest& request) {
  const unsigned kind = kind_of(request);
  const PlanRequest none;
  std::string out;
  visit_request(request, [&](const char* name, const auto& value, unsigned kinds) {
    if ((kinds & kind) != 0 || !out.empty()) return;
    visit_request(none, [&](const char* other, const auto& absent, unsigned) {
      if constexpr (std::is_same_v<decltype(value), decltype(absent)>) {
        if (other == std::string_view(name) && value != absent) out = name;
      }
    });
  });
  return out;
}

// "network-counts" is `counts` too.
template <class Kind>
bool is_mechanism(const std::string& wish) {
  constexpr std::string_view prefix = "network-", name = Kind::name;
  return wish == name || (name.starts_with(prefix) && wish == name.substr(prefix.size()));
}

void require_of_family(const PlanRequest& r) {
  const auto none = [&](const char* name) {
    throw BadInput(Field{name},
                   format_message("has no meaning with {} {}", Field{"model"}, r.model),
                   "leave it out");
  };
  const bool drawn = r.mechanism == ConjugateDraw::name, cut = r.mechanism == TrimmedDraw::name;
  if (r.mechanism != "auto" && !drawn && !cut) none("mechanism");
  if (r.variance && r.model != to_string(Family::mean)) none("variance");
  const bool centered = FamilyProblem{.family = *family_named(r.model)}.is_centered();
  if (r.center && !centered) none("center");
  if (!r.center && centered)
    throw BadInput(Field{"center"}, "is missing",
                   fmt::format("give the known mean that {} is about", r.model));
  if (r.trim && (r.diffused || r.calibration != to_string(Calibration::gdp))) {
    throw BadInput(Field{r.diffused ? "diffused" : "calibration"},
                   format_message("has no meaning with {}", Field{"trim"}), "leave it out");
  }
  if (cut && !r.trim) {
    throw BadInput(format_message("{} trimmed", Field{"mechanism"}),
                   format_message("needs {}", Field{"trim"}),
                   "give the bounds that draws are cut to");
  }
  if (drawn && r.trim) {
    throw BadInput(Field{"trim"}, format_message("is of {} trimmed", Field{"mechanism"}),
                   "leave one out");
  }
}

bool is_private(const PlanRequest& request) { return request.structure == "private"; }

// Nothing that says how a structure is chosen.
void require_structure_given(const PlanRequest& r) {
  const char* const name = r.structure_share ? "structure_share"
                           : r.parents       ? "parents"
                           : r.cells         ? "cells"
                                             : nullptr;
  if (name == nullptr) return;
  throw BadInput(Field{name}, format_message("has a meaning with {} private", Field{"structure"}),
                 "leave it out");
}

void require_structure(const PlanRequest& r) {
  if (r.structure && r.structure != "given" && !is_private(r)) {
    throw BadInput(Field{"structure"},
                   fmt::format("{} is neither given nor private", gibbsite::quoted(*r.structure)),
                   "give one");
  }
  if (r.structure == "given") require_structure_given(r);
}

// What belongs to tables that are drawn, where one model is fitted to noisy counts.
void require_counted_once(const PlanRequest& r) {
  const char* const name = r.draws.value_or(1) > 1 ? "draws"
                           : r.prior               ? "prior"
                           : r.trim                ? "trim"
                                                   : nullptr;
  if (name == nullptr) return;
  throw BadInput(Field{name},
                 "is of drawn tables, and a structure chosen from the table is counted",
                 format_message("leave it out, or give a [network] and {} trimmed or conjugate",
                                Field{"mechanism"}));
}

void require_of_network(const PlanRequest& r) {
  require_structure(r);
  if (r.structure_share) require_between(*r.structure_share, 0, 1, Field{"structure_share"});
  const bool counts = is_mechanism<NetworkCounts>(r.mechanism),
             trimmed = is_mechanism<NetworkTrimmed>(r.mechanism),
             conjugate = is_mechanism<NetworkConjugate>(r.mechanism),
             tree = is_mechanism<NetworkTree>(r.mechanism);
  const Message of_trimmed = format_message("is of {} trimmed", Field{"mechanism"});
  if (!counts && !trimmed && !conjugate && !tree && r.mechanism != "auto") {
    throw BadInput(
        Field{"mechanism"},
        format_message("{} is none of {} network's: auto, counts, trimmed, conjugate, tree",
                       gibbsite::quoted(r.mechanism), Field{"model"}),
        "give one");
  }
  if (counts && r.draws.value_or(1) > 1) {
    throw BadInput(
        Field{"draws"}, "noisy counts are released once",
        format_message("leave it out, or give {} trimmed or conjugate", Field{"mechanism"}));
  }
  if (counts && (r.prior || r.trim)) {
    throw BadInput(
        Field{r.prior ? "prior" : "trim"},
        format_message("is of drawn tables, {} trimmed or conjugate", Field{"mechanism"}),
        "leave it out");
  }
  if (tree && r.structure == "given") {
    throw BadInput(format_message("{} tree", Field{"mechanism"}),
                   "chooses its tables from the table",
                   format_message("give {} private, or another mechanism", Field{"structure"}));
  }
  if (tree || (is_private(r) && r.mechanism == "auto")) require_counted_once(r);
  if (trimmed && !r.trim) {
    throw BadInput(format_message("{} trimmed", Field{"mechanism"}),
                   format_message("needs {}", Field{"trim"}), "give the least share of a level");
  }
  if (conjugate && r.trim) throw BadInput(Field{"trim"}, of_trimmed, "leave one out");
  if (conjugate && is_private(r)) {
    throw BadInput(format_message("{} conjugate", Field{"mechanism"}),
                   "needs a structure that is given",
                   format_message("give [network] in the schema and {} given, or another mechanism",
                                  Field{"structure"}));
  }
}

void require_of_covariance(const PlanRequest& r) {
  if (r.mechanism != "auto" && r.mechanism != CovarianceMoments::name) {
    throw BadInput(Field{"mechanism"},
                   format_message("has no meaning with {} {}", Field{"model"}, r.model),
                   "leave it out");
  }
  if (r.draws.value_or(1) > 1)
    throw BadInput(Field{"draws"}, "moments are released once", "leave it out");
}

// The one number of such a field.
double only(const std::vector<double>& numbers, const char* name) {
  if (numbers.size() != 1) {
    throw BadInput(Field{name}, fmt::format("must be one number, got {}", numbers.size()),
                   "give one");
  }
  return numbers.front();
}

}  // namespace

unsigned kind_of(const PlanRequest& request) {
  if (request.model == network_model) return of_network;
  if (request.model == covariance_model) return of_covariance;
  return family_named(request.model) ? of_family : of_linear;
}

void require_of_model(const PlanRequest& request) {
  const unsigned kind = kind_of(request);
  if (const std::string name = strange_field(request); !name.empty()) {
    const bool of_networks_alone =
        name == "structure" || name == "structure_share" || name == "parents" || name == "cells";
    throw BadInput(
        Field{name},
        of_networks_alone
            ? format_message("has a meaning with {} network", Field{"model"})
            : format_message("has no meaning with {} {}", Field{"model"}, shown(request.model)),
        "leave it out");
  }
  if (kind == of_family) require_of_family(request);
  if (kind == of_network) require_of_network(request);
  if (kind == of_covariance) require_of_covariance(request);
}

namespace {

void require_one_budget(const PlanRequest& r) {
  const auto missing = [](const char* name, const char* such_as) {
    throw BadInput(Field{name}, "is missing", fmt::format("give it, such as {}", such_as));
  };
  if (r.rho && (r.epsilon || r.rdp)) {
    throw BadInput(
        Field{r.epsilon ? "epsilon" : "rdp"},
        format_message("has no meaning with {}, which is a budget of its own", Field{"rho"}),
        "leave one out");
  }
  if (!r.epsilon && !r.rho) missing("epsilon", "1");
  if (!r.delta) missing("delta", "1e-6");
}

// The epsilon of a Gaussian release that spends them.
double gaussian_epsilon(const PlanRequest& r) {
  if (!r.rho && !r.rdp) return *r.epsilon;
  Budget{.delta = *r.delta}.validate();
  const double mu = r.rho ? rho_mu_down(*r.rho) : renyi_mu_down(*r.epsilon, *r.rdp);
  const double epsilon = budget_epsilon_down(mu, *r.delta);
  if (epsilon > 0) return epsilon;
  throw BadInput(Field{r.rho ? "rho" : "epsilon"},
                 fmt::format("allows less than delta {} alone does", *r.delta),
                 format_message("give a smaller {}", Field{"delta"}));
}

const auto& chosen_mechanism(const auto& plan) {
  if constexpr (requires { plan.candidate(); }) {
    return plan.candidate().mechanism;
  } else {
    return plan.mechanism;
  }
}
Guarantee guarantee_of(const Plan& plan) { return plan.candidate().guarantee; }
Guarantee guarantee_of(const NetworkPlan& plan) { return plan.candidate().guarantee; }
Guarantee guarantee_of(const CovariancePlan& plan) { return plan.guarantee; }

// What of rho, or of the Renyi epsilon, a plan spends; infinite at that order or weight, NaN where
// a reveal is left whatever the budget.
double spent_of(const PlanRequest& r, const auto& plan) {
  const Guarantee g = guarantee_of(plan);
  if (g.delta0 > 0) return std::numeric_limits<double>::quiet_NaN();
  return r.rho ? zero_concentrated_up(g).rho : renyi_up(g, *r.rdp);
}
double spent_of(const PlanRequest& r, const FamilyPlan& plan) {
  if (r.rdp)
    return renyi_up(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws, *r.rdp);
  return plan.guarantee.delta0 > 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : zero_concentrated_up(plan.guarantee).rho;
}

bool is_feasible(const Plan& plan) { return plan.candidate().feasible; }
bool is_feasible(const FamilyPlan& /*plan*/) { return true; }
bool is_feasible(const NetworkPlan& plan) { return plan.candidate().feasible; }
bool is_feasible(const CovariancePlan& /*plan*/) { return true; }

// Offers that are not chosen do not pass for such as keep to it.
void leave_out_others(const PlanRequest& r, double limit, Plan& plan) {
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    Candidate& other = plan.candidates[i];
    if (i == plan.chosen || !other.feasible) continue;
    const double spent =
        r.rho ? zero_concentrated_up(other.guarantee).rho : renyi_up(other.guarantee, *r.rdp);
    if (spent <= limit && other.guarantee.delta0 == 0) continue;
    other.feasible = false;
    other.why = format_message("does not keep to {}", Field{r.rho ? "rho" : "rdp"});
  }
}

// The largest epsilon that keeps to it, about: what is drawn from a posterior may spend less than a
// Gaussian of that epsilon and delta.
void fill_up(const PlanRequest& r, double limit, Budget budget, const auto& make,
             FamilyPlan& plan) {
  double spent = spent_of(r, plan), low = budget.epsilon;
  double high = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 16 && spent > 0 && spent < 0.99 * limit; ++attempt) {
    const bool bounded = std::isfinite(high);
    budget.epsilon =
        bounded ? std::sqrt(low * high) : low * std::min(4.0, std::sqrt(limit / spent));
    if (!(budget.epsilon <= most_epsilon)) return;
    FamilyPlan more = make(budget);
    const double now = spent_of(r, more);
    if (now <= limit) {
      if (!bounded && !(now > spent)) return;  // nothing is scaled down any more
      plan = std::move(more);
      spent = now, low = budget.epsilon;
    } else {
      high = budget.epsilon;
    }
  }
}

// make(budget) with the budget's epsilon lowered until the plan keeps to rho, or to the Renyi
// epsilon. What rounding adds to a Gaussian takes one step; what is not Gaussian spends about as
// epsilon^2. From public numbers alone, as a plan is.
auto within_renyi(const PlanRequest& r, Budget budget, const auto& make) {
  auto out = make(budget);
  if (!r.rho && !r.rdp) return out;
  const double limit = r.rho ? *r.rho : *r.epsilon;
  for (int attempt = 0; attempt < 60 && is_feasible(out); ++attempt) {
    const double spent = spent_of(r, out);
    if (spent <= limit) {
      if constexpr (std::is_same_v<decltype(out), Plan>) leave_out_others(r, limit, out);
      if constexpr (std::is_same_v<decltype(out), FamilyPlan>) fill_up(r, limit, budget, make, out);
      return out;
    }
    if (std::isnan(spent)) break;
    const double factor = std::isfinite(spent) ? std::sqrt(limit / spent) : 0.5;
    budget.epsilon *= std::clamp(factor, 0.1, 1.0) * (1 - 1e-9);
    if (!(budget.epsilon > 1e-6)) break;
    out = make(budget);
  }
  if (!is_feasible(out)) return out;
  throw BadInput(
      Field{r.rho ? "rho" : "rdp"},
      fmt::format("{} has none that holds with certainty", name_of(chosen_mechanism(out))),
      r.rho ? format_message("give {} and {}, or another {}", Field{"epsilon"}, Field{"delta"},
                             Field{"mechanism"})
            : format_message("give a smaller order, or {} and {} alone", Field{"epsilon"},
                             Field{"delta"}));
}

}  // namespace

Budget budget_of(const PlanRequest& request) {
  require_one_budget(request);
  Budget out{gaussian_epsilon(request), *request.delta, adjacency_from_string(request.adjacency),
             request.rows_per_person.value_or(1), request.draws.value_or(1)};
  out.validate();
  require_cap(request, out.adjacency);
  return out;
}

Budget largest_of(std::span<const PlanRequest> requests) {
  std::vector<Budget> budgets;
  for (const PlanRequest& request : requests) budgets.push_back(budget_of(request));
  return *std::ranges::max_element(budgets, {}, &Budget::epsilon);
}

PlanOptions plan_options_of(const PlanRequest& request) {
  // Before the table is read, not after.
  if (request.prior_precision) {
    require_finite_nonnegative(*request.prior_precision, Field{"prior_precision"});
  }
  if (request.beta) require_finite_positive(*request.beta, Field{"beta"});
  if (request.step_size) require_finite_positive(*request.step_size, Field{"step_size"});
  if (request.tv) require_between(*request.tv, 0, 0.5, Field{"tv"});
  if (request.ball) require_ball(*request.ball, Field{"ball"});
  const bool known = std::ranges::count(loss_names(), request.model) > 0;
  static_cast<void>(loss_of_chains(
      request, {.label = known ? loss_named(request.model).label() : LabelKind::two_classes}));
  if (request.mechanism != "auto") static_cast<void>(mechanism_named(request.mechanism));
  PlanOptions out;
  out.mechanism = request.mechanism;
  out.calibration = calibration_from_string(request.calibration);
  out.tv = request.tv;
  out.beta = request.beta;
  out.ball = request.ball;
  out.padded = request.padded;
  out.intervals = request.intervals;
  out.step_size = request.step_size;
  if (request.iterations) out.iterations = static_cast<double>(*request.iterations);
  return out;
}

std::string loss_of(const PlanRequest& request, const FeatureSpace& space) {
  return full_loss_name(request.model == "auto" ? default_loss(space.label) : request.model, space);
}

std::string loss_of_chains(const PlanRequest& request, const FeatureSpace& space) {
  const std::string model = loss_of(request, space);
  const bool logistic = unweighted_name(model) == losses::logistic::name;
  const double capped = losses::logistic_capped::max_abs_derivative;
  const std::optional<double>& cap = request.loss_cap;
  if (cap && !(logistic && (*cap == capped || *cap == 1))) {
    throw BadInput(Field{"loss_cap"},
                   fmt::format("must be 0.5 or, for none, 1, of the model logistic; got {} with {}",
                               *cap, shown(model)),
                   "leave it out, or give one of them");
  }
  std::string loss = logistic && cap.value_or(capped) == capped
                         ? full_loss_name(losses::logistic_capped::name, space)
                         : model;
  static_cast<void>(glm_of(request, loss));
  return loss;
}

Schema chosen_curves(const PlanRequest& request, const Schema& schema, std::uint64_t rows,
                     const Budget& budget) {
  const std::size_t curves = automatic_curves(schema);
  if (curves == 0) return schema;
  const Problem lines = constants(request, schema, rows);
  const double mu =
      gdp_mu_down(budget.epsilon, budget.delta) / std::sqrt(static_cast<double>(budget.draws));
  const double signal =
      signal_per_feature(lines, budget.neighbors(), mu) * static_cast<double>(lines.features);
  const auto outputs = static_cast<double>(std::max<std::uint64_t>(lines.outputs - 1, 1));
  const auto coordinates = static_cast<double>(contrast_basis(schema).coordinates);
  return with_knots(schema, automatic_knots(signal / outputs, coordinates, curves));
}

Problem constants(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows) {
  return constants_of(request,
                      request.loss_cap ? loss_of_chains(request, space) : loss_of(request, space),
                      space, rows);
}

Plan plan(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows,
          const Budget& budget) {
  return within_renyi(request, budget, [&](const Budget& within) {
    return plan(constants(request, space, rows),
                constants_of(request, loss_of_chains(request, space), space, rows), within,
                plan_options_of(request));
  });
}

Plan plan_chosen(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows,
                 const Budget& budget) {
  return within_renyi(request, budget, [&](const Budget& within) {
    return plan_chosen(constants(request, space, rows),
                       constants_of(request, loss_of_chains(request, space), space, rows), within,
                       plan_options_of(request));
  });
}

namespace {

PlannedFit planned_as(const PlanRequest& request, const Schema& asked, Schema chosen, Plan made) {
  PlannedFit out{.request = request,
                 .space = chosen,
                 .plan = std::move(made),
                 .positive_share = positive_share_of(request, kind_of(asked.label), &asked),
                 .asked = asked};
  out.chosen = std::move(chosen);
  return out;
}

}  // namespace

PlannedFit planned_fit(const PlanRequest& request, const Schema& asked, Schema chosen,
                       std::uint64_t rows, const Budget& budget) {
  Plan made = plan_chosen(request, chosen, rows, budget);
  return planned_as(request, asked, std::move(chosen), std::move(made));
}

PlannedFit planned_offers(const PlanRequest& request, const Schema& asked, std::uint64_t rows,
                          const Budget& budget) {
  Schema chosen = chosen_curves(request, asked, rows, budget);
  Plan made = plan(request, chosen, rows, budget);
  return planned_as(request, asked, std::move(chosen), std::move(made));
}

PlannedFit planned_offers(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows,
                          const Budget& budget) {
  const bool named = std::ranges::count(loss_names(), request.model) > 0;
  const LabelKind label = named ? loss_named(request.model).label() : space.label;
  const std::optional<PositiveShare> share = positive_share_of(request, label, nullptr);
  return {request, space, plan(request, space, rows, budget), share};
}

Model model_of(const PlanRequest& request, const Plan& plan) {
  return glm_of(request, plan.problem.loss);
}

std::optional<PositiveShare> positive_share_of(const PlanRequest& request, LabelKind label,
                                               const Schema* schema) {
  if (!request.positive_share) {
    const auto* const two = schema == nullptr ? nullptr : std::get_if<TwoClasses>(&schema->label);
    return two == nullptr ? std::nullopt : two->positive_share;
  }
  if (label != LabelKind::two_classes) {
    throw BadInput(Field{"positive_share"},
                   fmt::format("is of two classes, and the label is {}", to_string(label)),
                   "leave it out");
  }
  return request.positive_share;
}

FamilyProblem complete(const PlanRequest& request, FamilyProblem p) {
  p.center = request.center.value_or(0);
  p.prior = request.prior.value_or(p.default_prior());
  if (p.family == Family::mean) {
    p.variance = request.variance.value_or((p.hi - p.lo) * (p.hi - p.lo) / 4);
  }
  if (request.trim && p.has_levels()) {
    p.trim = {only(*request.trim, "trim"), 0};
  } else if (request.trim) {
    if (request.trim->size() != 2) {
      throw BadInput(
          Field{"trim"},
          fmt::format("must be two numbers, the lower first, got {}", request.trim->size()),
          "give the bounds that draws are cut to");
    }
    p.trim = {request.trim->front(), request.trim->back()};
  }
  p.validate();
  return p;
}

FamilyPlan plan(const PlanRequest& request, const FamilyProblem& problem, const Budget& budget) {
  FamilyWishes plan_options{.concentrated = !request.prior && !request.diffused};
  // The default of a request is that of linear models.
  if (request.calibration != to_string(Calibration::gdp)) {
    plan_options.calibration = calibration_from_string(request.calibration);
  }
  return within_renyi(request, budget, [&](const Budget& within) {
    return plan_family(problem, within, plan_options);
  });
}

NetworkProblem network_problem(const PlanRequest& request, const Schema& columns,
                               std::uint64_t rows) {
  const bool people = columns.person() != nullptr;
  NetworkProblem out{.rows = public_rows(request, rows, people ? "people" : "rows"),
                     .levels = network_levels(columns)};
  out.weighted = people || columns.weight() != nullptr;
  if (people) out.rows_of_person = request.rows_per_person.value_or(1);
  const bool is_auto = request.mechanism == "auto",
             is_tree = is_mechanism<NetworkTree>(request.mechanism);
  // A tree where nothing is said of what depends on what.
  const bool chosen =
      is_private(request) || (!request.structure && (is_tree || (is_auto && !columns.network)));
  if (chosen) {
    if (is_auto || is_tree) {
      out.limits = tree_limits(out.levels.size());
      require_counted_once(request);
    }
    if (request.parents) out.limits.parents = *request.parents;
    if (request.cells) out.limits.cells = *request.cells;
  } else {
    require_structure_given(request);
    if (!columns.network) {
      throw BadInput(
          Field{"structure"}, "the schema has no [network]",
          format_message("say there what each column depends on, such as income = [\"education\"], "
                         "or give {} private, which chooses from the table and takes a share of "
                         "the budget",
                         Field{"structure"}));
    }
    out.parents = network_parents(columns);
    std::vector<std::string> names;
    for (const Column& column : node_columns(columns)) names.push_back(column.name);
    out.network().validate(names);
  }
  if (request.prior) out.prior = only(*request.prior, "prior");
  if (request.trim) out.trim = only(*request.trim, "trim");
  out.never = structural_zeros(columns);
  out.target = target_column(columns);
  out.validate();
  if (!leaves_rows(out.levels, out.never))
    throw BadInput(
        "schema: never: its rules leave no row that there may be; take one of them back");
  return out;
}

NetworkPlan plan(const PlanRequest& request, const NetworkProblem& problem, const Budget& budget) {
  return within_renyi(request, budget, [&](const Budget& within) {
    return plan_network(
        problem, within,
        {.mechanism = request.mechanism, .structure_share = request.structure_share});
  });
}

CovarianceProblem covariance_problem(const PlanRequest& request, const Schema& columns,
                                     std::uint64_t rows) {
  const bool people = columns.person() != nullptr;
  CovarianceProblem out{.rows = public_rows(request, rows, people ? "people" : "rows"),
                        .columns = CovarianceModel{.schema = columns}.columns().size(),
                        .weighted = counts_by_weight(columns)};
  if (people) out.rows_of_person = request.rows_per_person.value_or(1);
  out.validate();
  return out;
}

CovariancePlan plan(const PlanRequest& request, const CovarianceProblem& problem,
                    const Budget& budget) {
  return within_renyi(request, budget,
                      [&](const Budget& within) { return plan_covariance(problem, within); });
}

}  // namespace gibbsite
