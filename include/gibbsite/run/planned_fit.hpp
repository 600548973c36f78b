#pragma once
// A plan of a fit of rows beside what it was made from: what every front end asks it for.
#include <cstdint>
#include <optional>

#include "gibbsite/run/plan_request.hpp"

namespace gibbsite {

struct PlannedFit {
  PlanRequest request;
  FeatureSpace space;  ///< of the schema, or what takes its place
  Plan plan;
  std::optional<PositiveShare> positive_share{};  ///< the request's, else the schema's
  /// The schema as it was given, and with its automatic curves chosen for this plan; none of a
  /// space without one.
  std::optional<Schema> asked{}, chosen{};
};

/// The plan with the chosen offer alone (mechanism/plan_chosen.hpp), for who runs it. `chosen` is
/// what chosen_curves made of `asked`; rows: of the table, or its people. Throws as `plan`.
PlannedFit planned_fit(const PlanRequest& request, const Schema& asked, Schema chosen,
                       std::uint64_t rows, const Budget& budget);

/// The plan with all its offers, for who compares them. Chooses the curves that `asked` leaves to
/// the plan. Throws as `plan`.
PlannedFit planned_offers(const PlanRequest& request, const Schema& asked, std::uint64_t rows,
                          const Budget& budget);
/// That plan for rows of which no schema tells.
PlannedFit planned_offers(const PlanRequest& request, const FeatureSpace& space, std::uint64_t rows,
                          const Budget& budget);

}  // namespace gibbsite
