#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bought_schema.hpp"
#include "command.hpp"
#include "covariance.hpp"
#include "cross_table.hpp"
#include "family.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/privacy/rdp.hpp"
#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/transitions.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "gibbsite/run/planned_fit.hpp"
#include "gibbsite/run/priced_posterior.hpp"
#include "gibbsite/run/warnings.hpp"
#include "gibbsite/speed/speed.hpp"
#include "network.hpp"
#include "options.hpp"
#include "reading.hpp"
#include "text.hpp"
#include "transitions.hpp"

namespace gibbsite::cli {
namespace {

// Long enough for a steady median; large steps take longer, up to about 2 s in all.
constexpr double measured_seconds = 0.25;

struct PlanCommand {
  ShapeArguments shape;
  bool json = false, all = false;
  std::optional<std::uint64_t> nonzero;
  PlanArguments plan;
  std::vector<double> epsilons;
  FamilyArguments family;
  std::string columns;  // of a cross table; with no_schema their number
  bool no_schema = false, people = false;
  std::optional<double> schema_share;
  std::string public_table;
  LabelArguments label;  // beside it

  // A cross table is a network of these columns that is counted.
  void take_table() {
    if (plan.model == transitions_model) {
      const std::vector<std::string> named = transition_columns(columns);
      if (!shape.schema.empty()) require_states(read_table_schema(shape.schema, named));
      plan.model = "auto";
    }
    if (columns.empty() || no_schema || plan.model == covariance_model) return;
    if (plan.model != "auto" || plan.mechanism != "auto" || plan.structure) {
      throw BadInput(
          fmt::format("{}: has no meaning with --columns, the cross table of which is "
                      "counted; leave it out",
                      plan.model != "auto"       ? "--model"
                      : plan.mechanism != "auto" ? "--mechanism"
                                                 : "--structure"));
    }
    plan.model = network_model;
    plan.mechanism = NetworkCounts::name;
  }

  // A label that the model is of: what it is called changes no plan.
  [[nodiscard]] Label any_label() const {
    if (const std::uint64_t count = shape.classes.value_or(2); count > 2) {
      Classes out;
      for (std::uint64_t k = 0; k < count; ++k) out.names.push_back(std::to_string(k));
      return out;
    }
    const bool named = std::ranges::count(loss_names(), plan.model) > 0;
    const LabelKind kind = named ? loss_named(plan.model).label() : LabelKind::two_classes;
    if (kind == LabelKind::amount) return Amount{{.lo = 0, .hi = 1}, .2};
    if (kind == LabelKind::count) return Count{{.lo = 0, .hi = 1}};
    return TwoClasses{.positive = "1"};
  }

  // What is known of a schema that is bought before anything is spent.
  void plan_of_bought() const {
    CountingColumns counting;
    if (people) counting.person = "person";
    const bool of_network = plan.model == network_model;
    const std::optional<Family> drawn = family_named(plan.model);
    static_cast<void>(of_network ? bought_network_request(plan)
                      : drawn    ? bought_family_request(plan)
                                 : bought_request(plan, any_label(), counting));
    if (!shape.table.data.empty() || !shape.schema.empty() || shape.features || json || all) {
      throw BadInput(fmt::format("{}: has no meaning with --no-schema; leave it out",
                                 !shape.table.data.empty() ? "--data"
                                 : !shape.schema.empty()   ? "--schema"
                                 : shape.features          ? "--features"
                                 : json                    ? "--json"
                                                           : "--all"));
    }
    if (schema_share) require_between(*schema_share, 0, 1, "--schema-share");
    if (people && drawn)
      throw BadInput("--people: draws of a family count every row once; leave it out");
    if (plan.rows_cap && shape.rows)
      throw BadInput("--rows: the cap counts under add-remove; give --rows-cap alone");
    if (drawn && !columns.empty())
      throw BadInput("--columns: draws of a family are of one column; leave it out");
    if (!(shape.rows || plan.rows_cap) || (columns.empty() && !drawn))
      throw BadInput(drawn ? "--no-schema: give --rows"
                           : "--no-schema: give --rows and --columns, a number of columns");
    const SchemaProblem problem{.rows = plan.rows_cap.value_or(shape.rows.value_or(0)),
                                .columns = drawn ? 1 : parse_count(columns, "--columns", 1),
                                .rows_of_person = people ? plan.rows_per_person.value_or(1) : 0};
    for (const double epsilon : epsilons) {
      PlanArguments one = plan;
      one.epsilon = epsilon;
      if (drawn) {
        fmt::print("{}", bought_plan_words(plan_bought_family(one, problem.rows, schema_share)));
        continue;
      }
      fmt::print("{}",
                 bought_plan_words(plan_bought_fit(problem, one.budget(), schema_share,
                                                   {.outputs = shape.classes.value_or(1),
                                                    .intervals = plan.intervals,
                                                    .columns = of_network ? problem.columns : 0})));
    }
  }

