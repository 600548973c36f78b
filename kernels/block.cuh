#pragma once
// A kernel's block on a device, and the one launch that every family uses.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "kernels/block.hpp"

namespace gibbsite::kernels {

extern __shared__ __align__(1024) unsigned char shared_pool[];

class DeviceBlock {
 public:
  __device__ unsigned thread() const { return threadIdx.x; }
  __device__ unsigned threads() const { return blockDim.x; }
  __device__ std::size_t block() const { return blockIdx.x; }
  __device__ std::size_t blocks() const { return gridDim.x; }
  __device__ unsigned lane() const { return threadIdx.x % warp_size; }
  __device__ unsigned warp() const { return threadIdx.x / warp_size; }

  __device__ void sync() { __syncthreads(); }
  __device__ void sync_first(unsigned count) {  // barrier 0 is sync()'s
    asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
  }
  __device__ void sync_warp() { __syncwarp(); }
  __device__ void arrive_grid() { arrival_ = cooperative_groups::this_grid().barrier_arrive(); }
  __device__ void wait_grid() {
    cooperative_groups::this_grid().barrier_wait(static_cast<Arrival&&>(arrival_));
  }
  __device__ void sync_grid() { cooperative_groups::this_grid().sync(); }

  template <class T>
  __device__ T* shared(std::size_t count) {
    T* const at = reinterpret_cast<T*>(shared_pool + used_);
    used_ += round_up_to(count * sizeof(T), 128);
    return at;
  }

  template <class T>
  __device__ T shuffle(T value, unsigned lane) {
    return __shfl_sync(0xffffffffu, value, static_cast<int>(lane));
  }
  template <class T>
  __device__ T shuffle_xor(T value, unsigned mask) {
    return __shfl_xor_sync(0xffffffffu, value, static_cast<int>(mask));
  }

  // cp.async (PTX ISA, "cp.async"): 16 bytes that bypass the registers and L1.
  __device__ void copy_async(float* to, std::size_t i, const View<const float>& from,
                             std::size_t j) {
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to + i));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from.data + j)
                 : "memory");
  }
  __device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int N>
  __device__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
  }

 private:
  using Arrival = cooperative_groups::grid_group::arrival_token;
  std::size_t used_ = 0;
  Arrival arrival_{};
};

// Elements [i, i + 4) of shared memory; i is a multiple of 4.
__device__ inline Quad load_quad(const float* from, std::size_t i) {
  return *reinterpret_cast<const Quad*>(from + i);
}
__device__ inline void store_quad(float* to, std::size_t i, const Quad& quad) {
  *reinterpret_cast<Quad*>(to + i) = quad;
}

// Blocks that the compiler must leave registers for on a multiprocessor. Without that member of a
// body it may spill a few for the sake of more blocks.
template <class Body>
constexpr unsigned least_blocks() {
  if constexpr (requires { Body::blocks_per_multiprocessor; }) {
    return Body::blocks_per_multiprocessor;
  } else {
    return 0;
  }
}

template <class Body>
__global__ void __launch_bounds__(Body::threads, least_blocks<Body>())
    run_body(const __grid_constant__ typename Body::Params params) {
  DeviceBlock block;
  Body::run(block, params);
}

// More shared memory than a kernel has unasked.
template <class Body>
void allow_shared(std::size_t bytes) {
  if (bytes > 48 * 1024) {
    cudaFuncSetAttribute(run_body<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(bytes));
  }
}

/// Blocks of that shape that a multiprocessor holds at once, of all its resources.
template <class Body>
std::size_t occupancy(const LaunchShape& shape) {
  allow_shared<Body>(shape.shared_bytes);
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, run_body<Body>, static_cast<int>(shape.threads), shape.shared_bytes);
  return static_cast<std::size_t>(blocks);
}

/// Launches Body on the stream; the caller checks cudaGetLastError().
template <class Body>
void launch_body(const LaunchShape& shape, const typename Body::Params& params,
                 cudaStream_t stream) {
  const auto kernel = run_body<Body>;
  allow_shared<Body>(shape.shared_bytes);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = shape.cooperative ? 1 : 0;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, params);
}

}  // namespace gibbsite::kernels
