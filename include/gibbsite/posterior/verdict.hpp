#pragma once
// Whether draws may be relied on, by what `summarize` found: R-hat below 1.01 and 100 effective
// draws of each chain, for the bulk and for the tail of every parameter (Vehtari et al., Bayesian
// Analysis 16 (2021), section 4), no divergent transition and more than one chain. Of many short
// chains (posterior/nested.hpp): nested R-hat below its limit and 400 effective draws in all. For
// the curator's eyes, as the draws are.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/posterior/diagnostics.hpp"
#include "gibbsite/posterior/posterior.hpp"

namespace gibbsite {

inline constexpr double most_r_hat = 1.01, least_effective_per_chain = 100;
inline constexpr double least_effective_of_short_chains = 400;

/// The change of the run that would help most.
enum class Advice {
  none,                     ///< the draws are usable
  more_chains,              ///< one chain, or few short ones, say nothing of their convergence
  more_chains_or_thinning,  ///< certified draws, close to those before them
  higher_target_acceptance,
  longer_warm_up_and_more_draws,
  more_draws_or_thinning,
};

struct Verdict {
  std::size_t chains = 0, parameters = 0;
  std::size_t apart = 0;  ///< parameters whose R-hat is not below most_r_hat; NaN is not
  std::size_t few = 0;    ///< parameters with fewer effective draws than asked for
  std::size_t superchains = 0, draws = 0;  ///< K of many short chains, else 0; N
  std::size_t unjudged =
      0;  ///< short chains that agree: parameters with a limit above most_nested_limit
  double r_hat_limit = 0;     ///< of the largest R-hat
  std::size_t divergent = 0;  ///< draws with a divergent transition since the one before
  double r_hat = 0;           ///< the largest; NaN where one is
  double bulk = 0, tail = 0;  ///< the smallest effective sizes; NaNs left out
  bool within_gap = false;    ///< each draw is certified to be close to the posterior
  Advice advice = Advice::none;

  [[nodiscard]] bool usable() const { return advice == Advice::none; }
};

/// `summarize`, or `summarize_nested` of draws that have superchains.
std::vector<Summary> summaries_of(const PosteriorDraws& draws,
                                  std::span<const double> probabilities);

/// Judges draws by their summaries [d].
Verdict judge(std::span<const Summary> summaries, const PosteriorDraws& draws);

/// The verdict in one line for people. The caller adds the advice in terms of its own options.
std::string in_words(const Verdict& verdict);

/// Places of the parameters [d], the worst first: by R-hat for those whose chains disagree (NaN is
/// larger than any), then by the fewest effective draws.
std::vector<std::size_t> worst_first(std::span<const Summary> summaries);

}  // namespace gibbsite
