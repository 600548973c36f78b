#pragma once
// The certificate: public numbers from which anybody can recompute the guarantee.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gibbsite/schedule/plan.hpp"

namespace gibbsite {

/// What `plan --json` prints (docs/formats.md): the constants, every certificate, the chosen one.
nlohmann::json plan_json(const Plan& plan);

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
