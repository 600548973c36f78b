#pragma once
// What is the same of every kind of release: certificate and file, both ways, and `verify`. What is
// a kind's own is found by overload (`*_kind.cpp`). Not a public header: it makes releases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "certificate/bought_json.hpp"
#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "certificate/problem_json.hpp"
#include "certificate/verifier.hpp"
#include "core/backend_names.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/bought_fit.hpp"
#include "gibbsite/mechanism/kinds.hpp"
#include "gibbsite/mechanism/mechanism.hpp"

namespace gibbsite {

// What a kind may say of its own; these are of the others.

/// What a reader has to believe of that mechanism alone.
template <class Kind>
std::string assumption_of(const CertificateOf<Kind>& /*certificate*/) {
  return {};
}
/// What was chosen without looking at the table, beside the budget and the options.
template <class Kind>
std::string public_choices(const CertificateOf<Kind>& /*certificate*/) {
  return "the schema (columns, ranges, levels, classes, row norm)";
}
/// Claims beside the guarantee that may be weaker than the truth, never stronger.
template <class Kind>
void check_claims(Verifier& /*v*/, const CertificateOf<Kind>& /*claimed*/,
                  const Analysis& /*found*/) {}
/// Checks what a model's JSON holds of another machine's rounding, and takes it over to `expected`.
void settle(Verifier& /*v*/, const auto& /*model*/, nlohmann::json& /*expected*/,
            const nlohmann::json& /*claimed*/) {}
/// Throws BadInput where files of that format hold no such model.
void require_of_format(const auto& /*model*/, std::size_t /*format*/,
                       const std::string& /*source*/) {}

std::string public_choices(const SchemaCertificate& certificate);
std::string public_choices(const SelectCertificate& certificate);
std::string public_choices(const Certificate& certificate);
std::string public_choices(const NetworkCertificate& certificate);
std::string public_choices(const FamilyCertificate& certificate);
std::string assumption_of(const Certificate& certificate);
std::string assumption_of(const NetworkCertificate& certificate);
std::string assumption_of(const FamilyCertificate& certificate);
std::string assumption_of(const EvaluationCertificate& certificate);
std::string assumption_of(const SchemaCertificate& certificate);
std::string assumption_of(const SelectCertificate& certificate);
void check_claims(Verifier& v, const Certificate& claimed, const Analysis& found);
void settle(Verifier& v, const EvaluationModel& model, nlohmann::json& expected,
            const nlohmann::json& claimed);
void require_of_format(const LinearModel& model, std::size_t format, const std::string& source);

// What each kind has: its model's problem, where what the certificate alone knows is that of
// `claimed`; the number of draws; and that the numbers of the model are such as its run leaves.

Problem problem_of(const LinearModel& model, const Certificate& claimed);
FamilyProblem problem_of(const FamilyModel& model, const FamilyCertificate& claimed);
NetworkProblem problem_of(const NetworkModel& model, const NetworkCertificate& claimed);
HistogramProblem problem_of(const EvaluationModel& model, const EvaluationCertificate& claimed);
SchemaProblem problem_of(const BoughtSchema& model, const SchemaCertificate& claimed);
SelectProblem problem_of(const SelectionModel& model, const SelectCertificate& claimed);
CovarianceProblem problem_of(const CovarianceModel& model, const CovarianceCertificate& claimed);
std::size_t draws_of(const LinearModel& model);
std::size_t draws_of(const FamilyModel& model);
std::size_t draws_of(const NetworkModel& model);
std::size_t draws_of(const EvaluationModel& model);
std::size_t draws_of(const BoughtSchema& model);
std::size_t draws_of(const SelectionModel& model);
std::size_t draws_of(const CovarianceModel& model);
void check_model(Verifier& v, const LinearModel& model, const Certificate& c);
void check_model(Verifier& v, const FamilyModel& model, const FamilyCertificate& c);
void check_model(Verifier& v, const NetworkModel& model, const NetworkCertificate& c);
void check_model(Verifier& v, const EvaluationModel& model, const EvaluationCertificate& c);
void check_model(Verifier& v, const BoughtSchema& model, const SchemaCertificate& c);
void check_model(Verifier& v, const SelectionModel& model, const SelectCertificate& c);
void check_model(Verifier& v, const CovarianceModel& model, const CovarianceCertificate& c);

// The certificate.

/// A whole number reads as one up to 2^53; beyond, a double does not count in ones.
nlohmann::json whole(double value);
nlohmann::json guarantee_json(const Claims& claims);
nlohmann::json numerics_json(const Claims& claims, const Analysis& found);
/// What a reader has to believe, because no program can check it; `own` of the mechanism, `made`
/// is what the run makes, `choices` are public_choices.
nlohmann::json assumptions_json(const Claims& claims, const std::string& own, std::string_view made,
                                const std::string& choices);
/// Throws BadInput naming the field that is missing, or out of range.
Claims claims_from_json(const nlohmann::json& certificate);

inline bool is_count(Legal legal) { return legal == Legal::count || legal == Legal::count_or_none; }

/// The name and the settings of the mechanism that a variant holds.
nlohmann::json settings_json(const auto& mechanism) {
  struct Writer {
    nlohmann::json out;
    void operator()(const char* name, double value, Legal legal) {
      if (is_absent(legal, value)) return;
      out[name] = is_count(legal) ? whole(value) : nlohmann::json(value);
    }
    void operator()(const char* name, Calibration value) { out[name] = to_string(value); }
  } writer;
  writer.out = {{"name", name_of(mechanism)}};
  visit_fields(mechanism, writer);
  return writer.out;
}

struct SettingsReader {
  const nlohmann::json& object;
  void operator()(const char* name, double& value, Legal legal) const;
  void operator()(const char* name, Calibration& value) const;
};

/// The settings of whichever alternative the object names.
template <class Variant>
Variant settings_from_json(const nlohmann::json& object) {
  const std::string name = text_field(object, "name", "mechanism");
  std::optional<Variant> named = kind_named<Variant>(name);
  if (!named) {
    throw BadInput(fmt::format("mechanism.name: {} is none of {}", gibbsite::quoted(name),
                               fmt::join(kind_names<Variant>(), ", ")));
  }
  visit_fields(*named, SettingsReader{object});
  return *named;
}

/// The problem of the questions that a model's schema was bought with: of the model's own rows.
SchemaProblem schema_problem_of(const auto& certificate) {
  SchemaProblem out{.rows = certificate.problem.rows,
                    .columns = certificate.bought->columns,
                    .questions = certificate.bought->asked};
  if constexpr (requires { certificate.problem.rows_of_person; })
    out.rows_of_person = certificate.problem.rows_of_person;
  return out;
}

/// What follows from a certificate's settings; with what a schema cost that was bought with it.
template <class Kind>
Analysis recomputed(const CertificateOf<Kind>& c) {
  Analysis out = analyze(c.mechanism, c.problem, c.claimed.who, c.draws);
  if constexpr (requires { c.bought; }) {
    if (c.bought) out = with_schema(out, c.bought->questions, schema_problem_of(c), c.claimed.who);
  }
  return out;
}

template <class Kind>
Analysis analysis_of(const CertificateOf<Kind>& c) {
  return c.analysis ? *c.analysis : recomputed(c);
}

template <class Kind>
nlohmann::json to_json(const CertificateOf<Kind>& c) {
  const Analysis found = analysis_of(c);
  nlohmann::json mechanism = settings_json(c.mechanism);
  mechanism["draws"] = c.draws;
  nlohmann::json constants = problem_json(c.problem, c.mechanism);
  for (const auto& [name, value] : found.constants) constants[std::string(name)] = value;
  Kind::put_extra(c, constants);
  nlohmann::json out = {
      {"guarantee", guarantee_json(c)},
      {"mechanism", std::move(mechanism)},
      {"constants", std::move(constants)},
      {"numerics", numerics_json(c, found)},
      {"assumptions", assumptions_json(c, assumption_of(c), Kind::made, public_choices(c))},
      {"theorem", theorem_of(c.mechanism)},
      {"software", {{"version", c.version}, {"backend", c.backend}}}};
  if (c.schema_bought) out["schema_bought"] = bought_apart_json(*c.schema_bought);
  if (c.schema_public) out["schema_public"] = public_table_json(*c.schema_public);
  return out;
}

template <class Kind>
CertificateOf<Kind> certificate_from_json(const nlohmann::json& object) {
  auto mechanism =
      settings_from_json<typename Kind::Mechanism>(field(object, "mechanism", "certificate"));
  Claims claims = claims_from_json(object);
  const nlohmann::json& constants = field(object, "constants", "certificate");
  auto problem = problem_from_json(constants, mechanism);
  claims.people = counts_people(problem);
  return {std::move(claims),
          Kind::extra_from_json(constants),
          std::move(problem),
          std::move(mechanism),
          {}};
}

// The file.

template <class Kind>
nlohmann::json to_json(const ReleaseOf<Kind>& release) {
  nlohmann::json out = {{"format", format_names.at(release.certificate().format)},
                        {"model", model_json(release.model())},
                        {"certificate", to_json(release.certificate())}};
  out["certificate"]["digest"] = file_digest(out);
  return out;
}

template <class Kind>
ReleaseOf<Kind> release_from_json(const nlohmann::json& object, const std::string& source) {
  require_release(object, source);
  auto model = Kind::model_from_json(field(object, "model", source), source);
  require_of_format(model, format_of(object), source);
  try {
    auto certificate = certificate_from_json<Kind>(field(object, "certificate", source));
    certificate.refuses_cells = model.schema.invalid == Invalid::refuse;
    certificate.format = format_of(object);
    return ReleaseAccess::make(std::move(model), std::move(certificate));
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{source}, error.message());
  }
}

