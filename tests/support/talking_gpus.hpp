#pragma once
// GPUs of ranks that are threads: how they talk where there is no NCCL.
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/cuda/cuda.hpp"
#include "gibbsite/machine/device_ranks.hpp"
#include "support/emulated_device.hpp"

namespace gibbsite::support {

/// By the ranks' own words, where the queue of a GPU in software comes to it. `spoil` has its way
/// with what came from rank 0.
class TalkingGpus final : public DeviceRanks {
 public:
  using Spoil = std::function<void(std::span<double>)>;
  explicit TalkingGpus(Communicator& ranks, Spoil spoil = {})
      : ranks_(ranks), spoil_(std::move(spoil)) {}
  [[nodiscard]] std::string_view name() const override { return "threads"; }
  void gather(const std::byte* mine, std::byte* all, std::size_t bytes, void* /*stream*/) override {
    const std::vector<std::size_t> counts(ranks_.size(), bytes);
    ranks_.gather({mine, bytes}, counts, {all, bytes * ranks_.size()});
  }
  void broadcast(std::byte* data, std::size_t bytes, void* /*stream*/) override {
    ranks_.broadcast({data, bytes}, 0);
    if (spoil_) spoil_({reinterpret_cast<double*>(data), bytes / sizeof(double)});
  }

 private:
  Communicator& ranks_;
  Spoil spoil_;
};

/// The cuda backend on a GPU of its own, in software.
inline std::unique_ptr<Backend> own_gpu(EmulatedGpu gpu = {}) {
  gpu.watches_global = false;
  return cuda::make_cuda_backend(make_emulated_device(gpu), {});
}

}  // namespace gibbsite::support
