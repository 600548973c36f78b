#pragma once
// What to say of a plan before anything is spent on it: by public numbers alone. Each gives its
// lines to `warn`, and none refuses anything.
#include <cstdint>
#include <optional>
#include <span>

#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/run/planned_fit.hpp"

namespace gibbsite {

/// Warns of an epsilon above 10, and of a delta that is not below 1/rows; rows are the public ones.
void warn_of_budget(const Budget& budget, std::uint64_t rows, const Note& warn);
/// How a person's rows could be counted: by a column of the schema, by a column that a purchase is
/// told, or not at all.
enum class PeopleBy { schema, purchase, nobody };
/// Warns that nobody counts the rows of a person, where one may have several, and says what would.
void warn_of_uncounted_rows(const Budget& budget, PeopleBy could, const Note& warn);
/// Warns where the budget and the public number of rows leave next to nothing to learn, whatever
/// the rows say. `share` of the positive class, where a person knows it.
void warn_of_few_rows(const Plan& plan, const std::optional<PositiveShare>& share,
                      const Note& warn);
/// True if curves that a plan chose for `asked` make intervals several times as wide as straight
/// lines would.
bool curves_widen(const Schema& asked, const Schema& chosen, const Plan& made);
/// Warns that the rows are few for intervals beside the automatic curves that the plan has chosen.
void warn_of_wide_curves(const PlanRequest& request, const Schema& asked, const Schema& chosen,
                         const Plan& made, const Note& warn);
/// All that there is to say of a plan: of its budget, few rows and wide curves.
void warn_of_plan(const PlannedFit& fit, const Note& warn);
/// That of plans of one table at several budgets; of the budgets it speaks of the largest alone.
void warn_of_plans(std::span<const PlannedFit> fits, const Note& warn);
/// All that there is to say of a fit before it runs, but for rows of a person that nobody counts:
/// what warn_of_plan says, and of a run time that depends on the rows.
void warn_of_fit(const PlannedFit& fit, const Note& warn);

}  // namespace gibbsite
