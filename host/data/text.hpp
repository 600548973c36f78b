#pragma once
// Numbers in text; extensions of names.
#include <fast_float/fast_float.h>

#include <filesystem>
#include <string>
#include <string_view>

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

/// ".csv" of "TABLE.CSV".
inline std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace gibbsite
