// cuBLASLt and cuRAND are loaded when a GPU is first used: linked, their 0.7 GB take every start
// of a program 0.07 s, and most starts see no GPU. Their functions are defined here and pass on
// what they are given.
#ifdef GIBBSITE_HAS_CUDA
#include <cublasLt.h>
#include <curand.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace {

/// Where the loader looks, then where the toolkit was at compile time.
void* load(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    library = ::dlopen((GIBBSITE_CUDA_LIBRARIES "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw CudaError(::gibbsite::format_message("{} cuda", Field{"backend"}),
                    fmt::format("{} cannot be loaded: {}", name, ::dlerror()),
                    format_message("install that of the CUDA toolkit, or use {} cpu",
                                   Field{"backend"}));  // NOLINT: of this thread
  return library;
}
void* of_cublaslt(const char* function) {
  static void* const library = load(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR));
  return ::dlsym(library, function);
}
void* of_curand(const char* function) {
  static void* const library = load(fmt::format("libcurand.so.{}", CURAND_VER_MAJOR));
  return ::dlsym(library, function);
}

}  // namespace
}  // namespace gibbsite::cuda

// Hidden: another library of a process that calls cuBLASLt goes on to call it directly.
#define GIBBSITE_PASS(result, name, library, parameters, arguments)                              \
  extern "C" __attribute__((visibility("hidden"))) result name parameters {                      \
    static const auto function =                                                                 \
        reinterpret_cast<decltype(&name)>(gibbsite::cuda::of_##library(#name));                  \
    if (function == nullptr)                                                                     \
      throw gibbsite::CudaError(gibbsite::format_message("{} cuda", gibbsite::Field{"backend"}), \
                                "the CUDA toolkit's library has no " #name,                      \
                                "install the version gibbsite was built with");                  \
    return function arguments;                                                                   \
  }
#define GIBBSITE_BLAS(name, parameters, arguments) \
  GIBBSITE_PASS(cublasStatus_t, name, cublaslt, parameters, arguments)
#define GIBBSITE_RAND(name, parameters, arguments) \
  GIBBSITE_PASS(curandStatus_t, name, curand, parameters, arguments)

GIBBSITE_PASS(const char*, cublasLtGetStatusString, cublaslt, (cublasStatus_t status), (status))
GIBBSITE_BLAS(cublasLtCreate, (cublasLtHandle_t * handle), (handle))
GIBBSITE_BLAS(cublasLtDestroy, (cublasLtHandle_t handle), (handle))
GIBBSITE_BLAS(cublasLtMatmulDescCreate,
              (cublasLtMatmulDesc_t * product, cublasComputeType_t compute, cudaDataType_t scale),
              (product, compute, scale))
GIBBSITE_BLAS(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t product), (product))
GIBBSITE_BLAS(cublasLtMatmulDescSetAttribute,
              (cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
               const void* value, size_t size),
              (product, attribute, value, size))
GIBBSITE_BLAS(cublasLtMatrixLayoutCreate,
              (cublasLtMatrixLayout_t * layout, cudaDataType type, uint64_t rows, uint64_t columns,
               int64_t ld),
              (layout, type, rows, columns, ld))
GIBBSITE_BLAS(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout), (layout))
GIBBSITE_BLAS(cublasLtMatrixLayoutSetAttribute,
              (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
               const void* value, size_t size),
              (layout, attribute, value, size))
GIBBSITE_BLAS(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference),
              (preference))
GIBBSITE_BLAS(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference),
              (preference))
GIBBSITE_BLAS(cublasLtMatmulPreferenceSetAttribute,
              (cublasLtMatmulPreference_t preference,
               cublasLtMatmulPreferenceAttributes_t attribute, const void* value, size_t size),
              (preference, attribute, value, size))
GIBBSITE_BLAS(cublasLtMatmulAlgoGetHeuristic,
              (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
               cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
               cublasLtMatmulPreference_t preference, int wanted,
               cublasLtMatmulHeuristicResult_t choices[], int* found),
              (handle, product, a, b, c, d, preference, wanted, choices, found))
GIBBSITE_BLAS(cublasLtMatmul,
              (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
               const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
               cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
               cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
               const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_size,
               cudaStream_t stream),
              (handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
               algorithm, workspace, workspace_size, stream))
GIBBSITE_RAND(curandCreateGenerator, (curandGenerator_t * generator, curandRngType_t kind),
              (generator, kind))
GIBBSITE_RAND(curandDestroyGenerator, (curandGenerator_t generator), (generator))
GIBBSITE_RAND(curandSetStream, (curandGenerator_t generator, cudaStream_t stream),
              (generator, stream))
GIBBSITE_RAND(curandSetPseudoRandomGeneratorSeed,
              (curandGenerator_t generator, unsigned long long seed), (generator, seed))
GIBBSITE_RAND(curandSetGeneratorOffset, (curandGenerator_t generator, unsigned long long offset),
              (generator, offset))
GIBBSITE_RAND(curandGenerateNormalDouble,
              (curandGenerator_t generator, double* out, size_t count, double mean,
               double deviation),
              (generator, out, count, mean, deviation))
#endif