  // No budget, but settings: what draws of that posterior cost.
  [[nodiscard]] bool asks_price() const {
    const bool settings = plan.beta || plan.prior_precision || family_named(plan.model).has_value();
    return epsilons.empty() && !plan.rho && !plan.rdp && settings && !no_schema;
  }

  void run() const {
    const std::pair<const char*, bool> needed[]{
        {"--epsilon", !epsilons.empty() || plan.rho || asks_price()},
        {"--delta", plan.delta.has_value()}};
    require_given(needed);
    if (no_schema) {
      require_no_public();
      return plan_of_bought();
    }
    if (schema_share) throw BadInput("--schema-share: is of --no-schema; leave it out");
    if (people) throw BadInput("--people: is of --no-schema; leave it out");
    if (public_table.empty()) {
      require_no_public();
      family.require_of_model(plan);
    } else {
      require_public();
    }
    if (nonzero && !shape.features)
      throw BadInput(
          "--nonzero: says how many of --features are not 0; give that, or leave it out");
    if (epsilons.size() > 1 && std::ranges::find(epsilons, 0.0) != epsilons.end())
      throw BadInput(
          "--epsilon: a comma parts several budgets, each above 0; decimals have a point, "
          "as in 0.5");
    if (plan.rdp && epsilons.size() > 1)
      throw BadInput("--rdp: takes one --epsilon; plan each of several by itself");
    if (asks_price()) return price();
    const std::vector<PlanRequest> requests = one_of_each_budget(plan);
    if (plan.model == covariance_model) return plan_of_covariance(requests);
    if (plan.model == network_model) return plan_of_network(requests);
    if (const auto kind = family_named(plan.model)) return plan_of_family(*kind, requests);
    plan_of_rows(requests);
  }

 private:
  void require_no_public() const {
    const char* const given = !public_table.empty()  ? "--public"
                              : !label.label.empty() ? "--label"
                                                     : label.said();
    if (given != nullptr)
      throw BadInput(
          fmt::format("{}: is of a schema that a public table says (--public, without --schema and "
                      "--no-schema); leave it out",
                      given));
  }

  void require_public() const {
    if (family.column.empty() && !family.levels && !family_named(plan.model) &&
        plan.model != network_model && !shape.table.data.empty() && shape.schema.empty() &&
        shape.table.labels.empty() && !label.label.empty())
      return;
    throw BadInput(
        "--public: needs --data and --label with it, of a model of rows, and neither --schema nor "
        "--labels; for another one write the schema (gibbsite schema --public) and give it as "
        "--schema");
  }

  // A schema and a number of rows, which are all that a plan needs of a table.
  [[nodiscard]] bool is_by_number() const {
    return public_table.empty() && !shape.schema.empty() && shape.table.data.empty() &&
           shape.table.labels.empty() && (shape.rows || plan.rows_cap) && !shape.features &&
           !shape.row_norm && !shape.intercept && !shape.classes;
  }

  // The schema of a table: given, or what a public table says.
  [[nodiscard]] std::optional<Schema> schema_of_table() const {
    if (is_by_number()) {
      if (plan.rows_cap && shape.rows)
        throw BadInput("--rows: the cap counts under add-remove; give --rows-cap alone");
      return read_schema(shape.schema);
    }
    if (public_table.empty())
      return shape.of_table(plan) ? std::optional(read_schema(shape.schema)) : std::nullopt;
    LabelArguments of = label;
    of.range = family.range;
    ShapeArguments given = shape;
    given.schema = public_table;
    static_cast<void>(given.of_table(plan));
    const PublicSchema found = public_schema_of(shape.table.data, of, public_table);
    if (!json)
      fmt::print("{}{}\n", bought_table(found.counts, found.schema), public_words(found.schema));
    return found.schema;
  }

