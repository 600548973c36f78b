#pragma once
// A schema and a model that one budget pays for: the schema is bought with a share of it, and the
// model is fitted by that schema with the rest.
#include <cstdint>
#include <functional>
#include <optional>

#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/bought_fit.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/fit_options.hpp"
#include "gibbsite/run/plan_request.hpp"

namespace gibbsite {

/// The table of such a fit.
struct TableToBuy {
  const SchemaShape& shape;
  const TableCells& cells;  ///< counts of shape.asked
  CellSource source;        ///< its cells
  /// All of its rows by a schema, which may have a column of people: holding them is the fit's.
  std::function<Dataset(const Schema&)> read{};
};

/// The request that such a fit of that label runs: by `whitened`. Throws BadInput on a label that
/// is not legal, and on what such a fit does not take: a network or a family, a loss of which
/// `whitened` asks no gradients or that is of other labels, another mechanism, intervals of more
/// than 20 classes or of weighed ones, iterations, draws, or a prior.
PlanRequest bought_request(const PlanRequest& asked, const Label& target,
                           const CountingColumns& counting = {});

/// How a budget is split for such a request, which bought_request made, of a table whose columns
/// are those of the shape. rows: of the table, under add-remove its public cap; with a column of
/// people of these. intervals: those of the request. most_tv: what a ledger has left for total
/// variation (plan_schema). Throws as plan_bought_fit.
BoughtFitPlan plan_bought_fit(const SchemaShape& shape, std::uint64_t rows, const Budget& budget,
                              const std::optional<double>& share = {}, bool intervals = false,
                              double most_tv = 1);

/// Throws Infeasible where a level has to be so frequent to be seen that a fit would suffer
/// (refused_share). All of it is public. `enough`: an epsilon that would do, 0 if none is known.
void require_visible(const SchemaQuestions& questions, const SchemaProblem& problem,
                     double enough = 0);

/// Answers the schema's questions, fits by the schema that follows, and certifies both as one
/// release, whose guarantee is that of the plan: it was fixed before anything was asked. Void when
/// the key came from a seed. Uses the key up, also when it throws: as `fit` and `buy_schema`. The
/// ledger of the options has one entry for both; a checkpoint is refused.
Release fit_bought(const TableToBuy& table, const BoughtFitPlan& plan, const PlanRequest& request,
                   Backend& backend, Key&& key, const FitOptions& options = {});

/// The request of a network that such a run makes: a network-tree. Throws BadInput on what it does
/// not take: another mechanism, a structure that is given, limits of it, or draws.
PlanRequest bought_network_request(const PlanRequest& asked);

/// As plan_bought_fit, for a network of every column that is asked about.
BoughtFitPlan plan_bought_network(const SchemaShape& shape, std::uint64_t rows,
                                  const Budget& budget, const std::optional<double>& share = {},
                                  double most_tv = 1);

/// As fit_bought, of a network. The shape has no label; rows are read by bought_network_schema.
NetworkRelease fit_bought_network(const TableToBuy& table, const BoughtFitPlan& plan,
                                  const PlanRequest& request, Key&& key,
                                  const FitOptions& options = {});

/// The column that draws of a family are of, which alone is asked about. Throws as schema_shape.
SchemaShape family_shape(const std::vector<std::string>& header, const std::string& column,
                         const std::string& source);

/// The request of such draws. Throws BadInput on what they do not take: a prior or bounds, which
/// belong to levels or a range, another calibration, or add-remove.
PlanRequest bought_family_request(const PlanRequest& asked);

/// How a budget is split for such a request. Throws as plan_bought_draws.
BoughtFitPlan plan_bought_family(const PlanRequest& request, std::uint64_t rows,
                                 const std::optional<double>& share = {}, double most_tv = 1);

/// As fit_bought, of a family's draws. Rows are read by bought_family_schema.
FamilyRelease fit_bought_family(const TableToBuy& table, const BoughtFitPlan& plan,
                                const PlanRequest& request, Key&& key,
                                const FitOptions& options = {});

}  // namespace gibbsite
