#pragma once
// An entry for a public registry of deployments of differential privacy (docs/how-to/report.md,
// "A registry's entry").
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gibbsite {

/// What a curator says of a release, by the names of the registry's fields: one text each, of
/// data_curators and registry_authors several.
using DeploymentAbout = std::map<std::string, std::vector<std::string>>;

/// From TOML. `source` names it in errors. Throws BadInput "SOURCE:LINE: ..." on what is no such
/// field, of another type or not one of the registry's words, and "SOURCE: ..." if a field that the
/// registry requires is missing.
DeploymentAbout parse_about(const std::string& toml, const std::string& source);
/// From the file `path`. Throws BadInput, too if it cannot be read.
DeploymentAbout read_about(const std::string& path);

/// The entry of a model file's text, as the OpenDP Deployments Registry's schema of 2026 has it:
/// the curator's words, and from the certificate the variant, the unit, the parameters, the trust
/// model, composition and implementation. Of tier 3 where `about` says who acts on the data, what
/// was done to them before, and why these parameters; else of tier 2. `ledger`: what all releases
/// about these people come to, in a sentence; "" if that is not known. Its status is "Draft".
/// Throws BadInput if the text is no model file, and Infeasible if its certificate does not verify
/// or is void.
nlohmann::ordered_json registry_entry(const std::string& text, const std::string& source,
                                      const DeploymentAbout& about, const std::string& ledger);

/// A value as YAML: maps and lists in blocks, every text in double quotes.
std::string to_yaml(const nlohmann::ordered_json& value);

}  // namespace gibbsite
