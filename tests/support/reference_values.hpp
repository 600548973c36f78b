#pragma once
// Reference values of 50 digits, which lie beside the repository.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace gibbsite::support {

/// For GTEST_SKIP.
inline constexpr const char* no_reference_values =
    "the reference values are not beside the repository";

/// The cases of vectors/NAME.json; empty where the folder is absent.
inline nlohmann::json reference_cases(const std::string& name) {
  std::ifstream file(GIBBSITE_SHARED_DIR "/vectors/" + name + ".json");
  return file ? nlohmann::json::parse(file).at("cases") : nlohmann::json::array();
}

/// A value that is written as text, so that no digit is lost, or as a number.
inline double number(const nlohmann::json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

}  // namespace gibbsite::support
