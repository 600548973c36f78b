#pragma once
// Problems that tests of mechanisms share, and offers over many of them.
#include <gtest/gtest.h>

#include <type_traits>
#include <variant>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "support/repeats.hpp"

namespace gibbsite::support {

inline constexpr double logistic_drop = 0.6931471805599454;  // log 2, rounded up

/// Rows of norm 1, the logistic loss.
inline Problem problem(std::uint64_t rows, std::uint64_t features) {
  Problem p;
  p.rows = rows;
  p.features = features;
  p.drop_from_zero = logistic_drop;
  return p;
}

/// Rows up to norm 3, most of norm 2; the loss at 0 has no bound.
inline Problem long_rows(std::uint64_t rows, std::uint64_t features) {
  Problem p;
  p.rows = rows;
  p.features = features;
  p.row_norm = 3;
  p.typical_row_norm = 2;
  return p;
}

/// check(problem, budget, guarantee, settings) of the offers over sizes, budgets and neighbors, all
/// of which keep that delta and find a minimizer to a fifth of what one row moves.
template <class Output, class Check>
void expect_output_candidates(double delta, const Check& check) {
  int planned = 0;
  Thinned sweep(5);
  for (const std::uint64_t rows : {1ULL, 100ULL, 32561ULL, 1'000'000ULL}) {
    for (const double epsilon : {0.1, 1.0, 8.0}) {
      for (const std::uint64_t draws : {1ULL, 5ULL}) {
        for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
          if (sweep.skips()) continue;
          const Budget budget{epsilon, delta, adjacency, 2, draws};
          const Problem p = problem(rows, 20);
          const Candidate candidate =
              gibbsite::candidate(std::type_identity<Output>{}, p, budget, {});
          ASSERT_TRUE(candidate.feasible) << candidate.why;
          const auto& s = std::get<Output>(candidate.mechanism);
          EXPECT_LE(delta_up(candidate.guarantee, epsilon), delta);
          EXPECT_LT(s.gradient_norm, 0.2 * p.lipschitz_up() * 4);
          check(p, budget, candidate.guarantee, s);
          ++planned;
        }
      }
    }
  }
  EXPECT_EQ(planned, repeats(48, 10));
}

}  // namespace gibbsite::support
