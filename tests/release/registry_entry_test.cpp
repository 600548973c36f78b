// An entry for a registry of deployments: the registry's own fields, and nothing that a release
// does not say. deployments_registry.json has names, types and words of the schema of the OpenDP
// Deployments Registry (MIT licence, November 2026), without its descriptions.
#include "gibbsite/release/registry_entry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace registry_entry_test {

using nlohmann::json;
using Entry = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr const char* least = R"(
name = "Admissions, 1973"
data_curators = ["An Office"]
intended_use = "teaching"
data_product_region = "California"
publication_date = 2026-11-26
registry_authors = ["A. Person", "B. Person"]
)";
constexpr const char* complete = R"(
actors = "the office"
justification = "a board chose epsilon"
preprocessing_and_hyperparameter_tuning = "none"
)";

constexpr const char* also = R"(
data_source_type_details = "a form"
notes = "none"
)";

std::string text_of_file(const std::string& name) {
  std::ifstream file(std::string(GIBBSITE_SOURCE_DIR) + "/" + name);
  std::ostringstream out;
  out << file.rdbuf();
  EXPECT_FALSE(out.str().empty()) << name;
  return out.str();
}
std::string model_text(const std::string& name) { return text_of_file("tests/golden/v2/" + name); }
Entry entry_of(const std::string& model, const std::string& about, const std::string& ledger = "") {
  return registry_entry(model_text(model), model, parse_about(about, "about.toml"), ledger);
}

// What of JSON Schema the registry's own schema uses: type, enum, required, properties, items.
void expect_valid(const json& value, const json& schema, const std::string& at) {
  const json types = schema.value("type", json("any"));
  const auto is = [&](const std::string& type) {
    return type == "any" || (type == "object" && value.is_object()) ||
           (type == "array" && value.is_array()) || (type == "string" && value.is_string()) ||
           (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer());
  };
  bool fits = types.is_string() && is(types.get<std::string>());
  if (types.is_array())
    for (const json& type : types) fits |= is(type.get<std::string>());
  EXPECT_TRUE(fits) << at;
  if (schema.contains("enum")) {
    EXPECT_THAT(schema["enum"], ::testing::Contains(value)) << at;
  }
  for (const json& name : schema.value("required", json::array()))
    EXPECT_TRUE(value.contains(name.get<std::string>())) << at << "/" << name;
  if (value.is_object()) {
    for (const auto& [name, one] : value.items()) {
      ASSERT_TRUE(schema.contains("properties") && schema["properties"].contains(name))
          << at << "/" << name << ": the registry has no such field";
      expect_valid(one, schema["properties"][name], at + "/" + name);
    }
  }
  if (value.is_array()) {
    EXPECT_GE(value.size(), schema.value("minItems", 0U)) << at;
    for (const json& one : value) expect_valid(one, schema["items"], at + "/-");
  }
}

// Planted: a field of another name, a tier that is a text, an enum's other word.
TEST(RegistryEntry, HasTheFieldsOfTheRegistry) {
  const json schema = json::parse(text_of_file("tests/release/deployments_registry.json"));
  for (const char* const model : {"whitened.json", "output.json", "network.json"}) {
    for (const std::string& about : {std::string(least), std::string(least) + complete}) {
      const Entry entry = entry_of(model, about, "A ledger.");
      expect_valid(entry, schema, model);
      EXPECT_EQ(entry["tier"], about == least ? 2 : 3);
      EXPECT_EQ(entry["status"], "Draft");
    }
  }
}

// What is wrong with the page's table of NIST's headings: a heading that is not there, a field that
// an entry lacks, or one that is said to be a curator's (*) and is there without him.
std::vector<std::string> wrong_with_headings(const std::string& page, const Entry& least_entry,
                                             const Entry& full_entry) {
  std::vector<std::string> headings{"privacy parameter ε",
                                    "variant",
                                    "unit of privacy",
                                    "mixing with other releases",
                                    "algorithms and correctness",
                                    "utility",
                                    "bias",
                                    "side channels",
                                    "security",
                                    "access control",
                                    "query model",
                                    "threat model",
                                    "data collection exposure"};
  std::vector<std::string> out;
  const auto has = [](const Entry& entry, const std::string& field) {
    const std::size_t dot = field.find('.');
    const Entry& deployment = entry["deployment"];
    return dot != std::string::npos && deployment.contains(field.substr(0, dot)) &&
           deployment[field.substr(0, dot)].contains(field.substr(dot + 1));
  };
  std::istringstream lines(page.substr(std::min(page.find("| NIST SP 800-226 |"), page.size())));
  std::string line;
  for (int row = 0; std::getline(lines, line) && line.starts_with("| ") == (row != 1); ++row) {
    if (row < 2) continue;
    const std::size_t bar = line.find(" | ");
    std::erase(headings, line.substr(2, bar - 2));
    std::size_t fields = 0;
    for (std::size_t at = bar; (at = line.find('`', at)) != std::string::npos; ++fields) {
      const std::size_t end = line.find('`', at + 1);
      const std::string field = line.substr(at + 1, end - at - 1);
      const bool his = line[end + 1] == '*';
      // A curator's words may stand before the program's own.
      if (!has(full_entry, field) || has(least_entry, field) == his) out.push_back(field);
      at = end + 1;
    }
    if (fields == 0) out.push_back(line);
  }
  out.insert(out.end(), headings.begin(), headings.end());
  return out;
}

