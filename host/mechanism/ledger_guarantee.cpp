#include "gibbsite/mechanism/ledger_guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "mechanism/offers.hpp"

namespace gibbsite {
namespace {

constexpr double ledger_reveal_share = 1e-3;  // of the budget's delta

void require_reveal(double reveal, std::uint64_t draws) {
  if (!(reveal >= 0 && reveal < 1)) {
    throw BadInput("reveal: must be at least 0 and less than 1; give the probability to spend");
  }
  if (draws < 1) throw BadInput("draws: must be at least 1, got 0; give the number of releases");
}

template <class M>
Guarantee of(const M& mechanism, const Problem& problem, const Neighbors& who, std::uint64_t draws,
             double /*reveal*/) {
  return gdp_cover_up(analyze(mechanism, problem, who, draws).guarantee);
}

template <class M>
Guarantee of(const M& mechanism, const FamilyProblem& problem, const Neighbors& who,
             std::uint64_t draws, double /*reveal*/) {
  return gdp_cover_up(analyze(FamilyMechanism(mechanism), problem, who, draws).guarantee);
}

}  // namespace

Guarantee ledger_guarantee(const Mechanism& mechanism, const Problem& problem, const Neighbors& who,
                           std::uint64_t draws, double reveal) {
  require_reveal(reveal, draws);
  return std::visit([&](const auto& m) { return of(m, problem, who, draws, reveal); }, mechanism);
}

Guarantee ledger_guarantee(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                           const Neighbors& who, std::uint64_t draws, double reveal) {
  require_reveal(reveal, draws);
  return std::visit([&](const auto& m) { return of(m, problem, who, draws, reveal); }, mechanism);
}

Guarantee ledger_guarantee(const Plan& plan) {
  return ledger_guarantee(plan.offer().mechanism, plan.problem, plan.offer().guarantee.who,
                          plan.budget.draws, plan.budget.delta * ledger_reveal_share);
}

Guarantee ledger_guarantee(const FamilyPlan& plan) {
  return ledger_guarantee(plan.mechanism, plan.problem, plan.guarantee.who, plan.budget.draws,
                          plan.budget.delta * ledger_reveal_share);
}

}  // namespace gibbsite
