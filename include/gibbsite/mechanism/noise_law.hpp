#pragma once
// What computed noise and rounding to the release grid cost beside real-valued Gaussian noise
// (docs/noise-law.md proves it).
#include <cstdint>

#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {

/// Roundings between a pair of exact normals of the same words, its angle exact, and the computed
/// one: 9 of Box-Muller and 2 pi of the 53 bits of the angle, in units of u = 2^-53 of the pair's
/// radius, rounded up (docs/noise.md).
inline constexpr int normal_roundings = 16;

/// A run's noise as computed, against the Gaussian noise of its theorem, for all draws together:
/// (eps, H(eps - epsilon; mu) + (1 + e^eps)(tv_gap + tv)).
struct NoiseCost {
  double tv = 0;       ///< finite range and grid of the normals: each data set's law is off by this
  double epsilon = 0;  ///< rounding to the release grid of numbers that are themselves rounded
};
/// From beta, m, M, the schedule and the map error of a certificate, rounded up. Infinite where
/// nothing can be said.
NoiseCost noise_cost_up(const Problem& constants, const CertificatePlan& certificate,
                        std::uint64_t draws);

/// Public grid 2^-k that a coefficient is rounded to: 2^(floor(log2 sigma) - 8), sigma the
/// deviation of the last noise (sqrt(2h); 1/sqrt(m + 1/eta) for a proposal), never below 16
/// accumulated map errors e min(T, 1/(1-c)). It adds at most 2^-16/12 of sigma^2 to the variance.
/// Throws Infeasible when the map error is not finite.
double release_grid(const CertificatePlan& certificate);

}  // namespace gibbsite
