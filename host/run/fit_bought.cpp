#include "gibbsite/run/fit_bought.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/bought_release.hpp"
#include "run/run_plan.hpp"

namespace gibbsite {
namespace {

[[noreturn]] void refuse_of_fit(const char* field) {
  refuse_with_bought(field, "such a fit is by whitened");
}

// Whether a schema leads to intervals may not depend on its answers, so it is cut to what has them.
void require_intervals_of_any_schema(const Problem& problem) {
  const Message why = information_obstacle(problem);
  if (!why.empty()) throw BadInput(format_message("{}: ", Field{"intervals"}) + why);
}

// The largest fit of that label, by rows that count so.
LargestFit largest_fit(const Label& target, bool intervals, const CountingColumns& counting = {}) {
  const auto* const several = std::get_if<Classes>(&target);
  return {.outputs = several == nullptr ? 1 : several->names.size(),
          .intervals = intervals,
          .weighed = counting.weighs()};
}

// A request's cap is what the plan counts, under add-remove.
void require_rows_of_plan(const BoughtFitPlan& plan, const PlanRequest& request) {
  if (plan.problem.rows == request.rows_cap.value_or(plan.problem.rows)) return;
  throw BadInput("plan: its rows are not the cap of the request; plan again for it");
}

// The smallest and the largest schema that may follow.
Schema schema_of_width(const Label& target, std::uint64_t levels, const CountingColumns& counting) {
  Column column{.name = "x"};
  if (levels == 0) {
    column.type = ColumnType::number;
    column.hi = 1;
  } else {
    column.type = ColumnType::category;
    for (std::uint64_t k = 0; k < levels; ++k) column.levels.push_back(std::to_string(k));
  }
  return schema_that_may_follow(target, {std::move(column)}, counting);
}

// What a fit of any schema needs beside it, seen before anything is asked.
void require_fit_of_any_schema(const BoughtFitPlan& plan, const BoughtSchema& shape,
                               const PlanRequest& request) {
  const Label& target = shape.target;
  const std::uint64_t most = most_bought_features(largest_fit(target, request.intervals));
  for (const std::uint64_t levels : {std::uint64_t{0}, most - 1}) {
    static_cast<void>(require_feasible(plan_chosen(
        request, schema_of_width(target, levels, shape.counting), plan.problem.rows, plan.fit)));
  }
}

}  // namespace

PlanRequest bought_request(const PlanRequest& asked, const Label& target,
                           const CountingColumns& counting) {
  PlanRequest out = asked;
  if (kind_of(asked) != of_linear) refuse_of_fit("model");
  require_exposure_of_counts(counting, target);
  const Schema least = schema_of_width(target, 0, counting);
  least.validate(counting.columns().empty() ? "label" : "label, person, weight, exposure");
  const Problem problem = constants(asked, least, 1);  // throws where the loss is of other labels
  if (!whitened_takes(problem)) refuse_of_fit("model");
  if (asked.mechanism != "auto" && asked.mechanism != "whitened") refuse_of_fit("mechanism");
  if (asked.calibration != "gdp") refuse_of_fit("calibration");
  if (asked.rho || asked.rdp) refuse_of_fit(asked.rho ? "rho" : "rdp");
  if (asked.draws.value_or(1) != 1) refuse_of_fit("draws");
  if (asked.intervals) require_intervals_of_any_schema(problem);
  if (asked.iterations) refuse_of_fit("iterations");
  if (asked.prior_precision) refuse_of_fit("prior_precision");
  if (asked.loss_cap) refuse_of_fit("loss_cap");
  if (asked.tv) refuse_of_fit("tv");
  if (asked.beta) refuse_of_fit("beta");
  if (asked.step_size) refuse_of_fit("step_size");
  if (asked.ball) refuse_of_fit("ball");
  if (asked.padded) refuse_of_fit("padded");
  out.mechanism = "whitened";
  return out;
}

BoughtFitPlan plan_bought_fit(const SchemaShape& shape, std::uint64_t rows, const Budget& budget,
                              const std::optional<double>& share, bool intervals, double most_tv) {
  return plan_bought_fit(problem_of(shape, rows, budget.rows_per_person), budget, share,
                         largest_fit(shape.shape.target, intervals, shape.shape.counting), most_tv);
}

void require_visible(const SchemaQuestions& questions, const SchemaProblem& problem,
                     double enough) {
  const double share = least_visible_share(questions, problem);
  if (share <= refused_share) return;
  throw Infeasible(
      Field{"epsilon"},
      fmt::format("a level is seen from {:.3g} % of {} {} on, and above {:.0f} % too much of a "
                  "table stays unseen",
                  100 * share, problem.rows, problem.of_people() ? "people" : "rows",
                  100 * refused_share),
      (enough > 0 ? format_message("give {} {} or more, or ", Field{"epsilon"},
                                   fmt::format("{:.2g}", enough))
                  : format_message("give a larger {}, or ", Field{"epsilon"})) +
          "write the ranges and levels: the command schema alone makes a form");
}

Release fit_bought(const TableToBuy& table, const BoughtFitPlan& asked, const PlanRequest& request,
                   Backend& backend, Key&& key, const FitOptions& options) {
  const StandardArithmetic arithmetic;
  const std::unique_ptr<Communicator> alone = one_process();
  StreamKey stream = key_of_first_rank(std::move(key), *alone);
  // Computed anew: a plan is open to its caller.
  const BoughtFitPlan plan = plan_bought_fit(table.shape, asked.problem.rows, asked.budget,
                                             asked.share, request.intervals, asked.most_tv);
  const Label& target = table.shape.shape.target;
  const PlanRequest fit = bought_request(request, target, table.shape.shape.counting);
  if (options.checkpoint != "" || options.ranks != nullptr)
    refuse_of_fit(options.ranks != nullptr ? "ranks" : "checkpoint");
  require_planned_counts(table.shape, table.cells, plan.problem, plan.guarantee.who);
  require_rows_of_plan(plan, fit);
  require_fit_of_any_schema(plan, table.shape.shape, fit);
  Dataset data;
  return bought_release<LinearKind>(
      table, plan, options, stream,
      {.run = "fit whitened",
       .backend = std::string(backend.name()),
       .planned =
           [&](const BoughtSchema& bought) {
             const Schema lines =
                 fit_schema_of(bought, most_bought_features(largest_fit(target, fit.intervals)));
             const Schema domain = chosen_curves(fit, lines, plan.problem.rows, plan.fit);
             Dataset rows = table.read(lines);
             if (table.cells.held) hold_as_counted(rows, *table.cells.held, plan.problem);
             data = with_curves(std::move(rows), domain);
             StandardArithmetic::require();  // the caller's code has run
             Plan made = plan_chosen(fit, domain, plan.problem.rows, plan.fit);
             static_cast<void>(require_feasible(made));
             return made;
           },
       .made =
           [&](const Plan& made, StreamKey& key_of_run, const Analysis& own) {
             const Model model = model_of(fit, made);
             require_planned(model, data, made, options);
             return on_release_grid(run_plan(model, data, made, backend, key_of_run, options),
                                    made.candidate().mechanism, own.release_grid);
           }});
}

}  // namespace gibbsite
