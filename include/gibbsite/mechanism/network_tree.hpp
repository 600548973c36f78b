#pragma once
// Noisy counts that one graphical model on a junction tree is fitted to: every column's own, a
// score of every pair of columns, and the tables that the scores choose (docs/theory/network.md).
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gibbsite/core/network.hpp"
#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Three Gaussian vectors. The second is about what the first answered, the third counts the
/// tables that both choose; table t of s_t cells has the deviation
///   sigma_t = noise * s_t^(-1/3) * sqrt(sum_j s_j^(2/3)),
/// so that sum_t 1/sigma_t^2 = 1/noise^2 whatever is chosen.
struct NetworkTree {
  static constexpr std::string_view name = "network-tree";
  static constexpr std::string_view theorem = "docs/theory/network.md";
  static constexpr bool draws_tables = false;

  double one_way_noise = 0;  ///< deviation of every count of one column's levels
  double score_noise = 0;    ///< deviation of every pair's score; 0: no pair may be counted
  double noise = 0;          ///< deviation of one table that costs what all chosen ones do; 0: none

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("one_way_noise", self.one_way_noise, Legal::positive);
    visit("score_noise", self.score_noise, Legal::positive_or_absent);
    visit("noise", self.noise, Legal::positive_or_absent);
  }
};

/// What a structure of so many columns is chosen within where nothing is said: cliques of 11
/// columns, and of 4 million cells by the number of columns, 20,000 to 400,000. A fit takes time by
/// cliques and their cells (docs/theory/network.md, "Size of cliques").
StructureLimits tree_limits(std::size_t columns);

/// Pairs of columns, ascending, whose table may be counted: each has two levels or more, and the
/// table is within limits.cells. They follow from public numbers.
std::vector<std::array<std::uint32_t, 2>> scored_pairs(const NetworkProblem& problem);

/// sup ||one-way counts - one-way counts'|| between neighbors, of all columns together: sqrt(2c) k
/// replace-one, sqrt(c) k add-remove, c the columns of two levels or more (replace-one) or all.
/// With weights max(sqrt(2c), sqrt(K)) k replace-one of K columns: one of one level no longer
/// counts the number of rows. Rounded up.
double one_way_change_up(const NetworkProblem& problem, const Neighbors& who);
/// sup ||scores - scores'|| of all P scored pairs against any fixed tables: 2k sqrt(P)
/// replace-one, k sqrt(P) add-remove. Rounded up.
double pair_scores_change_up(const NetworkProblem& problem, const Neighbors& who);

/// sum_ij |counts_ij - expected_ij|, in rows, of a table of two columns [first x second], where
/// expected_ij = first_i second_j / rows, rounded to a multiple of 2^-20. The sum is exact but for
/// its rounding to double. Counts are at most 2^38, `first` and `second` are nonnegative and sum
/// to `rows` within rounding. Counts are in units of 2^-bits, bits <= weight_bits.
double pair_score(const std::vector<std::uint64_t>& counts, const std::vector<double>& first,
                  const std::vector<double>& second, double rows, int bits = 0);

}  // namespace gibbsite
