#pragma once
// The certificate: public numbers from which anybody can recompute the guarantee.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/certificate/kinds.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// What a release claims, whatever it is of.
struct Claims {
  static constexpr std::size_t newest_format = 3;

  std::uint64_t draws = 1;
  double epsilon = 0, delta = 0;        ///< claimed; nothing where void
  Guarantee claimed;                    ///< of all draws
  NoiseKind noise = NoiseKind::philox;  ///< of the run's key
  bool refuses_cells = true;            ///< the schema leaves Invalid::refuse
  bool people = false;                  ///< the problem counts people, not rows
  /// What the schema says that it was bought with, in a release of its own.
  std::optional<BoughtApart> schema_bought{};
  /// The public table that the schema says it comes from: nothing protects people in it.
  std::optional<PublicTable> schema_public{};
  std::string backend, version;
  /// Number of the file's format, gibbsite-release/2 or /3. A file of format 2 stays one.
  std::size_t format = newest_format;

  /// Noise of a user's seed: no guarantee.
  [[nodiscard]] bool is_void() const { return noise != NoiseKind::chacha20; }
};

/// Whether its guarantee and that of the bought schema are about the same neighbors, so that they
/// add up; true where no schema was bought apart, or by a program that did not write which.
bool adds_up(const Claims& claims);

/// The claims of one kind of release, and the public numbers that they follow from.
template <class Kind>
struct CertificateOf : Claims, Kind::Extra {
  typename Kind::Problem problem;
  typename Kind::Mechanism mechanism;
  /// What the run computed of them, so that its file is written without computing it again. No file
  /// holds it, and `verify` never takes it.
  std::optional<Analysis> analysis{};
};

using Certificate = CertificateOf<LinearKind>;
using FamilyCertificate = CertificateOf<ConjugateKind>;
using NetworkCertificate = CertificateOf<GraphicalKind>;
using EvaluationCertificate = CertificateOf<EvaluationKind>;
using SchemaCertificate = CertificateOf<SchemaKind>;
using SelectCertificate = CertificateOf<SelectKind>;
using CovarianceCertificate = CertificateOf<CovarianceKind>;

/// The "certificate" object of a model file (docs/reference/formats.md), without its digest: the
/// numbers above and all that follows from them. A void one has guarantee.void = true, with the
/// reason.
template <class Kind>
nlohmann::json to_json(const CertificateOf<Kind>& certificate);
/// From that object. Reads the primary numbers, and believes them. Throws BadInput naming the field
/// that is missing, or out of range.
template <class Kind = LinearKind>
CertificateOf<Kind> certificate_from_json(const nlohmann::json& json);

/// What `plan --json` prints (docs/reference/formats.md), less the times: the problem, every offer,
/// the chosen one.
nlohmann::json plan_json(const Plan& plan);

/// What `plan --json` prints of a family's plan, its one offer chosen.
nlohmann::json plan_json(const FamilyPlan& plan);
/// What `plan --json` prints of a network's plan: every offer, the chosen one, and each node's
/// table beside its noise.
nlohmann::json plan_json(const NetworkPlan& plan);

/// What to say where Budget::delta_is_large: one line without its end.
std::string large_delta(double delta);

/// The certificate in words, several lines, for a person; how strongly they put it follows from how
/// often the best guess is right (docs/reference/certificate.md).
std::string in_words(const Certificate& certificate);
std::string in_words(const FamilyCertificate& certificate);
std::string in_words(const NetworkCertificate& certificate);
std::string in_words(const EvaluationCertificate& certificate);
std::string in_words(const SchemaCertificate& certificate);
std::string in_words(const SelectCertificate& certificate);
std::string in_words(const CovarianceCertificate& certificate);
/// A file's "certificate" object in words. Throws BadInput as certificate_from_json.
std::string in_words(const nlohmann::json& certificate);

}  // namespace gibbsite
