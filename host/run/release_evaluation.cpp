#include "gibbsite/run/release_evaluation.hpp"

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

// Each row adds one to one count: what the guarantee rests on.
std::vector<double> noisy_counts(std::span<const std::uint32_t> cells, std::uint64_t number,
                                 double deviation, const StreamKey& stream) {
  std::vector<double> exact(number);
  for (const std::uint32_t cell : cells) ++exact[cell];
  return GaussianMechanism(stream, 0, number).release(exact, deviation);
}

EvaluationModel counted(EvaluationModel model, std::span<const std::uint32_t> cells,
                        const HistogramPlan& plan, const StreamKey& stream) {
  const bool is_public = plan.budget.adjacency == Adjacency::replace_one;
  model.rows = is_public ? std::optional(plan.problem.rows) : std::nullopt;
  model.rows_per_person = plan.guarantee.who.rows_per_person;
  model.noise = histogram_deviation(plan.mechanism, plan.problem);
  model.counts = noisy_counts(cells, plan.problem.cells, model.noise, stream);
  return model;
}

}  // namespace

EvaluationRelease release_evaluation(const EvaluationModel& shape,
                                     std::span<const std::uint32_t> cells,
                                     const HistogramPlan& plan, Key&& key,
                                     const FitOptions& options) {
  return certified<EvaluationKind>(
      plan, std::move(key), options,
      {.require_planned =
           [&](const HistogramPlan& is) {
             shape.bins.validate();
             require_planned_cells(cells, shape, is);
           },
       .make_model = [&](const HistogramPlan& is, const StreamKey& stream,
                         const Analysis&) { return counted(shape, cells, is, stream); }});
}

}  // namespace gibbsite
