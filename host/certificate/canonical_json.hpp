#pragma once
// The JSON Canonicalization Scheme (RFC 8785): one text for each value, however a program spelled
// it. Internal to the certificate module.
#include <nlohmann/json.hpp>
#include <string>

namespace gibbsite {

/// The canonical text: no blanks, names in the order of UTF-16, numbers as ECMAScript writes
/// doubles. Integers beyond 2^53, which no double tells apart, are written with all their digits.
std::string canonical_text(const nlohmann::json& value);

/// As ECMAScript's Number.prototype.toString: "1", "0.000001", "1e-7", "1e+21". Finite.
std::string canonical_number(double value);

}  // namespace gibbsite
