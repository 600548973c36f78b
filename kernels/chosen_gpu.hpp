#pragma once
// A GPU for the calling thread: CUDA's runtime makes and runs everything on the GPU that the
// thread has chosen, whatever the memory or the stream belongs to.
#include <cuda_runtime.h>

namespace gibbsite::cuda {

/// Chooses that GPU until it goes, then the one of before. `status` says whether it could.
class ChosenGpu {
 public:
  explicit ChosenGpu(int index) : status_(cudaGetDevice(&before_)) {
    if (status_ != cudaSuccess || before_ == index) return;
    status_ = cudaSetDevice(index);
    changed_ = status_ == cudaSuccess;
  }
  ~ChosenGpu() {
    if (changed_) cudaSetDevice(before_);
  }
  ChosenGpu(const ChosenGpu&) = delete;
  ChosenGpu& operator=(const ChosenGpu&) = delete;
  [[nodiscard]] cudaError_t status() const { return status_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t status_;
};

}  // namespace gibbsite::cuda
