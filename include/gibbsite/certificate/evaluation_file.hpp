#pragma once
// The file of a model's released evaluation: noisy counts, their figures, and the certificate.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/model/evaluation_model.hpp"

namespace gibbsite {

/// An evaluation with its certificate. Only `release_evaluation` makes one, or reading a file,
/// whose certificate is as good as `verify` says.
class EvaluationRelease {
 public:
  [[nodiscard]] const EvaluationModel& model() const { return model_; }
  [[nodiscard]] const EvaluationCertificate& certificate() const { return certificate_; }

 private:
  friend struct ReleaseAccess;  // host/certificate/certify.hpp
  EvaluationRelease(EvaluationModel model, EvaluationCertificate certificate)
      : model_(std::move(model)), certificate_(std::move(certificate)) {}

  EvaluationModel model_;
  EvaluationCertificate certificate_;
};

/// The whole file, digest and all.
nlohmann::json to_json(const EvaluationRelease& release);
/// As write_release.
void write_evaluation(const std::string& path, const EvaluationRelease& release,
                      Existing existing = Existing::replaced);
/// As read_release; throws BadInput when the file holds something else than an evaluation.
EvaluationRelease read_evaluation(const std::string& path);
EvaluationRelease parse_evaluation(const std::string& text, const std::string& source);

}  // namespace gibbsite
