#pragma once
// Renyi differential privacy of a Gaussian-like release and its conversion
// (docs/theory/calibrations.md).

namespace gibbsite {

/// The largest rho, rounded down, such that (alpha, alpha rho)-RDP for every alpha > 1 implies
/// (epsilon, delta)-DP by the tight conversion
///   epsilon = alpha rho + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1)
/// at its best alpha (Canonne, Kamath, Steinke 2020, Prop. 12; Balle et al. 2020, Thm 21). A mu-GDP
/// mechanism has rho = mu^2 / 2. epsilon > 0; throws BadInput on arguments out of range.
double linear_rdp_rho_down(double epsilon, double delta);

}  // namespace gibbsite
