#pragma once
// Arrays elsewhere than in the host's ordinary memory, by DLPack (dmlc.github.io/dlpack).
#include <memory>

#include "bind.hpp"
#include "gibbsite/data/array.hpp"

namespace gibbsite::python {

/// An array that says by __dlpack_device__ that it is not in the CPU's memory, held until this
/// goes. One that the CPU can read all the same (pinned by CUDA) has no remote memory.
class DeviceArray {
 public:
  static bool is_one(const nb::object& x);

  /// `name` in errors; `dimensions`: 1 is read as one column. Throws BadInput, and what
  /// open_device_memory does.
  DeviceArray(const nb::object& x, const char* name, int dimensions);

  [[nodiscard]] const ArrayView& view() const { return view_; }
  [[nodiscard]] RemoteMemory* memory() const { return memory_.get(); }

 private:
  nb::object capsule_;  // never taken over: it frees the array
  ArrayView view_;
  std::unique_ptr<RemoteMemory> memory_;
};

/// copy(device, address, pitch, width, height) gives `height` runs of `width` bytes in place of
/// CUDA; None: CUDA again. For tests.
void set_device_copy(const nb::object& copy);

}  // namespace gibbsite::python
