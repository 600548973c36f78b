#pragma once
// The model file: coefficients, the whole schema, the certificate. `predict` needs nothing else.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// A model, its coefficients on the public grid, with its certificate. Only `fit` makes one, or
/// reading a file, whose certificate is as good as `verify` says.
class Release {
 public:
  [[nodiscard]] const LinearModel& model() const { return model_; }
  [[nodiscard]] const Certificate& certificate() const { return certificate_; }

 private:
  friend struct ReleaseAccess;  // host/certificate/certify.hpp
  Release(LinearModel model, Certificate certificate)
      : model_(std::move(model)), certificate_(std::move(certificate)) {}

  LinearModel model_;
  Certificate certificate_;
};

/// The whole file, digest and all.
nlohmann::json to_json(const Release& release);
/// From a file of this version, or of gibbsite-release/2. Throws BadInput "SOURCE: ..." on
/// anything else, and when a number of its certificate is missing or out of range.
Release release_from_json(const nlohmann::json& json, const std::string& source);

/// Written whole or not at all (temporary file in the same folder, then rename; a path that is not
/// a regular file is written directly). Throws CannotWrite when it cannot be, and where there is a
/// file to keep (its error is EEXIST).
void write_release(const std::string& path, const Release& release,
                   Existing existing = Existing::replaced);
/// Throws BadInput as below and as release_from_json, and when the file was changed after it was
/// written: its digest is not that of its contents (but for the numbers of its guarantee, which may
/// be claimed weaker).
Release read_release(const std::string& path);
/// The same of a file's text; `source` names it in errors.
Release parse_release(const std::string& text, const std::string& source);
/// The JSON of a model file, for `verify`. Throws BadInput when it is not JSON, gives a name twice,
/// nests deeper than 32 levels or is not a model file's object with a model and a
/// certificate.
nlohmann::json read_release_json(const std::string& path);
nlohmann::json parse_release_json(const std::string& text, const std::string& source);

}  // namespace gibbsite
