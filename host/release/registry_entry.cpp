// The certificate and a curator's words as an entry of the OpenDP Deployments Registry.
#include "gibbsite/release/registry_entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/release/cross_table.hpp"
#include "gibbsite/release/report.hpp"
#include "gibbsite/release/transitions.hpp"
#include "release/page.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;
using Entry = nlohmann::ordered_json;

struct RegistryLine {
  std::string_view name;
  bool required = false, list = false;
  std::span<const std::string_view> words{};  // what it must be one of; empty: any text
};

constexpr std::array<std::string_view, 6> product_types{
    "Summary statistics", "Machine learning model", "Dataset",
    "Synthetic data",     "Interactive API",        "SQL queries"};
constexpr std::array<std::string_view, 6> sectors{"Technology", "Healthcare", "Education",
                                                  "Government", "Energy",     "Finance"};
constexpr std::array<std::string_view, 2> release_types{"One release", "Many releases"};
constexpr std::array<std::string_view, 2> source_types{"Static", "Dynamic"};

// What a curator may say, in the registry's order. All else follows from the certificate.
constexpr std::array fields{RegistryLine{"url_slug"},
                            RegistryLine{"name", true},
                            RegistryLine{"data_curators", true, true},
                            RegistryLine{"intended_use", true},
                            RegistryLine{"data_product_type", false, false, product_types},
                            RegistryLine{"data_product_region", true},
                            RegistryLine{"description"},
                            RegistryLine{"publication_date", true},
                            RegistryLine{"data_product_sector", false, false, sectors},
                            RegistryLine{"actors"},
                            RegistryLine{"release_type", false, false, release_types},
                            RegistryLine{"release_type_details"},
                            RegistryLine{"data_source_type", false, false, source_types},
                            RegistryLine{"data_source_type_details"},
                            RegistryLine{"preprocessing_and_hyperparameter_tuning"},
                            RegistryLine{"justification"},
                            RegistryLine{"sources"},
                            RegistryLine{"notes"},
                            RegistryLine{"registry_authors", true, true}};

std::string list_of(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words)
    out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", word);
  return out;
}

[[noreturn]] void refuse(const std::string& source, const toml::node& at, const std::string& wrong,
                         const std::string& hint) {
  throw BadInput(fmt::format("{}:{}", source, at.source().begin.line), wrong, hint);
}

std::string text_of_node(const RegistryLine& field, const toml::node& node,
                         const std::string& source) {
  if (const toml::date* const day =
          field.name == "publication_date" && node.is_date() ? &node.as_date()->get() : nullptr)
    return fmt::format("{:04}-{:02}-{:02}", day->year, day->month, day->day);
  if (!node.is_string())
    refuse(source, node, fmt::format("{} is no text", field.name), "write it in quotes");
  std::string text = node.as_string()->get();
  if (text.find_first_not_of(" \n\t") == std::string::npos)
    refuse(source, node, fmt::format("{} is empty", field.name), "fill it in, or delete its line");
  if (!field.words.empty() && std::ranges::find(field.words, text) == field.words.end()) {
    refuse(source, node, fmt::format("{} is {}", field.name, gibbsite::quoted(text)),
           "give one of " + list_of(field.words));
  }
  if (field.name == "publication_date" && (text.size() != 10 || !parse_date(text)))
    refuse(source, node, fmt::format("{} is {}", field.name, gibbsite::quoted(text)),
           "write 2026-12-31");
  return text;
}

// Letters and digits of the name, in small ones, with _ between words.
std::string slug_of(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() ? "release" : out;
}

// What a release says of itself.
struct Facts {
  const Claims& claims;
  std::uint64_t rows = 0;
  std::string basis;
  std::string product;  // its type
  std::string what;     // a sentence
  const Schema* schema = nullptr;
  std::string later;  // what is asked of the file later
};

// A network of which one counted table has all columns is a table of counts.
struct NetworkWords {
  std::string product, what, later;
};
NetworkWords words_of(const NetworkRelease& release) {
  const NetworkModel& model = release.model();
  if (!is_cross_table(model)) {
    return {
        "Synthetic data",
        fmt::format("A graphical model of {} column{}, which synthetic rows are drawn from and "
                    "questions are asked of.",
                    model.network.size(), plural(model.network.size())),
        "Synthetic rows are drawn from the file, and questions are asked of it; neither reads a "
        "row."};
  }
  const std::vector<std::string> names = model.names();
  NetworkWords out{
      "Summary statistics",
      fmt::format("Noisy counts by {} (of {}): of each cell, of each level alone, and in all.",
                  shown(fmt::format("{}", fmt::join(names, " × "))),
                  unit_of_counts(cross_table(release))),
      "Counts with intervals are computed from the file, questions are asked of it and synthetic "
      "rows drawn; none of it reads a row."};
  if (has_transitions(model)) {
    out.what += fmt::format(" From them probabilities of transitions from {} to {}.",
                            shown(names[0]), shown(names[1]));
  }
  return out;
}

