// Copies out of a GPU's memory, for arrays that others made there.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/cuda/memory.hpp"
#include "gibbsite/core/error.hpp"
#include "kernels/chosen_gpu.hpp"

namespace gibbsite::cuda {
namespace {

[[noreturn]] void fail(const char* what, cudaError_t status) {
  cudaGetLastError();  // or the next call would say it again
  throw CudaError(fmt::format("the array on the GPU: {}: {}; give array.get() or array.cpu()", what,
                              cudaGetErrorString(status)));
}
void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail(what, status);
}

struct Chosen : ChosenGpu {
  explicit Chosen(int device) : ChosenGpu(device) { require(status(), "choosing its GPU"); }
};

constexpr std::size_t most_pitch = 0x7fffffff;  // of cudaMemcpy2D: cudaDeviceProp::memPitch

}  // namespace

void require_on_device(int device, const void* data) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || device < 0 || device >= devices) {
    cudaGetLastError();
    throw NoDevice(fmt::format(
        "the array is on GPU {}, and {}; give array.get() or array.cpu()", device,
        status != cudaSuccess ? fmt::format("CUDA finds none here ({})", cudaGetErrorString(status))
                              : fmt::format("CUDA finds {} here", devices)));
  }
  if (data == nullptr) return;
  const Chosen chosen(device);
  cudaPointerAttributes is{};
  require(cudaPointerGetAttributes(&is, data), "asking where it lies");
  const bool there =
      is.type == cudaMemoryTypeManaged || (is.type == cudaMemoryTypeDevice && is.device == device);
  if (!there)
    throw CudaError(fmt::format(
        "the array says that it is on GPU {}, and its pointer is not there; give array.get() or "
        "array.cpu()",
        device));
}

void copy_from_device(int device, std::byte* out, const std::byte* at, std::size_t pitch,
                      std::size_t width, std::size_t height) {
  const Chosen chosen(device);
  const char* const what = "copying from it";
  if (height <= 1 || pitch == width) {
    require(cudaMemcpy(out, at, width * height, cudaMemcpyDefault), what);
  } else if (pitch <= most_pitch) {
    require(cudaMemcpy2D(out, width, at, pitch, width, height, cudaMemcpyDefault), what);
  } else {
    for (std::size_t i = 0; i < height; ++i)
      require(cudaMemcpy(out + i * width, at + i * pitch, width, cudaMemcpyDefault), what);
  }
}

}  // namespace gibbsite::cuda
