#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/release/certificate.hpp"
#include "gibbsite/sampler/backend.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "speed.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct PlanCommand {
  TableArguments table;
  std::string schema;
  std::optional<std::uint64_t> rows, features;
  std::optional<double> row_norm;
  bool intercept = false, json = false;
  PlanArguments plan;

  // Either a table and its schema, or the public shape itself.
  [[nodiscard]] ProblemConstants constants() const {
    const bool shape = rows || features || row_norm || intercept;
    if (!table.data.empty() || !schema.empty()) {
      if (shape) {
        throw BadInput(
            "--data: give either --data and --schema, or --rows, --features and --row-norm");
      }
      if (table.data.empty()) throw BadInput("--schema: needs --data with it; give both");
      if (schema.empty()) throw BadInput("--data: needs --schema with it; give both");
      const Schema domain = read_schema(schema);
      return plan.constants(domain, table.read(domain, {}).rows());
    }
    if (plan.rows_cap && rows) {
      throw BadInput("--rows: the cap counts under add-remove; give --rows-cap alone");
    }
    if ((!rows && !plan.rows_cap) || !features || !row_norm) {
      throw BadInput(
          "--data: is missing; give --data and --schema, or --rows, --features and --row-norm");
    }
    require_finite_positive(*row_norm, "--row-norm");
    FeatureSpace space{*features + (intercept ? 1 : 0), *row_norm, intercept};
    return plan.constants(space, rows.value_or(0));
  }

  void run() const {
    const Budget budget = plan.budget();
    PlanOptions options = plan.options();
    const auto backend = make_backend("auto");
    const ProblemConstants public_constants = constants();
    // A first plan without the clock finds what is wrong with the request.
    static_cast<void>(gibbsite::plan(public_constants, budget, options));
    options.seconds_per_pass = seconds_per_pass(*backend, public_constants, budget.draws);
    const Plan made = gibbsite::plan(public_constants, budget, options);
    if (json) {
      fmt::print("{}\n", plan_json(made).dump(2));
    } else {
      fmt::print("{}", plan_table(made));
    }
    static_cast<void>(require_feasible(made));
  }
};

void define(CLI::App& app) {
  const auto command = std::make_shared<PlanCommand>();
  command->table.add_to(app, false);
  app.add_option("--schema", command->schema, "public schema of the table (TOML)")
      ->type_name("FILE");
  add_count(app, "--rows", command->rows, "number of rows, instead of --data");
  add_count(app, "--features", command->features, "number of features without the intercept");
  add_number(app, "--row-norm", command->row_norm, "bound on the norm of a row");
  app.add_flag("--intercept", command->intercept, "add a constant feature to --features");
  command->plan.add_to(app);
  app.add_flag("--json", command->json, "print JSON");
  app.callback([command] { command->run(); });
}

const Register command{{1, "plan", "Show what a budget buys: every certificate side by side",
                        "gibbsite plan --rows 32561 --features 108 --row-norm 1 --epsilon 1 "
                        "--delta 1e-9",
                        define}};

}  // namespace
}  // namespace gibbsite::cli
