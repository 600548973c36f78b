#pragma once
// Between the model part of a file and values. Internal to the release module.
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/evaluation_model.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

inline constexpr std::string_view release_format = "gibbsite-release/2";
inline constexpr std::string_view release_format_1 = "gibbsite-release/1";  ///< read, not written

/// The "model" object: loss, classes, features, coefficients, preprocessing, original_units.
nlohmann::json model_json(const LinearModel& model);
/// Back from it. Throws BadInput "SOURCE: ..." on a missing or ill-typed field.
LinearModel model_from_json(const nlohmann::json& model, const std::string& source);
nlohmann::json model_json(const FamilyModel& model);
FamilyModel family_model_from_json(const nlohmann::json& model, const std::string& source);
nlohmann::json model_json(const NetworkModel& model);
NetworkModel network_model_from_json(const nlohmann::json& model, const std::string& source);
nlohmann::json model_json(const EvaluationModel& model);
EvaluationModel evaluation_model_from_json(const nlohmann::json& model, const std::string& source);
/// Whether a "certificate" object speaks of a family, of a network, or of an evaluation.
bool is_of_family(const nlohmann::json& certificate);
bool is_of_network(const nlohmann::json& certificate);
bool is_of_evaluation(const nlohmann::json& certificate);
/// Whether its format is one that is read.
bool is_release(const nlohmann::json& object);
/// "blake2b-256:" and the digest of the compact dump (names sorted) of the whole file but for
/// itself and guarantee's numbers, which may be claimed weaker than they are.
/// Ties the certificate to its model and shows careless edits; it is no signature, anybody can
/// compute it.
std::string file_digest(nlohmann::json file);

/// parse_release_json, and that its digest is that of its contents. Throws BadInput when it is not.
nlohmann::json untouched_json(const std::string& text, const std::string& source);
/// All of a file. Throws BadInput where it cannot be read.
std::string text_of(const std::string& path);

nlohmann::json schema_json(const Schema& schema);
/// Throws BadInput "SOURCE: ..." on a missing, unknown or ill-typed field, and what
/// Schema::validate throws.
Schema schema_from_json(const nlohmann::json& json, const std::string& source);

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
/// The link of a model of d features, and the answers that it follows from.
CappedLink link_from_json(const nlohmann::json& json, std::size_t d, const std::string& source);
Intervals intervals_from_json(const nlohmann::json& object, std::size_t d,
                              const std::string& source);
std::vector<NoisyAnswer> answers_from_json(const nlohmann::json& json, std::size_t d,
                                           std::size_t outputs, const std::string& source);
/// A whole number from 0 to 2^53.
std::uint64_t count_field(const nlohmann::json& json, const char* name, const std::string& source);

}  // namespace gibbsite
