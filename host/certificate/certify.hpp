#pragma once
// Where certificates are made. Not a public header: `fit` and `verify` alone use it, and tests.
#include <nlohmann/json.hpp>
#include <string>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// Public facts of a run that are not in the plan.
struct RunFacts {
  NoiseKind noise = NoiseKind::philox;
  std::string backend;
  bool refuses_cells = true;  ///< the schema leaves Invalid::refuse
};

/// The "certificate" object of a model file (docs/formats.md), without its digest. A run on a
/// user's seed is marked void: guarantee.void = true, with the reason.
nlohmann::json certificate_json(const Plan& plan, const RunFacts& facts);

/// Makes Releases: from a run, or from a file.
struct ReleaseAccess {
  static Release make(LinearModel model, nlohmann::json certificate) {
    return Release(std::move(model), std::move(certificate));
  }
};

}  // namespace gibbsite