std::string columns_words(const Schema& schema) {
  std::string out;
  for (const Column& column : schema.columns) {
    if (column.type == ColumnType::ignore) continue;
    out += out.empty() ? "" : "; ";
    out += column.name;
    if (column.type == ColumnType::category) {
      out += fmt::format(" (category of {} level{})", column.levels.size(),
                         plural(column.levels.size()));
    } else if (column.type == ColumnType::person) {
      out += " (whose a row is)";
    } else {
      out += fmt::format(" ({} from {} to {})", column.is_date() ? "date" : "number",
                         column.text_of(column.lo), column.text_of(column.hi));
    }
  }
  return out;
}

std::string rows_words(const Claims& claims, std::uint64_t rows) {
  return fmt::format("{} {} {}",
                     claims.claimed.who.adjacency == Adjacency::replace_one ? "exactly" : "at most",
                     rows, claims.people ? "people" : "rows");
}

// Which tables are adjacent.
std::string neighbors_words(const Claims& claims) {
  const std::uint64_t k = claims.claimed.who.rows_per_person;
  const bool replace = claims.claimed.who.adjacency == Adjacency::replace_one;
  if (claims.people) {
    return fmt::format(
        "{}; all rows of one person count as at most {} together.",
        replace ? "Tables of the same number of people are adjacent if one is the other with all "
                  "rows of one person replaced by any number of others (replace-one)"
                : "Two tables are adjacent if one is the other without all rows of one person "
                  "(add-remove)",
        k);
  }
  const std::string rows = k == 1 ? "the row" : fmt::format("at most {} rows", k);
  return replace ? fmt::format(
                       "Tables of the same number of rows are adjacent if one is the other with {} "
                       "of one person replaced by any other{} (replace-one).",
                       rows, k == 1 ? "" : "s")
                 : fmt::format(
                       "Two tables are adjacent if one is the other without {} of one person "
                       "(add-remove).",
                       rows);
}

