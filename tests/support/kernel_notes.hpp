// Which kernels a test program has launched. The file that the environment variable
// GIBBSITE_KERNELS_RUN names gets one line for each of them when the program ends; without that
// variable nothing is written. tests/kernels/census.py compares such files with the list of all
// kernels.
#pragma once
#include <memory>
#include <typeinfo>

#include "engine/cuda/device.hpp"

namespace gibbsite::support {

/// Adds the kernel with that body to the list of this process.
void note_kernel(const std::type_info& body);

template <class Body>
void note_kernel() {
  static const bool noted = (note_kernel(typeid(Body)), true);
  static_cast<void>(noted);
}

/// The same device, and every kernel that it launches is noted.
std::unique_ptr<cuda::Device> make_noted_device(std::unique_ptr<cuda::Device> device);

}  // namespace gibbsite::support
