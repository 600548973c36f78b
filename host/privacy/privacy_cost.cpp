#include "gibbsite/privacy/privacy_cost.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/budget.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {

PrivacyCost operator+(const PrivacyCost& a, const PrivacyCost& b) {
  return {a.mu_squared + b.mu_squared, a.delta0 + b.delta0, a.tv + b.tv};
}

PrivacyCost left_of(const PrivacyCost& caps, const PrivacyCost& spent) {
  return {left_of(caps.mu_squared, spent.mu_squared), left_of(caps.delta0, spent.delta0),
          left_of(caps.tv, spent.tv)};
}

bool within(const PrivacyCost& charge, const PrivacyCost& caps) {
  return charge.mu_squared <= caps.mu_squared && charge.delta0 <= caps.delta0 &&
         charge.tv <= caps.tv;
}

PrivacyCost privacy_cost_up(const Guarantee& g) {
  if (g.epsilon0 != 0) {
    throw BadInput(
        fmt::format("guarantee: its pure part {} has no place in a ledger; cover it by a "
                    "Gaussian "
                    "first (ledger_guarantee)",
                    g.epsilon0));
  }
  if (!(g.mu >= 0 && g.mu < 1e3) || !(g.delta0 >= 0 && g.delta0 < 1) || !(g.tv >= 0 && g.tv < 1)) {
    throw BadInput(fmt::format(
        "guarantee: mu {:.3g}, reveal {:.3g}, tv {:.3g} promise too little for a ledger", g.mu,
        g.delta0, g.tv));
  }
  return {Decimal::up(Wide(g.mu) * Wide(g.mu)), Decimal::up(g.delta0), Decimal::up(g.tv)};
}

PrivacyCost caps_down(double epsilon, double delta, const DeltaShares& shares) {
  Budget{.epsilon = epsilon, .delta = delta}.validate();
  const double rest = 1 - shares.delta0 - shares.tv;
  if (!(shares.delta0 >= 0) || !(shares.tv > 0) || !(rest > 0)) {
    throw BadInput(format_message("{}, {}", Field{"reveal_share"}, Field{"tv_share"}),
                   "must be at least 0 and above 0, their sum below 1");
  }
  double mu = gdp_mu_down(epsilon, round_down(Wide(delta) * Wide(rest)));
  const auto caps = [&] {
    return PrivacyCost{Decimal::down(Wide(mu) * Wide(mu)),
                       Decimal::down(Wide(delta) * Wide(shares.delta0)),
                       Decimal::down(Wide(delta) * Wide(shares.tv) / gap_price(epsilon))};
  };
  if (caps().tv == Decimal{}) {
    throw BadInput(
        fmt::format("epsilon: {} leaves delta {} no room for what computed noise is off by, "
                    "(1+e^epsilon) times "
                    "which comes off delta; give a smaller epsilon or a larger delta",
                    epsilon, delta));
  }
  while (!(delta_up(guarantee_of(caps(), {}), epsilon) <= delta)) mu *= 1 - 1e-12;
  return caps();
}

Guarantee guarantee_of(const PrivacyCost& caps, const Neighbors& who) {
  return {round_up(sqrt(caps.mu_squared.wide())), 0, round_up(caps.delta0.wide()),
          round_up(caps.tv.wide()), who};
}

}  // namespace gibbsite
