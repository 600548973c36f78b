#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/speed/speed.hpp"
#include "options.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// Long enough for a steady median; large steps take longer, up to about 2 s in all.
constexpr double measured_seconds = 0.25;

struct PlanCommand {
  ShapeArguments shape;
  bool json = false;
  PlanArguments plan;

  void run() const {
    const Budget budget = plan.budget();
    const Wishes wishes = plan.wishes();
    const auto backend = make_backend("auto");
    Plan made;
    TableShape rows;
    if (shape.of_table(plan)) {
      const Schema domain = read_schema(shape.schema);
      made = plan.make(domain, shape.table.read(domain, {}).rows(), budget, wishes);
      rows = shape_of(domain, made.problem.rows);
    } else {
      made = plan.make(shape.space(), shape.rows.value_or(0), budget, wishes);
      rows = dense_shape(shape.space(), made.problem.rows);
    }
    warn_of_large_delta(budget, made.problem);
    // The clock is for the screen: what is planned follows from public numbers alone.
    const double pass = seconds_per_pass(*backend, rows, loss_named(made.problem.loss),
                                         budget.draws, measured_seconds);
    std::vector<double> seconds;
    for (const Offer& offer : made.offers) seconds.push_back(offer.cost.work * pass);
    if (json) {
      fmt::print("{}\n", plan_json(made, seconds).dump(2));
    } else {
      fmt::print("{}", plan_table(made, seconds));
    }
    static_cast<void>(require_feasible(made));
  }
};

void define_plan(CLI::App& app) {
  const auto command = std::make_shared<PlanCommand>();
  command->shape.add_to(app);
  command->plan.add_to(app);
  app.add_flag("--json", command->json, "print JSON");
  app.callback([command] { command->run(); });
}

const Register plan_command{{1, "plan", "Show what a budget buys: every mechanism side by side",
                             "gibbsite plan --rows 32561 --features 108 --row-norm 1 --epsilon 1 "
                             "--delta 1e-9",
                             define_plan}};

}  // namespace
}  // namespace gibbsite::cli
