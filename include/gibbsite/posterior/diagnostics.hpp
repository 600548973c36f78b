#pragma once
// How far an ensemble of chains can be trusted: convergence and Monte Carlo error of its draws, as
// in Vehtari, Gelman, Simpson, Carpenter, Buerkner, "Rank-normalization, folding, and localization:
// an improved R-hat", Bayesian Analysis 16 (2021), below VGSCB. All of it is computed from private
// draws: for the curator's eyes, never part of a release (docs/theory/diagnostics.md).
#include <cstddef>
#include <span>
#include <vector>

namespace gibbsite {

/// A view of the saved states of an ensemble of chains.
struct Draws {
  std::span<const double> values{};  ///< [N x C x d] row-major: one theta [C x d] after another
  std::size_t draws = 0;             ///< N, of each chain
  std::size_t chains = 0;            ///< C
  std::size_t parameters = 0;        ///< d
};

/// A quantile over all draws of all chains.
struct Quantile {
  double probability = 0;
  double value = 0;           ///< linear between order statistics (type 7 of Hyndman and Fan 1996)
  double standard_error = 0;  ///< Monte Carlo: half the 68% interval of VGSCB 4.4
};

/// The summary of one parameter. Every number is NaN if a draw is not finite.
struct Summary {
  double mean = 0;
  double deviation = 0;            ///< standard deviation over all draws, divisor C N - 1
  double r_hat = 0;                ///< rank-normalized split R-hat, the larger of bulk and folded;
                                   ///< NaN for one chain or when all draws are equal
  double ess_bulk = 0;             ///< effective draws for the bulk: of the normal scores
  double ess_tail = 0;             ///< the smaller of the 5% and 95% quantiles' effective draws
  double ess_mean = 0;             ///< effective draws for the mean
  double mean_standard_error = 0;  ///< deviation / sqrt(ess_mean)
  std::vector<Quantile> quantiles{};  ///< of the probabilities asked for, in their order
  double r_hat_limit = 1.01;          ///< chains agree if r_hat is below it (VGSCB, section 4)
};

/// Where summaries are computed; the numbers agree to about 1e-10 in relative terms.
enum class Processor {
  host,    ///< OpenMP threads, a parameter each
  device,  ///< the GPU that the cuda backend takes
};

/// The summary of each parameter [d], equal to ArviZ's up to rounding (1e-6 is promised). Work is
/// O(C N) for each lag up to the first negative pair of autocorrelations, for four effective sizes
/// and one more for each probability. Slow chains thus cost more. Memory on the device is 64 bytes
/// for each of a parameter's C N draws, and 16 MiB. On the host it is 80 bytes for each, times the
/// threads. Bits repeat from run to run and for any number of threads. Throws BadInput on fewer
/// than 4 draws, no chain, no parameter, `values` of another size, or a probability outside [0, 1].
/// On the device it also throws NotCompiled, NoDevice or CudaError.
std::vector<Summary> summarize(const Draws& draws, std::span<const double> probabilities,
                               Processor processor = Processor::host);

}  // namespace gibbsite
