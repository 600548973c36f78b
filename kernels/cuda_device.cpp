// A Device that is a CUDA GPU: every handle owned, every call checked.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <curand.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "core/format_message.hpp"
#include "engine/cuda/cuda.hpp"
#include "engine/cuda/probe.hpp"
#include "gibbsite/core/error.hpp"
#include "kernels/chosen_gpu.hpp"
#include "kernels/launch.hpp"

namespace gibbsite::cuda {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw CudaError(format_message("{} cuda", Field{"backend"}),
                  fmt::format("{}: {}", what, cudaGetErrorString(status)),
                  format_message("run again, or use {} cpu", Field{"backend"}));
}
void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaError(format_message("{} cuda", Field{"backend"}),
                  fmt::format("{}: {}", what, cublasLtGetStatusString(status)),
                  format_message("run again, or use {} cpu", Field{"backend"}));
}
void check(curandStatus_t status, const char* what) {
  if (status == CURAND_STATUS_SUCCESS) return;
  throw CudaError(format_message("{} cuda", Field{"backend"}),
                  fmt::format("{}: cuRAND status {}", what, static_cast<int>(status)),
                  "use the streams' own noise");
}

// An opaque handle and the call that frees it.
template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle* address() { return &handle_; }
  [[nodiscard]] Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Marker = Owned<cudaEvent_t, cudaEventDestroy>;
using CapturedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;
using RunnableGraph = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using Blas = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Product = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Generator = Owned<curandGenerator_t, curandDestroyGenerator>;

// Every call chooses its GPU: another thread, or another device of this one, may have chosen one.
struct OnGpu : ChosenGpu {
  explicit OnGpu(int index) : ChosenGpu(index) { check(status(), "choosing the GPU"); }
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {
    // It stays this thread's: what Thrust makes of draws is made there (ensemble_statistics.cu).
    check(cudaSetDevice(index_), "choosing the GPU");
    check(cudaGetDeviceProperties(&properties_, index_), "reading the GPU's properties");
    for (Stream& stream : streams_) {
      check(cudaStreamCreateWithFlags(stream.address(), cudaStreamNonBlocking), "making a stream");
    }
    for (Marker& marker : markers_) {
      check(cudaEventCreateWithFlags(marker.address(), cudaEventDisableTiming), "making an event");
    }
    check(cublasLtCreate(blas_.address()), "starting cuBLASLt");
  }

  [[nodiscard]] Gpu gpu() const override {
    const OnGpu here(index_);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return {.name = properties_.name,
            .capability = 10 * properties_.major + properties_.minor,
            .multiprocessors = static_cast<unsigned>(properties_.multiProcessorCount),
            .shared_bytes = properties_.sharedMemPerBlockOptin,
            .l2_bytes = static_cast<std::size_t>(properties_.l2CacheSize),
            .total_bytes = total,
            .free_bytes = free};
  }

