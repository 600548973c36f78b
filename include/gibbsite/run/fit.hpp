#pragma once
// The function that runs a plan is the one that certifies it: no draw leaves but rounded and with
// the certificate of the plan that it was made by.
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Runs the plan's chosen certificate on the data, rounds its draws to the release grid and
/// certifies them; void when the key came from a seed. Uses the key up, also when it throws.
/// Throws BadInput when the data has another shape than the plan's constants, the backend computes
/// in other arithmetic than double or with other noise than the key's, or the checkpoint is of
/// another run, or a plan whose numbers do not verify (edited after plan()); Interrupted when
/// `stop` is set; Infeasible when the plan is; BudgetSpent, and what Ledger::enter throws, when a
/// ledger was given; then also BadInput on a key from a seed, which has no guarantee to enter.
Release fit(const Model& model, const Dataset& data, const Plan& plan, Backend& backend, Key&& key,
            const FitOptions& options = {});

}  // namespace gibbsite
