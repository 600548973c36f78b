// cuRAND on the GPU in software: the library's own generators for the host, whose numbers are a
// GPU's.
#include <curand.h>
#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "support/ptx/runtime.hpp"

namespace {

// The real library's function of that name.
template <class Function>
Function* real(const char* name) {
  static void* const library = ::dlopen(GIBBSITE_CURAND, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}
template <class... Arguments>
curandStatus_t call(const char* name, Arguments... arguments) {
  auto* const function = real<curandStatus_t(Arguments...)>(name);
  return function == nullptr ? CURAND_STATUS_INITIALIZATION_FAILED : function(arguments...);
}

}  // namespace

struct curandGenerator_st {
  curandGenerator_t host = nullptr;
  cudaStream_t stream = nullptr;
};

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t kind) {
  *generator = new curandGenerator_st;
  return call("curandCreateGeneratorHost", &(*generator)->host, kind);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  const curandStatus_t status = call("curandDestroyGenerator", generator->host);
  delete generator;
  return status;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
  return call("curandSetPseudoRandomGeneratorSeed", generator->host, seed);
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return call("curandSetGeneratorOffset", generator->host, offset);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out,
                                          std::size_t count, double mean, double deviation) {
  if (count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  std::vector<double> values(count);
  const curandStatus_t status =
      call("curandGenerateNormalDouble", generator->host, values.data(), count, mean, deviation);
  gibbsite::ptx::enqueue(generator->stream, [out, values = std::move(values)] {
    std::copy(values.begin(), values.end(), out);
  });
  return status;
}

}  // extern "C"
