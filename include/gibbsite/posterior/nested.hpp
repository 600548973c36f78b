#pragma once
// Convergence and errors of many short chains, too short for what compares their halves or their
// autocorrelations: nested R-hat of Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari and Gelman,
// "Nested R-hat: assessing the convergence of Markov chain Monte Carlo when running many short
// chains", Bayesian Analysis 20 (2025), and effective sizes from between the chains
// (docs/theory/diagnostics.md). For the curator's eyes, as the draws are.
#include <cstddef>
#include <span>
#include <vector>

#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite {

/// From so many chains on, with fewer draws of each than that, chains are judged together.
inline constexpr std::size_t least_short_chains = 64, least_long_draws = 100;

/// Their warm-up, where nobody gives one.
inline constexpr std::size_t short_warm_up = 100;

/// Whether a run has many short chains.
inline bool has_short_chains(std::size_t chains, std::size_t draws) {
  return chains >= least_short_chains && draws < least_long_draws;
}

/// Superchains of C chains: groups of one start each, 16, or C/4 where that is fewer.
std::size_t superchains_of(std::size_t chains);
/// The superchain of a chain, of K of nearly equal size.
inline std::size_t superchain_of(std::size_t chain, std::size_t chains, std::size_t superchains) {
  return chain * superchains / chains;
}

/// Above this limit of a nested R-hat, chance alone is larger than the excess of 0.01 that it is to
/// show: there are too few chains for it.
inline constexpr double most_nested_limit = 1.02;

/// The summary of each parameter [d] of chains in K superchains, 2 or more of 2 chains or more; one
/// draw of each chain is enough. `r_hat` is the nested R-hat of the normal scores or of their
/// distances from the median, whichever is nearer to its `r_hat_limit` or farther above it.
/// Effective sizes are C times the variance of the draws over that of the chains' means: they take
/// chains, not draws, to be independent. Threads take a parameter each; memory 40 bytes for each
/// of a parameter's C N draws, times the threads. Throws BadInput on arguments out of range.
std::vector<Summary> summarize_nested(const Draws& draws, std::size_t superchains,
                                      std::span<const double> probabilities);

}  // namespace gibbsite
