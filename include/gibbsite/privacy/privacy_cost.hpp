#pragma once
// What a ledger counts (docs/how-to/ledger.md). Every amount adds up, also where what is released
// next, and at what price, was chosen after looking at what was released before.
#include "gibbsite/core/decimal.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The privacy cost of a release or of a sum of releases, or the caps of a ledger.
struct PrivacyCost {
  Decimal mu_squared{};  ///< of the Gaussian that covers it
  Decimal delta0{};      ///< additive failure probability
  Decimal tv{};          ///< total variation of each table's law to what the rest is about
  bool operator==(const PrivacyCost&) const = default;
};

PrivacyCost operator+(const PrivacyCost& a, const PrivacyCost& b);
/// What is left of each cap.
PrivacyCost left_of(const PrivacyCost& caps, const PrivacyCost& spent);
/// True if no amount is above its cap.
bool within(const PrivacyCost& charge, const PrivacyCost& caps);

/// The cost of a guarantee without a pure part, rounded up (mechanism/ledger_guarantee.hpp covers
/// others by such). Throws BadInput if it has a pure part, or promises nothing.
PrivacyCost privacy_cost_up(const Guarantee& guarantee);

/// Parts of delta that the caps reserve for delta0 and for tv; the Gaussian part has the rest.
struct DeltaShares {
  double delta0 = 0.05;
  double tv = 0.05;
};
/// The caps of a budget, rounded down so that delta_up(guarantee_of(caps), epsilon) <= delta. mu is
/// that of (epsilon, (1 - shares) delta), delta0 its share of delta, tv its share over 1 +
/// e^epsilon. Throws BadInput on an illegal request, and if epsilon leaves no tv.
PrivacyCost caps_down(double epsilon, double delta, const DeltaShares& shares = {});
/// The guarantee of all that is ever released within the caps: (epsilon, H(epsilon; mu) + delta0 +
/// (1 + e^epsilon) tv) for every epsilon, rounded up.
Guarantee guarantee_of(const PrivacyCost& caps, const Neighbors& who);

}  // namespace gibbsite
