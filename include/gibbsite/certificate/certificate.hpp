#pragma once
// The certificate: public numbers from which anybody can recompute the guarantee.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {

/// What `plan --json` prints (docs/formats.md): the constants, every certificate, the chosen one.
nlohmann::json plan_json(const Plan& plan);

/// s such that every coefficient of a draw is an s-Lipschitz function of standard normals, rounded
/// up (docs/path.md, What the noise does to a coefficient). So it lies within t s of the median of
/// its law with a probability of at least 2 Phi(t) - 1; for a TV certificate less its tv_gap. path:
/// sqrt(2h (1 - c^2T)/(1 - c^2)); else 1/sqrt(m). Of exact arithmetic; rounding is below the
/// release grid. Throws BadInput on a certificate without a strong convexity but `path`.
double coefficient_noise_up(const CertificatePlan& certificate);

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

/// What to say where Budget::delta_is_large: one line without its end.
std::string large_delta(double delta);

/// The certificate in words, several lines, for a person; how strongly they put it follows from how
/// often the best guess is right (docs/certificate.md). Throws BadInput when a field is missing.
std::string in_words(const nlohmann::json& certificate);

}  // namespace gibbsite
