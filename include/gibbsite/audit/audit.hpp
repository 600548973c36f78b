#pragma once
// Attempts to refute a mechanism's privacy claim by experiment (docs/how-to/audit.md): runs on two
// neighboring tables with the same noise, told apart as well as is known. For the curator: seeded
// noise, and figures that read both tables.
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/audit/bounds.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/model.hpp"

namespace gibbsite {

/// A statistic of one run's released model and draw [d]: a larger number speaks for the neighbor.
using AuditStatistic =
    std::function<double(const LinearModel& released, std::span<const double> draw)>;

/// A privacy claim and the pair of tables that tests it.
struct AuditCase {
  Plan plan;  ///< its chosen offer's guarantee is the claim, its mechanism's settings are run
  Model model;
  Dataset table, neighbor;
  /// True if the plan counts rows of zeros that are not in the tables. They add nothing to any
  /// gradient, so draws have the same bits without them.
  bool zeros_left_out = false;
  AuditStatistic statistic;
  std::string pair;       ///< what the two tables differ in, for people
  bool synthetic = true;  ///< false: the table is somebody's, and everything about it private
};

/// The public shape of a table that an audit generates.
struct AuditShape {
  std::uint64_t rows = 1000;
  std::uint64_t features = 10;
  double row_norm = 1;
};

/// Plans the mechanism of `plan_options` for a shape and a loss, and makes its worst known pair of
/// tables. The pair has k = budget.rows_per_person rows of norm R among rows of zeros
/// (docs/how-to/audit.md, "Pairs"). An empty `loss` is logistic, for path and metric-path
/// logistic-capped. Labels of an amount are within 5 tolerances of their middle; with a ball the
/// center is at its edge. An infeasible offer is kept: `require_feasible` throws. Throws BadInput
/// on an illegal request, draws other than 1, fewer than two features, or no more rows than k.
AuditCase worst_known_case(const AuditShape& shape, const Budget& budget,
                           const PlanOptions& plan_options, std::string_view loss = "",
                           std::optional<double> prior_precision = {});

/// Makes an audit case of a private table and its plan. In the first table, the first row is
/// replaced by one of norm R along the direction in which the table has least. In the neighbor that
/// row has the other label (for an amount or a count the other end of its range). Throws BadInput
/// if the table is in files or has no labels, and on add/remove, or rows per person or draws other
/// than 1.
AuditCase table_case(const Dataset& data, const Model& model, const Plan& plan);

struct AuditOptions {
  std::uint64_t pairs = 6000;  ///< N, of the one evaluation
  std::uint64_t pilot = 1500;  ///< pairs that the threshold is chosen by, of other seeds
  double confidence = 0.95;    ///< that the lower bounds are below the truth
  std::uint64_t seed = 1;
  std::function<void(std::uint64_t, std::uint64_t)> progress{};  ///< (pairs done, in all)
  const std::atomic<bool>* stop = nullptr;
  /// Ranks that share the runs; all get the result. Null: one process.
  Communicator* ranks = nullptr;
};

/// Upper bound of the probability that a true claim is called refuted, whatever the confidence of
/// the bounds shown. Bounds of a tight claim exceed it by chance as often as their confidence says.
inline constexpr double refutes_wrongly = 1e-6;

/// The quantity that a bound is about: mu, or epsilon if the claim is an epsilon of its own.
enum class AuditMeasure { mu, epsilon };

struct AuditResult {
  AuditMeasure measure = AuditMeasure::mu;
  std::uint64_t pairs = 0, pilot = 0;
  double confidence = 0;
  double threshold = 0;
  std::uint64_t neighbor_alone = 0, table_alone = 0;  ///< k10, k01
  std::uint64_t table_above = 0;                      ///< false positives: of the table, in all
  double advantage_lower = 0, advantage_claimed = 0;  ///< TPR - FPR
  double mu_lower = 0;    ///< from the same counts and the same confidence
  double mu_claimed = 0;  ///< of the claim's largest TPR - FPR; infinite where that is 1
  /// Epsilon at the budget's delta; NaN unless measured.
  double epsilon_lower = 0, epsilon_claimed = 0;
  bool refuted = false;  ///< the bounds of these counts at 1 - refutes_wrongly are above the claim
  double seconds = 0;
  std::vector<double> of_table, of_neighbor;  ///< [pairs] the statistic

  /// The lower bound divided by the claim, both of the measure.
  [[nodiscard]] double reach() const;
};

/// Runs a pilot and then N pairs of runs with fresh seeds (docs/how-to/audit.md). Throws BadInput
/// on no pairs or a confidence outside (0, 1), and as `fit`. Throws Interrupted if `stop` is set.
AuditResult audit(const AuditCase& at, Backend& backend, const AuditOptions& options = {});

}  // namespace gibbsite
