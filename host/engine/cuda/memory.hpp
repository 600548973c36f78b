#pragma once
// What open_device_memory (engine/device_memory.hpp) asks of CUDA.
#include <cstddef>

namespace gibbsite::cuda {

/// Throws NoDevice where there is no GPU of this number, CudaError where `data`, if
/// any, is neither in its memory nor managed.
void require_on_device(int device, const void* data);

/// RemoteMemory::copy from that card; returns when it is done. Throws CudaError.
void copy_from_device(int device, std::byte* out, const std::byte* at, std::size_t pitch,
                      std::size_t width, std::size_t height);

}  // namespace gibbsite::cuda
