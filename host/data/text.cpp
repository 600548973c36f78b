#include "data/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace gibbsite {

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  return fmt::format("'{}{}'", one_line(text.substr(0, longest)),
                     text.size() > longest ? "..." : "");
}

std::string number_text(double value) {
  if (std::abs(value) < 0x1p53 && value == std::trunc(value))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace gibbsite
