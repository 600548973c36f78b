#pragma once
// The file of draws from a family's posterior: parameters, the schema of their column, the
// certificate. `query` needs nothing else.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/model/family_model.hpp"

namespace gibbsite {

/// Draws with their certificate. Only `fit_family` makes one, or reading a file, whose certificate
/// is as good as `verify` says.
class FamilyRelease {
 public:
  [[nodiscard]] const FamilyModel& model() const { return model_; }
  [[nodiscard]] const FamilyCertificate& certificate() const { return certificate_; }

 private:
  friend struct ReleaseAccess;  // host/certificate/certify.hpp
  FamilyRelease(FamilyModel model, FamilyCertificate certificate)
      : model_(std::move(model)), certificate_(std::move(certificate)) {}

  FamilyModel model_;
  FamilyCertificate certificate_;
};

/// The whole file, digest and all.
nlohmann::json to_json(const FamilyRelease& release);
/// As write_release.
void write_family(const std::string& path, const FamilyRelease& release,
                  Existing existing = Existing::replaced);
/// As read_release; throws BadInput when the file holds a model of rows.
FamilyRelease read_family(const std::string& path);
FamilyRelease parse_family(const std::string& text, const std::string& source);

}  // namespace gibbsite
