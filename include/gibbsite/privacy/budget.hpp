#pragma once
// What the user asks for.
#include <cstdint>
#include <string_view>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The largest allowed epsilon: above it e^epsilon is no double, and nothing is promised long
/// before.
inline constexpr double most_epsilon = 700;

/// A request for (epsilon, delta)-differential privacy.
struct Budget {
  double epsilon = 1.0;                          ///< > 0, at most most_epsilon
  double delta = 1e-6;                           ///< in (0, 1/2)
  Adjacency adjacency = Adjacency::replace_one;  ///< add_remove: rows must be a public cap
  std::uint64_t rows_per_person = 1;             ///< k: one person has up to k rows
  std::uint64_t draws = 1;                       ///< released draws; they compose

  [[nodiscard]] Neighbors neighbors() const { return {adjacency, rows_per_person}; }
  /// Throws BadInput naming the field that is out of range.
  void validate() const;
  /// True if delta >= 1/rows. Publishing one person's row, picked at random, would satisfy such a
  /// delta.
  [[nodiscard]] bool delta_is_large(std::uint64_t rows) const;
};

std::string_view to_string(Adjacency adjacency);         // "replace-one", "add-remove"
Adjacency adjacency_from_string(std::string_view name);  // throws BadInput

}  // namespace gibbsite