  // What looks wrong with it is said before anything is spent on it.
  [[nodiscard]] std::uint64_t rows_of_table(const Schema& domain, const ReadOptions& options,
                                            double* entries = nullptr) const {
    Dataset data = shape.table.read(domain, options);
    tell_reading(data);
    if (domain.person() != nullptr) data.hold_people(plan.rows_per_person.value_or(1));
    if (entries != nullptr) {
      *entries = static_cast<double>(data.view().entries()) /
                 static_cast<double>(std::max<std::uint64_t>(data.rows(), 1));
    }
    return data.counted();
  }
  static ReadOptions people_held() {
    ReadOptions out;
    out.holds_people = true;
    return out;
  }

  // Where most numbers are 0 the schema says too much: then the time is of what the table holds.
  static TableShape shape_of_table(const Schema& domain, std::uint64_t rows, double entries) {
    constexpr double alike = 1.5;
    TableShape by_schema = shape_of(domain, rows);
    if (entries * alike > static_cast<double>(by_schema.entries())) return by_schema;
    fmt::print(
        stderr,
        "private: the time is predicted for rows of which {:.3g} of {} entries are not 0, as "
        "in this table\n",
        entries, by_schema.entries());
    return sparse_shape(by_schema.features(), rows, entries);
  }

  // What is planned for: a table and its schema, a schema and a number of rows, or a shape alone.
  struct TableToPlan {
    std::optional<Schema> domain{};
    FeatureSpace space{};
    std::uint64_t rows = 0;
    double entries = 0;  // of a row, that are not 0, of a table that was read
  };
  [[nodiscard]] TableToPlan table_to_plan() const {
    TableToPlan out{.domain = schema_of_table()};
    out.space = out.domain ? FeatureSpace(*out.domain) : shape.space(plan.model);
    static_cast<void>(
        positive_share_of(plan, out.space.label, out.domain ? &*out.domain : nullptr));
    out.rows = out.domain && !is_by_number()
                   ? rows_of_table(*out.domain, people_held(), &out.entries)
                   : shape.rows.value_or(0);
    return out;
  }

  // The shape that a run's time depends on.
  [[nodiscard]] TableShape shape_in_time(const TableToPlan& of, std::uint64_t rows) const {
    if (of.domain)
      return is_by_number() ? shape_of(*of.domain, rows)
                            : shape_of_table(*of.domain, rows, of.entries);
    if (!nonzero) return dense_shape(of.space, rows);
    return sparse_shape(of.space.features, rows,
                        static_cast<double>(*nonzero) + (of.space.intercept ? 1 : 0));
  }

  void plan_of_rows(const std::vector<PlanRequest>& requests) const {
    const PlanOptions plan_options = plan_options_of(requests.front());
    const auto backend = make_backend("auto");
    const TableToPlan of = table_to_plan();
    const std::optional<Schema>& domain = of.domain;
    if (domain && !json)
      fmt::print("{}{}{}", interactions_words(*domain), typical_words(*domain),
                 plan.intervals ? wide_lines_words(*domain) : "");
    std::vector<PlannedFit> planned;
    for (const PlanRequest& request : requests) {
      const Budget budget = budget_of(request);
      planned.push_back(domain ? planned_offers(request, *domain, of.rows, budget)
                               : planned_offers(request, of.space, of.rows, budget));
      if (domain && !json && automatic_curves(*domain) > 0)
        fmt::print("ε = {:.4g}: {}", budget.epsilon, curves_words(*domain, *planned.back().chosen));
    }
    warn_of_plans(planned, warn);
    std::vector<Plan> plans;
    for (const PlannedFit& fit : planned) plans.push_back(fit.plan);
    // The clock is for the screen: what is planned follows from public numbers alone.
    StepTimer timer(*backend, shape_in_time(of, plans.front().problem.rows),
                    loss_named(plans.front().problem.loss), {.seconds = measured_seconds});
    const WorkTime time = measure_work(timer, plans.front().candidates, plans.front().budget.draws);
    const PlannedFit& last = planned.back();
    show(plans, time,
         {domain ? label_unit(domain->label) : 0, plan_options, last.positive_share,
          last.chosen ? read_otherwise_meaning(*last.chosen) : ""});
    if (std::ranges::none_of(plans, [](const Plan& p) { return p.candidate().feasible; })) {
      static_cast<void>(require_feasible(plans.front()));
    }
  }

