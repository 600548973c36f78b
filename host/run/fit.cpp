#include "gibbsite/run/fit.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "certificate/certify.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/entering.hpp"
#include "run/gaussian_mechanism.hpp"
#include "run/run_plan.hpp"

namespace gibbsite {
Release release(const Run& run) {
  const Plan& plan = run.plan;
  const double grid =
      analyze(plan.offer().mechanism, plan.problem, plan.budget.neighbors(), plan.budget.draws)
          .release_grid;
  if (!(grid > 0)) {
    throw Infeasible(
        "release grid: the rounding error of this run is not bounded; ask for fewer iterations");
  }
  LinearModel model = run.model;
  const auto ball = setting(plan.offer().mechanism, "ball");
  for (auto& draw : model.draws) {
    for (double& value : draw) value = on_grid(value, grid);
    // After the grid, which hides where computed noise falls: of a function of what is on it.
    if (ball) project_on_ball(draw, *ball, grid);
  }
  Certificate certificate =
      certify(plan, {run.noise, run.backend, run.model.schema.invalid == Invalid::refuse});
  return ReleaseAccess::make(std::move(model), std::move(certificate));
}

Release fit(const Model& asked_model, const Dataset& data, const Plan& asked, Backend& backend,
            Key&& key, const FitOptions& options) {
  const StandardArithmetic arithmetic;
  // Copies: a callback may change what the caller holds.
  const Model model = asked_model;  // NOLINT(performance-unnecessary-copy-initialization)
  const Plan plan = asked;          // NOLINT(performance-unnecessary-copy-initialization)
  const bool certified = key.kind() == NoiseKind::chacha20;
  const std::unique_ptr<Communicator> alone = one_process();
  Communicator& ranks = options.ranks != nullptr ? *options.ranks : *alone;
  const bool first_rank = ranks.rank() == 0;
  LedgerPrice paid;
  ranks.together([&] {
    if (!first_rank) return;
    paid = price_of(options, plan);
    require_room(options, key.kind(), paid);
  });
  Run run = run_plan(model, data, plan, backend, std::move(key), options);
  StandardArithmetic::require();  // a callback may have changed it meanwhile
  Release out = release(run);
  if (!certified) return out;
  ranks.together([&] {
    if (!first_rank) return;
    // Before anything can be refused: what is refused after the noise may tell of it, so it is
    // paid.
    enter(options, name_of(plan.offer().mechanism), paid, run.key_hash, to_json(out));
    // A Plan is open to its caller.
    if (const Verification check = verify(out); !check.valid) {
      throw BadInput(
          fmt::format("plan: its certificate does not verify ({}); use the plan as plan() made it",
                      check.failures.front()));
    }
  });
  return out;
}

}  // namespace gibbsite
