#pragma once
// What every front end does between a plan and its run: it ends where there is no plan or no room,
// and says what there is to say by public numbers alone.
#include <optional>
#include <utility>

#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/run/planned_fit.hpp"
#include "gibbsite/run/room.hpp"
#include "gibbsite/run/warnings.hpp"

namespace gibbsite {

/// Looks at a fit of rows. Throws Infeasible if its plan is, and BudgetSpent as require_room;
/// `ledger` may be null. `could`: how a person's rows could be counted, or none if the front end
/// says that itself.
void look_at(const PlannedFit& fit, const Ledger* ledger, const Note& warn,
             std::optional<PeopleBy> could = PeopleBy::schema);

/// Looks at another plan of one budget. `at` plans it with a smaller one.
template <class PlanOfKind, class PlanAt>
void look_at(const PlanOfKind& made, const Budget& budget, const PlanAt& at, const Ledger* ledger,
             const Note& warn) {
  if (ledger != nullptr)
    require_room(
        *ledger, budget, own_guarantee(made),
        [&](const Budget& smaller) { return ledger_guarantee(at(smaller)); }, warn);
  warn_of_budget(budget, made.problem.rows, warn);
}

/// Looks at a network, draws of a family, or moments (NetworkPlan, FamilyPlan, CovariancePlan).
template <class PlanOfKind>
void look_at(const PlanRequest& request, const PlanOfKind& made, const Ledger* ledger,
             const Note& warn) {
  const Budget budget = budget_of(request);
  look_at(
      made, budget, [&](const Budget& smaller) { return plan(request, made.problem, smaller); },
      ledger, warn);
  if constexpr (requires { made.problem.of_people(); }) {
    if (!made.problem.of_people()) warn_of_uncounted_rows(budget, PeopleBy::schema, warn);
  } else {
    warn_of_uncounted_rows(budget, PeopleBy::nobody, warn);
  }
}

}  // namespace gibbsite
