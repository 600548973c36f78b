#pragma once
// The certificate: public numbers from which anybody can recompute the guarantee.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/schedule/plan.hpp"

namespace gibbsite {

/// Public facts of a run that are not in the plan.
struct RunFacts {
  NoiseKind noise = NoiseKind::chacha20;
  std::string backend = "cpu";
  bool refuses_cells = true;  ///< the schema leaves Invalid::refuse
};

/// The "certificate" object of ARCHITECTURE's model.json (docs/formats.md). A run on a user's seed
/// is marked void: guarantee.void = true, with the reason.
nlohmann::json certificate_json(const Plan& plan, const RunFacts& facts);

/// What `plan --json` prints (docs/formats.md): the constants, every certificate, the chosen one.
nlohmann::json plan_json(const Plan& plan);

/// Public grid 2^-k that a coefficient is rounded to: 2^(floor(log2 sqrt(2h)) - 15), never below 16
/// accumulated map errors e min(T, 1/(1-c)). Throws Infeasible when the map error is not finite.
double release_grid(const CertificatePlan& certificate);

/// The outcome of `verify`.
struct Verification {
  bool valid = false;
  bool void_run = false;              ///< self-declared void (seeded noise): never a guarantee
  std::vector<std::string> checks;    ///< one line per number recomputed
  std::vector<std::string> failures;  ///< one line per claim that does not hold
};

/// Recomputes every number of a model file from its public constants; any edit that strengthens the
/// claim fails (docs/certificate.md lists what may change). `model` is the whole model.json,
/// whatever it holds: malformed parts are failures, not errors.
Verification verify(const nlohmann::json& model);

/// The certificate in words, several lines, for a person. Throws BadInput when a field is missing.
std::string in_words(const nlohmann::json& certificate);

}  // namespace gibbsite
