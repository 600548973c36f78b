#pragma once
// The error of the computed step against the exact one (THEORY 5), from public numbers.
#include <cstdint>

#include "gibbsite/core/constants.hpp"

namespace gibbsite {

/// What every certified backend promises of its sums: X.theta over d terms in any order; X^T r over
/// blocks of at most 1024 rows in any order, blocks combined in a tree. Depth = the number of
/// roundings on the longest path from a term to the result.
inline constexpr std::uint64_t row_block = 1024;

/// Longest path of additions for n rows: min(n, 1024) + ceil(log2(blocks)) + 64 (room for partial
/// sums of a backend's own).
std::uint64_t accumulation_depth(std::uint64_t rows);

/// What a computed step can do, from public numbers (docs/map-error.md derives it).
struct MapBounds {
  double map_error = 0;  ///< e: ||computed map - exact map|| at every theta that can be reached
  double iterate_norm =
      0;  ///< ||theta_k - theta0|| for every k <= T, whatever the data and the bits
};

/// Double arithmetic on float storage, chain started within `start_norm` of theta0; rounded up.
/// e enters the sensitivity as S h + 2 e (THEORY 5). map_error is +inf when n, d or T is so large
/// that rounding could feed on itself.
MapBounds map_bounds_up(const ProblemConstants& constants, double beta, double prior_precision,
                        double step_size, double iterations, double start_norm = 0);

}  // namespace gibbsite
