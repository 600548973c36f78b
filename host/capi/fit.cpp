// Settings, plans and fits: as the command line's, so that a ledger is charged by the same code
// (host/run/entering.cpp) before a model exists.
#include "gibbsite/run/fit.hpp"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <memory>

#include "capi/call.hpp"
#include "capi/held_table.hpp"
#include "capi/stream.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/reading_warnings.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/run/fit_network.hpp"
#include "gibbsite/run/look.hpp"
#include "gibbsite/run/public_center.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "gibbsite/run/purchase.hpp"

namespace gibbsite::capi {
namespace {

using nlohmann::json;

void set(gibbsite_settings& settings, const std::string& name, const std::string& value) {
  if (name == "seed") {
    throw BadInput(Field{"seed"}, "makes noise that repeats, whose model has no guarantee",
                   "leave it out");
  }
  if (name == "backend") {
    settings.backend = value;
  } else if (name == "threads") {
    settings.threads = parse_count(value, name, 0);
  } else if (name == "release_moments") {
    settings.release_moments = parse_flag(value, name);
  } else if (name == "label") {
    settings.label.label = value;
  } else if (name == "positive") {
    settings.label.positive = value;
  } else if (name == "classes") {
    const json names = json::parse(value, nullptr, false);
    if (!names.is_array() ||
        !std::ranges::all_of(names, [](const json& one) { return one.is_string(); }))
      throw BadInput(Field{"classes"}, "is no JSON list of texts", R"(give such as ["A", "B"])");
    settings.label.classes = names.get<std::vector<std::string>>();
  } else if (name == "range") {
    settings.label.range = parse_numbers(value, name);
  } else if (name == "tolerance") {
    settings.label.tolerance = parse_number(value, name);
  } else if (name == "counts") {
    settings.label.counts = parse_flag(value, name);
  } else if (name == "date_parts") {
    settings.date_parts.push_back(value);
  } else if (name == "person") {
    settings.counting.person = value;
  } else if (name == "weight") {
    settings.counting.weight = value;
  } else if (name == "weight_range") {
    settings.counting.weight_range = parse_numbers(value, name);
  } else if (name == "exposure") {
    settings.counting.exposure = value;
  } else if (name == "exposure_range") {
    settings.counting.exposure_range = parse_numbers(value, name);
  } else if (name == "public") {
    settings.public_table = value;
  } else if (name == "schema_share") {
    settings.schema_share = parse_number(value, name);
    require_between(*settings.schema_share, 0, 1, Field{"schema_share"});
  } else if (!set_field(settings.request, name, value)) {
    throw BadInput(Word{"name"}, gibbsite::quoted(name) + " is no setting",
                   "give an option of fit, with _ for -, such as rows_per_person");
  }
}

/// The request as it is for a schema of that kind.
PlanRequest request_of(const gibbsite_settings& settings, int kind) {
  PlanRequest out = settings.request;
  for (const auto& [name, value] : {std::pair("epsilon", out.epsilon), {"delta", out.delta}})
    if (!value) throw BadInput(Field{name}, "is missing", "set it");
  if (kind == GIBBSITE_NETWORK) {
    if (out.model != "auto" && out.model != network_model) {
      throw BadInput(Field{"model"},
                     gibbsite::quoted(out.model) + " is of rows, and the schema of a network",
                     "leave the model out");
    }
    out.model = network_model;
  } else if (kind_of(out) != of_linear) {
    throw BadInput(Field{"model"}, gibbsite::quoted(out.model) + " is no model of rows",
                   "leave it out, or give a schema of GIBBSITE_NETWORK for a network");
  }
  require_of_model(out);
  return out;
}

const Ledger* opened(const gibbsite_ledger* ledger) {
  return ledger == nullptr ? nullptr : &ledger->ledger;
}

/// What a run is watched by: a progress function that may stop it.
class Watch {
 public:
  explicit Watch(const gibbsite_settings& settings) : settings_(settings) {}
  bool report(std::uint64_t done, std::uint64_t all) {
    if (settings_.progress != nullptr && settings_.progress(settings_.user, done, all) != 0)
      stop_ = true;
    return !stop_;
  }
  /// Hands a line to the log.
  [[nodiscard]] Note log() const {
    return [this](const Message& line) {
      if (settings_.log != nullptr) settings_.log(settings_.log_user, shown(line.plain()).c_str());
    };
  }
  /// Tells the log what looks wrong with a table: once its release is made, which does not depend
  /// on it.
  void tell(const std::vector<Message>& lines) const {
    for (const Message& line : lines) log()("private: " + line);
  }
  [[nodiscard]] bool tells() const { return settings_.log != nullptr; }
  [[nodiscard]] ReadOptions reading() {
    ReadOptions out;
    out.threads = settings_.threads;
    out.holds_people = true;  // by hold, and by fits that buy their schema
    out.progress = [this](std::uint64_t done, std::uint64_t all) { return report(done, all); };
    return out;
  }
  [[nodiscard]] FitOptions fitting(const gibbsite_ledger* ledger) {
    FitOptions out;
    out.release_answers = settings_.release_moments;
    out.ledger = opened(ledger);
    out.stop = &stop_;
    out.progress = [this](std::uint64_t done, std::uint64_t all) { report(done, all); };
    return out;
  }

