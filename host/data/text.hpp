#pragma once
// Numbers and Unicode in text; extensions of names.
#include <fast_float/fast_float.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// The whole of `text` as a number; "nan" and "inf" are numbers here, and 1e400 is inf. `point` is
/// the sign before the fraction.
inline bool parse_number(std::string_view text, double& value, char point = '.') {
  const char* first = text.data();
  const char* const last = first + text.size();
  if (text.size() > 1 && first[0] == '+' && first[1] != '-') ++first;  // fast_float takes no plus
  return first != last && fast_float::from_chars_advanced(
                              first, last, value,
                              fast_float::parse_options(fast_float::chars_format::general, point))
                                  .ptr == last;
}

/// Parses digits that `sign` groups by thousands: one to three digits, then groups of three, each
/// behind a sign, then perhaps a fraction or an exponent. False if no sign is in the text or one
/// stands elsewhere.
bool parse_grouped(std::string_view text, double& value, char point, std::string_view sign);
/// Likewise by the first of several signs that will do.
inline bool parse_grouped(std::string_view text, double& value, const NumberText& written) {
  return std::ranges::any_of(written.thousands, [&](const std::string& sign) {
    return parse_grouped(text, value, written.decimal, sign);
  });
}

/// The finite number of a text, as numbers are written; none: it is no such.
inline std::optional<double> number_written(std::string_view text, const NumberText& written) {
  double value = 0;
  if (!parse_number(text, value, written.decimal) && !parse_grouped(text, value, written))
    return {};
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// "3" of "3.0" and "3.000", and of "-3.0" "-3": what a whole number is called whatever column it
/// comes from. Any other text is itself, as a code such as "03.0".
inline std::string_view whole_number(std::string_view text, char point = '.') {
  const std::size_t at = text.find(point);
  if (at == std::string_view::npos || at + 1 == text.size() ||
      text.find_first_not_of('0', at + 1) != std::string_view::npos)
    return text;
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0, at);
  const std::string_view whole = digits.substr(0, digits.find(point));
  const bool plain = !whole.empty() && whole.find_first_not_of("0123456789") == whole.npos &&
                     (whole.size() == 1 || whole[0] != '0');
  return plain ? text.substr(0, at) : text;
}

/// Whether the text is whole UTF-8, as far as the lengths of its signs tell.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const std::size_t more = lead < 0x80                   ? 0
                             : lead >= 0xc2 && lead < 0xe0 ? 1
                             : lead >= 0xe0 && lead < 0xf0 ? 2
                             : lead >= 0xf0 && lead < 0xf5 ? 3
                                                           : text.size();
    if (more > text.size() - i) return false;
    for (std::size_t k = 0; k < more; ++k)
      if ((static_cast<unsigned char>(text[i++]) & 0xc0) != 0x80) return false;
  }
  return true;
}

/// Whether every byte is ASCII: such a text is its own normal form.
inline bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The text in Unicode's normal form C, in which equal texts have equal bytes however their accents
/// were typed. A text that is not UTF-8 is returned as it is.
std::string composed(std::string_view text);

/// ".csv" of "TABLE.CSV".
inline std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace gibbsite
