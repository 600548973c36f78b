#pragma once
// Whether a private run may begin: by one process, and with room in its ledger. What would fit is
// said where there is none.
#include <functional>
#include <optional>

#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/bought_fit.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/run/planned_fit.hpp"

namespace gibbsite {

/// Throws BadInput where a launcher started several processes, each of which would fit the whole
/// table with noise of its own.
void require_one_process();

/// What a release at that budget would be charged; throws Infeasible where there is none.
using PriceOf = std::function<Guarantee(const Budget&)>;

/// Throws BudgetSpent, with the largest epsilon that would fit at this delta, or the largest delta
/// where the release's reveal is too large, where the release at `budget` does not fit; BadInput as
/// Ledger::require_room; Infeasible as `price_of` at `budget`.
/// `own`: what the certificate of the release at `budget` will claim; none where the release must
/// not take all of the ledger, as nothing could follow it. Warns where it would.
void require_room(const Ledger& ledger, const Budget& budget, const std::optional<Guarantee>& own,
                  const PriceOf& price_of, const Note& warn);

/// Likewise of a fit.
void require_room(const Ledger& ledger, const PlannedFit& fit, const Note& warn);
/// Likewise of a fit that buys its schema. `at`: its plan with a budget of another epsilon.
void require_room(const Ledger& ledger, const BoughtFitPlan& plan,
                  const std::function<BoughtFitPlan(const Budget&)>& at, const Note& warn);

}  // namespace gibbsite