 private:
  const gibbsite_settings& settings_;
  std::atomic<bool> stop_{false};
};

std::unique_ptr<Backend> backend_of(const gibbsite_settings& settings) {
  BackendOptions options;
  options.threads = settings.threads;
  return make_backend(settings.backend, options);
}

/// Where rows come from.
struct Table {
  std::function<Dataset(const Schema&, const ReadOptions&)> read;
  std::function<CellSource()> cells;                 ///< where the schema is bought
  std::function<std::vector<std::string>()> header;  ///< likewise
  std::string name;
  bool is_file = false;  ///< of that name
};

/// Holds people to their rows, where the schema has a column of them. Returns what is public under
/// replace-one: how many people there are, else how many rows.
std::uint64_t hold(Dataset& data, const Budget& budget, bool for_intervals) {
  if (data.schema.person() != nullptr) data.hold_people(budget.rows_per_person);
  if (!for_intervals) data.person = {};  // four bytes a row that nothing else asks for
  return data.counted();
}

NetworkRelease fit_a_network(const Table& table, const Schema& schema,
                             const gibbsite_settings& settings, const gibbsite_ledger* ledger) {
  const PlanRequest request = request_of(settings, GIBBSITE_NETWORK);
  const Budget budget = budget_of(request);
  static_cast<void>(network_problem(request, schema, 1));  // what no table could mend
  Watch watch(settings);
  ReadOptions options = watch.reading();
  options.labels = ReadOptions::Labels::optional;
  options.ignore_extra_columns = true;
  Dataset data = table.read(schema, options);
  const std::uint64_t rows = hold(data, budget, false);
  const NetworkPlan made = plan(request, network_problem(request, schema, rows), budget);
  look_at(request, made, opened(ledger), watch.log());
  NetworkRelease out = fit_network(data, made, Key::from_os(), watch.fitting(ledger));
  if (watch.tells()) watch.tell(reading_warnings(table_read(data)));
  if (watch.tells()) watch.tell(network_reading_warnings(data));
  return out;
}

Release fit_rows(const Table& table, const Schema& schema, const gibbsite_settings& settings,
                 const gibbsite_ledger* ledger) {
  const PlanRequest request = request_of(settings, GIBBSITE_ROWS);
  const Budget budget = budget_of(request);
  static_cast<void>(plan_options_of(request));
  static_cast<void>(positive_share_of(request, kind_of(schema.label), &schema));
  const auto engines = backend_of(settings);
  Watch watch(settings);
  Dataset read = table.read(schema, watch.reading());
  const std::uint64_t rows = hold(read, budget, request.intervals);
  // Curves that the schema leaves to the plan: by public numbers alone.
  const Schema chosen = chosen_curves(request, schema, rows, budget);
  const Dataset data = with_curves(std::move(read), chosen);
  PlannedFit planned = planned_fit(request, schema, chosen, rows, budget);
  const Plan& made = planned.plan;
  look_at(planned, opened(ledger), watch.log());
  settle(*engines, loss_named(made.problem.loss), data.has_more_than_labels());
  const Model model =
      settings.public_table.empty()
          ? model_of(request, made)
          : model_by_public_table(planned, settings.public_table, *engines, watch.log());
  Release out = fit(model, data, made, *engines, Key::from_os(), watch.fitting(ledger));
  if (watch.tells()) watch.tell(reading_warnings(table_read(data)));
  if (watch.tells()) watch.tell(alike_warnings(data));
  return out;
}

SchemaShape shape_of(const Table& table, const gibbsite_settings& settings, const Label& target) {
  if (settings.label.label.empty())
    throw BadInput(Field{"schema"}, "is NULL", "give one, or set the label of one that is bought");
  SchemaShape out = schema_shape(table.header(), settings.label.label, target, table.name,
                                 settings.counting.columns());
  want_parts(out, settings.date_parts);
  return out;
}

/// The schema that follows from a public table.
Schema known_schema(const Table& table, const gibbsite_settings& settings) {
  if (settings.schema_share)
    throw BadInput(Field{"schema_share"}, "has no meaning with a public table", "leave it out");
  if (const char* const said = settings.counting.said())
    throw BadInput(
        Field{said}, "is not read beside a public table",
        "give a schema that has the column, as type = \"person\", \"weight\" or \"exposure\"");
  const SchemaShape shape = shape_of(table, settings, settings.label.target());
  const CellSource source = table.cells();
  const PublicSchema out =
      public_schema_of_file(shape, table.is_file ? table.name : "", settings.public_table);
  require_other_cells(shape, source, settings.public_table);
  return out.schema;
}

/// Buys a schema and runs fit(table, plan) by it.
template <class Fit>
auto run_bought(const BoughtRequest& asked, const Table& table, Watch& watch,
                const gibbsite_ledger* ledger, const Fit& fit) {
  const CellSource source = table.cells();
  const auto found = purchase(asked, source, opened(ledger), watch.log());
  note_ids(asked.shape, budget_of(asked.request).rows_per_person, watch.log());
  const bool labelled = kind_of(asked.request) == of_linear;
  std::vector<Message> as_read;
  const TableToBuy bought{
      .shape = asked.shape, .cells = found.cells, .source = source, .read = [&](const Schema& by) {
        ReadOptions options = watch.reading();
        if (!labelled) options.labels = ReadOptions::Labels::optional;
        options.ignore_extra_columns = !labelled;
        Dataset rows = table.read(by, options);
        if (watch.tells()) as_read = reading_warnings(table_read(rows));
        return rows;
      }};
  auto out = fit(bought, found.plan);
  if (!found.warned) warn_of_seen(*out.model().bought, watch.log());
  watch.tell(as_read);
  return out;
}

NetworkRelease bought_network(const Table& table, const gibbsite_settings& settings,
                              const gibbsite_ledger* ledger) {
  if (!settings.label.label.empty() || !settings.date_parts.empty() ||
      !settings.public_table.empty())
    throw BadInput(Field{!settings.label.label.empty()  ? "label"
                         : !settings.date_parts.empty() ? "date_parts"
                                                        : "public"},
                   "has no meaning where the schema of a network is bought", "leave it out");
  const BoughtRequest asked{
      .request = bought_network_request(request_of(settings, GIBBSITE_NETWORK)),
      .shape =
          schema_shape(table.header(), "", TwoClasses{}, table.name, settings.counting.columns()),
      .share = settings.schema_share};
  Watch watch(settings);
  return run_bought(asked, table, watch, ledger, [&](const auto& bought, const auto& plan) {
    return fit_bought_network(bought, plan, asked.request, Key::from_os(), watch.fitting(ledger));
  });
}

Release fit_by_bought(const Table& table, const gibbsite_settings& settings,
                      const gibbsite_ledger* ledger) {
  const Label target = settings.label.label.empty() ? TwoClasses{} : settings.label.target();
  BoughtRequest asked{
      .request = {}, .shape = shape_of(table, settings, target), .share = settings.schema_share};
  asked.request =
      bought_request(request_of(settings, GIBBSITE_ROWS), target, settings.counting.columns());
  const auto engines = backend_of(settings);
  Watch watch(settings);
  return run_bought(asked, table, watch, ledger, [&](const auto& bought, const auto& plan) {
    return fit_bought(bought, plan, asked.request, *engines, Key::from_os(), watch.fitting(ledger));
  });
}

gibbsite_model fitted(const Table& table, const gibbsite_schema* schema,
                      const gibbsite_settings& settings, const gibbsite_ledger* ledger) {
  require_one_process();
  if (schema == nullptr && settings.request.model == network_model)
    return {bought_network(table, settings, ledger)};
  if (schema == nullptr && !settings.public_table.empty())
    return {fit_rows(table, known_schema(table, settings), settings, ledger)};
  if (schema == nullptr) return {fit_by_bought(table, settings, ledger)};
  const char* const of_bought = !settings.label.label.empty()    ? "label"
                                : !settings.public_table.empty() ? "public"
                                : !settings.date_parts.empty()   ? "date_parts"
                                                                 : nullptr;
  if (of_bought != nullptr) {
    throw BadInput(Field{of_bought}, "is of a schema that is bought, and one is given",
                   "leave one of them out");
  }
  if (const char* const said = settings.counting.said())
    throw BadInput(Field{said}, "is of a schema that is bought, and one is given",
                   "say it there: the column as type = \"person\", \"weight\" or \"exposure\"");
  if (schema->kind == GIBBSITE_NETWORK)
    return {fit_a_network(table, schema->schema, settings, ledger)};
  return {fit_rows(table, schema->schema, settings, ledger)};
}

}  // namespace
}  // namespace gibbsite::capi

