#pragma once
// Renyi differential privacy of a Gaussian-like release and its conversion
// (docs/theory/calibrations.md).

namespace gibbsite {

/// mu-GDP implies (alpha, alpha mu^2 / 2)-RDP for every alpha > 1. Rounded up.
double gdp_rdp_up(double mu, double alpha);
/// (alpha, rho)-RDP to epsilon at delta by the tight conversion
///   epsilon = rho + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1)
/// (Canonne, Kamath, Steinke 2020, Prop. 12; Balle et al. 2020, Thm 21). Rounded up, never below 0.
double rdp_epsilon_up(double alpha, double rho, double delta);
/// min over alpha > 1 of rdp_epsilon_up(alpha, alpha * rho_per_alpha, delta): the curve of a
/// mechanism that is (alpha, alpha rho)-RDP for every alpha. Rounded up.
double linear_rdp_epsilon_up(double rho_per_alpha, double delta);
/// Its inverse: largest rho such that (alpha, alpha rho)-RDP for every alpha > 1 implies (epsilon,
/// delta)-DP by that conversion, rounded down. epsilon > 0.
double linear_rdp_rho_down(double epsilon, double delta);

}  // namespace gibbsite