Entry entry_of(const Facts& facts, const json& file, const DeploymentAbout& about,
               const std::string& ledger) {
  const Claims& claims = facts.claims;
  const Guarantee& claimed = claims.claimed;
  const std::uint64_t k = claimed.who.rows_per_person;
  const bool replace = claimed.who.adjacency == Adjacency::replace_one;
  const json& certificate = file.at("certificate");
  const std::string mechanism = certificate.at("mechanism").at("name").get<std::string>();
  const auto said = [&](const char* name) -> std::string {
    const auto found = about.find(name);
    return found == about.end() ? "" : found->second.front();
  };
  const auto or_else = [&](const char* name, const std::string& ours) {
    const std::string theirs = said(name);
    return theirs.empty() ? ours : theirs;
  };
  const auto and_then = [&](const char* name, const std::string& ours) {
    const std::string theirs = said(name);
    return theirs.empty() ? ours : theirs + "\n\n" + ours;
  };
  const bool complete = !said("actors").empty() && !said("justification").empty() &&
                        !said("preprocessing_and_hyperparameter_tuning").empty();

  Entry deployment;
  Entry& basic = deployment["basic"];
  basic["name"] = said("name");
  basic["data_curators"] = about.at("data_curators");
  basic["intended_use"] = said("intended_use");
  basic["data_product_type"] = or_else("data_product_type", facts.product);
  basic["data_product_region"] = said("data_product_region");
  basic["description"] = or_else("description", facts.what);
  basic["publication_date"] = said("publication_date");
  if (!said("data_product_sector").empty())
    basic["data_product_sector"] = said("data_product_sector");

  Entry& variant = deployment["dp_variant"];
  variant["variant_name"] = claims.delta == 0 ? "Pure DP" : "Approximate DP";
  variant["data_domain"] =
      fmt::format("Tables of {}{}{}.", rows_words(claims, facts.rows),
                  facts.schema == nullptr ? "" : " with these columns: ",
                  facts.schema == nullptr ? std::string() : shown(columns_words(*facts.schema)));
  variant["unprotected_quantities"] = fmt::format(
      "The schema{}, the options, and the {} {}.",
      claims.schema_bought || facts.schema == nullptr ? " as far as it was not bought" : "",
      fmt::format("{}number of {},", replace ? "" : "cap on the ",
                  claims.people ? "people" : "rows"),
      facts.rows);

  Entry& loss = deployment["privacy_loss"];
  loss["privacy_unit"] = claims.people ? "A person (any number of rows)"
                         : k == 1      ? std::string("A person (one row)")
                                       : fmt::format("A person with at most {} rows", k);
  loss["privacy_unit_details"] = neighbors_words(claims);
  loss["privacy_parameters"]["epsilon"] = claims.epsilon;
  loss["privacy_parameters"]["delta"] = claims.delta;
  loss["privacy_parameters_details"] = fmt::format(
      "One curve of (ε, δ) pairs, of which the pair above is the one that was asked for: δ(ε) = "
      "H(ε − {}; μ) + {} + (1 + e^ε) {}, H the profile of Gaussian differential "
      "privacy with μ = {}.",
      text_up(claimed.epsilon0, 6), text_up(claimed.delta0, 3), text_up(claimed.tv, 3),
      text_up(claimed.mu, 6));

  Entry& model = deployment["deployment_model"];
  model["model_name"] = "Central";
  model["model_name_details"] = "The noise was drawn where the whole table is.";
  if (!said("actors").empty()) model["actors"] = said("actors");
  model["release_type"] = or_else("release_type", "One release");
  if (!ledger.empty() || !said("release_type_details").empty())
    model["release_type_details"] =
        ledger.empty() ? said("release_type_details") : and_then("release_type_details", ledger);
  model["data_source_type"] = or_else("data_source_type", "Static");
  if (!said("data_source_type_details").empty())
    model["data_source_type_details"] = said("data_source_type_details");
  model["access_type"] = "Non-interactive";
  model["access_type_details"] = facts.later;

  Entry& accounting = deployment["accounting"];
  accounting["post_processing"] = facts.later;
  accounting["composition"] = fmt::format(
      "{}{}. The parts of the release compose as Gaussian differential privacy does (Dong, Roth, Su "
      "2022), as the certificate computes it.{}{}",
      facts.basis,
      claims.draws == 1 ? "" : fmt::format(", for all {} draws together", claims.draws),
      ledger.empty() ? "" : " ", ledger);

  Entry& implementation = deployment["implementation"];
  implementation["preprocessing_and_hyperparameter_tuning"] = and_then(
      "preprocessing_and_hyperparameter_tuning",
      claims.schema_bought
          ? "Ranges and levels were bought with a private release of their own; settings follow "
            "from public numbers alone."
          : "Cells are read by the schema alone; settings follow from public numbers alone, or are "
            "paid for as the certificate says.");
  implementation["mechanisms"] = fmt::format(
      "gibbsite {}, mechanism {}. Noise is of a cryptographic stream keyed by the operating "
      "system, and released numbers are rounded to a public grid; what rounding costs is part of "
      "δ. Run time is not protected. Anybody can recompute the guarantee from the file: "
      "certificate {}.",
      claims.version, mechanism, certificate.at("digest").get<std::string>());
  if (!said("justification").empty()) implementation["justification"] = said("justification");

  Entry& administrative = deployment["administrative"];
  if (!said("sources").empty()) administrative["sources"] = said("sources");
  if (!said("notes").empty()) administrative["notes"] = said("notes");
  administrative["registry_authors"] = about.at("registry_authors");

  Entry out;
  out["url_slug"] = or_else("url_slug", slug_of(said("name")));
  out["status"] = "Draft";
  out["tier"] = complete ? 3 : 2;
  out["deployment"] = std::move(deployment);
  return out;
}

void put(std::string& out, const Entry& value, std::size_t indent) {
  const std::string space(indent, ' ');
  // Readers of YAML 1.1 take 1e-06 for a text, and 1.0e-06 for a number.
  const auto scalar = [](const Entry& one) {
    std::string text = one.dump(-1, ' ', false, Entry::error_handler_t::replace);
    const std::size_t power = text.find('e');
    if (one.is_number_float() && power != std::string::npos && text.find('.') > power)
      text.insert(power, ".0");
    return text;
  };
  const auto child = [&](const std::string& head, const Entry& one) {
    if (!one.is_structured() || one.empty()) {
      out += fmt::format("{}{} {}\n", space, head, scalar(one));
      return;
    }
    out += fmt::format("{}{}\n", space, head);
    put(out, one, indent + 2);
  };
  if (value.is_array()) {
    for (const Entry& one : value) child("-", one);
  } else {
    for (const auto& [name, one] : value.items()) child(name + ":", one);
  }
}

}  // namespace

