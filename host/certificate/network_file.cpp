#include "gibbsite/certificate/network_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {

using nlohmann::json;

json model_json(const NetworkModel& model) {
  const std::vector<std::string> names = model.names();
  json nodes = json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    json parents = json::array(), tables = json::array();
    for (const std::uint32_t parent : model.network.parents[i]) parents.push_back(names[parent]);
    for (const auto& draw : model.tables) tables.push_back(draw[i]);
    json node = {{"column", names[i]}, {"parents", parents}, {"tables", tables}};
    if (!model.counts.empty()) {
      node["counts"] = model.counts[i];
      node["noise"] = model.noise[i];
    }
    nodes.push_back(std::move(node));
  }
  return {{"kind", "network"},
          {"preprocessing", schema_json(model.schema)},
          {"nodes", std::move(nodes)}};
}

namespace {

std::vector<double> shares_from_json(const json& draw, std::uint64_t cells, std::uint64_t levels,
                                     const std::string& source) {
  std::vector<double> out = numbers_field({{"tables", draw}}, "tables", cells, source);
  for (std::size_t first = 0; first < out.size(); first += levels) {
    double sum = 0;
    bool shares = true;
    for (std::size_t l = first; l < first + levels; ++l) {
      shares = shares && out[l] >= 0;
      sum += out[l];
    }
    if (!shares || !(std::abs(sum - 1) <= 1e-9)) {
      throw BadInput(source +
                     ": tables: shares of a configuration must be at least 0 and sum to 1; use the "
                     "file as it was written");
    }
  }
  return out;
}

const json& list_field(const json& object, const char* name, const std::string& source) {
  const json& list = field(object, name, source);
  if (!list.is_array() || list.empty()) {
    throw BadInput(
        fmt::format("{}: {}: must be a list of at least one; use the file as it was "
                    "written",
                    source, name));
  }
  return list;
}

}  // namespace

NetworkModel network_model_from_json(const json& model, const std::string& source) {
  if (text_field(model, "kind", source) != "network") {
    throw BadInput(source + ": kind: must be network; use the file as it was written");
  }
  NetworkModel out{.schema = schema_from_json(field(model, "preprocessing", source), source, true),
                   .network = {},
                   .tables = {}};
  const std::vector<std::string> names = out.names();
  out.network.levels = network_levels(out.schema);
  const json& nodes = list_field(model, "nodes", source);
  if (nodes.size() != names.size()) {
    throw BadInput(
        fmt::format("{}: nodes: must be {}, one for each column of preprocessing; use "
                    "the file as it was written",
                    source, names.size()));
  }
  std::vector<std::string> at;  // of each node, for errors
  for (std::size_t i = 0; i < names.size(); ++i) {
    at.push_back(fmt::format("{}: nodes[{}]", source, i));
    if (text_field(nodes[i], "column", at[i]) != names[i]) {
      throw BadInput(
          fmt::format("{}.column: must be {}, as in preprocessing; use the file as it "
                      "was written",
                      at[i], gibbsite::quoted(names[i])));
    }
    std::vector<std::uint32_t> parents;
    const json& listed = field(nodes[i], "parents", at[i]);
    if (!listed.is_array()) throw BadInput(at[i] + ".parents: must be a list of columns");
    for (const json& parent : listed) {
      const auto found =
          parent.is_string() ? std::ranges::find(names, parent.get<std::string>()) : names.end();
      if (found == names.end()) {
        throw BadInput(at[i] +
                       ".parents: names a column that there is not; use the file as it was "
                       "written");
      }
      parents.push_back(static_cast<std::uint32_t>(found - names.begin()));
    }
    out.network.parents.push_back(std::move(parents));
  }
  try {
    out.network.validate(names);
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{source}, error.message());
  }
  const bool counted = nodes[0].contains("counts");
  const std::size_t draws = list_field(nodes[0], "tables", at[0]).size();
  out.tables.resize(draws);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t cells = out.network.cells(i);
    const json& tables = list_field(nodes[i], "tables", at[i]);
    if (tables.size() != draws) {
      throw BadInput(fmt::format("{}.tables: must be {} draws, as of the others", at[i], draws));
    }
    for (std::size_t k = 0; k < draws; ++k) {
      out.tables[k].push_back(shares_from_json(tables[k], cells, out.network.levels[i], at[i]));
    }
    if (nodes[i].contains("counts") != counted) {
      throw BadInput(at[i] + ".counts: must be there for all columns or for none");
    }
    if (!counted) continue;
    out.counts.push_back(numbers_field(nodes[i], "counts", cells, at[i]));
    out.noise.push_back(number_field(nodes[i], "noise", at[i]));
    require_finite_positive(out.noise.back(), at[i] + ".noise");
  }
  return out;
}

bool is_of_network(const json& certificate) {
  const json::json_pointer network("/constants/network");
  return certificate.is_object() && certificate.contains(network);
}

json to_json(const NetworkRelease& release) {
  json out = {{"format", format_names.at(release.certificate().format)},
              {"model", model_json(release.model())},
              {"certificate", to_json(release.certificate())}};
  out["certificate"]["digest"] = file_digest(out);
  return out;
}

// Thousands of cells: a line for each would be most of the file.
void write_network(const std::string& path, const NetworkRelease& release, Existing existing) {
  write_file_atomically(path, to_json(release).dump(1) + "\n", public_file, existing);
}

NetworkRelease read_network(const std::string& path) { return parse_network(text_of(path), path); }

NetworkRelease parse_network(const std::string& text, const std::string& path) {
  const json file = untouched_json(text, path);
  const json& claimed = file.at("certificate");
  if (is_of_family(claimed)) {
    throw BadInput(path +
                   ": holds draws of a family, not a network; ask it for an expectation, a "
                   "probability or utilities");
  }
  if (is_of_evaluation(claimed)) {
    throw BadInput(path + ": holds the evaluation of a model, not a network");
  }
  if (!is_of_network(claimed)) {
    throw BadInput(path + ": holds a model of rows, not a network; predict with it instead");
  }
  NetworkModel model = network_model_from_json(file.at("model"), path);
  try {
    NetworkCertificate certificate = network_certificate_from_json(claimed);
    certificate.refuses_cells = model.schema.invalid == Invalid::refuse;
    certificate.format = format_written(file);
    return ReleaseAccess::make(std::move(model), std::move(certificate));
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{path}, error.message());
  }
}

std::string read_release_text(const std::string& path) { return text_of(path); }

ReleaseKind release_kind(const std::string& text, const std::string& source) {
  const json file = parse_release_json(text, source);
  const json& certificate = file.at("certificate");
  return is_of_network(certificate)      ? ReleaseKind::network
         : is_of_family(certificate)     ? ReleaseKind::family
         : is_of_evaluation(certificate) ? ReleaseKind::evaluation
                                         : ReleaseKind::linear;
}

}  // namespace gibbsite
