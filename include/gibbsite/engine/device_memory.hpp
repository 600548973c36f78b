#pragma once
// Memory of a GPU, for arrays that lie there.
#include <memory>

#include "gibbsite/data/array.hpp"

namespace gibbsite {

/// Opens the memory of a GPU by its number (CUDA's device id). Copies come after all work that was
/// given to its legacy default stream; the calling thread's own device stays chosen. `data` is the
/// place of the array; null asks for the GPU alone. Throws NotCompiled in a build without CUDA,
/// NoDevice if there is no such GPU, CudaError if the pointer is not its memory. Copies throw
/// CudaError.
std::unique_ptr<RemoteMemory> open_device_memory(int device, const void* data);

}  // namespace gibbsite
