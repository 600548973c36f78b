#pragma once
// A request's plan for who runs it.
#include <cstdint>

#include "gibbsite/mechanism/plan_chosen.hpp"
#include "gibbsite/run/plan_request.hpp"

namespace gibbsite {

/// The `plan` of run/plan_request.hpp with the chosen offer alone (mechanism/plan_chosen.hpp).
Plan plan_chosen(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows,
                 const Budget& budget);

}  // namespace gibbsite