  // A Rényi budget is one epsilon.
  [[nodiscard]] std::vector<PlanRequest> one_of_each_budget(PlanRequest request) const {
    if (plan.rdp) request.epsilon = epsilons.front();
    if (plan.rho || plan.rdp) return {request};
    std::vector<PlanRequest> out(epsilons.size(), request);
    for (std::size_t i = 0; i < out.size(); ++i) out[i].epsilon = epsilons[i];
    return out;
  }

  // A table of columns takes no shape of rows: throws BadInput where one is given.
  void require_columns_shape() const {
    if (shape.features || shape.row_norm || shape.intercept || shape.classes || all) {
      throw BadInput(fmt::format("{}: has no meaning with --model {}; leave it out",
                                 shape.features    ? "--features"
                                 : shape.row_norm  ? "--row-norm"
                                 : shape.intercept ? "--intercept"
                                 : shape.classes   ? "--classes"
                                                   : "--all",
                                 plan.model));
    }
    if (shape.schema.empty()) {
      throw BadInput("--schema: is missing; it says which columns there are, and their levels");
    }
    const bool capped = plan.rows_cap.has_value();
    if (capped && shape.rows) {
      throw BadInput("--rows: the cap counts under add-remove; give --rows-cap alone");
    }
    if (!shape.table.data.empty() ? shape.rows.has_value() : !shape.rows && !capped) {
      throw BadInput("--rows: give the number of rows, or --data");
    }
  }
  // Those of the table, or as they are given.
  [[nodiscard]] std::uint64_t rows_of_columns(const Schema& domain) const {
    ReadOptions options = people_held();
    options.labels = ReadOptions::Labels::optional;
    options.ignore_extra_columns = true;
    return !shape.table.data.empty() ? rows_of_table(domain, options)
                                     : shape.rows.value_or(plan.rows_cap.value_or(0));
  }

  void plan_of_covariance(const std::vector<PlanRequest>& requests) const {
    require_columns_shape();
    if (json) throw BadInput("--json: has no meaning with --model covariance; leave it out");
    if (columns.empty())
      throw BadInput("--columns: is missing; name the columns of numbers, with commas between");
    const Schema domain = read_covariance_schema(shape.schema, named_columns(columns),
                                                 adjacency_from_string(plan.adjacency));
    const CovarianceProblem problem = covariance_problem(plan, domain, rows_of_columns(domain));
    std::vector<CovariancePlan> plans;
    for (const PlanRequest& request : requests)
      plans.push_back(gibbsite::plan(request, problem, budget_of(request)));
    warn_of_budget(largest_of(requests), problem.rows, warn);
    fmt::print("{}", covariance_summary(plans, domain));
  }

  void plan_of_network(const std::vector<PlanRequest>& requests) const {
    require_columns_shape();
    const Schema domain = columns.empty() ? read_network_schema(shape.schema)
                                          : read_table_schema(shape.schema, named_columns(columns));
    const std::uint64_t rows = rows_of_columns(domain);
    const NetworkProblem problem = network_problem(plan, domain, rows);
    std::vector<NetworkPlan> plans;
    for (const PlanRequest& request : requests)
      plans.push_back(gibbsite::plan(request, problem, budget_of(request)));
    warn_of_budget(largest_of(requests), problem.rows, warn);
    if (json) {
      nlohmann::json out = nlohmann::json::array();
      for (const NetworkPlan& made : plans) {
        out.push_back(plan_json(made));
        if (!columns.empty()) out.back()["cross_table"] = cross_table_plan_json(made, domain);
      }
      fmt::print("{}\n", (plans.size() == 1 ? out[0] : out).dump(2));
    } else {
      fmt::print("{}", columns.empty() ? network_summary(plans, domain)
                                       : cross_table_summary(plans, domain));
    }
  }