DeploymentAbout parse_about(const std::string& text, const std::string& source) {
  toml::table root;
  try {
    root = toml::parse(std::string_view(text), std::string_view(source));
  } catch (const toml::parse_error& error) {
    throw BadInput(fmt::format("{}:{}", source, error.source().begin.line),
                   "not valid TOML: " + shown(error.description()),
                   "write each field as name = \"text\"");
  }
  DeploymentAbout out;
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    const auto field = std::ranges::find(fields, name, &RegistryLine::name);
    if (field == fields.end()) {
      std::string known;
      for (const RegistryLine& one : fields)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
      refuse(source, node, fmt::format("no such field {}", gibbsite::quoted(name)),
             "give one of " + known);
    }
    std::vector<std::string>& texts = out[name];
    if (!field->list) {
      texts.push_back(text_of_node(*field, node, source));
      continue;
    }
    const toml::array* const list = node.as_array();
    if (list == nullptr || list->empty())
      refuse(source, node, fmt::format("{} is no list of texts", name), "write [\"...\"]");
    for (const toml::node& one : *list) texts.push_back(text_of_node(*field, one, source));
  }
  for (const RegistryLine& field : fields) {
    if (field.required && !out.contains(std::string(field.name)))
      throw BadInput(source, fmt::format("{} is missing", field.name), "the registry requires it");
  }
  return out;
}

DeploymentAbout read_about(const std::string& path) {
  return parse_about(
      text_of(path,
              "give a TOML file with what the curator says of the release (docs/how-to/report.md)"),
      path);
}

Entry registry_entry(const std::string& text, const std::string& source,
                     const DeploymentAbout& about, const std::string& ledger) {
  const json file = parse_release_json(text, source);
  require_verified(file, source);
  const auto filled = [&](const Facts& facts) {
    if (facts.claims.is_void()) {
      throw Infeasible(fmt::format("{}: has no guarantee that could be registered: {}", source,
                                   "its noise follows from a user's seed"));
    }
    return entry_of(facts, file, about, ledger);
  };
  const json& certificate = file.at("certificate");
  if (is_of<ConjugateKind>(certificate)) {
    const auto release = parse_release<ConjugateKind>(text, source);
    const FamilyCertificate& c = release.certificate();
    return filled(
        {.claims = c,
         .rows = c.problem.rows,
         .basis = basis_of(c.mechanism, c.problem),
         .product = "Summary statistics",
         .what = fmt::format("Draws of the parameters of {}.", shown(release.model().column())),
         .schema = &release.model().schema,
         .later = "What is asked of the file later reads no row."});
  }
  if (is_of<GraphicalKind>(certificate)) {
    const auto release = parse_release<GraphicalKind>(text, source);
    const NetworkCertificate& c = release.certificate();
    const NetworkWords words = words_of(release);
    return filled({.claims = c,
                   .rows = c.problem.rows,
                   .basis = basis_of(c.mechanism, c.problem),
                   .product = words.product,
                   .what = words.what,
                   .schema = &release.model().schema,
                   .later = words.later});
  }
  if (is_of<SchemaKind>(certificate)) {
    const auto release = parse_release<SchemaKind>(text, source);
    const SchemaCertificate& c = release.certificate();
    return filled({.claims = c,
                   .rows = c.problem.rows,
                   .basis = basis_of(c.mechanism, c.problem),
                   .product = "Summary statistics",
                   .what = fmt::format("Types, ranges and levels of {} columns, found by noisy "
                                       "counts.",
                                       c.problem.columns),
                   .later = "Types, ranges and levels follow from the noisy counts."});
  }
  const auto release = parse_release(text, source);
  const Certificate& c = release.certificate();
  return filled({.claims = c,
                 .rows = c.problem.rows,
                 .basis = basis_of(c.mechanism),
                 .product = "Machine learning model",
                 .what = fmt::format("A model that predicts {} from {} columns.",
                                     shown(release.model().schema.label_name),
                                     release.model().schema.columns.size()),
                 .schema = &release.model().schema,
                 .later = "Predictions and effects are computed from the file and read "
                          "no row."});
}

std::string to_yaml(const Entry& value) {
  std::string out;
  put(out, value, 0);
  return out;
}

}  // namespace gibbsite
