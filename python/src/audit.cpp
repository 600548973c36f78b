// Attempts to refute a claim, for people who may see the rows.
#include "gibbsite/audit/audit.hpp"

#include <cmath>

#include "bind.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::python {
namespace {

nb::dict audit_shape(double epsilon, double delta, std::uint64_t rows, std::uint64_t features,
                     double row_norm, const std::string& mechanism, const std::string& model,
                     std::uint64_t pairs, double confidence, std::uint64_t seed,
                     const std::string& backend, const nb::object& progress) {
  Wishes wishes;
  if (mechanism != "auto") static_cast<void>(mechanism_named(mechanism));
  wishes.mechanism = mechanism;
  Budget budget;
  budget.epsilon = epsilon;
  budget.delta = delta;
  budget.validate();
  const auto engines = make_warning_backend(backend);
  AuditOptions options;
  options.pairs = pairs;
  options.pilot = std::max<std::uint64_t>(pairs / 4, 1);
  options.confidence = confidence;
  options.seed = seed;
  const AuditResult r = watched(progress, [&](Watch& watch) {
    const AuditCase at = worst_known_case({rows, features, row_norm}, budget, wishes, model);
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
  m.def("audit", &audit_shape, nb::kw_only(), "epsilon"_a, "delta"_a, "rows"_a = AuditShape{}.rows,
        "features"_a = AuditShape{}.features, "row_norm"_a = AuditShape{}.row_norm,
        "mechanism"_a = "auto", "model"_a = "", "pairs"_a = AuditOptions{}.pairs,
        "confidence"_a = AuditOptions{}.confidence, "seed"_a = AuditOptions{}.seed,
        "backend"_a = "auto", "progress"_a = nb::none(),
        "Runs a mechanism on pairs of synthetic neighboring tables and bounds from below what its "
        "claim must be (docs/how-to/audit.md). progress(pairs done, in all).");
}

}  // namespace gibbsite::python
