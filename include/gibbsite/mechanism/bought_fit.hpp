#pragma once
// How one budget is split between a schema that is bought and the fit that it is for
// (docs/theory/bought-schema.md).
#include <cstdint>
#include <optional>

#include "gibbsite/mechanism/bought_schema.hpp"
#include "gibbsite/privacy/budget.hpp"

namespace gibbsite {

/// Public terms of both parts, fixed before anything is asked: neither depends on the answers.
struct BoughtFitPlan {
  SchemaProblem problem;
  Budget budget;              ///< of both together
  double share = 0;           ///< of mu^2, for the schema
  SchemaQuestions questions;  ///< the schema's
  Budget fit;                 ///< what the fit is planned with, whatever schema follows
  double most_tv = 1;         ///< what a ledger has left for total variation, as of plan_schema
  /// Covers both: the fit's noise counts as that of the largest model that a schema can lead to.
  Guarantee guarantee{};
};

/// The largest fit that a schema can lead to: of most_bought_features features, or a network.
struct LargestFit {
  std::uint64_t outputs = 1;  ///< classes, where there are several
  bool intervals = false;     ///< whether a share asks how sure the coefficients are
  bool weighed = false;       ///< rows have weights or people, so that intervals ask for scores
  std::uint64_t columns = 0;  ///< above 0: asked about for a network-tree, within tree_limits
};

/// The features that a schema is cut to (fit_schema_of), whatever it says: most_metric_features,
/// with intervals of several classes as many as these are had of.
std::uint64_t most_bought_features(const LargestFit& fit);

/// The share of mu^2 that a schema takes by default: at which a bin that holds 5 % of the rows
/// stands 4.5 deviations above the noise, from 0.1 to 0.2.
double default_schema_share(const SchemaProblem& problem, const Budget& budget);

/// Splits the budget: a hundredth of delta pays for the threshold; the fit has sqrt(1 - share) of
/// the mu that is left. Throws as plan_schema, BadInput if the share is outside of (0, 1), and
/// Infeasible if nothing keeps the budget.
BoughtFitPlan plan_bought_fit(const SchemaProblem& problem, const Budget& budget,
                              const std::optional<double>& share = {}, const LargestFit& fit = {},
                              double most_tv = 1);

/// As plan_bought_fit for draws of a family over one column. `gaussian`: what a draw costs is a mu
/// whatever the schema, and parts of mu^2 add up. Else draws are (epsilon, delta)-private by
/// themselves: they have half of delta and what the schema leaves of epsilon.
BoughtFitPlan plan_bought_draws(const SchemaProblem& problem, const Budget& budget, bool gaussian,
                                const std::optional<double>& share = {}, double most_tv = 1);

/// Upper bounds of what computed noise costs a fit by `whitened` of at most most_bought_features
/// features for each output, or a network of at most most_network_columns columns of at most
/// most_network_levels levels: they bound it for every schema.
NoiseCost largest_fit_noise_up(const LargestFit& fit = {});

/// What the schema adds to the analysis of a fit: both together.
Analysis with_schema(const Analysis& fit, const SchemaQuestions& questions,
                     const SchemaProblem& problem, const Neighbors& who);

}  // namespace gibbsite
