#include "gibbsite/certificate/family_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {

using nlohmann::json;

json model_json(const FamilyModel& model) {
  json out = {{"kind", to_string(model.family)},
              {"column", model.column()},
              {"preprocessing", schema_json(model.schema)},
              {"draws", model.draws}};
  if (const auto levels = model.levels(); !levels.empty()) out["levels"] = levels;
  return out;
}

FamilyModel family_model_from_json(const json& model, const std::string& source) {
  const std::string kind = text_field(model, "kind", source);
  const auto family = family_named(kind);
  if (!family)
    throw BadInput(fmt::format("{}: kind: {} is no family", source, gibbsite::quoted(kind)));
  FamilyModel out{*family, schema_from_json(field(model, "preprocessing", source), source), {}};
  if (out.schema.columns.size() != 1) {
    throw BadInput(source +
                   ": preprocessing: must have one column; use the file as it was written");
  }
  // Throws where the family does not fit the column.
  const FamilyProblem shape = family_problem(out.schema, *family, 1);
  const json& draws = field(model, "draws", source);
  if (!draws.is_array() || draws.empty()) {
    throw BadInput(source + ": draws: must be a list of draws; use the file as it was written");
  }
  for (const json& draw : draws) {
    out.draws.push_back(
        numbers_field({{"draws", draw}}, "draws", shape.has_levels() ? shape.levels : 1, source));
  }
  return out;
}

bool is_of_family(const json& certificate) {
  const json::json_pointer family("/constants/family");
  return certificate.is_object() && certificate.contains(family);
}

json to_json(const FamilyRelease& release) {
  json out = {{"format", format_names.at(release.certificate().format)},
              {"model", model_json(release.model())},
              {"certificate", to_json(release.certificate())}};
  out["certificate"]["digest"] = file_digest(out);
  return out;
}

void write_family(const std::string& path, const FamilyRelease& release, Existing existing) {
  write_file_atomically(path, to_json(release).dump(2) + "\n", public_file, existing);
}

FamilyRelease read_family(const std::string& path) { return parse_family(text_of(path), path); }

FamilyRelease parse_family(const std::string& text, const std::string& path) {
  const json file = untouched_json(text, path);
  if (is_of_network(file.at("certificate"))) {
    throw BadInput(
        path +
        ": holds a network, not draws of a family; query it as a network, or draw people "
        "from it");
  }
  if (is_of_evaluation(file.at("certificate"))) {
    throw BadInput(path + ": holds the evaluation of a model, not draws of a family");
  }
  if (!is_of_family(file.at("certificate"))) {
    throw BadInput(path +
                   ": holds a model of rows, not draws of a family; predict with it instead");
  }
  FamilyModel model = family_model_from_json(file.at("model"), path);
  try {
    FamilyCertificate certificate = family_certificate_from_json(file.at("certificate"));
    certificate.refuses_cells = model.schema.invalid == Invalid::refuse;
    certificate.format = format_written(file);
    return ReleaseAccess::make(std::move(model), std::move(certificate));
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{path}, error.message());
  }
}

}  // namespace gibbsite
