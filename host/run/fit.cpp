#include "gibbsite/run/fit.hpp"

#include <utility>

#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "run/certified.hpp"
#include "run/gaussian_mechanism.hpp"
#include "run/run_plan.hpp"

namespace gibbsite {

LinearModel on_release_grid(LinearModel model, const Mechanism& mechanism, double grid) {
  const auto ball = setting(mechanism, "ball");
  for (auto& draw : model.draws) {
    for (double& value : draw) value = on_grid(value, grid);
    // After the grid, which hides where computed noise falls: of a function of what is on it.
    if (ball) project_on_ball(draw, *ball, grid);
  }
  return model;
}

Release fit(const Model& asked, const Dataset& data, const Plan& plan, Backend& backend, Key&& key,
            const FitOptions& options) {
  // A copy: a callback may change what the caller holds.
  const Model model = asked;  // NOLINT(performance-unnecessary-copy-initialization)
  return certified<LinearKind>(
      plan, std::move(key), options,
      {.require_planned = [&](const Plan& is) { require_planned(model, data, is, options); },
       .make_model =
           [&](const Plan& is, StreamKey& stream, const Analysis& found) {
             if (!(found.release_grid > 0)) {
               throw Infeasible(
                   "release grid: the rounding error of this run is not bounded; ask for fewer "
                   "iterations");
             }
             return on_release_grid(run_plan(model, data, is, backend, stream, options),
                                    is.candidate().mechanism, found.release_grid);
           },
       .backend = std::string(backend.name()),
       .ranks = options.ranks});
}

}  // namespace gibbsite