  std::byte* allocate(std::size_t bytes) override {
    const OnGpu here(index_);
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // not sticky: forget it
      throw CudaError(
          format_message("{} cuda", Field{"backend"}),
          fmt::format("the GPU has no {} MiB in one piece, {} MiB are free", (bytes >> 20) + 1,
                      gpu().free_bytes >> 20),
          format_message("free the card, use fewer chains or {} cpu", Field{"backend"}));
    }
    check(status, "allocating GPU memory");
    return static_cast<std::byte*>(memory);
  }
  std::byte* allocate_pinned(std::size_t bytes) override {
    const OnGpu here(index_);
    void* memory = nullptr;
    check(cudaMallocHost(&memory, bytes), "allocating pinned host memory");
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) noexcept override { cudaFree(memory); }
  void release_pinned(std::byte* memory) noexcept override { cudaFreeHost(memory); }

  void copy_in(Queue queue, std::byte* to, const void* from, std::size_t bytes) override {
    const OnGpu here(index_);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream(queue)),
          "copying to the GPU");
  }
  void copy_out(Queue queue, void* to, const std::byte* from, std::size_t bytes) override {
    const OnGpu here(index_);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream(queue)),
          "copying from the GPU");
  }
  void fill_zero(Queue queue, std::byte* to, std::size_t bytes) override {
    const OnGpu here(index_);
    check(cudaMemsetAsync(to, 0, bytes, stream(queue)), "clearing GPU memory");
  }

  std::size_t blocks_at_once(const kernels::Cooperative& kernel) override {
    const OnGpu here(index_);
    const std::size_t each = kernels::blocks_at_once(kernel);
    check(cudaGetLastError(), "asking how many blocks are resident");
    return each * static_cast<std::size_t>(properties_.multiProcessorCount);
  }
  void launch(const Kernel& kernel) override {
    const OnGpu here(index_);
    std::visit([this](const auto& params) { run(params); }, kernel);
  }

  void gather(DeviceRanks& ranks, const std::byte* mine, std::byte* all,
              std::size_t bytes) override {
    const OnGpu here(index_);
    ranks.gather(mine, all, bytes, stream(Queue::compute));
  }
  void broadcast(DeviceRanks& ranks, std::byte* data, std::size_t bytes) override {
    const OnGpu here(index_);
    ranks.broadcast(data, bytes, stream(Queue::compute));
  }

  void fill_normals(kernels::View<double> out, std::uint64_t seed, std::uint64_t offset) override {
    const OnGpu here(index_);
    if (generator_.get() == nullptr) {
      check(curandCreateGenerator(generator_.address(), CURAND_RNG_PSEUDO_PHILOX4_32_10),
            "starting cuRAND");
      check(curandSetStream(generator_.get(), stream(Queue::compute)), "starting cuRAND");
    }
    check(curandSetPseudoRandomGeneratorSeed(generator_.get(), seed), "seeding cuRAND");
    check(curandSetGeneratorOffset(generator_.get(), offset), "seeding cuRAND");
    check(curandGenerateNormalDouble(generator_.get(), out.data, out.size, 0, 1),
          "drawing normals with cuRAND");
  }

  Event record(Queue queue) override {
    const OnGpu here(index_);
    const Event event = events_++;
    check(cudaEventRecord(marker(event), stream(queue)), "recording an event");
    return event;
  }
  void wait(Queue queue, Event event) override {
    const OnGpu here(index_);
    check(cudaStreamWaitEvent(stream(queue), marker(event), 0), "waiting for an event");
  }
  void wait_host(Event event) override {
    const OnGpu here(index_);
    check(cudaEventSynchronize(marker(event)), "waiting for the GPU");
  }
  void synchronize() override {
    const OnGpu here(index_);
    for (const Stream& s : streams_) check(cudaStreamSynchronize(s.get()), "running on the GPU");
  }

  Graph capture(const std::function<void()>& enqueue) override {
    const OnGpu here(index_);
    const cudaStream_t s = stream(Queue::compute);
    // Relaxed: what the libraries do on the host beside is their own affair.
    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), "capturing a step");
    CapturedGraph graph;
    capturing_ = true;
    try {
      enqueue();
    } catch (...) {
      capturing_ = false;
      cudaStreamEndCapture(s, graph.address());
      throw;
    }
    capturing_ = false;
    check(cudaStreamEndCapture(s, graph.address()), "capturing a step");
    RunnableGraph runnable;
    check(cudaGraphInstantiate(runnable.address(), graph.get(), 0), "preparing a step");
    graphs_.emplace(++graph_count_, std::move(runnable));
    return graph_count_;
  }
  void replay(Graph graph) override {
    const OnGpu here(index_);
    check(cudaGraphLaunch(graphs_.at(graph).get(), stream(Queue::compute)), "replaying a step");
  }
  void discard(Graph graph) noexcept override { graphs_.erase(graph); }

 private:
  static constexpr std::size_t live_events = 16;  // more than any run has at a time

  [[nodiscard]] cudaStream_t stream(Queue queue) const {
    return streams_[queue == Queue::compute ? 0 : 1].get();
  }
  [[nodiscard]] cudaEvent_t marker(Event event) const {
    return markers_[event % live_events].get();
  }

  template <class Params>
  void run(const Params& params) {
    kernels::launch(params, stream(Queue::compute));
    check(cudaGetLastError(), "launching a kernel");
  }

  static MatrixLayout matrix(bool single, std::size_t rows, std::size_t columns, std::size_t ld,
                             std::size_t batch, std::size_t stride) {
    MatrixLayout layout;
    check(cublasLtMatrixLayoutCreate(layout.address(), single ? CUDA_R_32F : CUDA_R_64F, rows,
                                     columns, static_cast<std::int64_t>(ld)),
          "describing a matrix");
    const auto count = static_cast<std::int32_t>(batch);
    const auto offset = static_cast<std::int64_t>(stride);
    check(cublasLtMatrixLayoutSetAttribute(layout.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                           sizeof(count)),
          "describing a matrix");
    check(cublasLtMatrixLayoutSetAttribute(
              layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof(offset)),
          "describing a matrix");
    return layout;
  }

  // A product as the library has it, and its algorithm: the first that the heuristic names, the
  // same each time for one key, library and GPU, and no atomics, so the same bits run to run.
  // Chosen when a key is first seen, outside any capture (Device::capture), and kept.
  struct Planned {
    Product product;
    MatrixLayout a, b, c;
    cublasLtMatmulAlgo_t algorithm{};
  };
  const Planned& planned(const kernels::Gemm& p) {
    const kernels::GemmKey key = kernels::key_of(p);
    if (const auto known = products_.find(key); known != products_.end()) return known->second;
    if (capturing_) {  // newer libraries refuse, and not in a way that says why
      throw CudaError(format_message("{} cuda", Field{"backend"}),
                      "a product is first seen while a step is captured", "report it");
    }
    Planned plan;
    // Pedantic: the library has doubles made of smaller integers too, which an environment variable
    // can turn on, and whose errors the certificate does not count.
    check(cublasLtMatmulDescCreate(plan.product.address(),
                                   p.single ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F_PEDANTIC,
                                   p.single ? CUDA_R_32F : CUDA_R_64F),
          "describing a product");
    const cublasOperation_t op = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(plan.product.get(), CUBLASLT_MATMUL_DESC_TRANSA, &op,
                                         sizeof(op)),
          "describing a product");
    plan.a = matrix(p.single, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, p.batch,
                    p.stride_a);
    plan.b = matrix(p.single, p.k, p.n, p.ldb, p.batch, p.stride_b);
    plan.c = matrix(p.single, p.m, p.n, p.ldc, p.batch, p.stride_c);
    Preference preference;
    check(cublasLtMatmulPreferenceCreate(preference.address()), "choosing a product");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check(
          cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
          "choosing a product");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, p.workspace.size);
    // Unasked the library counts on 256 bytes, and partials begin at multiples of C * d elements.
    const auto [a, b, c] = std::array{static_cast<std::uint32_t>(key[key.size() - 3]),
                                      static_cast<std::uint32_t>(key[key.size() - 2]),
                                      static_cast<std::uint32_t>(key[key.size() - 1])};
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
    cublasLtMatmulHeuristicResult_t choice{};
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(blas_.get(), plan.product.get(), plan.a.get(),
                                         plan.b.get(), plan.c.get(), plan.c.get(), preference.get(),
                                         1, &choice, &found),
          "choosing a product");
    if (found == 0) check(CUBLAS_STATUS_NOT_SUPPORTED, "choosing a product");
    plan.algorithm = choice.algo;
    return products_.emplace(key, std::move(plan)).first->second;
  }

  void run(const kernels::Gemm& p) {
    const Planned& plan = planned(p);
    const double one = 1, zero = 0;
    const float one_single = 1, zero_single = 0;
    check(cublasLtMatmul(blas_.get(), plan.product.get(),
                         p.single ? static_cast<const void*>(&one_single) : &one, p.a.data,
                         plan.a.get(), p.b.data, plan.b.get(),
                         p.single ? static_cast<const void*>(&zero_single) : &zero, p.c.data,
                         plan.c.get(), p.c.data, plan.c.get(), &plan.algorithm, p.workspace.data,
                         p.workspace.size, stream(Queue::compute)),
          "multiplying");
  }

  int index_;
  cudaDeviceProp properties_{};
  std::array<Stream, 2> streams_;
  std::array<Marker, live_events> markers_;
  Event events_ = 0;
  Blas blas_;
  std::map<kernels::GemmKey, Planned> products_;
  bool capturing_ = false;
  Generator generator_;
  std::map<Graph, RunnableGraph> graphs_;
  Graph graph_count_ = 0;
};

}  // namespace

