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
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "gibbsite/run/request_text.hpp"
#include "private_run.hpp"
#include "release_file.hpp"
#include "stream.hpp"

namespace gibbsite::python {
namespace {

using BoughtLabels = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What is asked, with the columns of the table and, of a schema of nothing else, the label.
struct Asked {
  PlanRequest request;
  SchemaShape shape;
  Budget budget;
  std::optional<double> share;

  explicit Asked(Arguments& given, unsigned kind = of_linear)
      : request(given.request(kind)), share(given.take<double>("schema_share")) {
    const auto columns = given.need<std::vector<std::string>>("columns");
    if (kind == of_family) {
      request.model = given.need<std::string>("family");
      if (!family_named(request.model))
        throw BadInput(Field{"model"},
                       fmt::format("no family is called {}", gibbsite::quoted(request.model)),
                       "give bernoulli, categorical, rate, waiting, mean, bounded-mean, variance "
                       "or laplace");
      request.calibration = PlanRequest().calibration;
      request = bought_family_request(request);
      shape = family_shape(columns, given.need<std::string>("column"), "data");
      budget = budget_of(request);
      return;
    }
    if (kind == of_network) {
      request.model = network_model;
      request = bought_network_request(request);
      shape = schema_shape(columns, "", TwoClasses{}, "data");
      budget = budget_of(request);
      return;
    }
    const Schema& label = *given.need<const Schema*>("label");
    const CountingColumns counting = counting_of(given);
    request = bought_request(request, label.label, counting);
    std::vector<std::string> header = columns;
    header.push_back(label.label_name);
    shape = schema_shape(header, label.label_name, label.label, "X", counting);
    want_parts(shape, given.take<std::vector<std::string>>("date_parts", {}));
    budget = budget_of(request);
  }
  static CountingColumns counting_of(Arguments& given) {
    CountingColumns out{.person = given.take<std::string>("person", ""),
                        .weight = given.take<std::string>("weight", "")};
    out.weight_hi = given.take<double>("highest_weight").value_or(1);
    return out;
  }
  // rows: the table's, or its people; under add-remove the cap counts.
  [[nodiscard]] BoughtFitPlan plan(std::uint64_t table_rows, const Ledger* ledger) const {
    const std::uint64_t rows = request.rows_cap.value_or(table_rows);
    const double most_tv = tv_left(ledger);
    BoughtFitPlan out =
        request.model == network_model ? plan_bought_network(shape, rows, budget, share, most_tv)
        : family_named(request.model)
            ? plan_bought_family(request, rows, share, most_tv)
            : plan_bought_fit(shape, rows, budget, share, request.intervals, most_tv);
    require_visible(out.questions, out.problem);
    return out;
  }
};

// Whether nothing of the ledger would be left. Raises BudgetSpent where there is no room.
bool takes_all(const Ledger* ledger, const BoughtFitPlan& plan) {
  if (ledger == nullptr) return false;
  const bool people = plan.problem.of_people();
  return ledger->require_room(in_a_ledger(gdp_cover_up(plan.guarantee), people),
                              in_a_ledger(plan.guarantee, people));
}

nb::dict plan_bought(const nb::kwargs& arguments, unsigned kind) {
  Arguments given("_plan_bought", arguments);
  const Asked asked(given, kind);
  const auto rows = given.need<std::uint64_t>("rows");
  const auto* const ledger = given.take<const Ledger*>("ledger", nullptr);
  given.finish();
  const BoughtFitPlan plan = asked.plan(rows, ledger);
  nb::dict out;
  out["takes_all"] = takes_all(ledger, plan);
  out["people"] = plan.problem.of_people();
  out["share"] = plan.share;
  out["visible"] = least_visible_share(plan.questions, plan.problem);
  out["warned"] = warned_share;
  out["asked"] = asked.shape.asked;
  return out;
}

Release fit_bought_table(const nb::object& table, const BoughtLabels& labels,
                         const nb::kwargs& arguments) {
  Arguments given("_fit_bought", arguments);
  const Asked asked(given);
  const auto backend = given.take<std::string>("backend", "auto");
  const auto seed = given.take<std::uint64_t>("seed");
  const auto* const ledger = given.take<const Ledger*>("ledger", nullptr);
  const auto n_jobs = given.take<std::int64_t>("n_jobs");
  const auto progress = given.take<nb::object>("progress", nb::none());
  given.finish();
  const auto engines = make_warning_backend(backend, n_jobs);
  const std::span<const double> y(labels.data(), labels.size());
  const auto opened = [&](const std::vector<std::string>& /*columns*/) {
    const nb::gil_scoped_acquire locked;
    return Stream(table).release();
  };
  const CellSource source = cells_of_arrow("X", opened);
  const auto read = [&](const Schema& schema) {
    ReadOptions options;
    options.threads = threads_of(n_jobs);
    options.expected_rows = y.size();
    options.holds_people = true;  // by the fit
    ArrowArrayStream stream = opened({});
    return read_arrow(stream, schema, options, y, "X");
  };
  return private_run(
      progress, ledger, seed, FitOptions{}, [&](Key&& key, const FitOptions& watching) {
        const TableCells cells = count_asked(asked.shape, source, asked.budget.rows_per_person);
        const std::uint64_t rows = cells.held ? cells.held->person.size() : cells.rows;
        if (rows != y.size()) {
          throw BadInput(
              fmt::format("y: has {} labels, and X {} rows; give one a row", y.size(), rows));
        }
        const TableToBuy bought{
            .shape = asked.shape, .cells = cells, .source = source, .read = read};
        return gibbsite::fit_bought(bought, asked.plan(cells.rows, ledger), asked.request, *engines,
                                    std::move(key), watching);
      });
}

// The cells of a frame, as an Arrow table that may be read again.
CellSource cells_in(const std::string& name, const nb::object& table) {
  return cells_of_arrow(name, [table](const std::vector<std::string>& /*columns*/) {
    const nb::gil_scoped_acquire locked;
    return Stream(table).release();
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
  const Asked asked(given, kind);
  const auto seed = given.take<std::uint64_t>("seed");
  const auto* const ledger = given.take<const Ledger*>("ledger", nullptr);
  const auto n_jobs = given.take<std::int64_t>("n_jobs");
  const auto progress = given.take<nb::object>("progress", nb::none());
  given.finish();
  const auto opened = [&](const std::vector<std::string>& /*columns*/) {
    const nb::gil_scoped_acquire locked;
    return Stream(table).release();
  };
  const CellSource source = cells_of_arrow("data", opened);
  const auto read = [&](const Schema& schema) {
    ReadOptions options;
    options.labels = ReadOptions::Labels::optional;
    options.ignore_extra_columns = true;
    options.threads = threads_of(n_jobs);
    ArrowArrayStream stream = opened({});
    return read_arrow(stream, schema, options, {}, "data");
  };
  return private_run(
      progress, ledger, seed, FitOptions{}, [&](Key&& key, const FitOptions& watching) {
        const TableCells cells = count_cells(source, asked.shape.asked);
        if (cells.rows == 0) throw BadInput("data: has no rows; give a table with some");
        const TableToBuy bought{
            .shape = asked.shape, .cells = cells, .source = source, .read = read};
        return fit(bought, asked.plan(cells.rows, ledger), asked.request, std::move(key), watching);
      });
}

// A schema alone, of a frame whose columns are all that is known of it.
struct Purchase {
  SchemaShape shape;
  Budget budget;
  std::optional<std::uint64_t> rows_cap;

  explicit Purchase(Arguments& given) : rows_cap(given.take<std::uint64_t>("rows_cap")) {
    budget.epsilon = given.need<double>("epsilon");
    budget.delta = given.need<double>("delta");
    budget.adjacency = adjacency_from_string(given.need<std::string>("adjacency"));
    budget.rows_per_person = given.need<std::uint64_t>("rows_per_person");
    budget.validate();
    const bool replaced = budget.adjacency == Adjacency::replace_one;
    if (replaced == rows_cap.has_value())
      throw BadInput(Field{"rows_cap"},
                     replaced ? "has a meaning with adjacency=\"add-remove\""
                              : "is missing; under add-remove the number of rows, or of people, is "
                                "not public",
                     replaced ? "leave it out" : "give a bound that holds");
    const LabelRequest asked{.label = given.take<std::string>("label", ""),
                             .positive = given.take<std::string>("positive", ""),
                             .classes = given.take<std::vector<std::string>>("classes", {}),
                             .range = given.take<std::vector<double>>("range"),
                             .tolerance = given.take<double>("tolerance"),
                             .counts = given.take<bool>("counts", false)};
    CountingColumns counting = Asked::counting_of(given);
    const Label target = asked.label.empty() ? Label(TwoClasses{}) : asked.target();
    if (!asked.label.empty()) static_cast<void>(bought_request({}, target, counting));
    shape = schema_shape(given.need<std::vector<std::string>>("columns"), asked.label, target,
                         "data", counting);
    want_parts(shape, given.take<std::vector<std::string>>("date_parts", {}));
  }
  // rows: the table's, or its people; under add-remove the cap counts.
  [[nodiscard]] SchemaPlan plan(std::uint64_t table_rows, const Ledger* ledger) const {
    SchemaPlan out =
        plan_schema(problem_of(shape, rows_cap.value_or(table_rows), budget.rows_per_person),
                    budget, tv_left(ledger));
    require_visible(std::get<SchemaQuestions>(out.mechanism), out.problem);
    return out;
  }
};

nb::dict plan_purchase(const nb::kwargs& arguments) {
  Arguments given("_plan_purchase", arguments);
  const Purchase asked(given);
  const auto rows = given.need<std::uint64_t>("rows");
  const auto* const ledger = given.take<const Ledger*>("ledger", nullptr);
  given.finish();
  const SchemaPlan plan = asked.plan(rows, ledger);
  if (ledger != nullptr) ledger->require_room(ledger_guarantee(plan));
  nb::dict out;
  out["visible"] = least_visible_share(std::get<SchemaQuestions>(plan.mechanism), plan.problem);
  out["warned"] = warned_share;
  out["people"] = plan.problem.of_people();
  return out;
}

SchemaRelease buy_schema_of(const nb::object& table, const nb::kwargs& arguments) {
  Arguments given("private_schema", arguments);
  const Purchase asked(given);
  const auto seed = given.take<std::uint64_t>("seed");
  const auto* const ledger = given.take<const Ledger*>("ledger", nullptr);
  const auto progress = given.take<nb::object>("progress", nb::none());
  given.finish();
  const CellSource source = cells_in("data", table);
  return private_run(
      progress, ledger, seed, FitOptions{}, [&](Key&& key, const FitOptions& watching) {
        const TableCells cells = count_asked(asked.shape, source, asked.budget.rows_per_person);
        if (cells.rows == 0) throw BadInput("data: has no rows; give a table with some");
        return buy_schema(asked.shape, cells, source, asked.plan(cells.rows, ledger),
                          std::move(key), watching);
      });
}

// How many people a table has: public under replace-one, else the caller's alone.
std::uint64_t people_in(const nb::object& table, const std::string& column) {
  const CellSource source = cells_in("data", table);
  const nb::gil_scoped_release unlocked;
  return hold_rows(source, column, 1).people();
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
  m.def("_plan_purchase", &plan_purchase, "arguments"_a,
        "What a schema that is bought alone sees. Raises Infeasible where too much stays unseen, "
        "BudgetSpent where nothing of the ledger would be left.");
  m.def("_people_in", &people_in, "table"_a, "column"_a,
        "How many people an Arrow table has by a column of ids.");
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
  m.def(
      "_plan_bought_network",
      [](const nb::kwargs& arguments) { return plan_bought(arguments, of_network); }, "arguments"_a,
      "As _plan_bought, of a network.");
  m.def("_fit_bought_network", &fit_bought_network_of, "table"_a, "arguments"_a,
        "A schema and a network of one budget, of an Arrow table of the columns.");
  m.def(
      "_plan_bought_family",
      [](const nb::kwargs& arguments) { return plan_bought(arguments, of_family); }, "arguments"_a,
      "As _plan_bought, of draws of a family.");
  m.def("_fit_bought_family", &fit_bought_family_of, "table"_a, "arguments"_a,
        "A schema of one column and draws of a family of one budget, of an Arrow table.");
  m.def(
      "_plan_bought", [](const nb::kwargs& arguments) { return plan_bought(arguments, of_linear); },
      "arguments"_a,
      "What a fit that buys its schema sees: the share of mu^2, the share of rows below which no "
      "level is seen, from which it is warned of, and the columns asked about. Raises Infeasible "
      "where a fit refuses.");
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
