#include "kernels/runtime/stand_in.hpp"

#include <cublasLt.h>
#include <curand.h>

#include <map>
#include <mutex>
#include <utility>

#include "engine/cuda/device.hpp"
#include "kernels/launch.hpp"

namespace gibbsite::stand_in {
namespace {

thread_local int gpu = 0;

std::mutex mutex;
std::vector<Call> calls;
std::map<std::string, cudaError_t> failures;

cudaError_t note(const char* name) {
  const std::lock_guard lock(mutex);
  calls.push_back({name, gpu});
  const auto failure = failures.find(name);
  if (failure == failures.end()) return cudaSuccess;
  const cudaError_t status = failure->second;
  failures.erase(failure);
  return status;
}

// Handles and memory are addresses that nobody reads.
template <class T>
cudaError_t make(const char* name, T* out) {
  static unsigned char somewhere[256];
  *out = reinterpret_cast<T>(&somewhere[0]);
  return note(name);
}

}  // namespace

std::vector<Call> take_calls() {
  const std::lock_guard lock(mutex);
  return std::exchange(calls, {});
}

int chosen() { return gpu; }

void fail_next(const std::string& name, cudaError_t status) {
  const std::lock_guard lock(mutex);
  failures[name] = status;
}

}  // namespace gibbsite::stand_in

using gibbsite::stand_in::make;
using gibbsite::stand_in::note;

extern "C" {

// ---- what is chosen ----

cudaError_t cudaGetDevice(int* device) {
  *device = gibbsite::stand_in::gpu;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  const std::lock_guard lock(gibbsite::stand_in::mutex);
  const auto failure = gibbsite::stand_in::failures.find("cudaSetDevice");
  if (failure != gibbsite::stand_in::failures.end()) {
    const cudaError_t status = failure->second;
    gibbsite::stand_in::failures.erase(failure);
    return status;
  }
  if (device < 0 || device >= gibbsite::stand_in::gpus) return cudaErrorInvalidDevice;
  gibbsite::stand_in::gpu = device;
  return cudaSuccess;
}

// ---- of the runtime ----

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t /*status*/) { return "the stand-in was told to fail"; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = gibbsite::stand_in::gpus;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {};
  properties->multiProcessorCount = 132;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return note("cudaMemGetInfo");
}
cudaError_t cudaMalloc(void** memory, std::size_t /*bytes*/) { return make("cudaMalloc", memory); }
cudaError_t cudaMallocHost(void** memory, std::size_t /*bytes*/) {
  return make("cudaMallocHost", memory);
}
cudaError_t cudaFree(void* /*memory*/) { return note("cudaFree"); }
cudaError_t cudaFreeHost(void* /*memory*/) { return note("cudaFreeHost"); }
cudaError_t cudaMemcpyAsync(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                            cudaMemcpyKind /*kind*/, cudaStream_t /*stream*/) {
  return note("cudaMemcpyAsync");
}
cudaError_t cudaMemsetAsync(void* /*to*/, int /*value*/, std::size_t /*bytes*/,
                            cudaStream_t /*stream*/) {
  return note("cudaMemsetAsync");
}
cudaError_t cudaMemcpy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                       cudaMemcpyKind /*kind*/) {
  return note("cudaMemcpy");
}
cudaError_t cudaMemcpy2D(void* /*to*/, std::size_t /*pitch*/, const void* /*from*/,
                         std::size_t /*from_pitch*/, std::size_t /*width*/, std::size_t /*height*/,
                         cudaMemcpyKind /*kind*/) {
  return note("cudaMemcpy2D");
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* /*memory*/) {
  *attributes = {};
  attributes->type = cudaMemoryTypeManaged;
  return note("cudaPointerGetAttributes");
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  return make("cudaStreamCreateWithFlags", stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t /*stream*/) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return note("cudaStreamSynchronize"); }
cudaError_t cudaStreamWaitEvent(cudaStream_t /*stream*/, cudaEvent_t /*event*/,
                                unsigned /*flags*/) {
  return note("cudaStreamWaitEvent");
}
cudaError_t cudaStreamBeginCapture(cudaStream_t /*stream*/, cudaStreamCaptureMode /*mode*/) {
  return note("cudaStreamBeginCapture");
}
cudaError_t cudaStreamEndCapture(cudaStream_t /*stream*/, cudaGraph_t* graph) {
  return make("cudaStreamEndCapture", graph);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  return make("cudaEventCreateWithFlags", event);
}
cudaError_t cudaEventDestroy(cudaEvent_t /*event*/) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t /*event*/, cudaStream_t /*stream*/) {
  return note("cudaEventRecord");
}
cudaError_t cudaEventSynchronize(cudaEvent_t /*event*/) { return note("cudaEventSynchronize"); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t /*graph*/,
                                 unsigned long long /*flags*/) {
  return make("cudaGraphInstantiate", runnable);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t /*graph*/, cudaStream_t /*stream*/) {
  return note("cudaGraphLaunch");
}
cudaError_t cudaGraphDestroy(cudaGraph_t /*graph*/) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t /*graph*/) { return cudaSuccess; }

