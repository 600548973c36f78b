#pragma once
// What a certificate says to accountants of Renyi and zero-concentrated privacy
// (docs/theory/rdp.md). It follows from the certificate's numbers, and no file holds it.
#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/mechanism/rdp.hpp"
#include "gibbsite/privacy/rdp.hpp"

namespace gibbsite {

/// The Renyi epsilon of all draws at that order > 1, rounded up; infinite where void. It holds but
/// for the reveal, which exact families do without (is_exact), and the tv. Throws BadInput on an
/// order that is none.
template <class Kind>
double renyi_up(const CertificateOf<Kind>& c, double order) {
  if (c.is_void()) return std::numeric_limits<double>::infinity();
  if constexpr (std::is_same_v<Kind, ConjugateKind>) {
    if (c.bought) return renyi_up(c.claimed, order);  // draws alone are not all that is released
    static_cast<void>(renyi_up(Guarantee{}, order));  // throws on the order
    return renyi_up(c.mechanism, c.problem, c.claimed.who, c.draws, order);
  } else if constexpr (std::is_same_v<Kind, SelectKind>) {
    static_cast<void>(renyi_up(Guarantee{}, order));
    return renyi_up(c.mechanism, c.claimed.who, order);
  } else {
    return renyi_up(c.claimed, order);
  }
}

/// True if renyi_up is the exact divergence of the draws, for which no reveal is needed.
template <class Kind>
bool is_renyi_exact(const CertificateOf<Kind>& c) {
  if constexpr (std::is_same_v<Kind, ConjugateKind>) {
    return std::holds_alternative<ConjugateDraw>(c.mechanism) && c.problem.family != Family::mean &&
           !c.bought;
  } else {
    return false;
  }
}

/// What zero_concentrated_up says of the release, or better where its law is known. Infinite where
/// void.
template <class Kind>
ZeroConcentrated zero_concentrated_up(const CertificateOf<Kind>& c) {
  ZeroConcentrated out = zero_concentrated_up(c.is_void() ? Guarantee{.delta0 = 1} : c.claimed);
  if constexpr (std::is_same_v<Kind, SelectKind>) {  // of every order at once: v^2/8 a unit of it
    constexpr double order = 2;
    if (!c.is_void())
      out.rho = std::min(out.rho, renyi_up(c.mechanism, c.claimed.who, order) / order);
  }
  return out;
}

/// Two lines for who adds releases up in zCDP or RDP; nothing where void.
template <class Kind>
std::string renyi_words(const CertificateOf<Kind>& certificate);

}  // namespace gibbsite
