#pragma once
// What computed noise and rounding to the release grid cost beside real-valued noise
// (docs/theory/noise-law.md proves it).
#include <cstdint>

#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"

namespace gibbsite {

/// Roundings between a pair of exact normals of the same words, its angle exact, and the computed
/// one: 9 of Box-Muller and 2 pi of the 53 bits of the angle, in units of u = 2^-53 of the pair's
/// radius, rounded up (docs/theory/noise.md).
inline constexpr int normal_roundings = 16;

/// Noise of a Langevin chain: sqrt(2h) a step.
struct ChainNoise {
  double step_size = 0, iterations = 0;         ///< h, T
  double strong_convexity = 0, smoothness = 0;  ///< m, M
  double map_error = 0;                         ///< e
  bool random_start = false;                    ///< from N(center, I/M)
  std::uint64_t outputs = 1;                    ///< K, each with pairs of its own
};
/// Noise of the proximal sampler, or of exact rejection where the schedule's step size is 0.
struct ProposalNoise {
  ProximalSchedule schedule{};
  double strong_convexity = 0, smoothness = 0;  ///< m, M
  double map_error = 0;                         ///< e of an iteration
  double acceptance = 0, offset = 0;            ///< of proximal_error
};
/// One Gaussian vector, added last.
struct AddedNoise {
  double deviation = 0;  ///< sigma
  double reach = 0;      ///< no coordinate that it is added to is larger
};

/// One vector of `fill_laplace` (core/random.hpp), added last.
struct LaplaceNoise {
  double rate = 0;             ///< gamma: density proportional to exp(-gamma ||b||)
  double reach = 0;            ///< no coordinate that it is added to is larger
  std::uint64_t features = 0;  ///< d
};

/// Gaussian answers to questions about sums over rows: each number q has noise from
/// `answer_normals` (core/random.hpp) of its own deviation sigma added, and is rounded to
/// answer_grid(sigma).
struct AnsweredNoise {
  double numbers = 0;  ///< of all answers
};
/// 2^(floor(log2 sigma) - 3): as coarse as costs nothing (it adds 1/768 to 1/3072 of sigma^2).
double answer_grid(double deviation);
/// No answer is further from its sum: the largest noise, and a grid: half of one for the answer's
/// own rounding, more than is needed for that of double (answers_resolve).
double answer_reach(double deviation);
/// Whether sums over `rows` rows, with noise that makes each cost mu or less, are so much smaller
/// than 2^53 answer grids that their rounding to double narrows no cell by more than 1/64.
bool answers_resolve(double rows, double mu);

/// A run's noise as computed, against the real-valued noise of its theorem, for all draws together:
/// (eps, H(eps - epsilon; mu) + (1 + e^eps)(tv_gap + tv)). Rounded up; infinite where nothing can
/// be said.
NoiseCost noise_cost_up(const ChainNoise& noise, std::uint64_t features, std::uint64_t draws);
NoiseCost noise_cost_up(const ProposalNoise& noise, std::uint64_t features, std::uint64_t draws);
NoiseCost noise_cost_up(const AddedNoise& noise, std::uint64_t features, std::uint64_t draws);
NoiseCost noise_cost_up(const LaplaceNoise& noise, std::uint64_t draws);
NoiseCost noise_cost_up(const AnsweredNoise& noise, std::uint64_t draws);

/// Public grid 2^-k that a coefficient is rounded to: 2^(floor(log2 sigma) - 8), sigma the
/// deviation of the last noise (sqrt(2h); 1/sqrt(m + 1/eta) for a proposal; sqrt(d + 1)/gamma a
/// coordinate of pure noise), never below 16
/// accumulated map errors e min(T, 1/(1-c)), nor below 2^7 roundings of a sum that noise is added
/// to. It adds at most 2^-16/12 of sigma^2 to the variance. NaN when an error is not finite, or
/// sigma^2 no normal double.
double release_grid(const ChainNoise& noise);
double release_grid(const ProposalNoise& noise);
double release_grid(const AddedNoise& noise);
double release_grid(const LaplaceNoise& noise);

}  // namespace gibbsite
