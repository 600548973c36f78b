#include "gibbsite/core/human_count.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace gibbsite {

std::string human_count(double count) {
  if (!(count < 1e7)) return fmt::format("{:.3g}", count);
  std::string out = fmt::format("{:.0f}", count);
  for (auto i = static_cast<std::ptrdiff_t>(out.size()) - 3; i > 0; i -= 3) {
    out.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return out;
}

}  // namespace gibbsite