using namespace gibbsite;
using namespace gibbsite::capi;

gibbsite_status gibbsite_settings_new(gibbsite_settings** settings, char** error) {
  return call(error, [&] {
    gibbsite_settings*& out = out_given(settings, "settings");
    out = new gibbsite_settings;
  });
}

gibbsite_status gibbsite_settings_set(gibbsite_settings* settings, const char* name,
                                      const char* value, char** error) {
  return call(error, [&] {
    set(given(settings, "settings"), text_given(name, "name"), text_given(value, "value"));
  });
}

gibbsite_status gibbsite_settings_progress(gibbsite_settings* settings, gibbsite_progress progress,
                                           void* user, char** error) {
  return call(error, [&] {
    gibbsite_settings& of = given(settings, "settings");
    of.progress = progress;
    of.user = user;
  });
}

gibbsite_status gibbsite_settings_log(gibbsite_settings* settings, gibbsite_log log, void* user,
                                      char** error) {
  return call(error, [&] {
    gibbsite_settings& of = given(settings, "settings");
    of.log = log;
    of.log_user = user;
  });
}

void gibbsite_settings_free(gibbsite_settings* settings) { delete settings; }

gibbsite_status gibbsite_plan(const gibbsite_schema* schema, const gibbsite_settings* settings,
                              uint64_t rows, char** json, char** error) {
  return call(error, [&] {
    char*& out = out_given(json, "json");
    const gibbsite_schema& of = given(schema, "schema");
    const PlanRequest request = request_of(given(settings, "settings"), of.kind);
    if (rows == 0 && !request.rows_cap)
      throw BadInput(Field{"rows"}, "is missing", "give the number of rows");
    const Budget budget = budget_of(request);
    const Watch watch(*settings);
    if (of.kind == GIBBSITE_NETWORK) {
      const NetworkPlan made = plan(request, network_problem(request, of.schema, rows), budget);
      warn_of_budget(budget, made.problem.rows, watch.log());
      out = json_copied(plan_json(made));
    } else {
      const PlannedFit made = planned_offers(request, of.schema, rows, budget);
      warn_of_plan(made, watch.log());
      out = json_copied(plan_json(made.plan));
    }
  });
}

