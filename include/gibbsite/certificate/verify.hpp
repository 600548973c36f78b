#pragma once
// Recomputing a model file's claims.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"

namespace gibbsite {

/// The outcome of `verify`.
struct Verification {
  bool valid = false;
  bool void_run = false;              ///< self-declared void (seeded noise): never a guarantee
  std::vector<std::string> checks;    ///< one line per number recomputed
  std::vector<std::string> failures;  ///< one line per claim that does not hold
};

/// Recomputes every number of a model file from its public constants; any edit that strengthens the
/// claim fails (docs/reference/certificate.md lists what may change). `model` is the whole
/// model.json, whatever it holds: malformed parts are failures, not errors.
Verification verify(const nlohmann::json& model);
/// Verifies what the release's file would hold.
template <class Kind>
Verification verify(const ReleaseOf<Kind>& release);

}  // namespace gibbsite
