// Which kernels a test program has launched. The file that the environment variable
// GIBBSITE_KERNELS_RUN names gets one line for each of them when the program ends, and one for the
// compute capability of a real GPU; without that variable nothing is written.
// tests/kernels/census.py compares such files with the list of all kernels.
#pragma once
#include <memory>
#include <typeinfo>

#include "engine/cuda/device.hpp"

namespace gibbsite::support {

/// Where a kernel ran: tests of a GPU run some on the emulated GPU too.
enum class RanOn { emulated, gpu };

/// Adds the kernel with that body to the list of this process.
void note_kernel(const std::type_info& body, RanOn where);

template <class Body, RanOn where>
void note_kernel() {
  static const bool noted = (note_kernel(typeid(Body), where), true);
  static_cast<void>(noted);
}

/// Wraps a real GPU: its compute capability and every kernel that it launches are noted.
std::unique_ptr<cuda::Device> make_noted_device(std::unique_ptr<cuda::Device> device);

}  // namespace gibbsite::support
