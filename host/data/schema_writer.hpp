#pragma once
// Words of a schema's TOML as they are written, and said again in errors.
#include <span>
#include <string>
#include <string_view>

namespace gibbsite {

/// A TOML basic string; what would mislead a reader is escaped.
std::string toml_string(std::string_view text);
/// A TOML array of them.
std::string toml_list(std::span<const std::string> texts);
/// A name before an equals sign: bare where it can be.
std::string toml_key(std::string_view name);

}  // namespace gibbsite
