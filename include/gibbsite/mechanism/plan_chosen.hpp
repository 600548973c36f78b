#pragma once
// A plan for who runs it: without the offers that are not chosen, which cost most of its time.
#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {

/// `plan` with the chosen offer alone, to the same bits. All offers are made where they are
/// compared: where a total variation gap is asked for. Throws like `plan`, but for what only
/// another mechanism's offer would throw.
Plan plan_chosen(const Problem& problem, const Problem& chains, const Budget& budget,
                 const PlanOptions& plan_options = {});

}  // namespace gibbsite
