#include "gibbsite/core/positive_share.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

std::string fault_of(const PositiveShare& share) {
  const auto between = [](double value) { return value > 0 && value < 1; };
  if (!between(share.low) || !between(share.high)) {
    return fmt::format(
        "must be above 0 and below 1, got {}; give the share of the rows that are of the positive "
        "class, or its bounds, as they are known without the table",
        between(share.low) ? share.high : share.low);
  }
  if (!(share.low <= share.high)) {
    return fmt::format("must have the lower bound first, got {} and {}; give them the other way",
                       share.low, share.high);
  }
  return "";
}

void require_positive_share(const PositiveShare& share, const std::string& name) {
  if (const std::string fault = fault_of(share); !fault.empty())
    throw BadInput(fmt::format("{}: {}", name, fault));
}

double least_evenness(const PositiveShare& share) {
  const auto evenness = [](double value) { return 4 * value * (1 - value); };
  return std::min(evenness(share.low), evenness(share.high));
}

}  // namespace gibbsite
