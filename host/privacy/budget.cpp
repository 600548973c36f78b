#include "gibbsite/privacy/budget.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

void Budget::validate() const {
  if (!(std::isfinite(epsilon) && epsilon > 0)) {
    throw BadInput(Field{"epsilon"},
                   fmt::format("must be a finite number above 0, got {}", epsilon),
                   "give for example 1");
  }
  if (epsilon > most_epsilon) {
    throw BadInput(
        Field{"epsilon"},
        fmt::format("must be at most {}, got {}: a guarantee of that size promises nothing",
                    most_epsilon, epsilon),
        "give for example 1");
  }
  if (delta == 0) {
    throw BadInput(
        Field{"delta"}, "must lie strictly between 0 and 1, got 0",
        "this mechanism gives no guarantee with delta = 0, give for example 1e-6, far below "
        "1/rows");
  }
  if (!(delta > 0 && delta < 1)) {
    throw BadInput(Field{"delta"}, fmt::format("must lie strictly between 0 and 1, got {}", delta),
                   "give for example 1e-6, far below 1/rows");
  }
  if (delta >= 0.5) {
    throw BadInput(
        Field{"delta"},
        fmt::format(
            "must be below 0.5, got {}: with that probability every row could be published as it "
            "is",
            delta),
        "give for example 1e-6, far below 1/rows");
  }
  if (rows_per_person < 1) {
    throw BadInput(Field{"rows_per_person"}, "must be at least 1, got 0",
                   "give the most rows one person can have");
  }
  if (draws < 1) {
    throw BadInput(Field{"draws"}, "must be at least 1, got 0",
                   "give the number of draws to release");
  }
  if (draws >= std::uint64_t{1} << 32) {  // each has a noise stream of its own
    throw BadInput(Field{"draws"}, fmt::format("must be below 2^32, got {}", draws), "give fewer");
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
  throw BadInput(Field{"adjacency"}, fmt::format("unknown adjacency '{}'", name),
                 "use replace-one or add-remove");
}

}  // namespace gibbsite
