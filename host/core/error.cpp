#include "gibbsite/core/error.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/text.hpp"

namespace gibbsite {

Error::Error(Status status, const std::string& message)
    : std::runtime_error(shown(message)), status_(status) {}

void require_finite_positive(double value, std::string_view name) {
  if (!(std::isfinite(value) && value > 0)) {
    throw BadInput(
        fmt::format("{}: must be a finite number above 0, got {}; give one", name, value));
  }
}

void require_finite_nonnegative(double value, std::string_view name) {
  if (!(std::isfinite(value) && value >= 0)) {
    throw BadInput(
        fmt::format("{}: must be a finite number, 0 or above, got {}; give one", name, value));
  }
}

void require_between(double value, double lo, double hi, std::string_view name) {
  if (!(value > lo && value < hi)) {
    throw BadInput(fmt::format("{}: must lie strictly between {} and {}, got {}; give one", name,
                               lo, hi, value));
  }
}

void require_at_least(double value, double lo, std::string_view name) {
  if (!(value >= lo)) {
    throw BadInput(fmt::format("{}: must be at least {}, got {}; give one", name, lo, value));
  }
}

}  // namespace gibbsite
