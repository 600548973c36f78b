// A schema of one column and draws of a family of one budget.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/model/bought_family.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "run/bought_release.hpp"
#include "run/family_run.hpp"

namespace gibbsite {
namespace {

[[noreturn]] void refuse_of_draws(const char* field) {
  refuse_with_bought(field, "draws of a family then have the prior of what is found");
}

// Some shapes that a schema may lead to, the fewest and the most levels and several ranges: what
// cannot be drawn is refused before any is asked.
void require_draws_of_any_schema(const BoughtFitPlan& plan, const PlanRequest& request,
                                 Family family) {
  FamilyProblem shape{.family = family, .rows = plan.problem.rows};
  const auto require = [&] {
    try {
      static_cast<void>(gibbsite::plan(request, complete(request, shape), plan.fit));
    } catch (const BadInput& error) {
      if (error.field() != "rows_per_person") throw;
      // A trim is of levels that nobody knows yet.
      throw BadInput(error.about(), error.wrong(),
                     format_message("keep one row of each, or buy the schema apart (the command "
                                    "schema with {}) and give it as {} with {}",
                                    Field{"epsilon"}, Field{"schema"}, Field{"trim"}));
    }
  };
  if (shape.has_levels()) {
    for (const std::uint64_t levels : {std::uint64_t{2}, most_family_levels}) {
      shape.levels = levels;
      if (family == Family::categorical || levels == 2) require();
    }
    return;
  }
  const bool whole = family == Family::rate, waits = family == Family::waiting;
  for (const double most : {1.0, 1000.0}) {
    const double center = request.center.value_or(0);
    shape.lo = whole ? 0 : waits ? least_distance * most : center - most;
    shape.hi = whole || waits ? most : center + most;
    require();
  }
}

}  // namespace

SchemaShape family_shape(const std::vector<std::string>& header, const std::string& column,
                         const std::string& source) {
  if (std::ranges::find(header, column) == header.end()) {
    throw BadInput(Field{"column"},
                   fmt::format("{} has no column {}{}", source, gibbsite::quoted(column),
                               did_you_mean(column, header)),
                   "name a column of its header");
  }
  return schema_shape({column}, "", TwoClasses{}, source);
}

PlanRequest bought_family_request(const PlanRequest& asked) {
  require_of_model(asked);
  if (asked.prior || asked.trim) refuse_of_draws(asked.prior ? "prior" : "trim");
  if (asked.calibration != PlanRequest().calibration) refuse_of_draws("calibration");
  if (asked.rho || asked.rdp) refuse_of_draws(asked.rho ? "rho" : "rdp");
  if (std::fabs(asked.center.value_or(0)) > series_ends.back()) {
    throw BadInput(
        Field{"center"},
        fmt::format("is {}, and numbers are sought up to {}", *asked.center, series_ends.back()),
        "give the known mean of the column");
  }
  if (asked.adjacency != PlanRequest().adjacency) {
    throw BadInput(Field{"adjacency"},
                   "posterior draws of a family are private under replace-one, where the number of "
                   "rows is public",
                   "leave it out");
  }
  return asked;
}

BoughtFitPlan plan_bought_family(const PlanRequest& request, std::uint64_t rows,
                                 const std::optional<double>& share, double most_tv) {
  return plan_bought_draws({.rows = rows, .columns = 1}, budget_of(request),
                           family_named(request.model) == Family::mean, share, most_tv);
}

FamilyRelease fit_bought_family(const TableToBuy& table, const BoughtFitPlan& asked,
                                const PlanRequest& request, Key&& key, const FitOptions& options) {
  const StandardArithmetic arithmetic;
  const std::unique_ptr<Communicator> alone = one_process();
  StreamKey stream = key_of_first_rank(std::move(key), *alone);
  const PlanRequest fit = bought_family_request(request);
  const std::optional<Family> family = family_named(fit.model);
  if (!family) throw BadInput(Field{"model"}, "is no family", "give one");
  // Computed anew: a plan is open to its caller.
  const BoughtFitPlan plan =
      plan_bought_family(fit, asked.problem.rows, asked.share, asked.most_tv);
  require_planned_counts(table.shape, table.cells, plan.problem, plan.guarantee.who);
  require_draws_of_any_schema(plan, fit, *family);
  Dataset data;
  return bought_release<ConjugateKind>(
      table, plan, options, stream,
      {.run = "fit conjugate",
       .planned =
           [&](const BoughtSchema& bought) {
             data = table.read(bought_family_schema(bought, *family, fit.center.value_or(0)));
             StandardArithmetic::require();  // the caller's code has run
             return gibbsite::plan(
                 fit, complete(fit, family_problem(data.schema, *family, plan.problem.rows)),
                 plan.fit);
           },
       .made =
           [&](const FamilyPlan& made, StreamKey& key_of_run, const Analysis& /*own*/) {
             require_planned_family(data, made.problem);
             return family_model_of(data, made, key_of_run, options);
           }});
}

}  // namespace gibbsite
