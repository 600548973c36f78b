#pragma once
// What a ledger counts (docs/how-to/ledger.md). Every amount adds up, also where what is released
// next, and at what price, was chosen after looking at what was released before.
#include "gibbsite/core/decimal.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The privacy cost of a release or of a sum of releases, or the caps of a ledger.
struct Charge {
  Decimal mu_squared{};  ///< of the Gaussian that covers it
  Decimal reveal{};      ///< probability with which everything may be told
  Decimal tv{};          ///< total variation of each table's law to what the rest is about
  bool operator==(const Charge&) const = default;
};

Charge operator+(const Charge& a, const Charge& b);
/// What is left of each of `caps`.
Charge left_of(const Charge& caps, const Charge& spent);
/// No amount is above its cap.
bool within(const Charge& charge, const Charge& caps);

/// The cost of a guarantee without a pure part (mechanism/ledger_guarantee.hpp makes it so),
/// rounded up. Throws BadInput if it has one, or promises nothing.
Charge charge_up(const Guarantee& guarantee);

/// Parts of delta that caps keep for reveal and for tv; the Gaussian has the rest.
struct DeltaShares {
  double reveal = 0.05;
  double tv = 0.05;
};
/// Caps such that delta_up(guarantee_of(caps), epsilon) <= delta, rounded down: mu of (epsilon,
/// (1 - shares) delta), reveal of its share, tv of its share over 1 + e^epsilon. Throws BadInput on
/// an illegal request and where epsilon leaves no tv.
Charge caps_down(double epsilon, double delta, const DeltaShares& shares = {});
/// (epsilon, H(epsilon; mu) + reveal + (1 + e^epsilon) tv) for every epsilon, of all that was ever
/// released within the caps, rounded up.
Guarantee guarantee_of(const Charge& caps, const Neighbors& who);

}  // namespace gibbsite