template <class Kind>
void write_release(const std::string& path, const ReleaseOf<Kind>& release, Existing existing) {
  write_file_atomically(path, to_json(release).dump(Kind::indent) + "\n", public_file, existing);
}

template <class Kind>
ReleaseOf<Kind> read_release(const std::string& path) {
  return parse_release<Kind>(text_of(path), path);
}

template <class Kind>
ReleaseOf<Kind> parse_release(const std::string& text, const std::string& source) {
  const nlohmann::json file = untouched_json(text, source);
  require_kind<Kind>(file.at("certificate"), source);
  return release_from_json<Kind>(file, source);
}

template <class Kind>
bool holds(const std::string& text, const std::string& source) {
  return is_of<Kind>(parse_release_json(text, source).at("certificate"));
}

// Verify: read the primary numbers of a certificate, recompute everything that follows from them,
// write the certificate that this program would write, and compare it with the claim.

/// Returns the analysis that the claims were compared with.
template <class Kind>
Analysis verify_certificate(Verifier& v, const nlohmann::json& file) {
  const nlohmann::json& claimed = field(file, "certificate", "file");
  auto c = certificate_from_json<Kind>(claimed);
  c.refuses_cells = refuses_cells(file);
  v.set_void(c.is_void());
  c.analysis = recomputed(c);
  v.check_claims(c, *c.analysis);
  if (!c.is_void()) check_claims(v, c, *c.analysis);
  v.check(is_backend_name(c.backend), "software.backend = " + c.backend);
  nlohmann::json expected = to_json(c);
  expected["digest"] = field(claimed, "digest", "certificate");  // checked with the model
  v.same("", expected, claimed);
  return *c.analysis;
}

