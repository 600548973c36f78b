#pragma once
// Between the model part of a file and values. Internal to the release module.
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/covariance_model.hpp"
#include "gibbsite/model/evaluation_model.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/schema.hpp"
#include "gibbsite/model/selection.hpp"

namespace gibbsite {

/// By number; none is read that is not among them. No released program wrote format 1.
inline constexpr std::array<std::string_view, Claims::newest_format + 1> format_names{
    "", "", "gibbsite-release/2", "gibbsite-release/3"};
inline constexpr std::size_t oldest_format = 2;
/// What new files have.
inline constexpr std::string_view release_format = format_names.back();
/// The one format whose whitened logistic models hold a LegacyCappedLink.
inline constexpr std::size_t legacy_link_format = 2;
/// The number of the format of a file's object; 0 where it has none that is read.
std::size_t format_of(const nlohmann::json& object);

/// The "model" object: loss, classes, features, coefficients, preprocessing, original_units.
nlohmann::json model_json(const LinearModel& model);
nlohmann::json model_json(const FamilyModel& model);
nlohmann::json model_json(const NetworkModel& model);
nlohmann::json model_json(const EvaluationModel& model);
nlohmann::json model_json(const BoughtSchema& model);
nlohmann::json model_json(const SelectionModel& model);
nlohmann::json model_json(const CovarianceModel& model);
/// Whether its format is one that is read.
bool is_release(const nlohmann::json& object);
/// Throws BadInput where it is none.
void require_release(const nlohmann::json& object, const std::string& source);

/// A certificate is of the first kind whose tag it has, else of the last.
template <class... Kinds>
struct KindList {};
using AllKinds = KindList<ConjugateKind, GraphicalKind, EvaluationKind, SchemaKind, SelectKind,
                          CovarianceKind, LinearKind>;

/// Whether a certificate's constants have that tag.
bool has_tag(const nlohmann::json& certificate, std::string_view tag);
/// f(std::type_identity<Kind>{}) of the kind that a "certificate" object speaks of.
template <class F, class Kind, class... Others>
auto with_kind(const nlohmann::json& certificate, const F& f, KindList<Kind, Others...> /*of*/) {
  if constexpr (sizeof...(Others) == 0) {
    return f(std::type_identity<Kind>{});
  } else {
    return has_tag(certificate, Kind::tag) ? f(std::type_identity<Kind>{})
                                           : with_kind(certificate, f, KindList<Others...>{});
  }
}
template <class F>
auto with_kind(const nlohmann::json& certificate, const F& f) {
  return with_kind(certificate, f, AllKinds{});
}
/// Whether a "certificate" object speaks of that kind.
template <class Kind>
bool is_of(const nlohmann::json& certificate) {
  if constexpr (!Kind::tag.empty()) {
    return has_tag(certificate, Kind::tag);
  } else {
    return with_kind(certificate, []<class Held>(std::type_identity<Held>) {
      return std::is_same_v<Held, Kind>;
    });
  }
}
/// Throws BadInput where a file's certificate is of another kind: what it holds, and what to do.
template <class Kind>
void require_kind(const nlohmann::json& certificate, const std::string& source) {
  if (is_of<Kind>(certificate)) return;
  with_kind(certificate, [&]<class Held>(std::type_identity<Held>) {
    throw BadInput(FilePosition{source},
                   "holds " + std::string(Held::holds) + ", not " + std::string(Kind::holds),
                   Kind::wanted().empty() ? Message(Held::use) : Kind::wanted());
  });
}

/// Names of the two kinds of digests. That of values is over the canonical JSON of RFC 8785: it
/// holds when another program wrote 1.0 as 1. That of spelling is over nlohmann's compact dump:
/// files of formats 1 and 2 have it, and the first ones of format 3.
inline const std::string digest_of_values = "blake2b-256-jcs:", digest_of_spelling = "blake2b-256:";
/// The digest of the whole file but for itself and guarantee's numbers, which may be claimed weaker
/// than they are. It is of the kind that the file's own has, else of values.
/// Ties the certificate to its model and shows careless edits; it is no signature, anybody can
/// compute it.
std::string file_digest(nlohmann::json file);
/// Whether it has the form of a digest of either kind.
bool is_file_digest(std::string_view text);

/// parse_release_json, and that its digest is that of its contents. Throws BadInput when it is not.
nlohmann::json untouched_json(const std::string& text, const std::string& source);
/// All of a file. Throws BadInput where it cannot be read; `hint` says what to give in its place.
std::string text_of(const std::string& path, const char* hint = "give a model file that fit wrote");

/// The fields of a label beside its name, as the schema's object has them.
nlohmann::json label_fields(const Label& label);
/// Back from an object with those fields and others. Throws BadInput as schema_from_json.
Label label_from_json(const nlohmann::json& object, const std::string& source);
nlohmann::json schema_json(const Schema& schema);
/// Throws BadInput "SOURCE: ..." on a missing, unknown or ill-typed field, and what
/// Schema::validate throws.
Schema schema_from_json(const nlohmann::json& json, const std::string& source,
                        bool of_network = false);

/// json[name] as that type. Throws BadInput "SOURCE: NAME: ...".
const nlohmann::json& field(const nlohmann::json& json, const char* name,
                            const std::string& source);
double number_field(const nlohmann::json& json, const char* name, const std::string& source);
std::string text_field(const nlohmann::json& json, const char* name, const std::string& source);
bool flag_field(const nlohmann::json& json, const char* name, const std::string& source);
std::vector<double> numbers_field(const nlohmann::json& json, const char* name, std::size_t length,
                                  const std::string& source);
/// One draw of `coefficients`: [d], or [K x d] of lists by the names of the schema's K classes.
std::vector<double> draw_from_json(const nlohmann::json& draw, const Schema& schema,
                                   const std::string& source);
/// The capped link of a model of d features in a file of format 2.
LegacyCappedLink legacy_link_from_json(const nlohmann::json& json, std::size_t d,
                                       const std::string& source);
Intervals intervals_from_json(const nlohmann::json& object, std::size_t d,
                              const std::string& source);
/// The answers that a model of that schema and so many outputs follows from.
std::vector<NoisyAnswer> answers_from_json(const nlohmann::json& json, const Schema& schema,
                                           std::size_t outputs, const std::string& source);
/// A whole number from 0 to 2^53.
std::uint64_t count_field(const nlohmann::json& json, const char* name, const std::string& source);

}  // namespace gibbsite
