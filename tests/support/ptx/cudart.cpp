// The CUDA runtime's functions that the project and Thrust call, on the PTX interpreter.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>

#include "ptx.hpp"
using ptx::u32;
using ptx::u64;
using ptx::u8;
namespace {
std::recursive_mutex big;
#define LOCK std::lock_guard<std::recursive_mutex> lock_(big)
struct Fat {
  std::vector<std::unique_ptr<ptx::Module>> modules;
};
struct Fn {
  Fat* fat;
  std::string name;
  int max_dynamic = 48 * 1024;
};
std::map<const void*, Fn>& functions() {
  static auto* f = new std::map<const void*, Fn>;
  return *f;
}
struct Var {
  Fat* fat;
  std::string name;
  size_t size;
};
std::map<const void*, Var>& variables() {
  static auto* f = new std::map<const void*, Var>;
  return *f;
}
std::map<u64, u64> pinned;
std::map<u64, u64> device;
u64 device_used = 0;
cudaError_t last = cudaSuccess;
bool sticky = false;
std::string fault_text;
cudaError_t set(cudaError_t e) {
  if (e != cudaSuccess && !sticky) last = e;
  return sticky ? last : e;
}
bool verbose() {
  static bool v = std::getenv("PTXSIM_VERBOSE");
  return v;
}
bool deferred() {
  static bool v = !std::getenv("PTXSIM_SYNC");
  return v;
}
struct Event {
  u64 version = 0;
  u64 done = 0;
  struct CUstream_st* in = nullptr;
};
struct Op {
  std::function<void()> fn;
  Event* record = nullptr;
  Event* wait = nullptr;
  u64 version = 0;
};
struct GraphData {
  std::vector<std::function<void()>> ops;
};
std::mt19937_64 rng(12345);
}  // namespace
struct CUstream_st {
  std::deque<Op> ops;
  GraphData* capture = nullptr;
  bool nonblocking = false;
};
struct CUevent_st : Event {};
struct CUgraph_st : GraphData {};
struct CUgraphExec_st : GraphData {};
namespace {
CUstream_st legacy;
std::set<CUstream_st*> streams{&legacy};
CUstream_st* of(cudaStream_t s) {
  return s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread ? &legacy : s;
}
void die(const std::string& why) {
  std::fprintf(stderr, "PTXSIM FAULT: %s\n", why.c_str());
  if (std::getenv("PTXSIM_ABORT")) std::abort();
  last = cudaErrorLaunchFailure;
  sticky = true;
  fault_text = why;
}
// one operation of a stream; false when it must wait
bool one(CUstream_st* s) {
  if (s->ops.empty()) return false;
  Op& o = s->ops.front();
  if (o.wait && o.wait->done < o.version) return false;
  Op mine = std::move(o);
  s->ops.pop_front();
  if (mine.fn && !sticky) {
    try {
      mine.fn();
    } catch (const std::exception& e) {
      die(e.what());
    }
  }
  if (mine.record) mine.record->done = std::max(mine.record->done, mine.version);
  return true;
}
void drain(const std::function<bool()>& done) {
  while (!done()) {
    std::vector<CUstream_st*> ready;
    for (auto* s : streams)
      if (!s->ops.empty() &&
          !(s->ops.front().wait && s->ops.front().wait->done < s->ops.front().version))
        ready.push_back(s);
    if (ready.empty()) {
      die("streams wait for each other, or for an event that nothing records");
      return;
    }
    one(ready[rng() % ready.size()]);
  }
}
void enqueue(CUstream_st* s, std::function<void()> fn) {
  if (s->capture) {
    s->capture->ops.push_back(std::move(fn));
    return;
  }
  if (s == &legacy)
    for (auto* o : streams)
      if (o != s && !o->nonblocking) drain([&] { return o->ops.empty(); });
  s->ops.push_back({std::move(fn), nullptr, nullptr, 0});
  if (!deferred())
    drain([&] { return s->ops.empty(); });
  else if (rng() % 3 == 0)
    for (auto* o : streams)
      if (rng() % 2) one(o);
}
bool is_pinned(const void* p) {
  auto it = pinned.upper_bound((u64)p);
  if (it == pinned.begin()) return false;
  --it;
  return (u64)p < it->first + it->second;
}
bool is_device(const void* p, size_t n) {
  auto it = device.upper_bound((u64)p);
  if (it == device.begin()) return false;
  --it;
  return (u64)p + n <= it->first + it->second;
}
// PTXSIM_PATCH: a file of pairs of lines, what to replace by what in every module: planted defects.
std::string patched(std::string t) {
  auto* e = std::getenv("PTXSIM_PATCH");
  if (!e) return t;
  std::ifstream in(e);
  std::string from, to;
  while (std::getline(in, from) && std::getline(in, to)) {
    size_t n = 0;
    for (size_t p = 0; (p = t.find(from, p)) != std::string::npos; p += to.size(), ++n)
      t.replace(p, from.size(), to);
    if (n) std::fprintf(stderr, "PTXSIM: replaced %zu\n", n);
  }
  return t;
}
std::vector<std::unique_ptr<ptx::Module>>& overrides() {
  static std::vector<std::unique_ptr<ptx::Module>> m = [] {
    std::vector<std::unique_ptr<ptx::Module>> r;
    if (auto* e = std::getenv("PTXSIM_OVERRIDE")) {
      std::string list = e;
      size_t p = 0;
      while (p < list.size()) {
        size_t q = list.find(':', p);
        std::string f = list.substr(p, q - p);
        std::ifstream in(f);
        std::string t((std::istreambuf_iterator<char>(in)), {});
        r.push_back(std::make_unique<ptx::Module>(f, patched(t)));
        if (q == std::string::npos) break;
        p = q + 1;
      }
    }
    return r;
  }();
  return m;
}
ptx::Kernel* kernel_of(const void* fn, Fn** f = nullptr) {
  auto it = functions().find(fn);
  if (it == functions().end()) throw std::runtime_error("cudart: unknown function");
  if (f) *f = &it->second;
  for (auto& m : overrides())
    if (m->entries.count(it->second.name)) return &m->kernel(it->second.name);
  for (auto& m : it->second.fat->modules)
    if (m->entries.count(it->second.name)) return &m->kernel(it->second.name);
  throw std::runtime_error("cudart: no PTX of " + it->second.name);
}
u32 registers_of(ptx::Kernel& k) {
  if (auto* e = std::getenv("PTXSIM_REGS")) return (u32)std::atoi(e);
  (void)k;
  return 128;
}
int sms() {
  if (auto* e = std::getenv("PTXSIM_SMS")) return std::atoi(e);
  return 132;
}
u32 capability() {
  if (auto* e = std::getenv("PTXSIM_CC")) return (u32)std::atoi(e);
  return 90;
}
u32 occupancy(ptx::Kernel& k, u32 threads, u32 dynamic) {
  u32 r = (registers_of(k) + 7) / 8 * 8;
  u32 warps = (threads + 31) / 32;
  u32 by_regs = 65536 / (r * 32 * warps), by_threads = 64 / warps,
      shared = k.static_shared + dynamic + 1024, by_shared = 228 * 1024 / std::max(shared, 1u);
  return std::min({by_regs, by_threads, by_shared, 32u});
}
cudaError_t launch(const void* fn, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream, bool cooperative) {
  if (sticky) return last;
  Fn* f;
  ptx::Kernel* k;
  try {
    k = kernel_of(fn, &f);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "PTXSIM: %s\n", e.what());
    return set(cudaErrorInvalidDeviceFunction);
  }
  u64 threads = (u64)block.x * block.y * block.z;
  if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return set(cudaErrorInvalidConfiguration);
  if (k->maxntid && threads > k->maxntid) return set(cudaErrorInvalidValue);
  if (k->static_shared + shared > 48 * 1024 && (int)shared > f->max_dynamic)
    return set(cudaErrorInvalidValue);
  if (k->static_shared + shared > 227 * 1024) return set(cudaErrorInvalidValue);
  if (cooperative &&
      (u64)grid.x * grid.y * grid.z > (u64)occupancy(*k, (u32)threads, (u32)shared) * (u32)sms())
    return set(cudaErrorCooperativeLaunchTooLarge);
  auto params = std::make_shared<std::vector<u8>>(k->param_bytes + 16);
  for (size_t i = 0; i < k->params.size(); ++i)
    std::memcpy(params->data() + k->params[i].first, args[i], k->params[i].second);
  ptx::Launch l;
  l.grid[0] = grid.x;
  l.grid[1] = grid.y;
  l.grid[2] = grid.z;
  l.block[0] = block.x;
  l.block[1] = block.y;
  l.block[2] = block.z;
  l.dynamic_shared = (u32)shared;
  l.cooperative = cooperative;
  enqueue(of(stream), [k, l, params]() mutable {
    l.params = params->data();
    if (verbose())
      std::fprintf(stderr, "run %s grid %u block %u shared %u%s\n", k->name.c_str(), l.grid[0],
                   l.block[0], l.dynamic_shared, l.cooperative ? " cooperative" : "");
    ptx::run(*k, l);
  });
  return cudaSuccess;
}
struct Report {
  ~Report() {
    if (auto* e = std::getenv("PTXSIM_COVERAGE")) {
      std::ofstream out(e, std::ios::app);
      std::set<Fat*> seen;
      for (auto& [p, f] : functions()) {
        if (!seen.insert(f.fat).second) continue;
        for (auto& m : f.fat->modules)
          for (auto& [n, k] : m->kernels)
            if (k) {
              size_t ran = 0, all = 0;
              for (size_t i = 0; i + 1 < k->code.size(); ++i) {
                ++all;
                ran += k->count[i] != 0;
              }
              out << n << ' ' << ran << ' ' << all << '\n';
            }
      }
    }
    if (std::getenv("PTXSIM_STATS"))
      std::fprintf(stderr, "PTXSIM: %llu launches, %llu warp instructions\n",
                   (unsigned long long)ptx::stats.launches,
                   (unsigned long long)ptx::stats.warp_instructions);
  }
};
void init_options() {
  static bool done = false;
  if (done) return;
  done = true;
  static Report report;
  if (std::getenv("PTXSIM_LANES")) ptx::options.lanes = true;
  if (std::getenv("PTXSIM_APPROX")) ptx::options.approx = true;
  if (auto* e = std::getenv("PTXSIM_SEED")) {
    ptx::options.seed = std::stoull(e);
    rng.seed(ptx::options.seed);
  }
  if (auto* e = std::getenv("PTXSIM_BLOCKS")) ptx::options.blocks_at_once = std::atoi(e);
}
}  // namespace
extern "C" {
void ptxsim_enqueue(cudaStream_t s, std::function<void()>* fn) {
  LOCK;
  enqueue(of(s), std::move(*fn));
}
int ptxsim_capturing(cudaStream_t s) {
  LOCK;
  return of(s)->capture != nullptr;
}
void** __cudaRegisterFatBinary(void* p) {
  LOCK;
  init_options();
  functions();
  variables();
  struct Wrap {
    int magic, version;
    const u8* data;
    void* name;
  };
  auto* w = (Wrap*)p;
  auto* fat = new Fat;
  const u8* d = w->data;
  u32 magic;
  std::memcpy(&magic, d, 4);
  if (magic != 0xBA55ED50u) {
    std::fprintf(stderr, "PTXSIM: fat binary magic %x\n", magic);
    return (void**)fat;
  }
  uint16_t hs;
  std::memcpy(&hs, d + 6, 2);
  u64 size;
  std::memcpy(&size, d + 8, 8);
  const u8* e = d + hs;
  const u8* end = e + size;
  while (e < end) {
    uint16_t kind;
    std::memcpy(&kind, e, 2);
    u32 eh;
    std::memcpy(&eh, e + 4, 4);
    u64 es;
    std::memcpy(&es, e + 8, 8);
    if (eh == 0) break;
    u64 flags;
    std::memcpy(&flags, e + 40, 8);
    if (kind == 1) {
      const auto number = fat->modules.size();
      const std::string name = "fatbin" + std::to_string((size_t)fat & 0xffff) +
                               (number ? "-" + std::to_string(number) : "");
      try {
        std::string t;
        u32 packed;
        std::memcpy(&packed, e + 16, 4);
        u64 plain;
        std::memcpy(&plain, e + 56, 8);
        if (flags & 0x8000) {
          t.resize(plain);
          if (ZSTD_isError(ZSTD_decompress(t.data(), t.size(), e + eh, packed)))
            throw std::runtime_error("the zstd frame of a fat binary is broken");
        } else if (flags & 0x2000)
          throw std::runtime_error("PTX compressed by LZ4; compile with --no-compress");
        else
          t.assign((const char*)e + eh, es);
        t.resize(strnlen(t.data(), t.size()));
        if (auto* dir = std::getenv("PTXSIM_DUMP"))
          std::ofstream(std::string(dir) + "/" + name + ".ptx") << t;
        fat->modules.push_back(std::make_unique<ptx::Module>(name, patched(t)));
      } catch (const std::exception& x) {
        std::fprintf(stderr, "PTXSIM: %s\n", x.what());
      }
    }
    e += eh + es;
  }
  return (void**)fat;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** h, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  LOCK;
  functions()[host] = {(Fat*)h, name};
}
void __cudaRegisterVar(void** h, char* host, char*, const char* name, int, size_t size, int, int) {
  LOCK;
  variables()[host] = {(Fat*)h, name, size};
}
cudaError_t __cudaGetKernel(cudaKernel_t* k, const void* f) {
  *k = (cudaKernel_t)f;
  return cudaSuccess;
}
static thread_local struct {
  dim3 g, b;
  size_t s;
  cudaStream_t st;
} config;
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t s, struct CUstream_st* st) {
  config = {g, b, s, st};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* g, dim3* b, size_t* s, void* st) {
  *g = config.g;
  *b = config.b;
  *s = config.s;
  *(cudaStream_t*)st = config.st;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void** a, size_t s,
                               cudaStream_t st) {
  LOCK;
  return set(launch((const void*)k, g, b, a, s, st, false));
}
cudaError_t cudaLaunchKernel(const void* k, dim3 g, dim3 b, void** a, size_t s, cudaStream_t st) {
  LOCK;
  return set(launch(k, g, b, a, s, st, false));
}
cudaError_t cudaLaunchCooperativeKernel(const void* k, dim3 g, dim3 b, void** a, size_t s,
                                        cudaStream_t st) {
  LOCK;
  return set(launch(k, g, b, a, s, st, true));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* k, void** a) {
  LOCK;
  bool coop = false;
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    if (c->attrs[i].id == cudaLaunchAttributeCooperative)
      coop = c->attrs[i].val.cooperative;
    else if (c->attrs[i].id != cudaLaunchAttributeProgrammaticStreamSerialization)
      return set(cudaErrorNotSupported);
  }
  return set(launch(k, c->gridDim, c->blockDim, a, c->dynamicSmemBytes, c->stream, coop));
}
cudaError_t cudaFuncSetAttribute(const void* f, cudaFuncAttribute a, int v) {
  LOCK;
  auto it = functions().find(f);
  if (it == functions().end()) return set(cudaErrorInvalidDeviceFunction);
  if (a == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    ptx::Kernel* k = kernel_of(f);
    if (v < 0 || v + (int)k->static_shared > 227 * 1024) return set(cudaErrorInvalidValue);
    it->second.max_dynamic = v;
  }
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* f) {
  LOCK;
  try {
    auto* k = kernel_of(f);
    std::memset(out, 0, sizeof *out);
    out->ptxVersion = out->binaryVersion = (int)capability();
    out->maxThreadsPerBlock = k->maxntid ? (int)k->maxntid : 1024;
    out->numRegs = (int)registers_of(*k);
    out->sharedSizeBytes = k->static_shared;
    out->maxDynamicSharedSizeBytes = 48 * 1024;
    return cudaSuccess;
  } catch (const std::exception& x) {
    std::fprintf(stderr, "PTXSIM: %s\n", x.what());
    return set(cudaErrorInvalidDeviceFunction);
  }
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* f,
                                                                   int threads, size_t shared,
                                                                   unsigned) {
  LOCK;
  try {
    Fn* q;
    auto* k = kernel_of(f, &q);
    if ((int)shared > q->max_dynamic && shared > 48 * 1024) {
      *n = 0;
      return cudaSuccess;
    }
    *n = (int)occupancy(*k, (u32)threads, (u32)shared);
    return cudaSuccess;
  } catch (const std::exception& x) {
    std::fprintf(stderr, "PTXSIM: %s\n", x.what());
    return set(cudaErrorInvalidDeviceFunction);
  }
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void* f, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, f, threads, shared, 0);
}
cudaError_t cudaMalloc(void** p, size_t n) {
  LOCK;
  if (sticky) return last;
  if (device_used + n > (u64{80} << 30)) return set(cudaErrorMemoryAllocation);
  void* q = aligned_alloc(256, (n + 511) / 256 * 256 + 256);
  if (!q) return set(cudaErrorMemoryAllocation);
  std::memset(q, 0xff, (n + 511) / 256 * 256);
  device[(u64)q] = n;
  device_used += n;
  ptx::add_allocation((u64)q, n);
  *p = q;
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  LOCK;
  if (!p) return cudaSuccess;
  for (auto* s : streams) drain([&] { return s->ops.empty() || sticky; });
  auto it = device.find((u64)p);
  if (it == device.end()) return set(cudaErrorInvalidValue);
  device_used -= it->second;
  device.erase(it);
  ptx::remove_allocation((u64)p);
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
cudaError_t cudaMallocHost(void** p, size_t n) {
  LOCK;
  void* q = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
  std::memset(q, 0xff, n);
  pinned[(u64)q] = n;
  *p = q;
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMallocHost(p, n); }
cudaError_t cudaFreeHost(void* p) {
  LOCK;
  if (!p) return cudaSuccess;
  for (auto* s : streams) drain([&] { return s->ops.empty() || sticky; });
  if (!pinned.erase((u64)p)) return set(cudaErrorInvalidValue);
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind,
                            cudaStream_t st) {
  LOCK;
  if (sticky) return last;
  auto* s = of(st);
  if (n == 0) return cudaSuccess;
  bool dt = is_device(to, n), df = is_device(from, n);
  if (kind == cudaMemcpyHostToDevice && (!dt || df)) {
    std::fprintf(stderr, "PTXSIM: H2D copy of what is not\n");
    return set(cudaErrorInvalidValue);
  }
  if (kind == cudaMemcpyDeviceToHost && (dt || !df)) {
    std::fprintf(stderr, "PTXSIM: D2H copy of what is not\n");
    return set(cudaErrorInvalidValue);
  }
  if (kind == cudaMemcpyDeviceToDevice && (!dt || !df)) return set(cudaErrorInvalidValue);
  if (!df && !is_pinned(from)) {
    auto copy = std::make_shared<std::vector<u8>>((const u8*)from, (const u8*)from + n);
    enqueue(s, [=] { std::memcpy(to, copy->data(), n); });
  } else
    enqueue(s, [=] { std::memcpy(to, from, n); });
  if (!dt && !is_pinned(to) && !s->capture) drain([&] { return s->ops.empty() || sticky; });
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  LOCK;
  auto e = cudaMemcpyAsync(to, from, n, kind, nullptr);
  drain([&] { return legacy.ops.empty() || sticky; });
  return e;
}
cudaError_t cudaMemcpy2D(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h,
                         cudaMemcpyKind k) {
  for (size_t i = 0; i < h; ++i) cudaMemcpy((u8*)to + i * tp, (const u8*)from + i * fp, w, k);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int v, size_t n, cudaStream_t st) {
  LOCK;
  if (n && !is_device(p, n)) return set(cudaErrorInvalidValue);
  enqueue(of(st), [=] { std::memset(p, v, n); });
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaMemset(void* p, int v, size_t n) { return cudaMemsetAsync(p, v, n, nullptr); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned f) {
  LOCK;
  *s = new CUstream_st;
  (*s)->nonblocking = f & cudaStreamNonBlocking;
  streams.insert(*s);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithFlags(s, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  LOCK;
  drain([&] { return s->ops.empty() || sticky; });
  streams.erase(s);
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t st) {
  LOCK;
  auto* s = of(st);
  if (s->capture) return set(cudaErrorStreamCaptureUnsupported);
  drain([&] { return s->ops.empty() || sticky; });
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  LOCK;
  for (auto* s : streams) drain([&] { return s->ops.empty() || sticky; });
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t st) { return cudaStreamSynchronize(st); }
cudaError_t cudaStreamWaitEvent(cudaStream_t st, cudaEvent_t e, unsigned) {
  LOCK;
  auto* s = of(st);
  if (s->capture) {
    std::fprintf(stderr, "PTXSIM: wait in a capture\n");
    return set(cudaErrorStreamCaptureUnsupported);
  }
  s->ops.push_back({nullptr, nullptr, e, e->version});
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) {
  *e = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  LOCK;
  for (auto* s : streams) drain([&] { return s->ops.empty() || sticky; });
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t st) {
  LOCK;
  auto* s = of(st);
  if (s->capture) {
    std::fprintf(stderr, "PTXSIM: record in a capture\n");
    return set(cudaErrorStreamCaptureUnsupported);
  }
  s->ops.push_back({nullptr, e, nullptr, ++e->version});
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  LOCK;
  u64 v = e->version;
  drain([&] { return e->done >= v || sticky; });
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
cudaError_t cudaEventElapsedTime(float* t, cudaEvent_t, cudaEvent_t) {
  *t = 1;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  LOCK;
  if (of(s) == &legacy) return set(cudaErrorStreamCaptureUnsupported);
  if (s->capture) return set(cudaErrorIllegalState);
  s->capture = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  LOCK;
  if (!s->capture) return set(cudaErrorIllegalState);
  *g = (CUgraph_st*)s->capture;
  s->capture = nullptr;
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* c) {
  *c = of(s)->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
  LOCK;
  *e = new CUgraphExec_st;
  (*e)->ops = g->ops;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long f) {
  return cudaGraphInstantiate(e, g, f);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  LOCK;
  for (auto& o : e->ops) enqueue(of(s), o);
  return sticky ? last : cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  delete g;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
  LOCK;
  for (auto* s : streams) drain([&] { return s->ops.empty() || sticky; });
  delete g;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) { return d == 0 ? cudaSuccess : set(cudaErrorInvalidDevice); }
cudaError_t cudaGetDevice(int* d) {
  *d = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* f, size_t* t) {
  LOCK;
  *t = u64{80} << 30;
  *f = *t - device_used;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "PTX interpreter");
  p->major = (int)capability() / 10;
  p->minor = (int)capability() % 10;
  p->multiProcessorCount = sms();
  p->sharedMemPerBlock = 48 * 1024;
  p->sharedMemPerBlockOptin = 227 * 1024;
  p->sharedMemPerMultiprocessor = 228 * 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->l2CacheSize = 50 << 20;
  p->totalGlobalMem = u64{80} << 30;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->cooperativeLaunch = 1;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->reservedSharedMemPerBlock = 1024;
  for (int i = 0; i < 16; ++i) p->uuid.bytes[i] = (char)i;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  switch (a) {
    case cudaDevAttrComputeCapabilityMajor:
      *v = (int)capability() / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *v = (int)capability() % 10;
      break;
    case cudaDevAttrMultiProcessorCount:
      *v = sms();
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *v = 227 * 1024;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *v = 48 * 1024;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *v = 228 * 1024;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
      *v = 65536;
      break;
    case cudaDevAttrWarpSize:
      *v = 32;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *v = 1024;
      break;
    case cudaDevAttrMaxGridDimX:
      *v = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *v = 65535;
      break;
    case cudaDevAttrCooperativeLaunch:
      *v = 1;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *v = 1;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *v = 1024;
      break;
    default:
      std::fprintf(stderr, "PTXSIM: attribute %d\n", (int)a);
      *v = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  LOCK;
  std::memset(a, 0, sizeof *a);
  a->type = is_device(p, 1) ? cudaMemoryTypeDevice
            : is_pinned(p)  ? cudaMemoryTypeHost
                            : cudaMemoryTypeUnregistered;
  a->devicePointer = a->hostPointer = const_cast<void*>(p);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  LOCK;
  auto e = last;
  if (!sticky) last = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError() { return last; }
const char* cudaGetErrorString(cudaError_t e) {
  if (sticky && e == last) {
    static std::string s;
    s = "software GPU: " + fault_text;
    return s.c_str();
  }
  static thread_local char t[64];
  if (e == cudaSuccess) return "no error";
  if (e == cudaErrorMemoryAllocation) return "out of memory";
  std::snprintf(t, sizeof t, "cuda error %d", (int)e);
  return t;
}
const char* cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }
cudaError_t cudaGetSymbolAddress(void** p, const void* s) {
  LOCK;
  auto it = variables().find(s);
  if (it == variables().end()) return set(cudaErrorInvalidSymbol);
  for (auto& m : it->second.fat->modules)
    if (auto v = m->vars.find(it->second.name); v != m->vars.end()) {
      *p = v->second.host;
      return cudaSuccess;
    }
  return set(cudaErrorInvalidSymbol);
}
cudaError_t cudaGetDriverEntryPoint(const char*, void** f, unsigned long long,
                                    cudaDriverEntryPointQueryResult* r) {
  *f = nullptr;
  if (r) *r = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** f, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* r) {
  *f = nullptr;
  if (r) *r = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
}
