#pragma once
// Chains of the proximal sampler, and of exact rejection (docs/theory/proximal.md).
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/proximal_schedule.hpp"

namespace gibbsite {

/// Counts of the work so far. They depend on private data, except the passes of a padded schedule:
/// for diagnostics only.
struct ProximalCounts {
  std::uint64_t gradient_passes = 0,
                proposal_passes = 0;  ///< over the data, for all chains at once
  std::uint64_t gradients = 0;        ///< of a chain each
  std::uint64_t proposals = 0;        ///< evaluated and used
  std::uint64_t accepted = 0;
  std::uint64_t capped = 0;  ///< iterations that accepted none of their N B proposals
  std::uint64_t exact = 0;   ///< decisions too close for double arithmetic, taken in 50 digits
};

/// C chains of the proximal sampler on the density exp(-U) (docs/theory/proximal.md). An iteration
/// draws y ~ N(theta, eta I), then theta from exp(-U - ||theta - y||^2/(2 eta)) by rejection.
/// Proposals come from the Gaussian that has the tangent of the loss at w. They are accepted with
/// probability exp(-beta D(theta, w)), D the Bregman divergence of the loss sum. Any w is correct;
/// one near the proximal point is fast. A schedule with eta = 0 is exact rejection around the
/// center: one iteration, no y.
/// Every accept decision is the one of exact arithmetic: if rounding leaves it open, it is repeated
/// in 50 digits (docs/theory/proximal.md, "Rounding").
class ProximalChains {
 public:
  /// Starts all chains at `center` [d]. It is a minimizer of U, whose Hessian then predicts
  /// proximal points, or theta0 for a padded schedule, which is public. `potential` and what it
  /// views must outlive this. Throws BadInput if m = 0, the center is not finite, or the schedule
  /// is out of range.
  ProximalChains(const Potential& potential, const ProximalSchedule& schedule,
                 std::span<const double> center, std::size_t chains, const StreamKey& key);
  ~ProximalChains();

  /// Moves every chain c to a random start, center + deviation N(0, I), with the noise of (key, c,
  /// start_step).
  void start_at_random(double deviation);
  /// Continues another run, from its `positions` and the iterations done [C].
  void restore(std::span<const double> positions, std::span<const std::uint64_t> iterations);

  /// Makes one pass over the data with all gradients, and one with all proposals, that chains below
  /// `iteration` wait for. Returns false if no chain waits: all have got there.
  bool advance(std::uint64_t iteration);

  /// Positions [C x 2 x d] after whole iterations: pairs of doubles whose sum is theta.
  [[nodiscard]] std::vector<double> positions() const;
  [[nodiscard]] std::vector<std::uint64_t> iterations() const;           ///< [C] done
  [[nodiscard]] std::span<const double> theta(std::size_t chain) const;  ///< [d] rounded to nearest
  [[nodiscard]] const ProximalCounts& counts() const;

  /// Widens the range of decisions that are too close for double, for tests: no decision may
  /// change.
  void be_cautious(double factor);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gibbsite
