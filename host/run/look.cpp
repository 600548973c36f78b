#include "gibbsite/run/look.hpp"

namespace gibbsite {

void look_at(const PlannedFit& fit, const Ledger* ledger, const Note& warn,
             std::optional<PeopleBy> could) {
  require_feasible(fit.plan);
  if (ledger != nullptr) require_room(*ledger, fit, warn);
  if (could && !fit.plan.problem.of_people()) warn_of_uncounted_rows(fit.plan.budget, *could, warn);
  warn_of_fit(fit, warn);
}

}  // namespace gibbsite
