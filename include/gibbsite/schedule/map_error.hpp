#pragma once
// The error of the computed step against the exact one (THEORY 5), from public numbers.
#include <cstdint>

#include "gibbsite/core/constants.hpp"

namespace gibbsite {

/// What every certified backend promises of its sums: X.theta over d terms in any order; X^T r over
/// blocks of at most 1024 rows in any order, blocks combined in a tree. Depth = the number of
/// roundings on the longest path from a term to the result.
inline constexpr std::uint64_t row_block = 1024;

/// Longest path of additions for n rows: min(n, 1024) + ceil(log2(blocks)) + 64 (partial sums of
/// threads).
std::uint64_t accumulation_depth(std::uint64_t rows);

/// ||theta_k - theta0|| for every k <= T, whatever the data and the noise bits, rounded up:
/// each step adds at most h beta n L + sqrt(2 h d) max_abs_normal and contracts by |1 - h m|.
double iterate_norm_up(const ProblemConstants& constants, double beta, double prior_precision,
                       double step_size, double iterations);

/// e: bound on ||computed map - exact map|| in double arithmetic on float storage at every theta
/// that can be reached, rounded up (docs/map-error.md derives it). Enters the sensitivity as S h +
/// 2 e.
double map_error_up(const ProblemConstants& constants, double beta, double prior_precision,
                    double step_size, double iterations);

}  // namespace gibbsite
