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

/// What was done so far. Depends on private data: diagnostics, but for a padded schedule's passes.
struct ProximalCounts {
  std::uint64_t gradient_passes = 0,
                proposal_passes = 0;  ///< over the data, for all chains at once
  std::uint64_t gradients = 0;        ///< of a chain each
  std::uint64_t proposals = 0;        ///< evaluated and used
  std::uint64_t accepted = 0;
  std::uint64_t capped = 0;  ///< iterations that accepted none of their N B proposals
  std::uint64_t exact = 0;   ///< decisions too close for double arithmetic, taken in 50 digits
};

/// C chains on exp(-U). An iteration draws y ~ N(theta, eta I), then theta from
/// exp(-U - ||theta - y||^2/(2 eta)) by rejection: proposals from the Gaussian that has the tangent
/// of the loss at w, accepted with probability exp(-beta D(theta, w)), D the Bregman divergence of
/// the loss sum; any w is correct, one near the proximal point is fast. A schedule with eta = 0 is
/// exact rejection around the center: one iteration, no y.
///
/// Every accept decision is the one that exact arithmetic takes: where rounding leaves it open it
/// is repeated in 50 digits (docs/theory/proximal.md, "Rounding").
class ProximalChains {
 public:
  /// Chains start at `center` [d]: a minimizer of U, by whose Hessian proximal points are then
  /// predicted, or for a padded schedule theta0, which is public. `potential`
  /// and what it views must outlive this.
  /// Throws BadInput when m = 0, the center is not finite, or the schedule is out of range.
  ProximalChains(const Potential& potential, const ProximalSchedule& schedule,
                 std::span<const double> center, std::size_t chains, const StreamKey& key);
  ~ProximalChains();

  /// Chain c starts at center + deviation N(0, I), the noise of (key, c, start_step).
  void start_at_random(double deviation);
  /// Goes on from there: `positions` of another run and iterations done [C].
  void restore(std::span<const double> positions, std::span<const std::uint64_t> iterations);

  /// One pass over the data with every gradient and one with every proposal that some chain below
  /// `iteration` waits for. False when there is none: all chains have got there.
  bool advance(std::uint64_t iteration);

  /// [C x 2 x d] after whole iterations: pairs of doubles whose sum is theta.
  [[nodiscard]] std::vector<double> positions() const;
  [[nodiscard]] std::vector<std::uint64_t> iterations() const;           ///< [C] done
  [[nodiscard]] std::span<const double> theta(std::size_t chain) const;  ///< [d] rounded to nearest
  [[nodiscard]] const ProximalCounts& counts() const;

  /// Widens what counts as too close for double, for tests: every decision must stay the same.
  void be_cautious(double factor);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gibbsite
