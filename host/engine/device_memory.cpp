#include "gibbsite/engine/device_memory.hpp"

#include "engine/cuda/cuda.hpp"
#include "engine/cuda/memory.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {

namespace {

class DeviceMemory final : public RemoteMemory {
 public:
  explicit DeviceMemory(int device) : device_(device) {}
  void copy(std::byte* out, const std::byte* at, std::size_t pitch, std::size_t width,
            std::size_t height) override {
    cuda::copy_from_device(device_, out, at, pitch, width, height);
  }

 private:
  int device_;
};

}  // namespace

std::unique_ptr<RemoteMemory> open_device_memory(int device, const void* data) {
  if (!cuda::compiled()) {
    throw NotCompiled(
        "the array is on a GPU, and this build is without CUDA; give a copy in the host's memory, "
        "array.get() or array.cpu(), or build with CUDA: GIBBSITE_CUDA=ON pip install .");
  }
  cuda::require_on_device(device, data);
  return std::make_unique<DeviceMemory>(device);
}

}  // namespace gibbsite
