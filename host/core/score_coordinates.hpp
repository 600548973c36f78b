#pragma once
// In how many coordinates second moments of scores are asked (docs/theory/intervals.md).
#include <cstdint>

namespace gibbsite {

/// Coordinates of a score of a loss of that many outputs for rows of k: k, of several classes
/// (outputs - 1) k in contrasts, as their slopes add up to 0.
constexpr std::uint64_t score_coordinates(std::uint64_t outputs, std::uint64_t k) {
  return outputs > 1 ? (outputs - 1) * k : k;
}

}  // namespace gibbsite
