#pragma once
// What the stand-ins for CUDA's libraries need of the runtime in software.
#include <cuda_runtime_api.h>

#include <functional>

namespace gibbsite::ptx {

/// Enqueues host work on a stream, or captures it there.
void enqueue(cudaStream_t stream, std::function<void()> run);

}  // namespace gibbsite::ptx
