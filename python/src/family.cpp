// Conjugate families over one column, and questions to what was drawn.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/query.hpp"
#include "gibbsite/run/fit_family.hpp"
#include "gibbsite/run/public_prior.hpp"
#include "private_run.hpp"
#include "release_file.hpp"

namespace gibbsite::python {
namespace {

// `known`: the path of a public table, or its column as a Dataset.
PublicCounts counts_of(const nb::object& known, const Schema& schema, const FamilyProblem& problem,
                       std::optional<double> weight) {
  if (nb::isinstance<Dataset>(known))
    return public_counts(*nb::cast<const Dataset*>(known), problem, weight);
  const std::string path = nb::cast<std::string>(nb::str(known));
  const PublicColumn read = read_public_column(path, "", schema);
  return public_counts(read.data, problem, weight, read.table);
}

using FamilyPlanOf = Requested<FamilyPlan>;

FamilyPlanOf make_family_plan(const std::string& model, const nb::kwargs& arguments) {
  Arguments given("plan_family", arguments);
  PlanRequest request = given.request(of_family & ~unsigned{of_linear});
  request.model = model;
  if (request.calibration.empty()) request.calibration = PlanRequest().calibration;
  const auto rows = given.need<std::uint64_t>("rows");
  const auto* const schema = given.need<const Schema*>("schema");
  const nb::object known = given.take<nb::object>("public", nb::none());
  const auto public_weight = given.take<double>("public_weight");
  given.finish();
  const auto family = family_named(model);
  if (!family) {
    throw BadInput(
        Field{"model"}, fmt::format("no family is called {}", shown(model)),
        "give bernoulli, categorical, rate, waiting, mean, bounded-mean, variance or laplace");
  }
  require_of_model(request);
  if (public_weight && known.is_none())
    throw BadInput(Field{"public_weight"}, "is of the rows of a public table", "give public too");
  FamilyProblem problem = complete(request, family_problem(*schema, *family, rows));
  require_a_number_a_row(*schema);
  const Budget budget = budget_of(request);
  if (!known.is_none()) problem.public_counts = counts_of(known, *schema, problem, public_weight);
  const nb::gil_scoped_release unlocked;
  return {plan(request, problem, budget), request};
}

nb::dict estimate_dict(const ParameterEstimate& e) {
  nb::dict out;
  out["name"] = e.name;
  out["value"] = e.value;
  out["low"] = e.low;
  out["high"] = e.high;
  return out;
}

UtilityTable table_of(const std::vector<std::string>& responses,
                      const std::vector<std::string>& outcomes,
                      const std::vector<std::vector<double>>& utility) {
  if (utility.size() != responses.size()) {
    throw BadInput("utilities: must have a row for each response; give one each");
  }
  for (const auto& row : utility) {
    if (row.size() != outcomes.size()) {
      throw BadInput("utilities: must have a number for each outcome; give one each");
    }
  }
  return {"utilities", responses, outcomes, utility};
}

}  // namespace

void bind_family(nb::module_& m) {
  nb::class_<FamilyPlanOf>(
      m, "FamilyPlan",
      "A plan for a family over one column: what the budget buys. `plan_family` makes one.")
      .def_prop_ro(
          "mechanism", [](const FamilyPlanOf& p) { return std::string(name_of(p.mechanism)); },
          "Name of the chosen mechanism.")
      .def_ro("deviation", &FamilyPlan::deviation,
              "Expected standard deviation of the estimate, in the column's units.")
      .def_ro(
          "sample_deviation", &FamilyPlan::sample_deviation,
          "The part of the deviation that the sample alone has, without privacy; rows_per_person "
          "rows of a person are taken for alike.")
      .def(
          "to_json", [](const FamilyPlanOf& p) { return plan_json(p).dump(2); },
          "Returns the plan as JSON text.");
  m.def(
      "plan_family", &make_family_plan, "model"_a, "arguments"_a,
      nb::sig(
          "def plan_family(model: str, *, epsilon: float | None = None, delta: float, rows: int, "
          "schema: Schema, prior: Sequence[float] | None = None, diffused: bool = False, "
          "trim: Sequence[float] | None = None, variance: float | None = None, "
          "center: float | None = None, public: str | Dataset | None = None, "
          "public_weight: float | None = None, calibration: str = '', adjacency: str = 'replace-one', rows_per_person: int = 1, "
          "draws: int = 1, rho: float | None = None, rdp: float | None = None) -> FamilyPlan"),
      "Plans draws of a family's parameters from `rows` values of one column "
      "(Schema.read_column) and returns a FamilyPlan (docs/theory/conjugate.md). family: "
      "bernoulli, categorical, rate, waiting, mean, bounded-mean, variance or laplace, the last two "
      "about a known center. prior: pseudo-counts, shape and rate, or "
      "a mean's precision. trim: public bounds of the parameter (docs/theory/trimmed.md). "
      "public: path of a public table, or a Dataset of that column, whose rows count in the prior, each "
      "public_weight times (docs/theory/public-prior.md); nothing protects people in it. "
      "A plan never sees the private table, so that they are not one and the same is for you to know "
      "(the command fit compares both files). "
      "Raises BadInput or Infeasible.");
  m.def(
      "fit_family",
      [](const Dataset& data, const FamilyPlanOf& plan, std::optional<std::uint64_t> seed,
         const Ledger* ledger, const nb::object& progress) {
        return private_run({seed, ledger, progress}, plan,
                           [&](Key&& key, const FitOptions& options) {
                             return fit_family(data, plan, std::move(key), options);
                           });
      },
      "data"_a, "plan"_a, nb::kw_only(), "seed"_a = nb::none(), "ledger"_a = nb::none(),
      "progress"_a = nb::none(),
      "Draws the parameters of a plan and returns a FamilyRelease with its certificate. `data` "
      "is read through the one column's schema, with labels_optional and ignore_extra_columns. "
      "seed and ledger are as in `fit`. Raises BadInput or BudgetSpent.");

  nb::class_<FamilyRelease> release(m, "FamilyRelease",
                                    "Released draws of a family's parameters, which may be "
                                    "published. `fit_family` makes them.");
  bind_release_file(release);
  release
      .def_prop_ro(
          "column", [](const FamilyRelease& r) { return r.model().column(); },
          "Name of the column.")
      .def_prop_ro(
          "draws",
          [](const FamilyRelease& r) {
            std::vector<double> all;
            for (const auto& d : r.model().draws) all.insert(all.end(), d.begin(), d.end());
            return to_numpy(std::move(all),
                            {r.model().draws.size(), r.model().draws.front().size()});
          },
          nb::rv_policy::automatic,
          "The draws: shares [draws, levels], or the mean count, 1/mean or mean [draws, 1].")
      .def_prop_ro("missing_words", &missing_meaning,
                   "What a missing or unreadable cell of a number counted as, in a sentence; empty "
                   "where there can be none.")
      .def_prop_ro("parameters", &parameter_names,
                   "Names of the parameters that a query may ask for.")
      .def(
          "estimates",
          [](const FamilyRelease& r) {
            nb::list out;
            for (const ParameterEstimate& e : estimates(r)) out.append(estimate_dict(e));
            return out;
          },
          "Estimates for the people that the table is a sample of: dicts of name, value, low "
          "and high (95 %, noise and sample together; rows_per_person rows of a person are taken "
          "for alike).")
      .def(
          "expectation",
          [](const FamilyRelease& r, const std::string& parameter) {
            const Answer a = expectation(r, parameter);
            return std::pair(a.value, a.error);
          },
          "parameter"_a,
          "Returns (value, error) of a parameter (docs/theory/trimmed.md, \"Questions\"). "
          "It costs no privacy.")
      .def(
          "probability",
          [](const FamilyRelease& r, const std::string& event) {
            const Answer a = probability(r, event);
            return std::pair(a.value, a.error);
          },
          "event"_a,
          "Returns (value, error) of the probability of an event: 'yes > 0.3', 'rate <= 2' "
          "or 'yes > no'. Raises BadInput on another form.")
      .def(
          "best_response",
          [](const FamilyRelease& r, const std::vector<std::string>& responses,
             const std::vector<std::string>& outcomes,
             const std::vector<std::vector<double>>& utility) {
            const BestResponse best = best_response(r, table_of(responses, outcomes, utility));
            std::vector<std::pair<std::string, double>> ranked;
            for (const Response& response : best.ranked)
              ranked.emplace_back(response.name, response.utility);
            return std::pair(ranked, best.regret);
          },
          "responses"_a, "outcomes"_a, "utility"_a,
          "Ranks responses by expected utility, from utility [responses][outcomes]. Returns "
          "([(response, expected utility), ...], the best first, and the regret or None).")
      .def("__repr__", [](const FamilyRelease& r) {
        return fmt::format("<gibbsite.FamilyRelease: {} of column {}>", to_string(r.model().family),
                           shown(r.model().column()));
      });
}

}  // namespace gibbsite::python
