#include "gibbsite/run/release_evaluation.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "core/key_access.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "run/entering.hpp"
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

}  // namespace

EvaluationRelease release_evaluation(const EvaluationModel& shape,
                                     std::span<const std::uint32_t> cells,
                                     const HistogramPlan& asked, Key&& key,
                                     const FitOptions& options) {
  const StandardArithmetic arithmetic;
  const HistogramPlan plan = asked;  // NOLINT(performance-unnecessary-copy-initialization)
  const StreamKey stream = KeyAccess::take(std::move(key));
  shape.bins.validate();
  require_planned_cells(cells, shape, plan);
  // Throws on settings that no plan has, before anything is drawn with them.
  static_cast<void>(analyze(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws));
  const LedgerPrice paid = price_of(options, plan);
  require_room(options, stream.kind, paid);
  EvaluationModel model = shape;
  if (plan.budget.adjacency == Adjacency::replace_one) {
    model.rows = plan.problem.rows;
  } else {
    model.rows.reset();
  }
  model.rows_per_person = plan.guarantee.who.rows_per_person;
  model.noise = histogram_deviation(plan.mechanism, plan.problem);
  model.counts = noisy_counts(cells, plan.problem.cells, model.noise, stream);
  const bool refuses = model.schema.invalid == Invalid::refuse;
  EvaluationCertificate certificate = certify(plan, {stream.kind, "reference", refuses});
  certificate.of_void = model.of_void;
  EvaluationRelease out = ReleaseAccess::make(std::move(model), std::move(certificate));
  if (out.certificate().is_void()) return out;
  // Before anything can be refused: a refusal after the noise may tell, as in `fit`.
  enter(options, "evaluate", name_of(plan.mechanism), paid, key_hash(stream), to_json(out));
  if (const Verification check = verify(out); !check.valid) {
    throw BadInput(
        fmt::format("plan: its certificate does not verify ({}); use the plan as plan_histogram() "
                    "made it",
                    check.failures.front()));
  }
  return out;
}

}  // namespace gibbsite
