#pragma once
// What a user asks for, as the command line, Python and Dask fill it in. It is checked here, once.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/positive_share.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// What PlanRequest::model says of a Bayesian network over all columns.
inline constexpr const char* network_model = "network";

/// What it says of means and a covariance of several columns.
inline constexpr const char* covariance_model = "covariance";

/// The names are those of the options and arguments. What is absent has its default.
struct PlanRequest {
  /// A loss's name, "auto" (what the schema's label asks for), a family's, network_model or
  /// covariance_model.
  std::string model = "auto";
  std::optional<double> epsilon{}, delta{};
  /// Budgets of other kinds: rho in place of epsilon (zCDP), or an order, of which epsilon is then
  /// the Renyi epsilon. delta is where the certificate states (epsilon, delta), and pays for tv.
  std::optional<double> rho{}, rdp{};
  std::string adjacency = "replace-one";
  std::optional<std::uint64_t> rows_cap{};  ///< under add-remove: public bound on the rows
  std::optional<std::uint64_t> rows_per_person{}, draws{};
  std::string mechanism = "auto", calibration = "gdp";

  // For linear models.
  std::optional<double> prior_precision{};  ///< m; absent: chosen from public numbers
  /// Cap of the logistic loss: 0.5 holds its slope at 1/2, 1 does not; absent: what is best for
  /// each mechanism, 0.5 for path and metric-path (docs/theory/metric.md), 1 for others.
  std::optional<double> loss_cap{};
  std::optional<double> tv{}, beta{}, step_size{}, ball{};
  std::optional<std::uint64_t> iterations{};
  bool padded = false, intervals = false;
  std::optional<PositiveShare> positive_share{};  ///< for what is expected; no plan has it

  // For families over one column; prior and trim for networks too.
  std::optional<std::vector<double>> prior{}, trim{};
  std::optional<double> variance{}, center{};
  bool diffused = false;

  // For networks.
  /// "given" or "private"; absent: private where the schema has no [network].
  std::optional<std::string> structure{};
  std::optional<double> structure_share{};
  std::optional<std::uint64_t> parents{}, cells{};
};

/// The kinds of release that a field belongs to.
enum : unsigned { of_linear = 1, of_family = 2, of_network = 4, of_covariance = 8, of_all = 15 };

/// visit(name, field, kinds) for every field.
template <class Request, class Visit>
void visit_request(Request& r, Visit&& visit) {
  visit("model", r.model, of_all);
  visit("epsilon", r.epsilon, of_all);
  visit("delta", r.delta, of_all);
  visit("rho", r.rho, of_all);
  visit("rdp", r.rdp, of_all);
  visit("adjacency", r.adjacency, of_all);
  visit("rows_cap", r.rows_cap, of_all);
  visit("rows_per_person", r.rows_per_person, of_all);
  visit("draws", r.draws, of_all);
  visit("mechanism", r.mechanism, of_all);
  visit("calibration", r.calibration, of_linear | of_family);
  visit("prior_precision", r.prior_precision, of_linear);
  visit("loss_cap", r.loss_cap, of_linear);
  visit("tv", r.tv, of_linear);
  visit("beta", r.beta, of_linear);
  visit("step_size", r.step_size, of_linear);
  visit("ball", r.ball, of_linear);
  visit("iterations", r.iterations, of_linear);
  visit("padded", r.padded, of_linear);
  visit("intervals", r.intervals, of_linear);
  visit("positive_share", r.positive_share, of_linear);
  visit("prior", r.prior, of_family | of_network);
  visit("trim", r.trim, of_family | of_network);
  visit("variance", r.variance, of_family);
  visit("center", r.center, of_family);
  visit("diffused", r.diffused, of_family);
  visit("structure", r.structure, of_network);
  visit("structure_share", r.structure_share, of_network);
  visit("parents", r.parents, of_network);
  visit("cells", r.cells, of_network);
}

unsigned kind_of(const PlanRequest& request);
/// Throws BadInput where a field is given that the model does not take, and where fields contradict
/// each other.
void require_of_model(const PlanRequest& request);
/// Throws BadInput on an illegal one, and where rows_cap is missing under add-remove, or given
/// without it. Needs delta, and epsilon or rho. Of rho and rdp the epsilon at which a Gaussian
/// release spends them; `plan` then lowers it until what it planned keeps to them.
Budget budget_of(const PlanRequest& request);
/// That of the largest epsilon, of at least one request.
Budget largest_of(std::span<const PlanRequest> requests);
/// The wishes for a linear model. Throws BadInput on what no data could make right.
PlanOptions plan_options_of(const PlanRequest& request);

/// The full name of the loss: of "auto" what such a label is fitted by, of softmax softmax-K.
std::string loss_of(const PlanRequest& request, const FeatureSpace& space);
/// The name of the loss that chains take. Throws BadInput on an unknown model and a cap that it
/// does not have.
std::string loss_of_chains(const PlanRequest& request, const FeatureSpace& space);
/// The schema with its automatic curves chosen for such a fit, from public numbers alone: the
/// request, the schema, and the rows, of which add-remove takes the cap (model/curve.hpp,
/// automatic_knots). The schema itself if none is automatic. Throws as `constants`.
Schema chosen_curves(const PlanRequest& request, const Schema& schema, std::uint64_t rows,
                     const Budget& budget);
/// Public constants: the table's rows under replace-one, the cap under add-remove. Throws as above
/// and BadInput where the table has more rows than the cap.
Problem constants(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows);
/// For that table, with a budget of the request or less. Throws as `constants`, `plan_options_of`
/// and the `plan` of mechanism/plan.hpp.
Plan plan(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows,
          const Budget& budget);
/// The model that such a plan is of.
Model model_of(const PlanRequest& request, const Plan& plan);
/// What the request says of the positive class, else the schema, which may be null. Throws BadInput
/// where the request does and the label is not one of two classes.
std::optional<PositiveShare> positive_share_of(const PlanRequest& request, LabelKind label,
                                               const Schema* schema);

/// For a family's column: `problem` with the prior, variance, center and trim of the request, or
/// their defaults. Throws BadInput.
FamilyProblem complete(const PlanRequest& request, FamilyProblem problem);
FamilyPlan plan(const PlanRequest& request, const FamilyProblem& problem, const Budget& budget);

/// The problem of a table of such columns (network_schema). Throws BadInput if they have no
/// [network] and one is asked for, on a cap that `rows` breaks, and where NetworkProblem::validate
/// does.
NetworkProblem network_problem(const PlanRequest& request, const Schema& columns,
                               std::uint64_t rows);
NetworkPlan plan(const PlanRequest& request, const NetworkProblem& problem, const Budget& budget);

/// The problem of a table of such columns (covariance_schema). Throws BadInput on a cap that `rows`
/// breaks.
CovarianceProblem covariance_problem(const PlanRequest& request, const Schema& columns,
                                     std::uint64_t rows);
CovariancePlan plan(const PlanRequest& request, const CovarianceProblem& problem,
                    const Budget& budget);

}  // namespace gibbsite
