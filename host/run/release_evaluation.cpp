#include "gibbsite/run/release_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "run/certified.hpp"
#include "run/gaussian_mechanism.hpp"

namespace gibbsite {
namespace {

void require_planned_cells(std::span<const std::uint32_t> cells, const EvaluationModel& shape,
                           const HistogramPlan& plan) {
  const bool replaced = plan.budget.adjacency == Adjacency::replace_one;
  const std::uint64_t n = cells.size(), planned = plan.problem.rows;
  if (plan.problem.cells != 2 * shape.bins.bins() || (replaced ? n != planned : n > planned)) {
    throw BadInput("data: its rows or bins are not the plan's; plan again for this data");
  }
  for (const std::uint32_t cell : cells) {
    if (cell >= plan.problem.cells) {
      throw BadInput("cells: one is beyond the last; use those of evaluation_cells()");
    }
  }
}

void require_weights(std::span<const float> weights, std::size_t rows, const Schema& schema) {
  if (schema.person() != nullptr)
    throw BadInput(
        "data: names people, and a released evaluation counts rows; give a model without them");
  if (weights.size() != (schema.weight() == nullptr ? 0 : rows)) {
    throw BadInput(
        fmt::format("data: has {} weights of {} rows; read it through the model's schema",
                    weights.size(), rows));
  }
  if (!std::ranges::all_of(weights, [](float w) { return w >= 0 && w <= 1; }))
    throw BadInput("data: a weight is outside of its range; read it through the model's schema");
}

// Each row adds at most one to one count: what the guarantee rests on.
std::vector<double> noisy_counts(std::span<const std::uint32_t> cells,
                                 std::span<const float> weights, std::uint64_t number,
                                 double deviation, const StreamKey& stream) {
  constexpr double unit = 0x1p20;
  std::vector<double> exact(number);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    exact[cells[i]] +=
        weights.empty() ? 1 : std::floor(static_cast<double>(weights[i]) * unit) / unit;
  }
  return GaussianMechanism(stream, 0, number).release(exact, deviation);
}

EvaluationModel counted(EvaluationModel model, std::span<const std::uint32_t> cells,
                        std::span<const float> weights, const HistogramPlan& plan,
                        const StreamKey& stream) {
  // The sum of weights is private, whatever the number of rows is.
  const bool is_public = plan.budget.adjacency == Adjacency::replace_one && weights.empty();
  model.rows = is_public ? std::optional(plan.problem.rows) : std::nullopt;
  model.rows_per_person = plan.guarantee.who.rows_per_person;
  model.noise = histogram_deviation(plan.mechanism, plan.problem);
  model.counts = noisy_counts(cells, weights, plan.problem.cells, model.noise, stream);
  return model;
}

}  // namespace

EvaluationRelease release_evaluation(const EvaluationModel& shape,
                                     std::span<const std::uint32_t> cells,
                                     const HistogramPlan& plan, Key&& key,
                                     const FitOptions& options, std::span<const float> weights) {
  return certified<EvaluationKind>(
      plan, std::move(key), options,
      {.require_planned =
           [&](const HistogramPlan& is) {
             shape.bins.validate();
             require_planned_cells(cells, shape, is);
             require_weights(weights, cells.size(), shape.schema);
           },
       .make_model = [&](const HistogramPlan& is, const StreamKey& stream,
                         const Analysis&) { return counted(shape, cells, weights, is, stream); }});
}

}  // namespace gibbsite