  void say_price(const PricedPosterior& priced, const std::string& of,
                 const std::string& next) const {
    if (json) {
      fmt::print("{}\n", price_json(priced).dump(2));
      return;
    }
    const PosteriorPrice& found = priced.price;
    const double mu = found.guarantee.mu;
    const std::string what = fmt::format(
        "{} of {}", priced.draws == 1 ? "A draw" : fmt::format("{} draws", priced.draws), of);
    const char* const s = priced.draws == 1 ? "s" : "";
    if (!std::isfinite(found.epsilon)) {
      fmt::print("{} cost{} more than ε = {:.4g} at δ = {:.4g}: nothing is promised.\n", what, s,
                 most_epsilon, found.delta);
      return;
    }
    fmt::print("{} cost{} (ε, δ) = ({}, {}){}; best guess {:.1f} %.\n", what, s,
               text_up(found.epsilon), text_up(found.delta),
               mu > 0 ? fmt::format(", μ = {}, zCDP ρ = {}", text_up(mu),
                                    text_up(zero_concentrated_up(found.guarantee).rho))
                      : "",
               priced.best_guess);
    if (mu > 0) {
      std::vector<std::vector<std::string>> lines{{"ε", "δ"}};
      for (const double part : {0.25, 0.5, 1.0, 1.5, 2.0}) {
        const double epsilon = part * found.epsilon;
        if (epsilon > most_epsilon) continue;
        lines.push_back({text_up(epsilon), text_up(delta_up(found.guarantee, epsilon), 2)});
      }
      fmt::print("\n{}", table(lines));
    }
    fmt::print("{}", next);
  }

  void price() const {
    if (all || nonzero)
      throw BadInput(fmt::format("{}: has no meaning without a budget; leave it out",
                                 all ? "--all" : "--nonzero"));
    if (const auto kind = family_named(plan.model)) {
      return say_price(priced_posterior(plan, problem_of_family(*kind)),
                       fmt::format("the plain posterior of {}, every record whole,", plan.model),
                       "A smaller --epsilon of `fit` weighs records down, or the prior up.\n");
    }
    if (plan.model == network_model)
      throw BadInput("--epsilon: is missing, of networks no posterior has a price; give one");
    const TableToPlan of = table_to_plan();
    const PricedPosterior found = priced_posterior(plan, of.space, of.rows);
    say_price(found,
              fmt::format("the posterior of {} at β = {:.4g} and prior precision {:.4g}",
                          found.problem->loss, found.beta, *found.problem->prior_precision),
              found.fit_epsilon > 0
                  ? fmt::format("What computing it adds included, a fit needs\n  --beta {:.10g} "
                                "--prior-precision {:.10g} --epsilon {:.4g} --delta {:.4g}\n",
                                found.beta, *found.problem->prior_precision, found.fit_epsilon,
                                *plan.delta)
              : found.problem->of_people()
                  ? "No mechanism that counts people draws from it.\n"
                  : "No mechanism draws from it within a thousand million passes.\n");
  }

  [[nodiscard]] FamilyProblem problem_of_family(Family kind) const {
    if (shape.features || shape.row_norm || shape.intercept || shape.classes) {
      throw BadInput(
          fmt::format("--features, --row-norm, --intercept, --classes: have no meaning "
                      "with --model {}; leave them out",
                      plan.model));
    }
    if (shape.table.data.empty() == !shape.rows) {
      throw BadInput("--rows: give the number of rows, or --data and --schema");
    }
    if (shape.schema.empty() == !family.column.empty() ||
        (shape.schema.empty() && !shape.table.data.empty())) {
      throw BadInput("--column: give it and --schema, or --rows and --levels or --range");
    }
    FamilyProblem problem;
    if (shape.schema.empty()) {
      problem = family.problem_of_shape(kind, *shape.rows);
    } else {
      const Schema domain = read_column_schema(shape.schema, family.column);
      const ReadOptions one_column{.labels = ReadOptions::Labels::optional,
                                   .ignore_extra_columns = true};
      problem = family_problem(domain, kind,
                               shape.rows ? *shape.rows : rows_of_table(domain, one_column));
    }
    return complete(plan, problem);
  }