TEST(RegistryEntry, HasAFieldForEachHeadingOfTheGuidelines) {
  const std::string page = text_of_file("docs/how-to/report.md");
  for (const char* const model : {"whitened.json", "output.json", "network.json"}) {
    const Entry little = entry_of(model, least);
    const Entry full = entry_of(model, std::string(least) + complete + also);
    EXPECT_THAT(wrong_with_headings(page, little, full), ::testing::IsEmpty()) << model;
    EXPECT_THAT(little["deployment"]["implementation"]["mechanisms"].get<std::string>(),
                HasSubstr("Run time is not protected"));
    EXPECT_EQ(little["deployment"]["deployment_model"]["model_name"], "Central");
    // Planted: a heading, a field, and whose it is.
    const auto planted = [&](const std::string& from, const std::string& to) {
      std::string changed = page;
      changed.replace(changed.find(from), from.size(), to);
      return wrong_with_headings(changed, little, full);
    };
    EXPECT_THAT(planted("| bias |", "| bios |"), ::testing::ElementsAre("bias"));
    EXPECT_THAT(planted("`privacy_loss.privacy_unit`", "`privacy_loss.unit`"),
                ::testing::ElementsAre("privacy_loss.unit"));
    EXPECT_THAT(planted("`deployment_model.actors`*", "`deployment_model.actors`"),
                ::testing::ElementsAre("deployment_model.actors"));
    EXPECT_THAT(planted("`dp_variant.variant_name`", "`dp_variant.variant_name`*"),
                ::testing::ElementsAre("dp_variant.variant_name"));
  }
}

TEST(RegistryEntry, SaysWhatTheCertificateSays) {
  const json file = json::parse(model_text("whitened.json"));
  const json& guarantee = file["certificate"]["guarantee"];
  const Entry entry = entry_of("whitened.json", least);
  const Entry& of = entry["deployment"];
  EXPECT_EQ(of["privacy_loss"]["privacy_parameters"]["epsilon"].get<double>(),
            guarantee["epsilon"].get<double>());
  EXPECT_EQ(of["privacy_loss"]["privacy_parameters"]["delta"].get<double>(),
            guarantee["delta"].get<double>());
  EXPECT_EQ(of["privacy_loss"]["privacy_unit"], "A person (one row)");
  EXPECT_THAT(of["implementation"]["mechanisms"].get<std::string>(),
              HasSubstr(file["certificate"]["digest"].get<std::string>()));
  EXPECT_EQ(entry["url_slug"], "admissions_1973");
  EXPECT_EQ(of["basic"]["publication_date"], "2026-11-26");
  EXPECT_EQ(of["basic"]["data_product_type"], "Machine learning model");
  EXPECT_EQ(entry_of("network.json", least)["deployment"]["basic"]["data_product_type"],
            "Synthetic data");
  EXPECT_EQ(of["administrative"]["registry_authors"].size(), 2U);
  EXPECT_FALSE(of["implementation"].contains("justification"));
  EXPECT_THAT(
      entry_of("whitened.json", least, "A ledger adds.")["deployment"]["accounting"]["composition"]
          .get<std::string>(),
      HasSubstr("A ledger adds."));
}

TEST(RegistryEntry, RefusesWhatHasNoGuarantee) {
  std::string changed = model_text("whitened.json");
  const std::size_t at = changed.find("\"delta\"");
  changed.replace(changed.find_first_of("123456789", at), 1, "0");
  EXPECT_ANY_THROW(registry_entry(changed, "m", parse_about(least, "a"), ""));
  EXPECT_THROW(registry_entry("{}", "m", parse_about(least, "a"), ""), BadInput);
}

TEST(RegistryEntry, AboutIsReadFieldByField) {
  const auto refused = [](const std::string& about, const std::string& what) {
    try {
      static_cast<void>(parse_about(about, "about.toml"));
      ADD_FAILURE() << about;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(what));
    }
  };
  refused("", "about.toml: name is missing");
  refused("name = ", "about.toml:1: not valid TOML");
  refused("\nnames = \"x\"", "about.toml:2: no such field 'names'");
  refused("name = 3", "about.toml:1: name is no text");
  refused("name = \" \"", "about.toml:1: name is empty");
  refused("data_curators = \"x\"", "about.toml:1: data_curators is no list of texts");
  refused("data_curators = []", "about.toml:1: data_curators is no list of texts");
  refused("publication_date = \"1/1/2026\"", "write 2026-12-31");
  refused("data_product_sector = \"Cheese\"", "give one of \"Technology\"");
}

TEST(RegistryEntry, YamlKeepsEveryText) {
  Entry value;
  value["a"]["b"] = "no: \"x\"\nüber # - 1.0";
  value["a"]["list"] = {"yes", "0x1"};
  value["n"] = 1e-6;
  value["empty"] = Entry::array();
  EXPECT_EQ(to_yaml(value),
            "a:\n  b: \"no: \\\"x\\\"\\nüber # - 1.0\"\n  list:\n    - \"yes\"\n    - \"0x1\"\n"
            "n: 1.0e-06\nempty: []\n");
}

}  // namespace registry_entry_test
}  // namespace gibbsite
