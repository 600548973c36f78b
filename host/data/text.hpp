#pragma once
// Text in error messages, and numbers in text.
#include <fast_float/fast_float.h>

#include <string>
#include <string_view>

namespace gibbsite {

/// 'text' for an error message: as shown (core/text.hpp), long text cut.
std::string quoted(std::string_view text);

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

/// Shortest text of a number: "3", "-1", "0.5"; -0 is "0".
std::string number_text(double value);

}  // namespace gibbsite
