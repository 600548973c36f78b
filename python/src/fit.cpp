// Plans, private fits and what they release.
#include "gibbsite/run/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/certificate/column_guarantee.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/compare/curator_report.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/excess_loss.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/evaluation.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/query_json.hpp"
#include "gibbsite/run/plan_request.hpp"
#include "gibbsite/run/public_center.hpp"
#include "private_run.hpp"
#include "release_file.hpp"
#include "shares.hpp"

namespace gibbsite::python {
namespace {

FeatureSpace space_of(Arguments& given, const Schema* schema) {
  const auto features = given.take<std::uint64_t>("features");
  const auto row_norm = given.take<double>("row_norm");
  const bool intercept = given.take("intercept", false);
  const auto classes = given.take<std::uint64_t>("classes");
  if (schema != nullptr) {
    if (features || row_norm || intercept || classes) {
      throw BadInput(Field{"schema"}, "says features, row_norm, intercept and classes itself",
                     "leave those out");
    }
    return *schema;
  }
  if (!features || !row_norm) {
    throw BadInput(Field{"schema"}, "is missing", "give one, or features and row_norm");
  }
  require_finite_positive(*row_norm, Field{"row_norm"});
  FeatureSpace space{*features + (intercept ? 1 : 0), *row_norm, intercept};
  if (classes) {
    if (*classes < 3) throw BadInput(Field{"classes"}, "must be at least 3 where they are given");
    space.label = LabelKind::classes;
    space.classes = *classes;
  }
  return space;
}

PlannedFit make_plan(const nb::kwargs& arguments) {
  Arguments given("plan", arguments);
  const PlanRequest request = given.request(of_linear);
  const auto rows = given.take<std::uint64_t>("rows");
  const auto* const schema = given.take<const Schema*>("schema", nullptr);
  const FeatureSpace space = space_of(given, schema);
  given.finish();
  if (!rows && !request.rows_cap) {
    throw BadInput(Field{"rows"}, "is missing", "give the number of rows");
  }
  const nb::gil_scoped_release unlocked;
  const Budget budget = budget_of(request);
  return schema != nullptr ? planned_offers(request, *schema, rows.value_or(0), budget)
                           : planned_offers(request, space, rows.value_or(0), budget);
}

nb::dict candidate_dict(const Candidate& candidate) {
  nb::dict out;
  out["mechanism"] = std::string(name_of(candidate.mechanism));
  out["feasible"] = candidate.feasible;
  out["why"] = in_arguments(candidate.why);
  out["passes"] = candidate.cost.passes;
  out["mu"] = candidate.guarantee.mu;
  nb::dict settings;
  visit_fields(candidate.mechanism, [&](std::string_view name, const auto& value, auto...) {
    const std::string key(name);
    if (const auto number = setting(candidate.mechanism, name)) settings[key.c_str()] = *number;
    static_cast<void>(value);
  });
  out["settings"] = settings;
  return out;
}

/// What fits have in common.
struct FitArguments : RunArguments {
  bool release_moments;
  std::optional<std::int64_t> n_jobs;
  bool people_said;  // an estimator says itself whether somebody counts a person's rows

