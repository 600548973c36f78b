#include "data/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gibbsite/core/text.hpp"

namespace gibbsite {

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t end = std::min(longest, text.size());  // not within a character
  while (end < text.size() && end > longest - 4 &&
         (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  const std::string_view head = text.substr(0, end);
  return fmt::format("'{}{}'", shown(head), text.size() > longest ? "..." : "");
}

std::string number_text(double value) {
  if (std::abs(value) < 0x1p53 && value == std::trunc(value))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace gibbsite
