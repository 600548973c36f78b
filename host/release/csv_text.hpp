#pragma once
// A cell of a CSV file that is written.
#include <string>

namespace gibbsite {

/// The text, in quotes where it holds a quote, a comma or an end of line.
inline std::string csv_text(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace gibbsite
