// Certified figures of a model on held-out rows.
#include <fmt/format.h>

#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/release/evaluation_cells.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/planned_evaluation.hpp"
#include "gibbsite/run/release_evaluation.hpp"
#include "private_run.hpp"
#include "release_file.hpp"

namespace gibbsite::python {
namespace {

EvaluationRelease evaluate_privately(const Release& release, const Dataset& data,
                                     const nb::kwargs& arguments) {
  Arguments given("release_evaluation", arguments);
  EvaluationRequest request;
  request.epsilon = given.need<double>("epsilon");
  request.delta = given.take<double>("delta", request.delta);
  request.bins = given.take<std::uint64_t>("bins");
  request.threshold = given.take<double>("threshold");
  request.adjacency =
      adjacency_from_string(given.take<std::string>("adjacency", std::string("replace-one")));
  request.rows_cap = given.take<std::uint64_t>("rows_cap");
  request.rows_per_person = given.take<std::uint64_t>("rows_per_person", 1);
  const RunArguments run{given.take<std::uint64_t>("seed"),
                         given.take<const Ledger*>("ledger", nullptr),
                         given.take<nb::object>("progress", nb::none())};
  given.finish();
  require_private_run(run);
  const PlannedEvaluation planned(to_json(release).dump(2) + "\n", "model", request);
  require_same_features(planned.model(), data);
  planned.require_read(data);
  const HistogramPlan plan = planned.plan(data.rows());
  warn_of([&](const Note& warn) {
    planned.warn_of_void(warn);
    planned.look_at(plan, run.ledger, warn);
  });
  return private_run(run, FitOptions{}, [&](Key&& key, const FitOptions& options) {
    const EvaluationModel shape = planned.shape(plan);
    return release_evaluation(shape, evaluation_cells(planned.model(), shape.bins, data), plan,
                              std::move(key), options, data.weight);
  });
}

}  // namespace

void bind_evaluation(nb::module_& m) {
  nb::class_<EvaluationRelease> release(
      m, "EvaluationRelease",
      "Released figures of a model on held-out rows, which may be published. `release_evaluation` "
      "makes them.");
  bind_release_file(release);
  release
      .def_prop_ro(
          "figures",
          [](const EvaluationRelease& r) {
            return to_python(to_json(r).at("model").at("figures"));
          },
          "Accuracy, AUC, precision, recall and calibration with 95 % intervals for noise and sample "
          "together, as in the file (docs/reference/formats.md).")
      .def("__repr__", [](const EvaluationRelease& r) {
        return fmt::format("<gibbsite.EvaluationRelease: of {}>", r.model().of);
      });
  m.def(
      "release_evaluation", &evaluate_privately, "release"_a, "data"_a, "arguments"_a,
      nb::sig("def release_evaluation(release: Release, data: Dataset, *, epsilon: float, "
              "delta: float = 1e-6, bins: int | None = None, threshold: float | None = None, "
              "adjacency: str = 'replace-one', rows_cap: int | None = None, "
              "rows_per_person: int = 1, seed: int | None = None, ledger: Ledger | None = None, "
              "progress: object | None = None) -> EvaluationRelease"),
      "Releases figures of a model of classes on rows that it was not fitted to, and returns an "
      "EvaluationRelease with its certificate (docs/theory/evaluation.md).\n"
      "\n"
      "data: held-out rows, read by the model's schema with their labels. bins: of probabilities, 10 "
      "to 100; by default from the budget and the number of rows. threshold: the least probability "
      "for which the positive of two classes is predicted; default 0.5. seed and ledger are as in "
      "`fit`. Raises BadInput, also on a model of amounts or of people, Infeasible or BudgetSpent.");
}

}  // namespace gibbsite::python
