#pragma once
// Ranks whose sums lie on GPUs: what they say to each other without a way through the host. Beside
// a Communicator, which starts it and says everything else (docs/how-to/cluster.md, "GPUs").
#include <cstddef>
#include <memory>
#include <string_view>

#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

class DeviceRanks {
 public:
  virtual ~DeviceRanks() = default;
  /// The name of the library: "nccl".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Gathers `bytes` bytes of every rank, in GPU memory, to all [size x bytes] on every rank.
  /// Collective, in the order of `stream` (a cudaStream_t). It adds nothing: the caller adds in an
  /// order of its own. Throws Error of status backend_unavailable.
  virtual void gather(const std::byte* mine, std::byte* all, std::size_t bytes, void* stream) = 0;
  /// Copies rank 0's bytes to `data` on all ranks.
  virtual void broadcast(std::byte* data, std::size_t bytes, void* stream) = 0;
};

/// True if this process finds libgibbsite_nccl.so.
[[nodiscard]] bool device_ranks_are_there();

/// Joins the GPUs that the ranks' threads have chosen (cudaSetDevice), by libgibbsite_nccl.so.
/// Collective. Throws BackendUnavailable on all ranks alike if one lacks the library or its GPU, or
/// two share a GPU. `ranks` may be gone before it.
[[nodiscard]] std::unique_ptr<DeviceRanks> make_device_ranks(Communicator& ranks);

}  // namespace gibbsite
