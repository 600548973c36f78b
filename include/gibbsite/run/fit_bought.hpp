#pragma once
// A schema and a model that one budget pays for: the schema is bought with a share of it, and the
// model is fitted by that schema with the rest.
#include <functional>
#include <string>

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
  const TableCells& cells;                       ///< counts of shape.asked
  std::string path;                              ///< a CSV file
  std::function<Dataset(const Schema&)> read{};  ///< all of its rows by a schema
};

/// The request that such a fit runs: by `whitened`. Throws BadInput on what it does not take:
/// another model than logistic, another mechanism, intervals, iterations, draws, a prior, or
/// add-remove.
PlanRequest bought_request(const PlanRequest& asked);

/// Answers the schema's questions, fits by the schema that follows, and certifies both as one
/// release, whose guarantee is that of the plan: it was fixed before anything was asked. Void when
/// the key came from a seed. Uses the key up, also when it throws: as `fit` and `buy_schema`. The
/// ledger of the options has one entry for both; a checkpoint is refused.
Release fit_bought(const TableToBuy& table, const BoughtFitPlan& plan, const PlanRequest& request,
                   Backend& backend, Key&& key, const FitOptions& options = {});

}  // namespace gibbsite
