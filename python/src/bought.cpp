// A schema and a fit of one budget.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "gibbsite/run/purchase.hpp"
#include "gibbsite/run/request_text.hpp"
#include "private_run.hpp"
#include "release_file.hpp"
#include "stream.hpp"

namespace gibbsite::python {
namespace {

using BoughtLabels = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

CountingColumns counting_of(Arguments& given) {
  const auto highest = given.take<double>("highest_weight");
  CountingRequest out{.person = given.take<std::string>("person", ""),
                      .weight = given.take<std::string>("weight", ""),
                      .exposure = given.take<std::string>("exposure", ""),
                      .exposure_range = given.take<std::vector<double>>("exposure_range")};
  if (highest) out.weight_range = {0, *highest};
  return out.columns();
}

// What is asked of the columns of a table and, of a fit of rows, the label.
BoughtRequest asked_of(Arguments& given, unsigned kind) {
  PlanRequest request = given.request(kind);
  BoughtRequest out{.request = {}, .shape = {}, .share = given.take<double>("schema_share")};
  out.people_said = given.take("_people_said", false);
  auto header = given.need<std::vector<std::string>>("columns");
  if (kind == of_family) {
    request.model = given.need<std::string>("family");
    if (!family_named(request.model))
      throw BadInput(Field{"model"},
                     fmt::format("no family is called {}", gibbsite::quoted(request.model)),
                     "give bernoulli, categorical, rate, waiting, mean, bounded-mean, variance "
                     "or laplace");
    request.calibration = PlanRequest().calibration;
    out.request = bought_family_request(request);
    out.shape = family_shape(header, given.need<std::string>("column"), "data");
  } else if (kind == of_network) {
    request.model = network_model;
    out.request = bought_network_request(request);
    out.shape = schema_shape(header, "", TwoClasses{}, "data");
  } else {
    const Schema& label = *given.need<const Schema*>("label");
    const CountingColumns counting = counting_of(given);
    out.request = bought_request(request, label.label, counting);
    header.push_back(label.label_name);
    out.shape = schema_shape(header, label.label_name, label.label, "X", counting);
    want_parts(out.shape, given.take<std::vector<std::string>>("date_parts", {}));
  }
  return out;
}

ArrowArrayStream opened(const nb::object& table) {
  const nb::gil_scoped_acquire locked;
  return Stream(table).release();
}

// The cells of a frame, as an Arrow table that may be read again.
CellSource cells_in(const std::string& name, const nb::object& table) {
  return cells_of_arrow(
      name, [table](const std::vector<std::string>& /*columns*/) { return opened(table); });
}

// What is to be said of columns of ids, unless an estimator says it.
void note_ids_of(const BoughtRequest& asked, const Note& warn) {
  if (!asked.people_said && kind_of(asked.request) != of_family)
    note_ids(asked.shape, budget_of(asked.request).rows_per_person, warn);
}
void note_ids_of(const SchemaRequest& asked, const Note& warn) {
  note_ids(asked.shape, asked.budget.rows_per_person, warn);
}

// A purchase that is ready to run; what it warns of is said.
template <class Asked>
auto looked_at(const Asked& asked, const CellSource& source, const RunArguments& run) {
  require_private_run(run);
  std::optional<decltype(purchase(asked, source, run.ledger, {}))> out;
  warn_of([&](const Note& warn) {
    out.emplace(purchase(asked, source, run.ledger, warn));
    note_ids_of(asked, warn);
  });
  return std::move(*out);
}

RunArguments run_of(Arguments& given) {
  return {given.take<std::uint64_t>("seed"), given.take<const Ledger*>("ledger", nullptr),
          given.take<nb::object>("progress", nb::none())};
}

// fit(table, plan, key, options) by the schema that is found; then what only it can tell.
template <class Fit>
auto run_bought(const BoughtRequest& asked, const TableToBuy& table,
                const Purchase<BoughtFitPlan>& found, const RunArguments& run, const Fit& fit) {
  auto out = private_run(run, FitOptions{}, [&](Key&& key, const FitOptions& watching) {
    return fit(table, found.plan, asked.request, std::move(key), watching);
  });
  if (!found.warned)
    warn_of_release([&](const Note& warn) { warn_of_seen(*out.model().bought, warn); });
  return out;
}

Release fit_bought_table(const nb::object& table, const BoughtLabels& labels,
                         const nb::kwargs& arguments) {
  Arguments given("_fit_bought", arguments);
  const BoughtRequest asked = asked_of(given, of_linear);
  const auto backend = given.take<std::string>("backend", "auto");
  const auto n_jobs = given.take<std::int64_t>("n_jobs");
  const RunArguments run = run_of(given);
  given.finish();
  const auto engines = make_warning_backend(backend, n_jobs);
  const std::span<const double> y(labels.data(), labels.size());
  const CellSource source = cells_in("X", table);
  const auto read = [&](const Schema& schema) {
    ReadOptions options;
    options.threads = threads_of(n_jobs);
    options.expected_rows = y.size();
    options.holds_people = true;  // by the fit
    ArrowArrayStream stream = opened(table);
    return read_arrow(stream, schema, options, y, "X");
  };
  const auto found = looked_at(asked, source, run);
  const TableCells& cells = found.cells;
  const std::uint64_t rows = cells.held ? cells.held->person.size() : cells.rows;
  if (rows != y.size()) {
    throw BadInput(fmt::format("y: has {} labels, and X {} rows; give one a row", y.size(), rows));
  }
  return run_bought(
      asked, {.shape = asked.shape, .cells = cells, .source = source, .read = read}, found, run,
      [&](const TableToBuy& bought, const BoughtFitPlan& plan, const PlanRequest& request,
          Key&& key, const FitOptions& watching) {
        return gibbsite::fit_bought(bought, plan, request, *engines, std::move(key), watching);
      });
}

Schema public_schema_in(const nb::object& table, const nb::object& known,
                        const nb::kwargs& arguments) {
  Arguments given("_public_schema", arguments);
  const auto columns = given.need<std::vector<std::string>>("columns");
  const auto known_columns = given.take<std::vector<std::string>>("known_columns");
  const Schema& label = *given.need<const Schema*>("label");
  const auto parts = given.take<std::vector<std::string>>("date_parts", {});
  given.finish();
  std::vector<std::string> header = columns;
  header.push_back(label.label_name);
  SchemaShape shape = schema_shape(header, label.label_name, label.label, "X");
  want_parts(shape, parts);
  const CellSource mine = cells_in("X", table);
  std::optional<CellSource> frame;
  std::string path;
  if (known_columns)
    frame = cells_in("public", known);
  else
    path = nb::cast<std::string>(known);
  const nb::gil_scoped_release unlocked;
  if (frame) return public_schema_of_cells(shape, mine, *known_columns, *frame).schema;
  PublicSchema out = public_schema_of_file(shape, "", path);
  require_other_cells(shape, mine, path);
  return out.schema;
}

// Draws of a family, or a network: `fit` of the table, which has no label.
template <class Fit>
auto fit_bought_unlabelled(const nb::object& table, const nb::kwargs& arguments, const char* name,
                           unsigned kind, const Fit& fit) {
  Arguments given(name, arguments);
  const BoughtRequest asked = asked_of(given, kind);
  const auto n_jobs = given.take<std::int64_t>("n_jobs");
  const RunArguments run = run_of(given);
  given.finish();
  const CellSource source = cells_in("data", table);
  const auto read = [&](const Schema& schema) {
    ReadOptions options;
    options.labels = ReadOptions::Labels::optional;
    options.ignore_extra_columns = true;
    options.threads = threads_of(n_jobs);
    ArrowArrayStream stream = opened(table);
    return read_arrow(stream, schema, options, {}, "data");
  };
  const auto found = looked_at(asked, source, run);
  return run_bought(asked,
                    {.shape = asked.shape, .cells = found.cells, .source = source, .read = read},
                    found, run, fit);
}

// A schema alone, of a frame whose columns are all that is known of it.
SchemaRequest schema_asked_of(Arguments& given) {
  SchemaRequest out{.shape = {}, .budget = {}, .rows_cap = given.take<std::uint64_t>("rows_cap")};
  out.budget.epsilon = given.need<double>("epsilon");
  out.budget.delta = given.need<double>("delta");
  out.budget.adjacency = adjacency_from_string(given.need<std::string>("adjacency"));
  out.budget.rows_per_person = given.need<std::uint64_t>("rows_per_person");
  out.budget.validate();
  const bool replaced = out.budget.adjacency == Adjacency::replace_one;
  if (replaced == out.rows_cap.has_value())
    throw BadInput(Field{"rows_cap"},
                   replaced ? "has a meaning with adjacency=\"add-remove\""
                            : "is missing; under add-remove the number of rows, or of people, is "
                              "not public",
                   replaced ? "leave it out" : "give a bound that holds");
  const LabelRequest label{.label = given.take<std::string>("label", ""),
                           .positive = given.take<std::string>("positive", ""),
                           .classes = given.take<std::vector<std::string>>("classes", {}),
                           .range = given.take<std::vector<double>>("range"),
                           .tolerance = given.take<double>("tolerance"),
                           .counts = given.take<bool>("counts", false)};
  const CountingColumns counting = counting_of(given);
  const Label target = label.label.empty() ? Label(TwoClasses{}) : label.target();
  if (!label.label.empty()) static_cast<void>(bought_request({}, target, counting));
  out.shape = schema_shape(given.need<std::vector<std::string>>("columns"), label.label, target,
                           "data", counting);
  want_parts(out.shape, given.take<std::vector<std::string>>("date_parts", {}));
  return out;
}

SchemaRelease buy_schema_of(const nb::object& table, const nb::kwargs& arguments) {
  Arguments given("private_schema", arguments);
  const SchemaRequest asked = schema_asked_of(given);
  const RunArguments run = run_of(given);
  given.finish();
  const CellSource source = cells_in("data", table);
  const auto found = looked_at(asked, source, run);
  SchemaRelease out = private_run(run, FitOptions{}, [&](Key&& key, const FitOptions& watching) {
    return buy_schema(asked.shape, found.cells, source, found.plan, std::move(key), watching);
  });
  if (!found.warned) warn_of_release([&](const Note& warn) { warn_of_seen(out.model(), warn); });
  return out;
}

std::string toml_of(const SchemaRelease& release) {
  return bought_toml(release.model(), purchase_of(release));
}

void bind_purchase(nb::module_& m) {
  nb::class_<SchemaRelease> release(
      m, "SchemaRelease",
      "A schema bought with privacy budget, which may be published: what noisy counts of cells say "
      "of types, ranges and levels. `private_schema` makes one.");
  bind_release_file(release);
  release
      .def("to_toml", &toml_of,
           "Returns the schema as a file has it (docs/reference/data.md), with what was found as "
           "comments. It may be edited with public knowledge. Without a label, and where no column "
           "can be used, it is a form: name a label before a model of rows is fitted.")
      .def_prop_ro(
          "schema", [](const SchemaRelease& r) { return parse_schema(toml_of(r), "schema"); },
          "The Schema of to_toml. Raises BadInput where that is a form.")
      .def_prop_ro(
          "person",
          [](const SchemaRelease& r) -> std::optional<std::string> {
            const std::string& name = r.model().counting.person;
            return name.empty() ? std::nullopt : std::optional(name);
          },
          "The column that says whose a row is, or None where each row counted as somebody's own.")
      .def_prop_ro(
          "columns",
          [](const SchemaRelease& r) {
            std::vector<std::pair<std::string, std::string>> out;
            for (const ColumnFinding& one : findings(r.model()))
              out.emplace_back(one.column.name, one.words);
            return out;
          },
          "What was found, of each column: a list of (name, words).")
      .def("__repr__", [](const SchemaRelease& r) {
        return fmt::format("<gibbsite.SchemaRelease: {} columns>", r.model().columns.size());
      });
  m.def("_buy_schema", &buy_schema_of, "table"_a, "arguments"_a,
        "A schema alone, of an Arrow table of the columns.");
}

NetworkRelease fit_bought_network_of(const nb::object& table, const nb::kwargs& arguments) {
  return fit_bought_unlabelled(
      table, arguments, "private_network", of_network,
      [](const TableToBuy& bought, const BoughtFitPlan& plan, const PlanRequest& request, Key&& key,
         const FitOptions& watching) {
        return fit_bought_network(bought, plan, request, std::move(key), watching);
      });
}

FamilyRelease fit_bought_family_of(const nb::object& table, const nb::kwargs& arguments) {
  return fit_bought_unlabelled(
      table, arguments, "private_family", of_family,
      [](const TableToBuy& bought, const BoughtFitPlan& plan, const PlanRequest& request, Key&& key,
         const FitOptions& watching) {
        return fit_bought_family(bought, plan, request, std::move(key), watching);
      });
}

}  // namespace

void bind_bought(nb::module_& m) {
  bind_purchase(m);
  m.def("_fit_bought_network", &fit_bought_network_of, "table"_a, "arguments"_a,
        "A schema and a network of one budget, of an Arrow table of the columns.");
  m.def("_fit_bought_family", &fit_bought_family_of, "table"_a, "arguments"_a,
        "A schema of one column and draws of a family of one budget, of an Arrow table.");
  m.def(
      "_public_schema", &public_schema_in, "table"_a, "public"_a, "arguments"_a,
      "The schema of an Arrow table's columns that follows from a public table: the path of a "
      "file, or an Arrow table of known_columns. Nothing in it follows from the first table, which "
      "must not have the same cells.");
  m.def("_fit_bought", &fit_bought_table, "table"_a, "labels"_a, "arguments"_a,
        "A schema and a fit of one budget, of an Arrow table of the columns and the labels [n] as "
        "read_arrow takes them.");
}

}  // namespace gibbsite::python