gibbsite_status gibbsite_fit_file(const char* path, const gibbsite_schema* schema,
                                  const gibbsite_settings* settings, const gibbsite_ledger* ledger,
                                  gibbsite_model** model, char** error) {
  return call(error, [&] {
    gibbsite_model*& out = out_given(model, "model");
    const std::string file = text_given(path, "path");
    const Table table{
        [&](const Schema& by, const ReadOptions& options) { return read_table(file, by, options); },
        [&] { return CellSource(file); }, [&] { return header_of_table(file); }, file, true};
    out = new gibbsite_model(fitted(table, schema, given(settings, "settings"), ledger));
  });
}

gibbsite_status gibbsite_fit_arrow(ArrowArrayStream* table, const gibbsite_schema* schema,
                                   const gibbsite_settings* settings, const gibbsite_ledger* ledger,
                                   gibbsite_model** model, char** error) {
  OwnedStream stream(table);
  return call(error, [&] {
    gibbsite_model*& out = out_given(model, "model");
    std::shared_ptr<HeldTable> held;  // of a schema that is bought, which reads it again and again
    if (schema == nullptr) held = HeldTable::read(stream.get());
    const auto read = [&](const Schema& by, const ReadOptions& options) {
      if (held == nullptr) return read_arrow(stream.get(), by, options);
      ArrowArrayStream again = held->open();
      return read_arrow(again, by, options);
    };
    const Table from{
        read, [&] { return cells_of_arrow("table", [&](const auto&) { return held->open(); }); },
        [&] { return held->names(); }, "table"};
    out = new gibbsite_model(fitted(from, schema, given(settings, "settings"), ledger));
  });
}
