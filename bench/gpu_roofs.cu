#include <cooperative_groups.h>
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

struct Sizes {
  std::uint64_t m, n, k, batch;
};
struct Layout {
  cublasLtMatrixLayout_t handle{};
  Layout(cudaDataType_t type, std::uint64_t rows, std::uint64_t columns, std::uint64_t batch,
         std::uint64_t stride) {
    check(cublasLtMatrixLayoutCreate(&handle, type, rows, columns,
                                     static_cast<std::int64_t>(rows)));
    const auto count = static_cast<std::int32_t>(batch);
    const auto offset = static_cast<std::int64_t>(stride);
    check(cublasLtMatrixLayoutSetAttribute(handle, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                           sizeof(count)));
    check(cublasLtMatrixLayoutSetAttribute(handle, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &offset, sizeof(offset)));
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(handle); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
};

// A^T B of k x m and k x n matrices, both read along their contiguous side; one B for a batch of A.
template <class T>
double matrix_rate(unsigned multiprocessors, const Sizes& of, cudaDataType_t type,
                   cublasComputeType_t compute, cudaDataType_t scale) {
  const std::size_t in_a = of.batch * of.m * of.k, in_b = of.n * of.k,
                    in_c = of.batch * of.m * of.n, workspace_bytes = std::size_t{32} << 20;
  const Memory a(in_a * sizeof(T)), b(in_b * sizeof(T)), c(in_c * sizeof(T)),
      workspace(workspace_bytes);
  fill<<<multiprocessors * 8, 256>>>(a.as<T>(), in_a);
  fill<<<multiprocessors * 8, 256>>>(b.as<T>(), in_b);
  check(cudaGetLastError());

  cublasLtHandle_t handle{};
  cublasLtMatmulDesc_t product{};
  cublasLtMatmulPreference_t preference{};
  check(cublasLtCreate(&handle));
  check(cublasLtMatmulDescCreate(&product, compute, scale));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                       sizeof(transposed)));
  const Layout a_layout(type, of.k, of.m, of.batch, of.k * of.m),
      b_layout(type, of.k, of.n, of.batch, 0), c_layout(type, of.m, of.n, of.batch, of.m * of.n);
  check(cublasLtMatmulPreferenceCreate(&preference));
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof(workspace_bytes)));
  cublasLtMatmulHeuristicResult_t choice{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, product, a_layout.handle, b_layout.handle,
                                       c_layout.handle, c_layout.handle, preference, 1, &choice,
                                       &found));
  if (found == 0) check(CUBLAS_STATUS_NOT_SUPPORTED);
  const double one = 1, zero = 0;
  const float one_single = 1, zero_single = 0;
  const bool wide = scale == CUDA_R_64F;
  const double seconds = median_seconds([&] {
    check(cublasLtMatmul(handle, product, wide ? static_cast<const void*>(&one) : &one_single,
                         a.data, a_layout.handle, b.data, b_layout.handle,
                         wide ? static_cast<const void*>(&zero) : &zero_single, c.data,
                         c_layout.handle, c.data, c_layout.handle, &choice.algo, workspace.data,
                         workspace_bytes, nullptr));
  });
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatmulDescDestroy(product);
  cublasLtDestroy(handle);
  return 2.0 * static_cast<double>(of.n) * static_cast<double>(in_a) / seconds;
}

unsigned multiprocessor_count() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

// ---- double matrix instructions, by shape ----

// Independent accumulators of a warp, enough to hide an instruction's latency with eight warps a
// scheduler's share.
constexpr int mma_sums = 4, mma_rounds = 2048, mma_threads = 256;

template <unsigned M, unsigned K>
__device__ void multiply_double(double (&d)[M / 4], const double (&a)[M * K / 32],
                                const double (&b)[K / 4]) {
  if constexpr (M == 8) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[0]), "d"(b[0]));
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (M == 16 && K == 4) {
    asm volatile(
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
  } else if constexpr (M == 16 && K == 8) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  } else if constexpr (M == 16 && K == 16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, "
        "%9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
  }
#endif
}

template <unsigned M, unsigned K>
__global__ void multiply_matrices(double* out) {
  double d[mma_sums][M / 4], a[M * K / 32], b[K / 4];
  for (double& v : a) v = 1e-3 * threadIdx.x;
  for (double& v : b) v = 1e-3;
#pragma unroll
  for (auto& one : d) {
    for (double& v : one) v = 0;
  }
#pragma unroll 4
  for (int i = 0; i < mma_rounds; ++i) {
#pragma unroll
    for (auto& one : d) multiply_double<M, K>(one, a, b);
  }
  double sum = 0;
#pragma unroll
  for (const auto& one : d) {
    for (const double v : one) sum += v;
  }
  if (sum == -1) out[threadIdx.x] = sum;  // never, and the compiler cannot know
}