bool compiled() { return true; }

namespace {

// What there is, and 10 * major + minor of each GPU.
Probe look(std::vector<int>& capabilities) {
  Probe probe;
  cudaDriverGetVersion(&probe.driver_version);
  cudaRuntimeGetVersion(&probe.runtime_version);
  const cudaError_t status = cudaGetDeviceCount(&probe.devices);
  probe.answered = status == cudaSuccess || status == cudaErrorNoDevice;
  if (status != cudaSuccess) {
    probe.devices = 0;
    probe.error = cudaGetErrorString(status);
    cudaGetLastError();
  }
  for (int i = 0; i < probe.devices; ++i) {
    int major = 0, minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i), "reading a GPU");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, i), "reading a GPU");
    capabilities.push_back(10 * major + minor);
    probe.capability = std::max(probe.capability, capabilities.back());
  }
  return probe;
}

}  // namespace

std::unique_ptr<Device> make_device() {
  std::vector<int> capabilities;
  require_usable(look(capabilities));
  const auto best = std::ranges::max_element(capabilities);  // the first of them
  return make_device(static_cast<int>(best - capabilities.begin()));
}

std::vector<VisibleGpu> usable_gpus() {
  std::vector<int> capabilities;
  require_usable(look(capabilities));
  std::vector<VisibleGpu> out;
  for (std::size_t i = 0; i < capabilities.size(); ++i) {
    if (capabilities[i] < least_capability) continue;
    cudaDeviceProp properties{};
    const int index = static_cast<int>(i);
    check(cudaGetDeviceProperties(&properties, index), "reading the GPU's properties");
    std::string id;
    for (const char byte : properties.uuid.bytes) {
      id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    out.push_back({index, id});
  }
  return out;
}

std::unique_ptr<Device> make_device(int index) { return std::make_unique<CudaDevice>(index); }

}  // namespace gibbsite::cuda
