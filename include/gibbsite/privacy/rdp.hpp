#pragma once
// Renyi differential privacy of a Gaussian-like release and its conversion
// (docs/theory/calibrations.md).

namespace gibbsite {

/// The Renyi parameter alpha mu^2 / 2 of mu-GDP at order alpha > 1, rounded up.
double gdp_rdp_up(double mu, double alpha);
/// The epsilon at delta that (alpha, rho)-RDP implies, by the tight conversion
///   epsilon = rho + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1)
/// (Canonne, Kamath, Steinke 2020, Prop. 12; Balle et al. 2020, Thm 21). Rounded up, never below 0.
double rdp_epsilon_up(double alpha, double rho, double delta);
/// The smallest epsilon at delta of a mechanism that is (alpha, alpha rho)-RDP for every alpha > 1:
/// the minimum of rdp_epsilon_up(alpha, alpha * rho_per_alpha, delta), rounded up.
double linear_rdp_epsilon_up(double rho_per_alpha, double delta);
/// The inverse of linear_rdp_epsilon_up: the largest rho, rounded down, such that (alpha, alpha
/// rho)-RDP for every alpha > 1 implies (epsilon, delta)-DP. epsilon > 0.
double linear_rdp_rho_down(double epsilon, double delta);

}  // namespace gibbsite
