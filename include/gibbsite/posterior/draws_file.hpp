#pragma once
// Draws of `sample_posterior` as files that ArviZ, CmdStanPy, posterior, cmdstanr, rstan and NumPy
// read (docs/reference/formats.md). They are private, so they are no business of `release`.
#include <cstdint>
#include <string>
#include <vector>

#include "gibbsite/posterior/posterior.hpp"

namespace gibbsite {

/// Names [d] that every reader takes for one number each. Runs of characters other than ASCII
/// letters and digits become one '_', with none at the ends ("workclass=State-gov" ->
/// "workclass_State_gov", "(intercept)" -> "intercept"). "x_" goes before a digit. "_2", "_3", ...
/// go behind a name that is taken, or that readers keep for themselves ("chain", "draw", ...).
std::vector<std::string> column_names(const std::vector<std::string>& features);

/// Facts about a run, which the comments of a CSV say.
struct DrawsFacts {
  std::string version;  ///< of gibbsite
  std::string loss;     ///< its name
  std::string data;     ///< file of the table
  std::string backend;
  double beta = 1;
  double prior_precision = 0;  ///< of the parameters without a line in `priors`; 0: none is
  std::uint64_t warm_up = 0, thinning = 1, seed = 0;
  double target_acceptance = 0;  ///< of the warm-up
  Transition transition = Transition::hamiltonian;
  Metric metric = Metric::automatic;
  std::vector<std::string> priors{};  ///< lines "NAME = LAW" (posterior/priors.hpp) that were given
};

/// Writes one chain (0 <= chain < C) as CmdStan 2.3x does: comments, a header line, and a line for
/// each of N draws. Numbers have the fewest digits that read back to the same double. Step sizes
/// are in units of the metric, so the comments give the unit metric. Throws BadInput if the file
/// exists or cannot be written, `columns` [d] has another length, or there is no such chain.
void write_cmdstan_csv(const std::string& path, const PosteriorDraws& draws, std::size_t chain,
                       const std::vector<std::string>& columns, const DrawsFacts& facts);

/// Writes all draws as one NumPy array, float64 [C x N x d] (ArviZ's order). Throws BadInput if the
/// file exists or cannot be written.
void write_npy(const std::string& path, const PosteriorDraws& draws);

}  // namespace gibbsite
