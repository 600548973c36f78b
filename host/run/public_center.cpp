#include "gibbsite/run/public_center.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
namespace {

// Measured (bench/results/public-2026-11-27.md); neither has to do with privacy.
constexpr double most_signal = 30, public_precision = 1;

}  // namespace

bool gains_by_center(const Plan& plan) {
  const auto* const settings = std::get_if<Whitened>(&plan.candidate().mechanism);
  if (settings == nullptr || settings->information_share > 0) return false;
  const Neighbors& who = plan.candidate().guarantee.who;
  return signal_per_feature(plan.problem, who, settings->query_mu) *
             static_cast<double>(plan.problem.outputs) <
         most_signal;
}

bool has_usable_labels(const Dataset& rows) {
  constexpr std::uint64_t readable_of_each = 20;
  const IngestCounts& counts = rows.counts;
  const std::uint64_t strange =
      counts.invalid_labels + counts.unlisted_labels + counts.clamped_labels;
  return strange <= rows.rows() / readable_of_each &&
         std::ranges::adjacent_find(rows.y, std::ranges::not_equal_to{}) != rows.y.end();
}

std::vector<double> public_center(const Dataset& rows, const Plan& plan, Backend& backend) {
  if (!rows.labeled()) throw BadInput("public: has no labels; give a table with the label column");
  if (rows.features() != plan.problem.row_features())
    throw BadInput("public: has other features than the plan; read it by the schema of the plan");
  const Potential potential{
      .engine = backend.load(rows.view(), rows.y, loss_named(plan.problem.loss)),
      .beta = 1,
      .prior_precision = public_precision,
      .center = {}};
  return minimize(potential, 1e-6).theta;
}

Model centered_model(Model model, Plan& plan, const Schema& schema, std::vector<double> center) {
  model.center = std::move(center);
  plan.problem.center_norm = model.constants(schema, plan.problem.rows).center_norm;
  return model;
}

}  // namespace gibbsite
