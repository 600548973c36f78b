#pragma once
// Where certificates are made. Not a public header: `fit` alone uses it, and tests.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/evaluation_file.hpp"
#include "gibbsite/certificate/family_file.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/network_file.hpp"

namespace gibbsite {

/// Public facts of a run that are not in the plan.
struct RunFacts {
  NoiseKind noise = NoiseKind::philox;
  std::string backend;
  bool refuses_cells = true;
};

/// The certificate of a run of the plan's chosen offer by this program.
Certificate certify(const Plan& plan, const RunFacts& facts);
FamilyCertificate certify(const FamilyPlan& plan, const RunFacts& facts);
NetworkCertificate certify(const NetworkPlan& plan, const RunFacts& facts);
EvaluationCertificate certify(const HistogramPlan& plan, const RunFacts& facts);

/// to_json of a certificate whose analysis is at hand.
nlohmann::json to_json(const Certificate& certificate, const Analysis& analysis);
nlohmann::json to_json(const FamilyCertificate& certificate, const Analysis& analysis);
nlohmann::json to_json(const NetworkCertificate& certificate, const Analysis& analysis);
nlohmann::json to_json(const EvaluationCertificate& certificate, const Analysis& analysis);

/// Makes Releases: from a run, or from a file.
struct ReleaseAccess {
  static Release make(LinearModel model, Certificate certificate) {
    return Release(std::move(model), std::move(certificate));
  }
  static FamilyRelease make(FamilyModel model, FamilyCertificate certificate) {
    return FamilyRelease(std::move(model), std::move(certificate));
  }
  static NetworkRelease make(NetworkModel model, NetworkCertificate certificate) {
    return NetworkRelease(std::move(model), std::move(certificate));
  }
  static EvaluationRelease make(EvaluationModel model, EvaluationCertificate certificate) {
    return EvaluationRelease(std::move(model), std::move(certificate));
  }
};

}  // namespace gibbsite