  void plan_of_family(Family kind, const std::vector<PlanRequest>& requests) const {
    const FamilyProblem problem = problem_of_family(kind);
    std::vector<FamilyPlan> plans;
    for (const PlanRequest& request : requests)
      plans.push_back(gibbsite::plan(request, problem, budget_of(request)));
    warn_of_budget(largest_of(requests), problem.rows, warn);
    if (json) {
      nlohmann::json out = nlohmann::json::array();
      for (const FamilyPlan& made : plans) out.push_back(plan_json(made));
      fmt::print("{}\n", (plans.size() == 1 ? out[0] : out).dump(2));
    } else {
      fmt::print("{}", family_summary(plans));
    }
  }

  void show(const std::vector<Plan>& plans, const WorkTime& time,
            const PlanContext& context) const {
    if (json) {
      nlohmann::json out = nlohmann::json::array();
      for (const Plan& made : plans) {
        out.push_back(plan_json(made));
        const std::vector<double> seconds = predicted_seconds(made, time);
        for (std::size_t i = 0; i < seconds.size(); ++i) {
          out.back()["offers"][i]["seconds"] = seconds[i];
        }
      }
      fmt::print("{}\n", (plans.size() == 1 ? out[0] : out).dump(2));
    } else if (all) {
      for (const Plan& made : plans)
        fmt::print("{}", plan_table(made, predicted_seconds(made, time), context));
    } else {
      std::vector<double> seconds;
      for (const Plan& made : plans) seconds.push_back(predicted_seconds(made.candidate(), time));
      fmt::print("{}", plan_summary(plans, seconds, context));
    }
  }
};

void define_plan(CLI::App& app) {
  const auto command = std::make_shared<PlanCommand>();
  command->shape.add_to(app);
  command->plan.add_to(app, true, &command->epsilons);
  command->plan.add_positive_share_to(app);
  for (const char* const name : {"--epsilon", "--delta"}) app.get_option(name)->required(false);
  command->family.add_to(app, command->plan, true);
  add_network_to(app, command->plan);
  app.add_option(
         "--columns", command->columns,
         "columns of a cross table, with commas between: how wide the intervals of `gibbsite "
         "table` will be")
      ->type_name("LIST");
  app.add_option("--public", command->public_table,
                 "in place of --schema: this public table of the same columns says ranges and "
                 "levels, as in `fit`")
      ->type_name("FILE");
  LabelArguments& label = command->label;
  app.add_option("--label", label.label, "--public: the column to predict")->type_name("COLUMN");
  app.add_option("--positive", label.positive,
                 "--public: of two classes, the positive one (of an amount or a count --range)")
      ->type_name("CLASS");
  add_number(app, "--tolerance", label.tolerance,
             "--public: of an amount, the error above which a prediction is far off; default: a "
             "fifth of --range");
  app.add_flag("--counts", label.counts, "--public: --range is of counts, from 0 to the highest");
  app.add_flag("--no-schema", command->no_schema,
               "what a fit that buys its schema sees, of --rows and so many --columns");
  app.add_flag("--people", command->people,
               "--no-schema: --rows, or --rows-cap, are of people, as with --person of `fit`");
  add_number(app, "--schema-share", command->schema_share,
             "--no-schema: share of mu^2 that buys the schema");
  add_count(
      app, "--nonzero", command->nonzero,
      "of --features: about how many of a row's are not 0, for the time alone; without it all");
  app.add_flag("--all", command->all, "every mechanism with its settings");
  app.add_flag("--json", command->json, "print JSON; of several ε a list");
  app.callback([command] {
    command->take_table();
    command->run();
  });
}

const Register plan_command{{1, "plan", "Show what a budget buys, before it is spent",
                             "gibbsite plan --rows 32561 --features 108 --row-norm 1 --epsilon 1 "
                             "--delta 1e-9",
                             define_plan}};

}  // namespace
}  // namespace gibbsite::cli
