#pragma once
// A card for the calling thread: CUDA's runtime makes and runs everything on the card that the
// thread has chosen, whatever the memory or the stream belongs to.
#include <cuda_runtime.h>

namespace gibbsite::cuda {

/// Chooses that card until it goes, then the one of before. `status` says whether it could.
class ChosenCard {
 public:
  explicit ChosenCard(int index) : status_(cudaGetDevice(&before_)) {
    if (status_ != cudaSuccess || before_ == index) return;
    status_ = cudaSetDevice(index);
    changed_ = status_ == cudaSuccess;
  }
  ~ChosenCard() {
    if (changed_) cudaSetDevice(before_);
  }
  ChosenCard(const ChosenCard&) = delete;
  ChosenCard& operator=(const ChosenCard&) = delete;
  [[nodiscard]] cudaError_t status() const { return status_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t status_;
};

}  // namespace gibbsite::cuda
