#pragma once
// From settings to a guarantee: what draws of a posterior cost, where no budget was asked for.
#include <cstdint>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// What exact draws cost, all together. What computed noise and a gap add is not in it.
struct PosteriorPrice {
  Guarantee guarantee;
  double epsilon = 0;  ///< with `delta`, rounded up; infinite above most_epsilon
  double delta = 0;
};

/// The price of the Gibbs posterior at that beta (1: the posterior itself): S/sqrt(m)-Gaussian
/// (docs/theory/calibrations.md), S what a person moves of beta times the sum of losses. Throws
/// BadInput where the problem has no prior precision above 0 or unbounded slopes, and on numbers
/// out of range.
PosteriorPrice posterior_price(const Problem& problem, const Neighbors& who, std::uint64_t draws,
                               double beta, double delta);
/// The price of a family's: every record counts whole and the prior is as given. Throws BadInput as
/// `analyze`.
PosteriorPrice posterior_price(const FamilyProblem& problem, const Neighbors& who,
                               std::uint64_t draws, double delta);

}  // namespace gibbsite
