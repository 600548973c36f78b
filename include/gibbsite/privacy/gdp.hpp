#pragma once
// Gaussian differential privacy: delta(epsilon; mu), its inverses, composition
// (docs/theory/gdp.md). Every function evaluates in 50 digits and rounds so that the guarantee is
// never overstated.
#include <span>

namespace gibbsite {

/// The profile of mu-GDP, rounded up: delta(eps; mu) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 -
/// eps/mu) (Balle & Wang 2018, Thm 8). mu >= 0 (0 gives 0), eps >= 0. Throws BadInput on anything
/// else.
double gdp_delta_up(double epsilon, double mu);
/// Smallest epsilon with delta(epsilon; mu) <= delta, rounded up, so that
/// gdp_delta_up(result, mu) <= delta. delta in (0, 1).
double gdp_epsilon_up(double mu, double delta);
/// Largest mu with delta(epsilon; mu) <= delta, rounded down, so that
/// gdp_delta_up(epsilon, result) <= delta.
double gdp_mu_down(double epsilon, double delta);
/// The mu of independent releases about the same people: sqrt(sum mu_i^2), rounded up (Dong, Roth,
/// Su 2022, Cor. 3.3).
double gdp_compose_up(std::span<const double> mus);
/// Largest mu such that `draws` releases of mu-GDP compose to at most `total`, rounded down.
double gdp_split_down(double total, unsigned long long draws);

}  // namespace gibbsite
