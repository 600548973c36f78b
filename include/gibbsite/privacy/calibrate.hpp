#pragma once
// From a budget to beta for exact Gibbs sampling: four calibrations (docs/theory/calibrations.md).
// And the names of those of objective perturbation (privacy/objective.hpp).
#include <string_view>

#include "gibbsite/privacy/budget.hpp"

namespace gibbsite {

enum class Calibration {
  gdp,          ///< mu = S / sqrt(m): Gopi, Lee, Liu 2022; the tightest, and the default
  minami_cor8,  ///< Minami et al., NIPS 2016, Cor. 8, capped at gdp (docs/theory/calibrations.md)
  minami_thm7,  ///< Minami et al., NIPS 2016, Thm 7, inverting eq. 6
  geumlek_rdp,  ///< Geumlek, Song, Chaudhuri 2017, Thm 16/17 with the tight RDP conversion
  exact,        ///< objective perturbation: docs/theory/objective-perturbation.md
  redberg,      ///< objective perturbation: Redberg, Koskela, Wang 2023
};
std::string_view to_string(Calibration calibration);         // "gdp", "minami-cor8", ...
Calibration calibration_from_string(std::string_view name);  // throws BadInput listing the names

/// Largest beta, rounded down, for which one exact draw of the Gibbs posterior is (epsilon,
/// delta)-DP by the calibration's theorem. `lipschitz` = L, already times rows_per_person; m =
/// prior_precision > 0. Gradients of neighbors differ by 2 beta L under replace-one and by beta L
/// under add-remove, so beta is then twice as large. Throws BadInput on arguments out of range, and
/// on a calibration of objective perturbation.
double calibrate_beta_down(Calibration calibration, double epsilon, double delta, double lipschitz,
                           double prior_precision, Adjacency adjacency);

}  // namespace gibbsite
