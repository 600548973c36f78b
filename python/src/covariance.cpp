// Moments of several columns: plan, release, and what they say.
#include "gibbsite/release/covariance.hpp"

#include <fmt/format.h>

#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/run/fit_covariance.hpp"
#include "private_run.hpp"
#include "release_file.hpp"

namespace gibbsite::python {
namespace {

using CovariancePlanOf = Requested<CovariancePlan>;

CovariancePlanOf make_covariance_plan(const nb::kwargs& arguments) {
  Arguments given("plan_covariance", arguments);
  PlanRequest request = given.request(of_covariance);
  request.model = covariance_model;
  const auto rows = given.need<std::uint64_t>("rows");
  const auto* const schema = given.need<const Schema*>("schema");
  given.finish();
  require_of_model(request);
  const Budget budget = budget_of(request);
  return {plan(request, covariance_problem(request, *schema, rows), budget), request};
}

nb::dict estimate_dict(const char* what, const std::string& column, const std::string& other,
                       const MomentEstimate& e) {
  nb::dict out;
  out["what"] = what;
  out["column"] = column;
  out["other"] = other;
  out["value"] = e.value;
  out["low"] = e.low;
  out["high"] = e.high;
  return out;
}

nb::list all_estimates(const CovarianceRelease& release) {
  const CovarianceEstimates e = covariance_estimates(release);
  nb::list out;
  for (std::size_t i = 0; i < e.columns.size(); ++i)
    out.append(estimate_dict("mean", e.columns[i], "", e.means[i]));
  for (std::size_t i = 0; i < e.columns.size(); ++i)
    out.append(estimate_dict("deviation", e.columns[i], "", e.deviations[i]));
  const auto pairs = [&](const char* what, const std::vector<MomentEstimate>& all) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < e.columns.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        out.append(estimate_dict(what, e.columns[i], e.columns[j], all[at++]));
    }
  };
  pairs("covariance", e.covariances);
  pairs("correlation", e.correlations);
  return out;
}

Numbers correlation_matrix(const CovarianceRelease& release) {
  const CovarianceEstimates e = covariance_estimates(release);
  const std::size_t d = e.columns.size();
  std::vector<double> out(d * d, 1.0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      out[i * d + j] = out[j * d + i] = e.correlations[at++].value;
  }
  return to_numpy(std::move(out), {d, d});
}

}  // namespace

void bind_covariance(nb::module_& m) {
  nb::class_<CovariancePlanOf>(
      m, "CovariancePlan",
      "A plan for moments of several columns: what the budget buys. `plan_covariance` makes one.")
      .def_prop_ro(
          "mechanism", [](const CovariancePlanOf& p) { return std::string(name_of(p.mechanism)); },
          "Name of the mechanism.");
  m.def(
      "plan_covariance", &make_covariance_plan, "arguments"_a,
      nb::sig("def plan_covariance(*, epsilon: float | None = None, delta: float, rows: int, "
              "schema: Schema, mechanism: str = 'auto', adjacency: str = 'replace-one', "
              "rows_cap: int | None = None, rows_per_person: int = 1, draws: int | None = None, "
              "rho: float | None = None, rdp: float | None = None) -> CovariancePlan"),
      "Plans noisy moments of `rows` rows of several columns (Schema.read_covariance) and returns "
      "a CovariancePlan (docs/theory/covariance.md). Raises BadInput or Infeasible.");
  m.def(
      "fit_covariance",
      [](const Dataset& data, const CovariancePlanOf& plan, std::optional<std::uint64_t> seed,
         const Ledger* ledger) {
        return private_run({seed, ledger}, plan, [&](Key&& key, const FitOptions& options) {
          return fit_covariance(data, plan, std::move(key), options);
        });
      },
      "data"_a, "plan"_a, nb::kw_only(), "seed"_a = nb::none(), "ledger"_a = nb::none(),
      "Releases the moments of a plan and returns a CovarianceRelease with its certificate. `data` "
      "is read through the plan's schema, with labels_optional and ignore_extra_columns. seed and "
      "ledger are as in `fit`. Raises BadInput or BudgetSpent.");

  nb::class_<CovarianceRelease> release(
      m, "CovarianceRelease",
      "Released moments of several columns, which may be published. `fit_covariance` makes them.");
  bind_release_file(release);
  release
      .def_prop_ro(
          "columns", [](const CovarianceRelease& r) { return r.model().columns(); },
          "Names of the columns [d].")
      .def(
          "estimates", &all_estimates,
          "Estimates for the people that the table is a sample of: dicts of what (mean, deviation, "
          "covariance, correlation), column, other, value, low and high (95 %, noise and sample "
          "together), in the columns' units.")
      .def_prop_ro(
          "covariance",
          [](const CovarianceRelease& r) {
            CovarianceEstimates e = covariance_estimates(r);
            const std::size_t d = e.columns.size();
            return to_numpy(std::move(e.covariance), {d, d});
          },
          nb::rv_policy::automatic,
          "Positive semidefinite covariance [d, d] in the columns' units.")
      .def_prop_ro("correlation", &correlation_matrix, nb::rv_policy::automatic,
                   "Correlations [d, d] of that covariance.")
      .def("__repr__", [](const CovarianceRelease& r) {
        return fmt::format("<gibbsite.CovarianceRelease: {} columns>", r.model().sums.size());
      });
}

}  // namespace gibbsite::python
