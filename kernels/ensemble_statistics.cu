// The ensemble statistics on the device, and its errors in our words.
#include "kernels/ensemble_statistics.hpp"

#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <new>
#include <string>

#include "gibbsite/core/error.hpp"

namespace gibbsite::kernels {
namespace {

struct OnDevice {
  template <class T>
  using Vector = thrust::device_vector<T>;
  static auto policy() { return thrust::cuda::par; }
};

[[noreturn]] void fail(const std::string& why) {
  throw CudaError("diagnostics: " + why + "; run again, or compute them on the host");
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  const cudaError_t status = cudaMemGetInfo(&free, &total);
  if (status != cudaSuccess) fail(cudaGetErrorString(status));
  return free;
}

[[noreturn]] void fail_for_memory(std::size_t bytes) {
  throw CudaError("diagnostics: one parameter's draws need " + std::to_string((bytes >> 20) + 1) +
                  " MiB on the GPU, " + std::to_string(free_bytes() >> 20) +
                  " MiB are free; free the card, keep fewer draws or compute them on the host");
}

}  // namespace

std::vector<Summary> summarize_on_device(const Draws& draws,
                                         std::span<const double> probabilities) {
  // Six buffers, one more that the sort takes, and what the device's runtime rounds up to.
  const std::size_t bytes = 64 * draws.draws * draws.chains + (std::size_t{16} << 20);
  if (free_bytes() < bytes) fail_for_memory(bytes);
  try {
    return summarize_on<OnDevice>(draws, probabilities);
  } catch (const std::bad_alloc&) {
    cudaGetLastError();  // not sticky: forget it
    fail_for_memory(bytes);
  } catch (const thrust::system_error& error) {
    fail(error.what());
  }
}

}  // namespace gibbsite::kernels
