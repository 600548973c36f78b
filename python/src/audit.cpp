// Attempts to refute a claim, for people who may see the rows.
#include "gibbsite/audit/audit.hpp"

#include <cmath>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::python {
namespace {

nb::dict audit_shape(const nb::kwargs& arguments) {
  Arguments given("audit", arguments);
  PlanRequest request = given.request(of_linear);
  AuditShape shape;
  shape.rows = given.take("rows", shape.rows);
  shape.features = given.take("features", shape.features);
  shape.row_norm = given.take("row_norm", shape.row_norm);
  AuditOptions options;
  options.pairs = given.take("pairs", options.pairs);
  options.pilot = std::max<std::uint64_t>(options.pairs / 4, 1);
  options.confidence = given.take("confidence", options.confidence);
  options.seed = given.take("seed", options.seed);
  const auto backend = given.take<std::string>("backend", "auto");
  const auto progress = given.take<nb::object>("progress", nb::none());
  given.finish();
  const bool usual = request.model.empty() || request.model == "auto";
  if (usual) request.model = "auto";
  const PlanOptions plan_options = plan_options_of(request);
  const Budget budget = budget_of(request);
  const auto engines = make_warning_backend(backend);
  const AuditResult r = watched(progress, [&](Watch& watch) {
    const AuditCase at = worst_known_case(shape, budget, plan_options, usual ? "" : request.model,
                                          request.prior_precision);
    require_feasible(at.plan);
    options.stop = watch.stop();
    options.progress = watch.reporter();
    return audit(at, *engines, options);
  });
  nb::dict out;
  out["measure"] = r.measure == AuditMeasure::mu ? "mu" : "epsilon";
  out["pairs"] = r.pairs;
  out["confidence"] = r.confidence;
  out["mu_lower"] = r.mu_lower;
  out["mu_claimed"] = r.mu_claimed;
  out["epsilon_lower"] = r.epsilon_lower;
  out["epsilon_claimed"] = r.epsilon_claimed;
  out["reach"] = r.reach();
  out["refuted"] = r.refuted;
  return out;
}

}  // namespace

void bind_audit(nb::module_& m) {
  m.def("audit", &audit_shape,
        nb::sig("def audit(*, epsilon: float, delta: float, rows: int = ..., features: int = ..., "
                "row_norm: float = ..., mechanism: str = 'auto', model: str = '', "
                "prior_precision: float | None = None, tv: float | None = None, "
                "iterations: int | None = None, ball: float | None = None, pairs: int = ..., "
                "confidence: float = ..., seed: int = ..., backend: str = 'auto', "
                "progress: object | None = None) -> dict"),
        "Audits a mechanism: runs it on pairs of synthetic neighboring tables and bounds from "
        "below what its claim must be (docs/how-to/audit.md). model: name of the loss, \"\" for "
        "the default. pairs: number of pairs of runs. confidence: of the lower bounds. progress "
        "is called as progress(pairs done, in all).\n"
        "\n"
        "Returns a dict: measure (\"mu\" or \"epsilon\"), pairs, confidence, mu_lower, "
        "mu_claimed, epsilon_lower, epsilon_claimed, reach (bound over claim) and refuted. "
        "Raises BadInput or Infeasible.");
}

}  // namespace gibbsite::python
