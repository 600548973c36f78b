#pragma once
// Renyi and zero-concentrated differential privacy: what a release costs in them
// (docs/theory/rdp.md), and a conversion (docs/theory/calibrations.md).
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The largest rho, rounded down, such that (alpha, alpha rho)-RDP for every alpha > 1 implies
/// (epsilon, delta)-DP by the tight conversion
///   epsilon = alpha rho + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1)
/// at its best alpha (Canonne, Kamath, Steinke 2020, Prop. 12; Balle et al. 2020, Thm 21). A mu-GDP
/// mechanism has rho = mu^2 / 2. epsilon > 0; throws BadInput on arguments out of range.
double linear_rdp_rho_down(double epsilon, double delta);

/// What holds for every order at once: the release is failure-approximately (xi, rho)-zCDP (Bun and
/// Steinke 2016, Definition 8.1): given events of probability at least 1 - failure for each table,
/// the Renyi divergence of every order alpha > 1 is at most xi + rho alpha.
struct ZeroConcentrated {
  double rho = 0;  ///< of the law that mu and pure describe; infinite where they promise nothing
  double failure = 0;  ///< 0 without a reveal and a tv
  double xi = 0;       ///< 0 without a tv
};
/// Rounded up. rho = mu^2 / 2 where nothing is pure, epsilon0^2 / 2 where nothing is Gaussian, else
/// that of the Gaussian that covers both.
ZeroConcentrated zero_concentrated_up(const Guarantee& guarantee);

/// The Renyi divergence of that order > 1 of the law that mu and pure describe, rounded up: order
/// rho, and where nothing is Gaussian that of randomized response,
///   log((e^(order epsilon0) + e^((1 - order) epsilon0)) / (1 + e^epsilon0)) / (order - 1).
/// It holds but for the reveal and the tv. Throws BadInput on an order that is none.
double renyi_up(const Guarantee& guarantee, double order);

/// The mu of a Gaussian release with that rho, or with that Renyi epsilon at that order > 1,
/// rounded down: sqrt(2 rho), sqrt(2 epsilon / order). Throws BadInput on numbers out of range.
double rho_mu_down(double rho);
double renyi_mu_down(double epsilon, double order);
/// The epsilon of a mu-GDP release at that delta as a budget: the largest that gdp_mu_down gives no
/// more than mu for, to twelve digits; 0 where delta alone allows mu.
double budget_epsilon_down(double mu, double delta);

}  // namespace gibbsite