// ---- of cuBLASLt ----

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  make("cublasLtCreate", handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t /*handle*/) { return CUBLAS_STATUS_SUCCESS; }
const char* cublasLtGetStatusString(cublasStatus_t /*status*/) { return "failed"; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t /*in*/,
                                        cudaDataType_t /*scale*/) {
  make("cublasLtMatmulDescCreate", product);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t /*product*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t /*product*/,
                                              cublasLtMatmulDescAttributes_t /*attribute*/,
                                              const void* /*value*/, std::size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType /*type*/,
                                          std::uint64_t /*rows*/, std::uint64_t /*columns*/,
                                          std::int64_t /*stride*/) {
  make("cublasLtMatrixLayoutCreate", layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t /*layout*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t /*layout*/,
                                                cublasLtMatrixLayoutAttribute_t /*attribute*/,
                                                const void* /*value*/, std::size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  make("cublasLtMatmulPreferenceCreate", preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t /*preference*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t /*preference*/, cublasLtMatmulPreferenceAttributes_t /*attribute*/,
    const void* /*value*/, std::size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*product*/, cublasLtMatrixLayout_t /*a*/,
    cublasLtMatrixLayout_t /*b*/, cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t /*d*/,
    cublasLtMatmulPreference_t /*preference*/, int /*most*/,
    cublasLtMatmulHeuristicResult_t* /*results*/, int* found) {
  note("cublasLtMatmulAlgoGetHeuristic");
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*product*/,
                              const void* /*alpha*/, const void* /*a*/,
                              cublasLtMatrixLayout_t /*of_a*/, const void* /*b*/,
                              cublasLtMatrixLayout_t /*of_b*/, const void* /*beta*/,
                              const void* /*c*/, cublasLtMatrixLayout_t /*of_c*/, void* /*d*/,
                              cublasLtMatrixLayout_t /*of_d*/,
                              const cublasLtMatmulAlgo_t* /*algorithm*/, void* /*workspace*/,
                              std::size_t /*bytes*/, cudaStream_t /*stream*/) {
  note("cublasLtMatmul");
  return CUBLAS_STATUS_SUCCESS;
}

// ---- of cuRAND ----

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t /*type*/) {
  make("curandCreateGenerator", generator);
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t /*generator*/) {
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t /*generator*/, cudaStream_t /*stream*/) {
  note("curandSetStream");
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t /*generator*/,
                                                  unsigned long long /*seed*/) {
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t /*generator*/,
                                        unsigned long long /*offset*/) {
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t /*generator*/, double* /*out*/,
                                          std::size_t /*count*/, double /*mean*/,
                                          double /*deviation*/) {
  note("curandGenerateNormalDouble");
  return CURAND_STATUS_SUCCESS;
}

}  // extern "C"

// ---- of the kernels ----

namespace gibbsite::kernels {

template <class Params>
void launch(const Params& /*params*/, CUstream_st* /*stream*/) {
  note("launch");
}
template <class Params>
std::size_t blocks_at_once(const Params& /*params*/) {
  note("blocks_at_once");
  return 1;
}
template std::size_t blocks_at_once<Cooperative>(const Cooperative&);

// Instantiates `launch` for every kernel of the engine but the library's product.
template <class... Params>
auto launches_of(const std::variant<Params...>* /*kernel*/) {
  return std::make_tuple(static_cast<void (*)(const Params&, CUstream_st*)>(&launch<Params>)...);
}
extern const decltype(launches_of(static_cast<const cuda::Kernel*>(nullptr))) every_launch;
const decltype(every_launch) every_launch = launches_of(static_cast<const cuda::Kernel*>(nullptr));

}  // namespace gibbsite::kernels