template <unsigned M, unsigned K>
double mma_rate(const GpuRate&) {
  int device = 0, major = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (M == 16 && major < 9) return 0;
  const Memory out(mma_threads * sizeof(double));
  const unsigned blocks = multiprocessor_count() * 16;
  const double seconds = median_seconds([&] {
    multiply_matrices<M, K><<<blocks, mma_threads>>>(out.as<double>());
    check(cudaGetLastError());
  });
  return 2.0 * M * 8 * K * mma_sums * mma_rounds * (mma_threads / 32.0) * blocks / seconds;
}

// ---- float to double ----

constexpr int convert_sums = 8, convert_rounds = 4096, convert_threads = 256;
__global__ void convert_floats(long long* out) {
  float x[convert_sums];
  long long bits[convert_sums];
#pragma unroll
  for (int k = 0; k < convert_sums; ++k) {
    x[k] = static_cast<float>(threadIdx.x + k);
    bits[k] = 0;
  }
#pragma unroll 4
  for (int i = 0; i < convert_rounds; ++i) {
#pragma unroll
    for (int k = 0; k < convert_sums; ++k) {
      bits[k] ^= __double_as_longlong(static_cast<double>(x[k]));
      x[k] += 1.5f;
    }
  }
  long long all = 0;
#pragma unroll
  for (int k = 0; k < convert_sums; ++k) all ^= bits[k];
  if (all == -1) out[threadIdx.x] = all;
}

double convert_rate(const GpuRate&) {
  const Memory out(convert_threads * sizeof(long long));
  const unsigned blocks = multiprocessor_count() * 64;
  const double seconds = median_seconds([&] {
    convert_floats<<<blocks, convert_threads>>>(out.as<long long>());
    check(cudaGetLastError());
  });
  return 1.0 * convert_sums * convert_rounds * convert_threads * blocks / seconds;
}

// ---- the barrier of a grid ----

constexpr int barriers = 1000;
__global__ void wait_for_all() {
  for (int i = 0; i < barriers; ++i) cooperative_groups::this_grid().sync();
}

// Median seconds of one grid-wide barrier with two blocks of 256 threads on each multiprocessor (as
// design B has).
double barrier_seconds(const GpuRate&) {
  const dim3 blocks(2 * multiprocessor_count()), threads(256);
  return median_seconds([&] {
           check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&wait_for_all), blocks,
                                             threads, nullptr, 0, nullptr));
         }) /
         barriers;
}

// ---- the library's products of design F: blocks of m rows, n chains, k features ----

double product_rate(const GpuRate& of) {
  return matrix_rate<double>(multiprocessor_count(), {of.m, of.n, of.k, 1'000'000 / of.m},
                             CUDA_R_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F);
}

}  // namespace

const std::vector<GpuRate>& gpu_rates() {
  static const std::vector<GpuRate> rates = [] {
    std::vector<GpuRate> all = {{"dmma-8x8x4", "flop/s", mma_rate<8, 4>},
                                {"dmma-16x8x4", "flop/s", mma_rate<16, 4>},
                                {"dmma-16x8x8", "flop/s", mma_rate<16, 8>},
                                {"dmma-16x8x16", "flop/s", mma_rate<16, 16>},
                                {"convert", "conversion/s", convert_rate},
                                {"barrier", "s", barrier_seconds}};
    for (const unsigned chains : {1U, 8U, 16U, 64U, 256U, 1024U}) {
      all.push_back({"dgemm-512x" + std::to_string(chains) + "x100", "flop/s", product_rate, 512,
                     chains, 100});
    }
    return all;
  }();
  return rates;
}

GpuRoofs measure_gpu_roofs() {
  const unsigned multiprocessors = multiprocessor_count();
  return {.copy = copy_rate(multiprocessors),
          .float_fma = fma_rate<float>(multiprocessors),
          .double_fma = fma_rate<double>(multiprocessors),
          .double_matrix = matrix_rate<double>(multiprocessors, {4096, 4096, 4096, 1},
                                               CUDA_R_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F),
          .tf32_matrix = matrix_rate<float>(multiprocessors, {8192, 8192, 8192, 1}, CUDA_R_32F,
                                            CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F),
          .bfloat16_matrix = matrix_rate<__nv_bfloat16>(multiprocessors, {8192, 8192, 8192, 1}, CUDA_R_16BF,
                                                        CUBLAS_COMPUTE_32F, CUDA_R_32F)};
}

}  // namespace gibbsite::bench
