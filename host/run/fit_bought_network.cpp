// A schema and a network of one budget.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/mechanism/network_tree.hpp"
#include "gibbsite/model/bought_network.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "run/bought_release.hpp"
#include "run/network_run.hpp"

namespace gibbsite {
namespace {

[[noreturn]] void refuse_of_network(const char* field) {
  refuse_with_bought(field, "a network's tables are then chosen from the table and counted once");
}

// The fewest and the most numbers that some schema leads to are planned for before any is asked.
void require_network_of_any_schema(const BoughtFitPlan& plan, const PlanRequest& request,
                                   bool weighted) {
  const std::uint64_t most = std::min(plan.problem.columns, most_network_columns);
  const auto widest_pair =
      static_cast<std::uint64_t>(std::sqrt(static_cast<double>(tree_limits(most).cells)));
  for (const auto& levels :
       {std::vector<std::uint64_t>{2},
        std::vector<std::uint64_t>{tree_limits(2).cells / most_network_levels, most_network_levels},
        std::vector<std::uint64_t>(most, widest_pair)}) {
    if (levels.size() > most) continue;
    const NetworkProblem problem{.rows = plan.problem.rows,
                                 .levels = levels,
                                 .limits = tree_limits(levels.size()),
                                 .weighted = weighted,
                                 .rows_of_person = plan.problem.rows_of_person};
    static_cast<void>(gibbsite::plan(request, problem, plan.fit));
  }
}

}  // namespace

PlanRequest bought_network_request(const PlanRequest& asked) {
  PlanRequest out = asked;
  require_of_model(asked);
  if (asked.mechanism != "auto" && asked.mechanism != "tree" &&
      asked.mechanism != NetworkTree::name)
    refuse_of_network("mechanism");
  if (asked.structure && asked.structure != "private") refuse_of_network("structure");
  if (asked.rho || asked.rdp) refuse_of_network(asked.rho ? "rho" : "rdp");
  if (asked.draws.value_or(1) != 1) refuse_of_network("draws");
  if (asked.prior || asked.trim) refuse_of_network(asked.prior ? "prior" : "trim");
  // Levels that follow are within the usual limits, not within any.
  if (asked.parents || asked.cells) refuse_of_network(asked.parents ? "parents" : "cells");
  out.mechanism = NetworkTree::name;
  out.structure = "private";
  return out;
}

BoughtFitPlan plan_bought_network(const SchemaShape& shape, std::uint64_t rows,
                                  const Budget& budget, const std::optional<double>& share,
                                  double most_tv) {
  return plan_bought_fit(problem_of(shape, rows, budget.rows_per_person), budget, share,
                         {.columns = shape.asked.size()}, most_tv);
}

NetworkRelease fit_bought_network(const TableToBuy& table, const BoughtFitPlan& asked,
                                  const PlanRequest& request, Key&& key,
                                  const FitOptions& options) {
  const StandardArithmetic arithmetic;
  const std::unique_ptr<Communicator> alone = one_process();
  StreamKey stream = key_of_first_rank(std::move(key), *alone);
  // Computed anew: a plan is open to its caller.
  const BoughtFitPlan plan = plan_bought_network(table.shape, asked.problem.rows, asked.budget,
                                                 asked.share, asked.most_tv);
  const PlanRequest fit = bought_network_request(request);
  if (!table.shape.shape.label.empty()) refuse_of_network("label");
  require_planned_counts(table.shape, table.cells, plan.problem, plan.guarantee.who);
  require_network_of_any_schema(plan, fit, table.shape.shape.counting.weighs());
  Dataset data;
  return bought_release<GraphicalKind>(
      table, plan, options, stream,
      {.run = "fit network-tree",
       .planned =
           [&](const BoughtSchema& bought) {
             const Schema columns = bought_network_schema(bought);
             data = table.read(columns);
             if (table.cells.held) hold_as_counted(data, *table.cells.held, plan.problem);
             StandardArithmetic::require();  // the caller's code has run
             return gibbsite::plan(fit, network_problem(fit, columns, plan.problem.rows), plan.fit);
           },
       .made =
           [&](const NetworkPlan& made, StreamKey& key_of_run, const Analysis& /*own*/) {
             require_planned_network(data, made);
             return network_model_of(data, made, key_of_run, options);
           }});
}

}  // namespace gibbsite
