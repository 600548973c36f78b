#pragma once
// The one currency that every mechanism's guarantee is paid in (docs/reference/certificate.md,
// "Guarantee").
#include <cstdint>
#include <span>

#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// Which tables count as neighbors: one person's rows are replaced, or added and removed.
struct Neighbors {
  Adjacency adjacency = Adjacency::replace_one;
  std::uint64_t rows_per_person = 1;  ///< k: one person has up to k rows
  bool operator==(const Neighbors&) const = default;
};

/// The guarantee of a release: it is (epsilon, delta)-private for every real epsilon with delta =
/// H(epsilon - epsilon0; mu) + delta0 + (1 + e^epsilon) tv. H is the profile of Gaussian
/// differential privacy (privacy/gdp.hpp).
struct Guarantee {
  double mu = 0;        ///< Gaussian differential privacy of the Gaussian part
  double epsilon0 = 0;  ///< epsilon of the part that needs no delta; it is subtracted from epsilon
  double delta0 = 0;    ///< additive failure probability
  /// Total-variation distance between the computed output's law and the ideal law that mu and
  /// epsilon0 describe, for each table.
  double tv = 0;
  Neighbors who{};

  /// Calls visit(name, number) for each number, as `fields` of a mechanism does.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("mu", self.mu);
    visit("pure", self.epsilon0);
    visit("reveal", self.delta0);
    visit("tv", self.tv);
  }
};

/// The delta of the guarantee at `epsilon`, rounded up; 1 if nothing is promised. A guarantee at a
/// smaller epsilon holds at this one too, so tv counts where it costs least.
double delta_up(const Guarantee& guarantee, double epsilon);

/// Upper bound of the probability of guessing right, at even odds, from which of two neighbors a
/// release was made, for someone who knows every other row:
///   1 - (1 - delta(epsilon0))/(1 + e^epsilon0) + tv,   delta(epsilon0) = 2 Phi(mu/2) - 1 + delta0.
/// It is in [1/2, 1], for words, and not rounded.
double best_guess(const Guarantee& guarantee);
/// best_guess in percent, rounded up to a tenth.
double best_guess_percent(const Guarantee& guarantee);

/// The guarantee of independent releases about the same people: sqrt(sum mu^2) and sums of the
/// rest, rounded up. Throws BadInput if they protect different neighbors, or there is none.
Guarantee compose_up(std::span<const Guarantee> parts);

}  // namespace gibbsite