/// The model is the one that the certificate speaks of.
template <class Kind>
void verify_model(Verifier& v, const nlohmann::json& file, const std::optional<Analysis>& found) {
  const nlohmann::json& claimed = field(file, "model", "file");
  const auto model = Kind::model_from_json(claimed, "model");
  nlohmann::json expected = model_json(model);
  settle(v, model, expected, claimed);
  v.same("model", expected, claimed);
  v.check_digest(file);
  auto c = certificate_from_json<Kind>(file.at("certificate"));
  c.format = format_of(file);
  c.analysis = found;
  v.same_problem(problem_json(problem_of(model, c), c.mechanism),
                 problem_json(c.problem, c.mechanism));
  v.check(model.schema.bought == c.schema_bought,
          "model.preprocessing.bought: what the certificate says");
  v.check(model.schema.from_public == c.schema_public,
          "model.preprocessing.public: what the certificate says");
  v.check(c.draws == draws_of(model),
          fmt::format("mechanism.draws: the model has {}", draws_of(model)));
  check_model(v, model, c);
}

/// Verifies a file that is taken for one of that kind.
template <class Kind>
Verification verify_as(const nlohmann::json& file) {
  const StandardArithmetic arithmetic;
  Verification out;
  Verifier v(out);
  v.check_parts(file);
  if (file.is_object()) {
    std::optional<Analysis> found;
    v.guarded("certificate", [&] { found = verify_certificate<Kind>(v, file); });
    v.guarded("model", [&] { verify_model<Kind>(v, file, found); });
  }
  out.valid = out.failures.empty();
  return out;
}

template <class Kind>
Verification verify(const ReleaseOf<Kind>& release) {
  return verify_as<Kind>(to_json(release));
}

}  // namespace gibbsite

// Instantiates what public headers declare, once for each kind (`*_kind.cpp`).
#define GIBBSITE_RELEASE_KIND(Kind)                                                            \
  template nlohmann::json to_json(const CertificateOf<Kind>&);                                 \
  template CertificateOf<Kind> certificate_from_json<Kind>(const nlohmann::json&);             \
  template nlohmann::json to_json(const ReleaseOf<Kind>&);                                     \
  template ReleaseOf<Kind> release_from_json<Kind>(const nlohmann::json&, const std::string&); \
  template void write_release(const std::string&, const ReleaseOf<Kind>&, Existing);           \
  template ReleaseOf<Kind> read_release<Kind>(const std::string&);                             \
  template ReleaseOf<Kind> parse_release<Kind>(const std::string&, const std::string&);        \
  template bool holds<Kind>(const std::string&, const std::string&);                           \
  template Verification verify(const ReleaseOf<Kind>&)
