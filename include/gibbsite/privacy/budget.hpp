#pragma once
// What the user asks for.
#include <cstdint>
#include <string_view>

#include "gibbsite/core/constants.hpp"

namespace gibbsite {

/// A request for (epsilon, delta)-differential privacy.
struct Budget {
  double epsilon = 1.0;                          ///< > 0
  double delta = 1e-6;                           ///< in (0, 1)
  Adjacency adjacency = Adjacency::replace_one;  ///< add_remove: rows must be a public cap
  std::uint64_t rows_per_person = 1;             ///< k: one person has up to k rows
  std::uint64_t draws = 1;                       ///< released draws; they compose

  /// Throws BadInput naming the command-line option that is out of range.
  void validate() const;
};

std::string_view to_string(Adjacency adjacency);         // "replace-one", "add-remove"
Adjacency adjacency_from_string(std::string_view name);  // throws BadInput

}  // namespace gibbsite
