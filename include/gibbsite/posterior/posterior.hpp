#pragma once
// Draws from a posterior for its own sake: split Hamiltonian, Hamiltonian and Metropolis-adjusted
// Langevin chains, and the proximal sampler, which certifies its distance. None is private: step
// sizes and metrics are fitted to the data, and the draws are for whoever may see the data
// (docs/theory/posterior.md).
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite {

/// The transition of a chain; each leaves the density exp(-U) unchanged.
enum class Transition {
  /// "auto": split if the metric is laplace and the warm-up accepts enough of its moves, else hmc.
  automatic,
  /// "split": half a kick by what is not Gaussian, an exact rotation in the Gaussian of the metric
  /// about the mode, half a kick (Shahbaba, Lan, Johnson and Neal 2014). Takes the
  /// laplace metric.
  split,
  hamiltonian,  ///< "hmc": leapfrog trajectories (Neal 2011)
  langevin,     ///< "mala": one leapfrog step (Roberts and Tweedie 1996)
  proximal,     ///< "proximal": every draw within `tv` of the posterior (docs/theory/proximal.md)
};
std::string_view to_string(Transition transition);         // "auto", "split", "hmc", ...
Transition transition_from_string(std::string_view name);  // throws BadInput

/// The preconditioner of trajectories: an estimate of the covariance of exp(-U).
enum class Metric {
  automatic,  ///< laplace up to 1000 parameters, then diagonal
  unit,       ///< the identity
  scales,     ///< diag(scales^2), a public matrix
  diagonal,   ///< variances of the draws of the warm-up, of all chains together
  laplace,    ///< inverse Hessian at the minimizer of U, dense
};
std::string_view to_string(Metric metric);
Metric metric_from_string(std::string_view name);  // throws BadInput

/// The noise of an amount under the squared loss, normal with a deviation sigma that is one more
/// parameter, the last: a row's density is that of N(z, sigma^2), all in tolerances. Its prior is
/// the half of Student's t with 3 degrees of freedom and the scale 2.5, above 0.
struct LearnedNoise {
  double rows = 0;  ///< sum of the rows' weights (Rows::weight_of), of all ranks
};

struct PosteriorOptions {
  Transition transition = Transition::hamiltonian;
  Metric metric = Metric::automatic;
  std::vector<double> scales{};  ///< [d] above 0, of Metric::scales
  std::uint64_t chains = 4;      ///< C
  std::uint64_t warm_up = 500;   ///< transitions of a chain that are thrown away
  std::uint64_t draws = 1000;    ///< N, kept of each chain
  std::uint64_t thinning = 1;    ///< transitions for each draw that is kept
  double target_acceptance = 0;  ///< of the warm-up; 0: 0.8 for hmc, 0.574 for mala; split has none
  double step_size = 0;         ///< in units of the metric, the angle of split in radians below pi;
                                ///< 0: learned in the warm-up
  std::vector<double> start{};  ///< [d] where all chains start, or [C x d] where each does; empty:
                                ///< overdispersed, around the minimizer
  /// K groups of chains (posterior/nested.hpp), 0: none. The warm-up is of one chain for each, from
  /// where all chains of the group go on, some transitions more before the first draw. At most C,
  /// and none with a start of their own.
  std::uint64_t superchains = 0;
  std::optional<LearnedNoise> noise{};  ///< none: the loss is all that there is. With it neither
                                        ///< start, scales nor the proximal sampler
  double tv = 1e-10;  ///< proximal: total variation to the posterior, of each draw. It
                      ///< chooses its own start, warm-up and step size
  StreamKey key = StreamKey::from_seed(0);  ///< of all noise; chain c takes stream c
  /// Called as (transitions done, in all) for a chain, a few times a second.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal handler
};

/// What a user asks for, as every front end fills it in. What is absent has its default.
struct PosteriorRequest {
  std::string sampler = "auto", metric = "auto";
  std::optional<std::uint64_t> chains{}, draws{}, warm_up{}, thinning{};
  std::optional<double> target_acceptance{}, tv{};
  std::vector<double> scales{}, start{};  ///< as of PosteriorOptions
};
/// The options for it; many short chains become groups with a short warm-up. The key, the noise and
/// what watches the run are the caller's. Throws BadInput on what no table could make right.
PosteriorOptions posterior_options(const PosteriorRequest& asked);

/// The draws, and how they were made.
struct PosteriorDraws {
  Transition transition = Transition::hamiltonian;    ///< that made the draws; never automatic
  std::size_t draws = 0, chains = 0, parameters = 0;  ///< N, C, d; with learned noise d + 1, the
                                                      ///< last its deviation
  std::size_t superchains = 0;                        ///< K of the options
  std::vector<double> values{};                       ///< [N x C x d]
  std::vector<double> log_density{};  ///< [N x C] -U, without a constant: CmdStan's lp__
  std::vector<double> energy{};       ///< [N x C] U + kinetic energy at the start of a transition
  std::vector<double> acceptance{};   ///< [N x C] min(1, exp(-energy error)) of the transition
  std::vector<std::uint8_t> divergent{};  ///< [N x C] energy error above 1000 in a transition since
                                          ///< the draw before
  double step_size = 0;                   ///< after the warm-up, as in the options
  std::uint64_t leapfrog_steps = 0;       ///< of a transition (the mean, where it varies)
  std::uint64_t gradients = 0;            ///< of one chain, warm-up not included
  double tv_gap = 0;  ///< proximal: each draw is so close to the posterior; 0: not certified
  std::uint64_t burn_in = 0;  ///< proximal: iterations before the first draw
  double warm_up_seconds = 0, sampling_seconds = 0;
  /// Means of the parameters with the gradients as control variates, and their Monte Carlo errors
  /// [d] (docs/theory/posterior.md). The same expectation as the plain means, to 1/N, and less
  /// variance. Empty where there are too few draws for the regression, for more than 1000
  /// parameters and for the proximal sampler.
  std::vector<double> controlled_mean{}, controlled_error{};

  /// A view of the draws for `summarize` (posterior/diagnostics.hpp).
  [[nodiscard]] Draws view() const { return {values, draws, chains, parameters}; }
};

/// Runs C chains on the density exp(-U) (docs/theory/posterior.md). The result is a pure function
/// of U, its backend and the options: bits repeat. Throws BadInput on options out of range, and on
/// a start or scales of another length or not finite. Throws it too if U is not finite at the
/// start, or m = 0, where the posterior may have no mass to normalize. Throws Interrupted if `stop`
/// is set. With the proximal sampler, throws Infeasible if rounding does not let `tv` be kept.
PosteriorDraws sample_posterior(const Potential& potential, const PosteriorOptions& options);

/// Where exp(-U) is highest [d], as near as rounding lets it; with learned noise [d + 1], where the
/// density of theta and log sigma is, and sigma at the end.
std::vector<double> posterior_mode(const Potential& potential, const PosteriorOptions& options);

}  // namespace gibbsite
