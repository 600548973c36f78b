// A stand-in for CUDA's runtime, cuBLASLt, cuRAND and the kernels: it computes nothing and notes
// which GPU the calling thread had chosen at each call. A machine without a GPU can be asked with
// it what a process with several does.
#pragma once
#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace gibbsite::stand_in {

inline constexpr int gpus = 3;

/// A call, of cudaGetDevice and cudaSetDevice none.
struct Call {
  std::string name;
  int chosen;  ///< the GPU that the calling thread had chosen
};
inline bool operator==(const Call& a, const Call& b) {
  return a.name == b.name && a.chosen == b.chosen;
}

/// The calls of all threads since the last time that they were taken, in their order.
std::vector<Call> take_calls();

/// The GPU that the calling thread has chosen: 0 in a new thread.
int chosen();

/// The next call of that name fails with that status.
void fail_next(const std::string& name, cudaError_t status);

}  // namespace gibbsite::stand_in
