#include "gibbsite/run/fit_network.hpp"

#include <fmt/format.h>

#include <variant>

#include "engine/contingency.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/tree_model.hpp"
#include "model/column_type.hpp"
#include "run/certified.hpp"
#include "run/gaussian_mechanism.hpp"
#include "run/network_draws.hpp"
#include "run/network_run.hpp"
#include "run/network_structure.hpp"
#include "run/network_tree.hpp"

namespace gibbsite {

void require_planned_network(const Dataset& data, const NetworkPlan& plan) {
  const Schema& schema = data.schema;
  bool is_network = !schema.intercept && schema.row_norm >= schema.max_unclipped_norm();
  for (const Column& column : schema.columns) {
    const bool level = says_how_rows_count(column.type) || column.type == ColumnType::category ||
                       (column.type == ColumnType::number && !column.edges.empty());
    is_network = is_network && level;
  }
  if (!is_network) {
    throw BadInput("data: was not read as a network's columns; read it through network_schema()");
  }
  const NetworkProblem& p = plan.problem;
  const bool weighted = schema.weight() != nullptr || schema.person() != nullptr;
  if (weighted != p.weighted || data.rows_of_person != p.rows_of_person)
    throw BadInput("data: what its rows count is not as the plan says; plan again for this data");
  const bool replaced = plan.budget.adjacency == Adjacency::replace_one;
  const std::uint64_t counted = data.counted();
  if (network_levels(schema) != p.levels || (replaced ? counted != p.rows : counted > p.rows)) {
    throw BadInput(
        "data: its rows, or people, or levels are not the plan's; plan again for this data");
  }
  if (structural_zeros(schema) != plan.problem.never)
    throw BadInput(
        "data: what its schema says is never is not the plan's; plan again for this data");
  if (target_column(schema) != plan.problem.target)
    throw BadInput("data: the target of its schema is not the plan's; plan again for this data");
}

namespace {

class NetworkRun {
 public:
  NetworkRun(const Dataset& data, const NetworkPlan& plan, const StreamKey& stream,
             const FitOptions& options)
      : plan_(plan),
        stream_(stream),
        options_(options),
        rows_(network_rows(data, data.schema)),
        model_{data.schema, {}, {}} {}

  NetworkModel run() {
    const NetworkProblem& p = plan_.problem;
    const NetworkMechanism& mechanism = plan_.candidate().mechanism;
    if (const auto* const tree = std::get_if<NetworkTree>(&mechanism)) return tree_model(*tree);
    model_.network = {p.levels,
                      p.chooses_structure()
                          ? choose_structure(rows_, p, score_weight_of(mechanism),
                                             cell_penalty(mechanism, p), stream_, options_)
                          : *p.parents};
    if (const auto* const counts = std::get_if<NetworkCounts>(&mechanism)) {
      make_tables(*counts);
    } else {
      draw_tables(mechanism);
    }
    return std::move(model_);
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> counts_of(std::uint32_t node) const {
    std::vector<std::uint32_t> columns = model_.network.parents[node];
    columns.push_back(node);
    return contingency(rows_, columns);
  }

  void begin_node(std::uint32_t node) const {
    if (options_.stop != nullptr && *options_.stop) {
      throw Interrupted(fmt::format("interrupted after {} of {} tables; nothing was kept", node,
                                    model_.network.size()));
    }
    const std::uint64_t picks = plan_.problem.chooses_structure() ? model_.network.size() - 1 : 0;
    if (options_.progress) options_.progress(picks + node, picks + model_.network.size());
  }

  void make_tables(const NetworkCounts& mechanism) {
    model_.noise = table_deviations(mechanism.noise, model_.network);
    for (std::uint32_t node = 0; node < model_.network.size(); ++node) {
      begin_node(node);
      const std::vector<std::uint64_t> exact = counts_of(node);
      GaussianMechanism noise(stream_, node, exact.size());
      model_.counts.push_back(noise.release(counts_in_rows(rows_, exact), model_.noise[node]));
    }
    model_.tables = {tables_of_counts(model_.network, model_.counts, model_.noise)};
  }

  NetworkModel tree_model(const NetworkTree& mechanism) {
    const NetworkProblem& p = plan_.problem;
    model_.tree =
        tree_release(rows_, p, mechanism, plan_.candidate().guarantee.who, stream_, options_);
    TreeNetwork fitted = network_of(*model_.tree, p.levels, p.never);
    model_.network = std::move(fitted.network);
    model_.tables = {std::move(fitted.tables)};
    return std::move(model_);
  }

  void draw_tables(const NetworkMechanism& mechanism) {
    std::vector<std::vector<std::uint64_t>> exact;
    for (std::uint32_t node = 0; node < model_.network.size(); ++node) {
      begin_node(node);
      exact.push_back(counts_of(node));
    }
    for (std::uint64_t k = 0; k < plan_.budget.draws; ++k) {
      model_.tables.push_back(tables_draw(mechanism, plan_.problem, model_.network, exact, stream_,
                                          static_cast<std::uint32_t>(k), plan_.budget.draws,
                                          options_));
    }
  }

  const NetworkPlan& plan_;
  const StreamKey& stream_;
  const FitOptions& options_;
  LevelRows rows_;
  NetworkModel model_;
};

}  // namespace

NetworkModel network_model_of(const Dataset& data, const NetworkPlan& plan, const StreamKey& stream,
                              const FitOptions& options) {
  return NetworkRun(data, plan, stream, options).run();
}

NetworkRelease fit_network(const Dataset& data, const NetworkPlan& plan, Key&& key,
                           const FitOptions& options) {
  return certified<GraphicalKind>(
      plan, std::move(key), options,
      {.require_planned = [&](const NetworkPlan& is) { require_planned_network(data, is); },
       .make_model = [&](const NetworkPlan& is, const StreamKey& stream,
                         const Analysis&) { return network_model_of(data, is, stream, options); },
       // How many tables the tree counts, and when its fit is done, follow from noisy scores.
       .ends_are_paid = std::holds_alternative<NetworkTree>(plan.candidate().mechanism)});
}

}  // namespace gibbsite
