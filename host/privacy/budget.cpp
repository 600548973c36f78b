#include "gibbsite/privacy/budget.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

void Budget::validate() const {
  if (!(std::isfinite(epsilon) && epsilon > 0)) {
    throw BadInput(fmt::format(
        "`epsilon`: must be a finite number above 0, got {}; give for example 1", epsilon));
  }
  if (epsilon > most_epsilon) {
    throw BadInput(
        fmt::format("`epsilon`: must be at most {}, got {}: a guarantee of that size promises "
                    "nothing; give for example 1",
                    most_epsilon, epsilon));
  }
  if (delta == 0) {
    throw BadInput(
        "`delta`: must lie strictly between 0 and 1, got 0; this mechanism gives no guarantee with "
        "delta = 0, give for example 1e-6, far below 1/rows");
  }
  if (!(delta > 0 && delta < 1)) {
    throw BadInput(
        fmt::format("`delta`: must lie strictly between 0 and 1, got {}; give for example 1e-6, "
                    "far below 1/rows",
                    delta));
  }
  if (delta >= 0.5) {
    throw BadInput(
        fmt::format("`delta`: must be below 0.5, got {}: with that probability every row could be "
                    "published as it is; give for example 1e-6, far below 1/rows",
                    delta));
  }
  if (rows_per_person < 1) {
    throw BadInput(
        "`rows_per_person`: must be at least 1, got 0; give the most rows one person can have");
  }
  if (draws < 1) {
    throw BadInput("`draws`: must be at least 1, got 0; give the number of draws to release");
  }
  if (draws >= std::uint64_t{1} << 32) {  // each has a noise stream of its own
    throw BadInput(fmt::format("`draws`: must be below 2^32, got {}; give fewer", draws));
  }
}

bool Budget::delta_is_large(std::uint64_t rows) const {
  return delta * static_cast<double>(rows) >= 1;
}

std::string_view to_string(Adjacency adjacency) {
  return adjacency == Adjacency::replace_one ? "replace-one" : "add-remove";
}

Adjacency adjacency_from_string(std::string_view name) {
  if (name == "replace-one") return Adjacency::replace_one;
  if (name == "add-remove") return Adjacency::add_remove;
  throw BadInput(
      fmt::format("`adjacency`: unknown adjacency '{}'; use replace-one or add-remove", name));
}

}  // namespace gibbsite
