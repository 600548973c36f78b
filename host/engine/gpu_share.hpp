#pragma once
// An engine whose rows lie on a GPU: of several ranks it holds a whole share, and what shares add
// up to need not pass through the host.
#include <cstdint>

#include "gibbsite/engine/ensemble.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/machine/device_ranks.hpp"

namespace gibbsite {

class GpuShare {
 public:
  virtual ~GpuShare() = default;
  /// Whether `advance_among` makes the steps of `ChainStepper::step`.
  [[nodiscard]] virtual bool exchanges() const = 0;
  /// ChainStepper::advance over the rows of all ranks, collective: `cards` gathers the sums of the
  /// shares, each GPU adds them in the tree over ranks, rank 0's moves the chains and theta goes
  /// from it to all. Chains are the same everywhere. Throws on all ranks the same what one of them
  /// lacks before the first step; BadInput, chains as they were, where a GPU added at another
  /// theta.
  virtual void advance_among(Ensemble& ensemble, std::uint64_t steps, Communicator& ranks,
                             DeviceRanks& gpus) = 0;
};

}  // namespace gibbsite
