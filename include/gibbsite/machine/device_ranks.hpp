#pragma once
// Ranks whose sums lie on cards: what they say to each other without a way through the host. Beside
// a Communicator, which starts it and says everything else (docs/how-to/cluster.md, "Cards").
#include <cstddef>
#include <memory>
#include <string_view>

#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

class DeviceRanks {
 public:
  virtual ~DeviceRanks() = default;
  /// "nccl".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Collective, in the order of `stream` (a cudaStream_t): all [size x bytes] = what rank 0, rank
  /// 1, ... have, as many bytes each. Memory of the card. Nothing is added: the order of a sum is
  /// of who adds. Throws Error of status backend_unavailable.
  virtual void gather(const std::byte* mine, std::byte* all, std::size_t bytes, void* stream) = 0;
  /// Copies rank 0's bytes to `data` on all ranks.
  virtual void broadcast(std::byte* data, std::size_t bytes, void* stream) = 0;
};

/// Whether this process finds libgibbsite_nccl.so.
[[nodiscard]] bool device_ranks_are_there();

/// Joins the GPUs that the ranks' threads have chosen (cudaSetDevice), by libgibbsite_nccl.so.
/// Collective. Throws BackendUnavailable on all ranks alike if one lacks the library or its GPU, or
/// two share a GPU. `ranks` may be gone before it.
[[nodiscard]] std::unique_ptr<DeviceRanks> make_device_ranks(Communicator& ranks);

}  // namespace gibbsite
