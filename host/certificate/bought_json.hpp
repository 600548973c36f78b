#pragma once
// The answers that a schema was bought with, in JSON, and what verify asks of them: of a schema
// that was released alone, and of one that a model has. Internal to the certificate module.
#include <nlohmann/json.hpp>
#include <string>

#include "certificate/verifier.hpp"
#include "gibbsite/certificate/kinds.hpp"
#include "gibbsite/model/bought_schema.hpp"

namespace gibbsite {

/// Everything but the schema that follows.
nlohmann::json bought_json(const BoughtSchema& bought);
/// Back from it, without the schema. Throws BadInput "SOURCE: ...".
BoughtSchema bought_from_json(const nlohmann::json& object, const std::string& source);
/// What a schema was bought with apart, both ways. Throws BadInput "SOURCE: ...".
nlohmann::json bought_apart_json(const BoughtApart& bought);
BoughtApart bought_apart_from_json(const nlohmann::json& object, const std::string& source);
/// The public table that a schema comes from, both ways. Throws BadInput "SOURCE: ...".
nlohmann::json public_table_json(const PublicTable& table);
PublicTable public_table_from_json(const nlohmann::json& object, const std::string& source);
/// What a reader has to believe of how a schema was bought.
inline constexpr const char* bought_assumption =
    "the table was the same each time that it was read, and nothing that depends on how many "
    "distinct texts it has, such as memory, is released";
/// Which columns say how rows count, as a public choice behind that of the names.
inline std::string counting_choices(const auto& problem) {
  std::string out = problem.of_people()
                        ? ", which of them is of people, which weighs rows and in what range"
                    : problem.weighted ? ", which of them weighs rows, its range"
                                       : "";
  if constexpr (requires { problem.offset_bound; })
    if (problem.offset_bound > 0) out += ", which of them is an exposure, its range";
  return out;
}
/// How many columns were asked about, and how.
BoughtTerms terms_of(const BoughtSchema& bought);
/// The answers have the noise that they are paid for with, and the questions follow from them.
/// `of`: the rows, or people, that they are of.
void check_bought(Verifier& v, const BoughtSchema& bought, const BoughtTerms& paid,
                  const SchemaProblem& of, const Neighbors& who);

}  // namespace gibbsite
