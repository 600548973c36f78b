#include "gibbsite/run/fit_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/format_message.hpp"
#include "engine/integer_sums.hpp"
#include "gibbsite/core/error.hpp"
#include "run/certified.hpp"
#include "run/family_run.hpp"

namespace gibbsite {
namespace {

constexpr double fine_steps = 0x1p24;  // of a range: what a float keeps

// The sum of what cells become: a record changes it by no more than the whole range.
FamilyStatistic centered_statistic(const Dataset& data, const FamilyProblem& p) {
  const auto [least, most] = p.values();
  const auto units = [&p, from = least, width = most - least](double stored) {
    return std::clamp((p.value_of(p.lo + (p.hi - p.lo) * stored) - from) / width, 0.0, 1.0);
  };
  return {{integer_sum(data.view(), fine_steps, units)}, fine_steps};
}

}  // namespace

FamilyStatistic family_statistic(const Dataset& data, const FamilyProblem& p) {
  if (p.is_centered()) return centered_statistic(data, p);
  const bool counted = p.family == Family::rate;
  const double scale = p.has_levels() ? 1 : counted ? p.hi : fine_steps;
  IntegerSums found = integer_sums(data.view(), scale);
  if (counted && found.not_whole && data.schema.invalid == Invalid::refuse) {
    throw BadInput(format_message(
        "data: row {} has a count that is not whole; mend the table, give invalid = \"middle\" "
        "in the schema to take the nearest, or use {} mean (private: which row it is)",
        *found.not_whole + 1, Field{"model"}));
  }
  if (p.has_levels()) {
    // A missing cell has no level: it counts as (other), the last, which family_problem asks for.
    const std::uint64_t read = std::accumulate(found.sums.begin(), found.sums.end(), 0ULL);
    found.sums.back() += data.rows() - read;
  }
  return {std::move(found.sums), scale};
}

void require_planned_family(const Dataset& data, const FamilyProblem& plan) {
  if (data.schema.columns.size() != 1) {
    throw BadInput("data: has several columns; read it through family_schema()");
  }
  const FamilyProblem here = family_problem(data.schema, plan.family, data.rows());
  if (here.rows != plan.rows || here.levels != plan.levels || here.lo != plan.lo ||
      here.hi != plan.hi) {
    throw BadInput("data: its rows, levels or range are not the plan's; plan again for this data");
  }
}

FamilyModel family_model_of(const Dataset& data, const FamilyPlan& plan, const StreamKey& stream,
                            const FitOptions& options) {
  const FamilyStatistic statistic = family_statistic(data, plan.problem);
  FamilyModel model{plan.problem.family, data.schema, {}, {}};
  for (std::uint64_t k = 0; k < plan.budget.draws; ++k) {
    if (options.stop != nullptr && *options.stop) {
      throw Interrupted(
          fmt::format("interrupted after {} of {} draws; nothing was kept", k, plan.budget.draws));
    }
    if (options.progress) options.progress(k, plan.budget.draws);
    model.draws.push_back(family_draw(plan.mechanism, plan.problem, statistic, stream,
                                      static_cast<std::uint32_t>(k)));
  }
  return model;
}

FamilyRelease fit_family(const Dataset& data, const FamilyPlan& plan, Key&& key,
                         const FitOptions& options) {
  return certified<ConjugateKind>(
      plan, std::move(key), options,
      {.require_planned =
           [&](const FamilyPlan& is) {
             require_planned_family(data, is.problem);
             require_a_number_a_row(
                 data.schema);  // a schema of a caller's own, not family_schema's
           },
       .make_model = [&](const FamilyPlan& is, const StreamKey& stream,
                         const Analysis&) { return family_model_of(data, is, stream, options); }});
}

}  // namespace gibbsite
