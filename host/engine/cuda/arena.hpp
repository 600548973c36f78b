#pragma once
// One piece of a GPU's memory, handed out in parts.
#include "engine/cuda/device.hpp"

namespace gibbsite::cuda {

using kernels::View;

inline std::size_t aligned(std::size_t bytes) { return kernels::round_up_to(bytes, 256); }

/// Memory of a device, or of the host that copies overlap with; given back at the end.
struct Memory {
  Device& device;
  std::byte* data;
  std::size_t bytes;
  bool pinned;
  Memory(Device& device_, std::size_t bytes_, bool pinned_ = false)
      : device(device_),
        data(pinned_ ? device_.allocate_pinned(bytes_) : device_.allocate(bytes_)),
        bytes(bytes_),
        pinned(pinned_) {}
  ~Memory() { pinned ? device.release_pinned(data) : device.release(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Leaves nothing private behind.
  void wipe() noexcept {
    try {
      device.fill_zero(Queue::compute, data, bytes);
      device.synchronize();
    } catch (...) {  // a GPU that failed keeps nothing that can be reached
    }
  }
};

/// Hands out parts of an arena, or only adds up what is asked for.
struct Parts {
  std::byte* base = nullptr;
  std::size_t used = 0;
  template <class T>
  View<T> take(std::size_t count) {
    std::byte* const at = base == nullptr ? nullptr : base + used;
    used += aligned(count * sizeof(T));
    return {reinterpret_cast<T*>(at), count};
  }
};

template <class T>
std::byte* bytes_of(const View<T>& view) {
  return reinterpret_cast<std::byte*>(view.data);
}

}  // namespace gibbsite::cuda
