#pragma once
// What a ledger adds for a mechanism (docs/theory/gdp-fit.md): the Gaussian mu and the reveal
// probability that cover it, sharper than those of its certificate's guarantee where its whole
// profile is known.
#include <cstdint>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/bought_schema.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/mechanism/histogram.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/mechanism/select.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The guarantee of all `draws` together: pure = 0, tv and who as `analyze` has them. `delta0` in
/// [0, 1) is what may be spent on the result's reveal, in all; mechanisms without a delta spend
/// none of it. Where no pair within it is found the result is that of the mechanism's own
/// guarantee, whose reveal may be larger, and mu infinite: the caller compares both with what is
/// left. A pure function of the settings; throws BadInput as `analyze` does, and on another delta0.
Guarantee ledger_guarantee(const Mechanism& mechanism, const Problem& problem, const Neighbors& who,
                           std::uint64_t draws, double delta0);
Guarantee ledger_guarantee(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                           const Neighbors& who, std::uint64_t draws, double delta0);

Guarantee ledger_guarantee(const NetworkMechanism& mechanism, const NetworkProblem& problem,
                           const Neighbors& who, std::uint64_t draws, double delta0);
/// The guarantee as a ledger counts it: with `people`, of a person whatever rows they have.
Guarantee in_a_ledger(Guarantee of_rows, bool people);

/// The guarantee of what the plan would release: reveal is spent up to a thousandth of the budget's
/// delta, which is public.
Guarantee ledger_guarantee(const Plan& plan);
Guarantee ledger_guarantee(const FamilyPlan& plan);
Guarantee ledger_guarantee(const NetworkPlan& plan);
Guarantee ledger_guarantee(const HistogramPlan& plan);
Guarantee ledger_guarantee(const SchemaPlan& plan);
Guarantee ledger_guarantee(const SelectPlan& plan);
Guarantee ledger_guarantee(const CovariancePlan& plan);

/// What the certificate of the plan's release will claim, computed anew: of all draws, with its
/// pure part. A ledger with no release yet takes it if it keeps to all that the ledger promises.
Guarantee own_guarantee(const Plan& plan);
Guarantee own_guarantee(const FamilyPlan& plan);
Guarantee own_guarantee(const NetworkPlan& plan);
Guarantee own_guarantee(const HistogramPlan& plan);
Guarantee own_guarantee(const SchemaPlan& plan);
Guarantee own_guarantee(const SelectPlan& plan);
Guarantee own_guarantee(const CovariancePlan& plan);

}  // namespace gibbsite
