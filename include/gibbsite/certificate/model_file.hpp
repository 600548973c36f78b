#pragma once
// The file of a release of any kind: the model with its schema, and the certificate. What reads it
// needs nothing else.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/covariance_model.hpp"
#include "gibbsite/model/evaluation_model.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A model, its numbers on the public grid, with its certificate. Only the run of a plan makes one,
/// or reading a file, whose certificate is as good as `verify` says.
template <class Kind>
class ReleaseOf {
 public:
  [[nodiscard]] const typename Kind::Model& model() const { return model_; }
  [[nodiscard]] const CertificateOf<Kind>& certificate() const { return certificate_; }

 private:
  friend struct ReleaseAccess;  // host/certificate/certify.hpp
  ReleaseOf(typename Kind::Model model, CertificateOf<Kind> certificate)
      : model_(std::move(model)), certificate_(std::move(certificate)) {}

  typename Kind::Model model_;
  CertificateOf<Kind> certificate_;
};

using Release = ReleaseOf<LinearKind>;
using FamilyRelease = ReleaseOf<ConjugateKind>;
using NetworkRelease = ReleaseOf<GraphicalKind>;
using EvaluationRelease = ReleaseOf<EvaluationKind>;
using SchemaRelease = ReleaseOf<SchemaKind>;
using SelectRelease = ReleaseOf<SelectKind>;
using CovarianceRelease = ReleaseOf<CovarianceKind>;

/// The whole file, digest and all.
template <class Kind>
nlohmann::json to_json(const ReleaseOf<Kind>& release);
/// From a file of this version, or of gibbsite-release/2. Throws BadInput "SOURCE: ..." on anything
/// else, and when a number of its certificate is missing or out of range.
template <class Kind = LinearKind>
ReleaseOf<Kind> release_from_json(const nlohmann::json& json, const std::string& source);

/// Written whole or not at all (temporary file in the same folder, then rename; a path that is not
/// a regular file is written directly). Throws CannotWrite when it cannot be, and where there is a
/// file to keep (its error is EEXIST).
template <class Kind>
void write_release(const std::string& path, const ReleaseOf<Kind>& release,
                   Existing existing = Existing::replaced);
/// Throws BadInput as below and as release_from_json, when the file holds another kind, and when it
/// was changed after it was written: its digest is not that of its contents (but for the numbers of
/// its guarantee, which may be claimed weaker).
template <class Kind = LinearKind>
ReleaseOf<Kind> read_release(const std::string& path);
/// Reads a release from a file's text; `source` names it in errors.
template <class Kind = LinearKind>
ReleaseOf<Kind> parse_release(const std::string& text, const std::string& source);

/// A released file's text, to be parsed as what it holds: a pipe is read once. Throws BadInput when
/// it cannot be read.
std::string read_release_text(const std::string& path);
/// Whether a file's text holds that kind, by its certificate alone.
template <class Kind>
bool holds(const std::string& text, const std::string& source);

/// The JSON of a model file, for `verify`. Throws BadInput when it is not JSON, gives a name twice,
/// nests deeper than 32 levels or is not a model file's object with a model and a
/// certificate.
nlohmann::json read_release_json(const std::string& path);
nlohmann::json parse_release_json(const std::string& text, const std::string& source);

}  // namespace gibbsite
