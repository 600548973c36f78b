#pragma once
// Numbers in text.
#include <fast_float/fast_float.h>

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

}  // namespace gibbsite
