#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpu_roofs.hpp"

namespace gibbsite::bench {
namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("roofs: ") + cudaGetErrorString(status));
}
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("roofs: ") + cublasLtGetStatusString(status));
  }
}

struct Memory {
  void* data = nullptr;
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&data, bytes)); }
  ~Memory() { cudaFree(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct Timer {
  cudaEvent_t begin{}, end{};
  Timer() {
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
  }
  ~Timer() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
};

// Median seconds of what `enqueue` puts on the default stream.
template <class F>
double median_seconds(F&& enqueue) {
  const Timer timer;
  for (int k = 0; k < 2; ++k) enqueue();
  std::array<float, 7> milliseconds{};
  for (float& ms : milliseconds) {
    check(cudaEventRecord(timer.begin));
    enqueue();
    check(cudaEventRecord(timer.end));
    check(cudaEventSynchronize(timer.end));
    check(cudaEventElapsedTime(&ms, timer.begin, timer.end));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return milliseconds[milliseconds.size() / 2] * 1e-3;
}

// Uniform in (-1, 1) from the place alone (splitmix64).
__device__ float uniform(std::uint64_t i) {
  std::uint64_t z = i * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<float>(static_cast<std::int64_t>(z ^ (z >> 31)) >> 40) * 0x1p-23f;
}

template <class T>
__global__ void fill(T* to, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    to[i] = static_cast<T>(uniform(i));
  }
}

__global__ void copy(const float4* from, float4* to, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    to[i] = from[i];
  }
}

// Eight independent sums hide the latency of a multiply-add.
constexpr int fma_sums = 8, fma_rounds = 4096;
template <class Real>
__global__ void multiply_add(Real* out, Real x, Real y) {
  Real s[fma_sums];
#pragma unroll
  for (int k = 0; k < fma_sums; ++k) s[k] = static_cast<Real>(threadIdx.x + k);
#pragma unroll 4
  for (int i = 0; i < fma_rounds; ++i) {
#pragma unroll
    for (int k = 0; k < fma_sums; ++k) s[k] = s[k] * x + y;
  }
  Real sum = 0;
#pragma unroll
  for (int k = 0; k < fma_sums; ++k) sum += s[k];
  if (sum == Real{-1}) out[threadIdx.x] = sum;  // never, and the compiler cannot know
}

// Two buffers of 4 GB, or of a quarter of the free memory each: far above L2. The faster of the
// driver's copy and ours.
double copy_rate(unsigned multiprocessors) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  const std::size_t bytes = std::min(free / 4, std::size_t{4'000'000'000}) / 4096 * 4096;
  const Memory from(bytes), to(bytes);
  fill<<<multiprocessors * 8, 256>>>(from.as<float>(), bytes / sizeof(float));
  check(cudaGetLastError());
  const double driver = median_seconds(
      [&] { check(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice)); });
  const double ours = median_seconds([&] {
    copy<<<multiprocessors * 16, 512>>>(from.as<float4>(), to.as<float4>(), bytes / sizeof(float4));
    check(cudaGetLastError());
  });
  return 2.0 * static_cast<double>(bytes) / std::min(driver, ours);
}

template <class Real>
double fma_rate(unsigned multiprocessors) {
  constexpr unsigned threads = 256, blocks_each = 64;  // eight waves of eight resident blocks
  const Memory out(threads * sizeof(Real));
  const unsigned blocks = multiprocessors * blocks_each;
  const double seconds = median_seconds([&] {
    multiply_add<Real><<<blocks, threads>>>(out.as<Real>(), Real{0.999f}, Real{1e-3f});
    check(cudaGetLastError());
  });
  return 2.0 * fma_sums * fma_rounds * threads * static_cast<double>(blocks) / seconds;
}

// A^T B of n x n matrices: both read along their contiguous side.
template <class T>
double matrix_rate(unsigned multiprocessors, std::uint64_t n, cudaDataType_t type,
                   cublasComputeType_t compute, cudaDataType_t scale) {
  const std::size_t cells = n * n, workspace_bytes = std::size_t{32} << 20;
  const Memory a(cells * sizeof(T)), b(cells * sizeof(T)), c(cells * sizeof(T)),
      workspace(workspace_bytes);
  fill<<<multiprocessors * 8, 256>>>(a.as<T>(), cells);
  fill<<<multiprocessors * 8, 256>>>(b.as<T>(), cells);
  check(cudaGetLastError());

  cublasLtHandle_t handle{};
  cublasLtMatmulDesc_t product{};
  cublasLtMatrixLayout_t layout{};
  cublasLtMatmulPreference_t preference{};
  check(cublasLtCreate(&handle));
  check(cublasLtMatmulDescCreate(&product, compute, scale));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                       sizeof(transposed)));
  check(cublasLtMatrixLayoutCreate(&layout, type, n, n, static_cast<std::int64_t>(n)));
  check(cublasLtMatmulPreferenceCreate(&preference));
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof(workspace_bytes)));
  cublasLtMatmulHeuristicResult_t choice{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout, layout, preference,
                                       1, &choice, &found));
  if (found == 0) check(CUBLAS_STATUS_NOT_SUPPORTED);
  const double one = 1, zero = 0;
  const float one_single = 1, zero_single = 0;
  const bool wide = scale == CUDA_R_64F;
  const double seconds = median_seconds([&] {
    check(cublasLtMatmul(handle, product, wide ? static_cast<const void*>(&one) : &one_single,
                         a.data, layout, b.data, layout,
                         wide ? static_cast<const void*>(&zero) : &zero_single, c.data, layout,
                         c.data, layout, &choice.algo, workspace.data, workspace_bytes, nullptr));
  });
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(product);
  cublasLtDestroy(handle);
  return 2.0 * static_cast<double>(n) * static_cast<double>(cells) / seconds;
}

}  // namespace

GpuRoofs measure_gpu_roofs() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  const auto multiprocessors = static_cast<unsigned>(count);
  return {.copy = copy_rate(multiprocessors),
          .float_fma = fma_rate<float>(multiprocessors),
          .double_fma = fma_rate<double>(multiprocessors),
          .double_matrix = matrix_rate<double>(multiprocessors, 4096, CUDA_R_64F,
                                               CUBLAS_COMPUTE_64F, CUDA_R_64F),
          .bfloat16_matrix = matrix_rate<__nv_bfloat16>(multiprocessors, 8192, CUDA_R_16BF,
                                                        CUBLAS_COMPUTE_32F, CUDA_R_32F)};
}

}  // namespace gibbsite::bench
