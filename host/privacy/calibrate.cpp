#include "gibbsite/privacy/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/rdp.hpp"

namespace gibbsite {
namespace {

constexpr std::array<std::pair<Calibration, std::string_view>, 6> names{{
    {Calibration::gdp, "gdp"},
    {Calibration::minami_cor8, "minami-cor8"},
    {Calibration::minami_thm7, "minami-thm7"},
    {Calibration::geumlek_rdp, "geumlek-rdp"},
    {Calibration::exact, "exact"},
    {Calibration::redberg, "redberg"},
}};

// Largest S / sqrt(m) that the theorem allows at (epsilon, delta).
Wide largest_mu(Calibration calibration, double epsilon, double delta) {
  const Wide e = epsilon;
  const Wide t_squared = -2 * log(Wide(delta));
  switch (calibration) {
    case Calibration::gdp:
      break;
    case Calibration::exact:
    case Calibration::redberg:
      throw BadInput(format_message("{} {}", Field{"calibration"}, to_string(calibration)),
                     format_message("belongs to {} objective", Field{"mechanism"}),
                     "use gdp, minami-cor8, minami-thm7 or geumlek-rdp");
    case Calibration::minami_cor8:
      // Follows from Thm 7 only up to an epsilon between 1 and 2 and overstates the guarantee at
      // large epsilon (docs/theory/calibrations.md), so the exact curve caps it.
      return std::min(Wide(e / sqrt(1 + t_squared)), Wide(gdp_mu_down(epsilon, delta)));
    case Calibration::minami_thm7:
      // sqrt(t^2 + 2 eps) - t without the cancellation
      return 2 * e / (sqrt(t_squared) + sqrt(t_squared + 2 * e));
    case Calibration::geumlek_rdp:
      // (alpha, alpha mu^2 / 2)-RDP for every alpha
      return sqrt(2 * Wide(linear_rdp_rho_down(epsilon, delta)));
  }
  return gdp_mu_down(epsilon, delta);
}

}  // namespace

std::string_view to_string(Calibration calibration) {
  return std::find_if(names.begin(), names.end(), [&](auto& n) { return n.first == calibration; })
      ->second;
}

Calibration calibration_from_string(std::string_view name) {
  for (const auto& [calibration, known] : names) {
    if (known == name) return calibration;
  }
  throw BadInput(Field{"calibration"}, fmt::format("unknown calibration '{}'", name),
                 "use gdp, minami-cor8, minami-thm7, geumlek-rdp, exact or redberg");
}

double calibrate_beta_down(Calibration calibration, double epsilon, double delta, double lipschitz,
                           double prior_precision, Adjacency adjacency) {
  require_finite_positive(epsilon, "epsilon");
  require_between(delta, 0, 1, "delta");
  require_finite_positive(lipschitz, "lipschitz");
  require_finite_positive(prior_precision, "prior_precision");
  // mu = S / sqrt(m), S = 2 beta L or beta L
  const int gradients = adjacency == Adjacency::replace_one ? 2 : 1;
  return round_down(largest_mu(calibration, epsilon, delta) * sqrt(Wide(prior_precision)) /
                    (gradients * Wide(lipschitz)));
}

}  // namespace gibbsite
