#pragma once
// Memory of a GPU, for arrays that lie there.
#include <memory>

#include "gibbsite/data/array.hpp"

namespace gibbsite {

/// Copies from the card of this number (CUDA's device id), after all work that was given to its
/// legacy default stream; the calling thread's own choice of a card stays what it was. `data` is
/// where the array lies; null asks for the card alone. Throws NotCompiled in a build without CUDA,
/// NoDevice where there is no card of this number, CudaError on a pointer that is not its memory;
/// the copies throw CudaError.
std::unique_ptr<RemoteMemory> open_device_memory(int device, const void* data);

}  // namespace gibbsite
