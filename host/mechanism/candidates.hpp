#pragma once
// What the offers of single mechanisms share.
#include <functional>
#include <string>

#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {

/// beta of a calibration for exact Gibbs, `budget.draws` draws composing to (epsilon, delta): mu is
/// proportional to beta, so sqrt(draws) comes off beta.
double gibbs_beta_down(const Problem& problem, const Budget& budget, Calibration calibration,
                       double delta, double prior_precision);
/// mu of all draws, from one draw's.
double draws_mu_up(double mu, std::uint64_t draws);

/// N: rows in units of the noise that hides one of them, for residuals of at most 1.
double signal_of(const Problem& problem, const Neighbors& who, double mu);

/// beta n L: ||grad U(theta0)|| whatever the data.
double start_gradient_up(const Problem& problem, double beta);

/// An offer within what computed noise leaves of the budget; `make(left)` makes one for a budget.
/// Where noise leaves nothing, or does not settle, the offer says so and is not feasible.
Candidate paid_for_noise(const Problem& problem, const Budget& budget,
                         const std::function<Candidate(const Budget&)>& make);

/// Not feasible where the guarantee's delta, with all of its parts, is above the budget's.
Candidate within_budget(Candidate candidate, const Budget& budget);

/// For passes and work of one draw.
Cost cost_of(double passes, double work, std::uint64_t draws);
bool in_reach(const Cost& cost);
std::string out_of_reach(const Cost& cost);
/// "1,000 steps of 0.01", of a Langevin chain.
std::string steps_words(double iterations, double step_size);

/// Draws by a chain or by proposals: S and mu of one draw, and the gap of all.
struct GibbsClaim {
  double sensitivity = 0, mu_of_one = 0, tv_gap = 0;
};
/// The guarantee with what the computed noise costs.
template <class Noise>
Analysis gibbs_analysis(const Problem& problem, const Neighbors& who, std::uint64_t draws,
                        const GibbsClaim& claim, const Noise& noise) {
  Analysis out;
  out.map_error = noise.map_error;
  out.tv_gap = claim.tv_gap;
  out.constants = {{"sensitivity", claim.sensitivity},
                   {"strong_convexity", noise.strong_convexity},
                   {"smoothness", noise.smoothness}};
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, problem.features, draws);
  const double tv = round_up(Wide(claim.tv_gap) + Wide(out.noise.tv));
  out.guarantee = {draws_mu_up(claim.mu_of_one, draws), out.noise.epsilon, 0, tv, who};
  return out;
}

}  // namespace gibbsite
