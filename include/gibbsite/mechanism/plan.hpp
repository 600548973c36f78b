#pragma once
// From a problem and a budget to settings. Pure: it never sees data, a clock or a device.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/core/positive_share.hpp"
#include "gibbsite/mechanism/mechanism.hpp"

namespace gibbsite {

/// What one mechanism does with the budget: a row of `plan`'s table.
struct Candidate {
  Mechanism mechanism;
  Guarantee guarantee{};  ///< of all draws: delta_up(guarantee, epsilon) <= delta where feasible
  Cost cost{};            ///< of all draws
  bool feasible = false;  ///< can be run in this universe (T <= 1e12) and meets the budget
  Message why{};          ///< why it would be chosen, or why it is out of reach and what is not
};

struct Plan {
  Problem problem;
  Budget budget;
  std::vector<Candidate> candidates;  ///< one a mechanism, in the order of the variant
  std::size_t chosen = 0;             ///< index into offers

  [[nodiscard]] const Candidate& candidate() const { return candidates[chosen]; }
};

/// Offers of every mechanism, one chosen: the one wished for; `path` where only privacy is; the
/// cheapest that keeps the gap where one is. Throws BadInput on an illegal request.
Plan plan(const Problem& problem, const Budget& budget, const PlanOptions& plan_options = {});

/// A plan in which `path` and `metric-path` may have a loss of their own, that of `chains`: the
/// problem of the plan is the chosen one's.
Plan plan(const Problem& problem, const Problem& chains, const Budget& budget,
          const PlanOptions& plan_options = {});

/// The chosen offer; throws Infeasible with its `why` when it is out of reach.
const Candidate& require_feasible(const Plan& plan);

/// What a plan lets its model learn, by what was measured (mechanism/learning.hpp).
struct ExpectedLearning {
  double mu = 0;          ///< of all that is released; of `objective` what it is worth
  double kept = 0;        ///< kept_share at that mu
  bool from_few = false;  ///< learns_from_few
  double evenness = 1;    ///< least_evenness of the classes; 1 where nothing is said of them
};
/// None where nothing was measured: the chosen offer is out of reach, or the loss has no bounded
/// slope and no ball. `share`: of the positive class, where a person says so; without it what is
/// expected is of classes of like size. A plan was made before it is asked for, and does not have
/// it.
std::optional<ExpectedLearning> expected_learning(const Plan& plan,
                                                  const std::optional<PositiveShare>& share = {});

/// What `whitened` would be offered as for the same budget and wishes with intervals, which a plan
/// without them can tell of. None where such a fit has no intervals, or `whitened` was not chosen.
std::optional<Candidate> candidate_with_intervals(const Plan& plan,
                                                  const PlanOptions& plan_options);

/// The (T, m, a) that the default rule of `path` picks, h = a / (M + m)
/// (docs/theory/default-rule.md).
struct DefaultChoice {
  double iterations = 1;
  double prior_precision = 0;
  double relative_step = 1;
};
/// `prior_precision` and `iterations` are kept when the user fixed them. The ball, 0 for none, is
/// that of a loss whose slopes are bounded in one alone.
DefaultChoice default_rule(const Problem& problem, const Budget& budget, double mu,
                           std::optional<double> prior_precision, std::optional<double> iterations,
                           double ball = 0);

}  // namespace gibbsite