  explicit FitArguments(Arguments& given)
      : RunArguments{given.take<std::uint64_t>("seed"),
                     given.take<const Ledger*>("ledger", nullptr),
                     given.take<nb::object>("progress", nb::none())},
        release_moments(given.take("release_moments", false)),
        n_jobs(given.take<std::int64_t>("n_jobs")),
        people_said(given.take("_people_said", false)) {}
};

// What there is to say of a fit before it runs.
void look_at_fit(const PlannedFit& plan, const FitArguments& run) {
  require_feasible(plan.plan);
  require_private_run(run);
  warn_of([&](const Note& warn) {
    look_at(plan, run.ledger, warn,
            run.people_said ? std::nullopt : std::optional(PeopleBy::schema));
  });
}

// The rows of a table with the curves that its plan chose.
Dataset planned_rows(const Dataset& data, const PlannedFit& plan) {
  if (!plan.chosen) require_chosen_curves(data.schema);
  return with_curves(data, *plan.chosen);
}

Release fit_data(const Dataset& given_data, const PlannedFit& plan, const nb::kwargs& arguments) {
  std::optional<Dataset> own;
  if (automatic_curves(given_data.schema) > 0) own = planned_rows(given_data, plan);
  const Dataset& data = own ? *own : given_data;
  Arguments given("fit", arguments);
  const FitArguments run(given);
  const auto backend = given.take<std::string>("backend", "auto");
  FitOptions options;
  options.checkpoint = given.take<Path>("checkpoint", "").string();
  options.release_answers = run.release_moments;
  const auto known_rows = given.take<nb::object>("public", nb::none());
  const Dataset* const known =
      nb::isinstance<Dataset>(known_rows) ? nb::cast<const Dataset*>(known_rows) : nullptr;
  const std::string known_path =
      known == nullptr && !known_rows.is_none() ? nb::cast<Path>(known_rows).string() : "";
  for (const char* name : {"arithmetic", "noise"}) {
    if (!given.take<nb::object>(name)) continue;
    throw BadInput(Field{name}, "is of bench, for throughput",
                   "certificates cover doubles and noise that the operating system keys, so leave "
                   "it out");
  }
  given.finish();
  if (known == &given_data) throw BadInput("public: is the private table itself; give another one");
  look_at_fit(plan, run);
  const auto engines = make_warning_backend(backend, run.n_jobs);
  settle(*engines, loss_named(plan.plan.problem.loss), data.has_more_than_labels());
  return private_run(run, options, [&](Key&& key, const FitOptions& watching) {
    PlannedFit own_plan = plan;
    std::optional<Dataset> curves;
    if (known != nullptr && automatic_curves(known->schema) > 0)
      curves = planned_rows(*known, plan);
    const Model model =
        !known_path.empty() ? model_by_public_table(own_plan, known_path, *engines, {})
        : known == nullptr
            ? model_of(plan.request, plan.plan)
            : model_by_public_rows(own_plan, curves ? *curves : *known, data.schema, *engines);
    return gibbsite::fit(model, data, own_plan.plan, *engines, std::move(key), watching);
  });
}

Release fit_shares(const Schema& schema, const PlannedFit& plan, const nb::kwargs& arguments) {
  Arguments given("_fit_shares", arguments);
  RemoteTable table{given.need<std::vector<std::uint64_t>>("bounds"),
                    {},
                    given.need<std::uint64_t>("entries"),
                    given.need<bool>("sparse")};
  for (const nb::bytes& digest : given.need<std::vector<nb::bytes>>("digests"))
    table.digests.emplace_back(digest.c_str(), digest.size());
  const auto ask = given.need<nb::object>("ask"), relay = given.need<nb::object>("relay");
  const FitArguments run(given);
  given.finish();
  look_at_fit(plan, run);
  BackendOptions threads;
  threads.threads = threads_of(run.n_jobs);
  PythonCarrier carrier(ask, relay);
  FitOptions options;
  options.release_answers = run.release_moments;
  options.rows_elsewhere = table.bounds.back();
  const auto engines = make_remote_backend(make_backend("cpu", threads), std::move(table), carrier);
  Dataset none;
  none.schema = schema;
  return private_run(run, options, [&](Key&& key, const FitOptions& watching) {
    return gibbsite::fit(model_of(plan.request, plan.plan), none, plan.plan, *engines,
                         std::move(key), watching);
  });
}

bool of_classes(const LinearModel& model) { return is<Classes>(model.schema.label); }

Numbers draws_of(const LinearModel& model) {
  std::vector<double> all;
  for (const auto& draw : model.draws) all.insert(all.end(), draw.begin(), draw.end());
  const std::size_t draws = model.draws.size(), d = model.schema.features();
  return of_classes(model)
             ? to_numpy(std::move(all), {draws, class_names(model.schema.label).size(), d})
             : to_numpy(std::move(all), {draws, d});
}

// [d x 2] ends of the interval of each feature's effect, of several classes [K x d x 2], or none.
nb::object interval_ends(const LinearModel& model) {
  if (!model.estimates) return nb::none();
  const std::size_t d = model.schema.features();
  const std::size_t classes = of_classes(model) ? class_names(model.schema.label).size() : 1;
  const double unit = coefficient_unit(model.schema.label);
  std::vector<double> ends;
  for (std::size_t k = 0; k < classes; ++k) {
    for (std::size_t j = 0; j < d; ++j) {
      const EffectEstimate effect = feature_effect(*model.estimates, model.schema, j, k);
      ends.push_back(unit * effect.lower);
      ends.push_back(unit * effect.upper);
    }
  }
  if (of_classes(model)) return nb::cast(to_numpy(std::move(ends), {classes, d, 2}));
  return nb::cast(to_numpy(std::move(ends), {d, 2}));
}

// What `gibbsite evaluate --json` prints, with arrays in place of lists of numbers.
nb::dict evaluation_of(const LinearModel& model, const Dataset& data, double threshold) {
  nlohmann::json of;
  {
    const nb::gil_scoped_release unlocked;
    of = to_json(evaluate_model(model, data, threshold), model.schema);
  }
  nb::dict out = nb::cast<nb::dict>(to_python(of));
  for (const char* const name : {"precision", "recall", "auc_by_class"})
    if (of.contains(name)) {
      auto numbers = of.at(name).get<std::vector<double>>();
      const std::size_t classes = numbers.size();
      out[name] = to_numpy(std::move(numbers), {classes});
    }
  if (of.contains("confusion")) {
    std::vector<double> cells;
    for (const nlohmann::json& row : of.at("confusion"))
      for (const nlohmann::json& cell : row) cells.push_back(cell.get<double>());
    const std::size_t classes = of.at("confusion").size();
    out["confusion"] = to_numpy(std::move(cells), {classes, classes});
  }
  return out;
}

// In the units of the columns where no row is scaled down: theta_j / (hi - lo).
nb::tuple units_tuple(const LinearModel& model, std::span<const double> theta) {
  const OriginalUnits units = original_units(model, theta);
  nb::dict slopes;
  for (const auto& [name, slope] : units.slopes) slopes[name.c_str()] = slope;
  return nb::make_tuple(units.intercept, slopes, units.exact);
}

nb::list in_original_units(const LinearModel& model) {
  nb::list out;
  for (const auto& draw : model.draws) {
    if (!of_classes(model)) {
      out.append(units_tuple(model, draw));
      continue;
    }
    nb::list classes;
    for (std::size_t k = 0; k < class_names(model.schema.label).size(); ++k)
      classes.append(units_tuple(model, coefficients_of(model.schema, draw, k)));
    out.append(classes);
  }
  return out;
}

nb::object cell_to_python(const EffectCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return nb::cast(*text);
  if (const auto* number = std::get_if<double>(&cell)) return nb::cast(*number);
  if (const auto* truth = std::get_if<bool>(&cell)) return nb::cast(*truth);
  return nb::none();
}

nb::tuple effects_of(const Release& release, const References& references) {
  const EffectTable table = effect_table(release.model(), release.certificate(), references);
  nb::list rows, order;
  for (const Effect& effect : table.effects) {
    nb::list cells;
    for (const EffectCell& cell : effect_cells(table, effect)) cells.append(cell_to_python(cell));
    rows.append(cells);
  }
  for (const std::size_t place : table.by_certainty()) order.append(place);
  return nb::make_tuple(effect_columns(table), rows, order, table.has_intervals);
}

void bind_plan(nb::module_& m) {
  nb::class_<PlannedFit>(
      m, "Plan",
      "The settings of a fit, which follow from public numbers alone: what every "
      "mechanism would do with the budget, and the one that was chosen. `plan` "
      "makes one.")
      .def_prop_ro(
          "mechanism",
          [](const PlannedFit& p) { return std::string(name_of(p.plan.candidate().mechanism)); },
          "Name of the chosen mechanism.")
      .def_prop_ro(
          "feasible", [](const PlannedFit& p) { return p.plan.candidate().feasible; },
          "Whether the chosen mechanism can keep the budget.")
      .def_prop_ro(
          "why", [](const PlannedFit& p) { return in_arguments(p.plan.candidate().why); },
          "Why this mechanism was chosen, or why the budget cannot be kept.")
      .def("_warn",
           [](const PlannedFit& p) { warn_of([&](const Note& warn) { warn_of_plan(p, warn); }); })
      .def_prop_ro("_kept_share",
                   [](const PlannedFit& p) {
                     const auto expected = expected_learning(p.plan, p.positive_share);
                     return expected ? expected->kept : std::numeric_limits<double>::quiet_NaN();
                   })
      .def_prop_ro(
          "excess_loss",
          [](const PlannedFit& p) -> std::optional<std::pair<double, double>> {
            const auto found = excess_loss_up(p.plan.candidate().mechanism, p.plan.problem,
                                              p.plan.budget.neighbors());
            if (!found || !p.plan.candidate().feasible) return std::nullopt;
            return std::pair{found->noise, found->ridge};
          },
          nb::sig("def excess_loss(self) -> tuple[float, float] | None"),
          "Of output and objective perturbation (noise, ridge): the mean loss is on average at most "
          "noise + ridge * B**2 above that of any coefficients, of encoded features, at a distance "
          "of at most B from the center. None of others.")
      .def_prop_ro("_loss", [](const PlannedFit& p) { return p.plan.problem.loss; })
      .def_prop_ro(
          "epsilon", [](const PlannedFit& p) { return p.plan.budget.epsilon; },
          "The epsilon of the budget.")
      .def_prop_ro(
          "delta", [](const PlannedFit& p) { return p.plan.budget.delta; },
          "The delta of the budget.")
      .def_prop_ro(
          "rows", [](const PlannedFit& p) { return p.plan.problem.rows; },
          "Number of rows, or their public upper bound.")
      .def_prop_ro(
          "features", [](const PlannedFit& p) { return p.plan.problem.row_features(); },
          "Number of features of a row, the intercept included.")
      .def_prop_ro(
          "classes", [](const PlannedFit& p) { return p.plan.problem.outputs; },
          "Number of classes of a model of several, else 1.")
      .def_prop_ro(
          "offers",
          [](const PlannedFit& p) {
            nb::list out;
            for (const Candidate& candidate : p.plan.candidates)
              out.append(candidate_dict(candidate));
            return out;
          },
          "The offers: for each mechanism a dict with mechanism, feasible, why, passes (over "
          "the table), mu and settings.")
      .def(
          "to_json", [](const PlannedFit& p) { return plan_json(p.plan).dump(2); },
          "Returns the plan as a dict: what `gibbsite plan --json` prints, without the times.")
      .def("__repr__", [](const PlannedFit& p) {
        return fmt::format("<gibbsite.Plan: {}, ({}, {}), {} {}{}>",
                           name_of(p.plan.candidate().mechanism), p.plan.budget.epsilon,
                           p.plan.budget.delta, p.plan.problem.rows,
                           p.plan.problem.of_people() ? "people" : "rows",
                           p.plan.candidate().feasible ? "" : ", out of reach");
      });
  m.def(
      "plan", &make_plan,
      nb::sig("def plan(*, epsilon: float | None = None, delta: float, rows: int | None = None, "
              "schema: Schema | None = None, features: int | None = None, "
              "row_norm: float | None = None, intercept: bool = False, model: str = 'auto', "
              "mechanism: str = 'auto', calibration: str = 'gdp', adjacency: str = 'replace-one', "
              "rows_cap: int | None = None, rows_per_person: int = 1, draws: int = 1, "
              "prior_precision: float | None = None, loss_cap: float | None = None, "
              "tv: float | None = None, padded: bool = False, intervals: bool = False, "
              "step_size: float | None = None, iterations: int | None = None, "
              "ball: float | None = None, classes: int | None = None, "
              "positive_share: float | tuple[float, float] | None = None, "
              "rho: float | None = None, rdp: float | None = None, "
              "beta: float | None = None) -> Plan"),
      "Plans a fit of `rows` rows of a schema, without any data, and returns a Plan "
      "(docs/reference/command-line.md, `gibbsite plan`).\n"
      "\n"
      "In place of a schema, give the number of `features`, numbers within `row_norm`, and the "
      "number of `classes` if there are three or more. The other arguments are those of "
      "`gibbsite plan`. `positive_share` is a number or (low, high); no offer depends on it. "
      "`rho` in place of epsilon is a budget of zCDP, `rdp` an order of which epsilon is the Renyi "
      "budget (docs/theory/rdp.md).\n"
      "\n"
      "Raises BadInput on an illegal request. If no mechanism can keep the budget, the plan "
      "says so (`feasible`, `why`).");
}

void bind_release(nb::module_& m) {
  nb::class_<Verification>(
      m, "Verification",
      "The result of `verify`; it is true if the certificate is valid and not void.")
      .def_ro("valid", &Verification::valid, "True if every number of the certificate holds.")
      .def_ro("void_run", &Verification::void_run,
              "True if the noise came from a seed: there is then no guarantee, whatever else "
              "holds.")
      .def_ro("checks", &Verification::checks, "One line for each number that was recomputed.")
      .def_ro("failures", &Verification::failures, "One line for each claim that does not hold.")
      .def("__bool__", [](const Verification& v) { return v.valid && !v.void_run; })
      .def("__repr__", [](const Verification& v) {
        return fmt::format("<gibbsite.Verification: {}>", v.void_run ? "void"
                                                          : v.valid  ? "valid"
                                                                     : v.failures.front());
      });
  nb::class_<Release> release(
      m, "Release",
      "A released model with its certificate, which may be published. `fit` makes one.");
  bind_release_file(release);
  release
      .def_prop_ro(
          "loss", [](const Release& r) { return r.model().loss; }, "Name of the loss.")
      .def_prop_ro(
          "schema", [](const Release& r) { return r.model().schema; },
          "The schema that rows to predict are read by.")
      .def_prop_ro(
          "draws", [](const Release& r) { return draws_of(r.model()); }, nb::rv_policy::automatic,
          "The coefficients [draws, features], or [draws, classes, features] for several "
          "classes, for rows as the encoder scales them.")
      .def(
          "original_units", [](const Release& r) { return in_original_units(r.model()); },
          "Returns the coefficients in the units of the columns, for each draw (intercept, "
          "{column or column=level: slope}, exact). exact is True if no row can be scaled down. "
          "With several classes, each draw has a list of such, one for each class.")
      .def_prop_ro(
          "least_row_scale",
          [](const Release& r) {
            const Schema& schema = r.model().schema;
            return std::min(1.0, schema.row_norm / schema.max_unclipped_norm());
          },
          "The smallest factor by which the encoder scales a row down; 1 if none is scaled.")
      .def(
          "effects",
          [](const Release& r, const References& reference) { return effects_of(r, reference); },
          "reference"_a = References{},
          "Returns the table of effects as (columns, rows, order, has_intervals). Cells are "
          "None if nothing is known; order has the places of the rows, the surest first. "
          "reference: {column: level} that other levels are compared with, in place of the "
          "schema's. Raises BadInput on an unknown name.")
      .def_prop_ro(
          "interval_words",
          [](const Release& r) -> std::optional<std::string> {
            if (!r.model().estimates) return {};
            return interval_meaning_of(r.model(), r.certificate().claimed.who.rows_per_person);
          },
          "What the intervals include and how often they held on simulated tables, in sentences; "
          "whether effects are those of scaled rows, and what a person's rows are taken for. None "
          "without intervals.")
      .def(
          "effect",
          [](const Release& r, const std::string& text, const std::string& of_class,
             const std::string& against) {
            return to_python(effect_json(r.model(), text, {of_class, against}));
          },
          "text"_a, "of_class"_a = "", "against"_a = "",
          "Returns the estimate of a linear combination of columns and levels, such as 'age*10 "
          "- sex=Male', as a dict with interval and p-value. It follows from the released "
          "estimates alone and costs no privacy. Raises BadInput if the model has none, or a "
          "name is unknown.")
      .def_prop_ro(
          "intervals", [](const Release& r) { return interval_ends(r.model()); },
          "Ends of the 95 % interval of each feature's effect [features, 2], or [classes, "
          "features, 2] for several classes; None without intervals. Numbers count over their "
          "range, levels against the mean of their column's; amounts are in the label's unit.")
      .def(
          "predict_probabilities",
          [](const Release& r, const Dataset& data) {
            require_same_features(r.model(), data);
            auto p = predict_probabilities(r.model(), data.view());
            const std::size_t n = p.size();
            return to_numpy(std::move(p), {n});
          },
          "data"_a,
          "Returns P(positive class) of each row [n], for two classes. Raises BadInput for "
          "other models.")
      .def(
          "log_odds",
          [](const Release& r, const Dataset& data) {
            require_same_features(r.model(), data);
            auto z = predict_log_odds(r.model(), data.view());
            const std::size_t n = z.size();
            return to_numpy(std::move(z), {n});
          },
          "data"_a,
          "Returns the log-odds of predict_probabilities [n]. Raises BadInput unless the "
          "model has two classes.")
      .def(
          "predict_classes",
          [](const Release& r, const Dataset& data) {
            require_same_features(r.model(), data);
            auto p = predict_classes(r.model(), data.view());
            const std::size_t classes = class_names(r.model().schema.label).size();
            const std::size_t n = p.size() / classes;
            return to_numpy(std::move(p), {n, classes});
          },
          "data"_a,
          "Returns the probability of each of several classes, in the schema's order [n, "
          "K]. Raises BadInput for other models.")
      .def(
          "predict_amounts",
          [](const Release& r, const Dataset& data) {
            require_same_features(r.model(), data);
            auto p = predict_amounts(r.model(), data.view());
            const std::size_t n = p.size();
            return to_numpy(std::move(p), {n});
          },
          "data"_a,
          "Returns the predicted amount or count of each row, in the label's own unit [n]. "
          "Raises BadInput for models of classes.")
      .def(
          "predict_intervals",
          [](const Release& r, const Dataset& data) {
            require_same_features(r.model(), data);
            const Predictions of = predict(r.model(), data.view(), true);
            std::vector<double> flat;
            for (const auto& [low, high] : of.intervals) flat.insert(flat.end(), {low, high});
            const std::size_t rows = of.intervals.size() / of.columns;
            if (of_classes(r.model()))
              return nb::cast(to_numpy(std::move(flat), {rows, of.columns, 2}));
            return nb::cast(to_numpy(std::move(flat), {rows, 2}));
          },
          "data"_a,
          "Returns the ends of a 95 % interval of each row's P(positive class), or of the mean "
          "of an amount or count [n, 2]. For several classes: of each probability [n, K, 2]. "
          "Raises BadInput if the model has no intervals (docs/theory/intervals.md).")
      .def(
          "evaluate",
          [](const Release& r, const nb::object& given, std::optional<double> threshold) {
            if (!nb::isinstance<Dataset>(given))
              throw nb::type_error(
                  "data: must be a gibbsite.Dataset; read it with its label: "
                  "gibbsite.read_arrow(frame, release.schema), or read_table of a file");
            return evaluation_of(
                r.model(), *nb::cast<const Dataset*>(given),
                decision_threshold(threshold, r.model().schema.label, "the model"));
          },
          "data"_a, "threshold"_a = nb::none(),
          nb::sig("def evaluate(self, data: Dataset, threshold: float | None = None) -> dict"),
          "Returns the scores of predictions on labeled rows, as `gibbsite evaluate --json` prints "
          "them, as a dict. PRIVATE: it reads the labels.\n"
          "\n"
          "Classes: rows, accuracy, log_loss (nats per row), auc, majority, classes, confusion [K, "
          "K] (rows of class i predicted to be of k), precision and recall [K], calibration (of each "
          "tenth of the probability rows, predicted, found); of several auc is the mean of "
          "auc_by_class [K]. NaN if there are no rows. threshold, from 0 to 1, by default 0.5: the least probability "
          "for which the positive of two classes is predicted. Amounts: rows, rmse, mae, r2; counts also "
          "deviance. Raises BadInput if data has no labels.")
      .def(
          "curator_report",
          [](const Release& r, const Dataset& data, std::optional<double> threshold,
             const std::string& table) {
            require_same_features(r.model(), data);
            if (!data.labeled()) throw BadInput("data: has no labels; read it with them");
            const double least = decision_threshold(threshold, r.model().schema.label, "the model");
            const nb::gil_scoped_release unlocked;
            return curator_report(to_json(r).dump(), "model", data,
                                  non_private_fit(data, r.model().loss),
                                  {.threshold = least, .table = table});
          },
          "data"_a, "threshold"_a = nb::none(), "table"_a = "",
          "Returns the text of an HTML page for the curator (docs/how-to/report.md): ROC, "
          "calibration, confusion by threshold, errors, and what the reader changed, by column, "
          "beside the ordinary fit of the same rows. PRIVATE: it reads the rows, and no "
          "certificate covers it. Raises BadInput if data has no labels.")
      .def("__repr__", [](const Release& r) {
        const Certificate& c = r.certificate();
        return fmt::format(
            "<gibbsite.Release: {} by {}, {}>", r.model().loss, name_of(c.mechanism),
            c.is_void() ? std::string("void") : fmt::format("({}, {})", c.epsilon, c.delta));
      });
  m.def(
      "verify",
      [](const Path& path) {
        const nb::gil_scoped_release unlocked;
        return verify(read_release_json(path.string()));
      },
      "path"_a,
      "Recomputes every claim of a model file, of any kind, whatever it contains, and "
      "returns a Verification. Raises BadInput if the file cannot be read.");
  m.def(
      "column_guarantee",
      [](const Path& path, const std::string& column, std::optional<double> moves_by) {
        ColumnGuarantee found;
        {
          const nb::gil_scoped_release unlocked;
          const nlohmann::json file = read_release_json(path.string());
          if (const Verification checked = verify(file); !checked.valid)
            throw Infeasible(path.string() + ": NOT VALID: " + checked.failures.front());
          found = column_guarantee(file, column, moves_by);
        }
        nb::dict out;
        out["epsilon"] = found.epsilon;
        out["delta"] = found.delta;
        out["mu"] = found.mu;
        out["best_guess"] = found.guess_percent / 100;
        out["words"] = in_words(found);
        return out;
      },
      "path"_a, "column"_a, "moves_by"_a = nb::none(),
      "Returns what a verified file guarantees against somebody who knows all of a person but one "
      "column, and asks which of two values it has (at most `moves_by` apart, in its unit), as a dict: epsilon at the "
      "certificate's delta, mu (NaN for draws that have none), best_guess (a probability) and "
      "words. It is a weaker unit than the certificate's, and no ledger counts by it "
      "(docs/theory/columns.md). Raises BadInput if the file has no such column, or no theorem of "
      "it, and Infeasible if it does not verify.");
}

}  // namespace

void bind_fit(nb::module_& m) {
  bind_plan(m);
  bind_release(m);
  m.def("fit", &fit_data, "data"_a, "plan"_a, "arguments"_a,
        nb::sig("def fit(data: Dataset, plan: Plan, *, backend: str = 'auto', "
                "seed: int | None = None, ledger: Ledger | None = None, "
                "checkpoint: str | os.PathLike = '', release_moments: bool = False, "
                "n_jobs: int | None = None, progress: object | None = None, "
                "public: Dataset | str | os.PathLike | None = None, "
                "arithmetic: object | None = None, noise: object | None = None) -> Release"),
        "Runs a plan on a table and returns a Release with its certificate.\n"
        "\n"
        "seed: an int makes the noise repeatable and the certificate void. ledger: the release "
        "is entered there before this returns (docs/how-to/ledger.md). checkpoint: a file to "
        "resume from and to save to; it holds the noise key. public: rows that need no protection, "
        "read by the same schema, which the prior's center follows from at small budgets "
        "(docs/theory/whitened.md). progress is called as "
        "progress(steps done, in all). arithmetic and noise are refused: they are arguments of "
        "`bench`.\n"
        "\n"
        "Raises Infeasible, BudgetSpent, BackendUnavailable or BadInput.");
  m.def(
      "_fit_shares", &fit_shares, "schema"_a, "plan"_a, "arguments"_a,
      "`fit` of rows in shares elsewhere: ask(question) gives the answers of all, relay(question, "
      "before) that of the last, each asked with the answer of the one before it.");
  m.def("discard_checkpoint", of_path(&discard_checkpoint), "path"_a,
        "Removes the checkpoint of a run whose model is written.");
  m.def(
      "list_backends",
      [] {
        std::vector<std::tuple<std::string, bool, std::string>> out;
        for (const BackendInfo& info : list_backends())
          out.emplace_back(info.name, info.available, in_arguments(info.description));
        return out;
      },
      "Returns the backends as a list of (name, available, description or why not).");
}

}  // namespace gibbsite::python
