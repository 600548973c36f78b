#include <curand.h>
#include <dlfcn.h>

#include <functional>
#include <vector>
extern "C" void ptxsim_enqueue(cudaStream_t, std::function<void()>*);
static void* real() {
  static void* h = dlopen(GIBBSITE_CUDA_LIBRARIES "/libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
  return h;
}
template <class F>
static F* get(const char* n) {
  return (F*)dlsym(real(), n);
}
struct G {
  curandGenerator_t g;
  cudaStream_t s = nullptr;
};
extern "C" {
curandStatus_t curandCreateGenerator(curandGenerator_t* g, curandRngType_t t) {
  auto* q = new G;
  auto r = get<decltype(curandCreateGeneratorHost)>("curandCreateGeneratorHost")(&q->g, t);
  *g = (curandGenerator_t)q;
  return r;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t g) {
  return get<decltype(curandDestroyGenerator)>("curandDestroyGenerator")(((G*)g)->g);
}
curandStatus_t curandSetStream(curandGenerator_t g, cudaStream_t s) {
  ((G*)g)->s = s;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long v) {
  return get<decltype(curandSetPseudoRandomGeneratorSeed)>("curandSetPseudoRandomGeneratorSeed")(
      ((G*)g)->g, v);
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long v) {
  return get<decltype(curandSetGeneratorOffset)>("curandSetGeneratorOffset")(((G*)g)->g, v);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double* o, size_t n, double m,
                                          double s) {
  auto* q = (G*)g;
  if (n % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  std::vector<double> v(n);
  auto r = get<decltype(curandGenerateNormalDouble)>("curandGenerateNormalDouble")(q->g, v.data(),
                                                                                   n, m, s);
  std::function<void()> f = [=] {
    for (size_t i = 0; i < n; ++i) o[i] = v[i];
  };
  ptxsim_enqueue(q->s, &f);
  return r;
}
}
