// The functions of the CUDA runtime that gibbsite and Thrust call, on the interpreter: one GPU of
// compute capability 9.0. Not modelled: peers, managed memory, copies by the host's page tables.
#include "support/ptx/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "support/ptx/global_memory.hpp"
#include "support/ptx/registry.hpp"
#include "support/ptx/streams.hpp"

struct CUstream_st : gibbsite::ptx::Stream {};
struct CUevent_st : gibbsite::ptx::Event {};
struct CUgraph_st : gibbsite::ptx::Graph {};
struct CUgraphExec_st : gibbsite::ptx::Graph {};

namespace gibbsite::ptx {
namespace {

// An H100's: CUDA C++ Programming Guide, "Compute Capabilities".
constexpr u32 most_shared_of_block = 227 * 1024;
constexpr u32 shared_of_multiprocessor = 228 * 1024;
constexpr u32 shared_reserved = 1024;  // of each block
constexpr u32 unasked_shared = 48 * 1024;
constexpr u32 registers_of_multiprocessor = 65536;
constexpr u32 warps_of_multiprocessor = 64;
constexpr u32 blocks_of_multiprocessor = 32;
constexpr u32 most_threads_of_block = 1024;
constexpr u32 most_blocks_x = 0x7fffffff, most_blocks_yz = 65535;
constexpr u64 memory_bytes = u64{80} << 30;

u64 setting(const char* name, u64 otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoull(value);
}

/// The GPU and everything that was registered. Lives as long as the process: objects unregister
/// late.
struct Gpu {
  std::recursive_mutex mutex;
  Registry registry;
  Streams streams;
  std::map<u64, u64> device_memory, pinned_memory;  // address: bytes
  u64 used = 0;
  cudaError_t last = cudaSuccess;
  u32 multiprocessors = 132, capability = 90;
  bool verbose = false;

  Gpu();
};

Gpu& gpu() {
  static auto* const the_gpu = new Gpu;
  return *the_gpu;
}

void at_exit() {
  if (const char* path = std::getenv("GIBBSITE_PTX_COVERAGE")) gpu().registry.write_coverage(path);
  if (gpu().verbose) {
    std::fprintf(stderr, "PTX in software: %llu launches, %llu warp instructions\n",
                 static_cast<unsigned long long>(counts().launches),
                 static_cast<unsigned long long>(counts().warp_instructions));
  }
}

Gpu::Gpu() {
  Options& o = options();
  o.lanes_apart = setting("GIBBSITE_PTX_LANES", 0) != 0;
  o.approximations = setting("GIBBSITE_PTX_APPROXIMATE", 0) != 0;
  o.seed = setting("GIBBSITE_PTX_SEED", o.seed);
  o.blocks_at_once = std::max<u64>(setting("GIBBSITE_PTX_BLOCKS", o.blocks_at_once), 1);
  o.most_instructions = setting("GIBBSITE_PTX_MOST", o.most_instructions);
  multiprocessors = static_cast<u32>(setting("GIBBSITE_PTX_MULTIPROCESSORS", multiprocessors));
  capability = static_cast<u32>(setting("GIBBSITE_PTX_CAPABILITY", capability));
  verbose = setting("GIBBSITE_PTX_VERBOSE", 0) != 0;
  streams.seed(o.seed + 12344);
  static_cast<void>(std::atexit(at_exit));
}

using Lock = std::lock_guard<std::recursive_mutex>;

void say(const std::string& what) { std::fprintf(stderr, "PTX in software: %s\n", what.c_str()); }

/// What a call returns: the first fault of a kernel, which stays, or its own error.
cudaError_t result(cudaError_t error = cudaSuccess) {
  if (!gpu().streams.fault().empty()) return gpu().last = cudaErrorLaunchFailure;
  if (error != cudaSuccess) gpu().last = error;
  return error;
}

Stream& stream_of(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return gpu().streams.default_stream();
  return *stream;
}

bool is_within(const std::map<u64, u64>& memory, const void* pointer, u64 bytes) {
  const u64 at = reinterpret_cast<u64>(pointer);
  auto next = memory.upper_bound(at);
  if (next == memory.begin()) return false;
  --next;
  return at + bytes <= next->first + next->second;
}
bool is_on_device(const void* pointer, u64 bytes) {
  return is_within(gpu().device_memory, pointer, bytes);
}
bool is_pinned(const void* pointer) { return is_within(gpu().pinned_memory, pointer, 1); }

// ---- Launches

/// Blocks that a multiprocessor holds at once, by ptxas's registers and the shared memory of the
/// PTX.
u32 occupancy(const Function& function, u32 threads, u64 dynamic_shared) {
  const u32 warps = (threads + warp_size - 1) / warp_size;
  // Registers are given out to a warp in units of 256.
  const u32 of_warp = (function.registers() * warp_size + 255) / 256 * 256;
  const u32 warps_by_registers = registers_of_multiprocessor / 4 / of_warp * 4;
  const u64 shared = function.kernel().static_shared + dynamic_shared + shared_reserved;
  const u32 by_shared = static_cast<u32>(shared_of_multiprocessor / shared);
  return std::min({warps_by_registers / warps, warps_of_multiprocessor / warps, by_shared,
                   blocks_of_multiprocessor});
}

cudaError_t check_launch(const Function& function, const Kernel& kernel, dim3 grid, dim3 block,
                         u64 shared, bool cooperative) {
  const u64 threads = u64{block.x} * block.y * block.z, blocks = u64{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > most_threads_of_block || blocks == 0)
    return cudaErrorInvalidConfiguration;
  if (grid.x > most_blocks_x || grid.y > most_blocks_yz || grid.z > most_blocks_yz)
    return cudaErrorInvalidConfiguration;
  if (kernel.most_threads != 0 && threads > kernel.most_threads) return cudaErrorInvalidValue;
  if (kernel.static_shared + shared > unasked_shared && shared > function.most_dynamic_shared)
    return cudaErrorInvalidValue;
  if (kernel.static_shared + shared > most_shared_of_block) return cudaErrorInvalidValue;
  if (function.registers() * ((threads + 31) / 32 * 32) > registers_of_multiprocessor)
    return cudaErrorLaunchOutOfResources;
  if (cooperative && blocks > u64{occupancy(function, static_cast<u32>(threads), shared)} *
                                  gpu().multiprocessors) {
    return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

/// What `work` returns, or that the function cannot be run, which is said.
template <class F>
cudaError_t with_function(const void* host, F&& work) {
  Function* function = gpu().registry.find(host);
  if (function == nullptr) return result(cudaErrorInvalidDeviceFunction);
  try {
    return result(work(*function));
  } catch (const std::exception& error) {
    say(error.what());
    return result(cudaErrorInvalidDeviceFunction);
  }
}

cudaError_t enqueue_launch(Function& function, dim3 grid, dim3 block, void** arguments,
                           std::size_t shared, cudaStream_t stream, bool cooperative) {
  Kernel& kernel = function.kernel();
  if (const cudaError_t error = check_launch(function, kernel, grid, block, shared, cooperative);
      error != cudaSuccess)
    return error;
  std::vector<u8> parameters(kernel.parameter_bytes + 16);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::memcpy(parameters.data() + kernel.parameters[i].offset, arguments[i],
                kernel.parameters[i].size);
  }
  Launch launch;
  launch.grid = {grid.x, grid.y, grid.z};
  launch.block = {block.x, block.y, block.z};
  launch.dynamic_shared = static_cast<u32>(shared);
  launch.cooperative = cooperative;
  gpu().streams.enqueue(stream_of(stream), [&kernel, launch, parameters]() mutable {
    launch.parameters = parameters.data();
    if (gpu().verbose) {
      say(fmt::format("{} blocks of {} threads, {} bytes: {}", launch.grid[0], launch.block[0],
                      launch.dynamic_shared, kernel.name));
    }
    run(kernel, launch);
  });
  return cudaSuccess;
}

cudaError_t launch_kernel(const void* host, dim3 grid, dim3 block, void** arguments,
                          std::size_t shared, cudaStream_t stream, bool cooperative) {
  const Lock lock(gpu().mutex);
  return with_function(host, [&](Function& function) {
    return enqueue_launch(function, grid, block, arguments, shared, stream, cooperative);
  });
}

// ---- Memory

void* allocate(u64 bytes, u64 align) {
  const u64 rounded = (bytes + align - 1) / align * align + align;
  void* memory = std::aligned_alloc(align, rounded);
  if (memory != nullptr) std::memset(memory, 0xff, rounded);  // NaN
  return memory;
}

cudaError_t check_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = is_on_device(to, bytes), from_device = is_on_device(from, bytes);
  if ((kind == cudaMemcpyHostToDevice && (!to_device || from_device)) ||
      (kind == cudaMemcpyDeviceToHost && (to_device || !from_device)) ||
      (kind == cudaMemcpyDeviceToDevice && (!to_device || !from_device))) {
    say("a copy between places that its kind does not say");
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> run) {
  const Lock lock(gpu().mutex);
  gpu().streams.enqueue(stream_of(stream), std::move(run));
}

}  // namespace gibbsite::ptx

using gibbsite::ptx::gpu;
using gibbsite::ptx::Lock;
using gibbsite::ptx::result;
using gibbsite::ptx::stream_of;
namespace ptx = gibbsite::ptx;

extern "C" {

// ---- What nvcc's code calls at a program's start and for `<<<>>>`

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic, version;
    const ptx::u8* data;
    void* file;
  };
  const Lock lock(gpu().mutex);
  return reinterpret_cast<void**>(gpu().registry.add(static_cast<const Wrapper*>(wrapper)->data));
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** binary, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const Lock lock(gpu().mutex);
  gpu().registry.add_function(host,
                              {.binary = reinterpret_cast<ptx::Binary*>(binary), .name = name});
}
void __cudaRegisterVar(void** binary, char* host, char*, const char* name, int, std::size_t, int,
                       int) {
  const Lock lock(gpu().mutex);
  gpu().registry.add_variable(host, reinterpret_cast<ptx::Binary*>(binary), name);
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}

static thread_local cudaLaunchConfig_t pushed_configuration;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  pushed_configuration.gridDim = grid;
  pushed_configuration.blockDim = block;
  pushed_configuration.dynamicSmemBytes = shared;
  pushed_configuration.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = pushed_configuration.gridDim;
  *block = pushed_configuration.blockDim;
  *shared = pushed_configuration.dynamicSmemBytes;
  *static_cast<cudaStream_t*>(stream) = pushed_configuration.stream;
  return cudaSuccess;
}

// ---- Launches

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  return ptx::launch_kernel(kernel, grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  return ptx::launch_kernel(kernel, grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  return ptx::launch_kernel(kernel, grid, block, arguments, shared, stream, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** arguments) {
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) {
      cooperative = attribute.val.cooperative != 0;
    } else if (attribute.id != cudaLaunchAttributeProgrammaticStreamSerialization) {
      const Lock lock(gpu().mutex);
      return result(cudaErrorNotSupported);
    }
  }
  return ptx::launch_kernel(kernel, config->gridDim, config->blockDim, arguments,
                            config->dynamicSmemBytes, config->stream, cooperative);
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const Lock lock(gpu().mutex);
  return ptx::with_function(kernel, [&](ptx::Function& function) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 ||
        static_cast<ptx::u32>(value) + function.kernel().static_shared > ptx::most_shared_of_block)
      return cudaErrorInvalidValue;
    function.most_dynamic_shared = static_cast<ptx::u32>(value);
    return cudaSuccess;
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const Lock lock(gpu().mutex);
  return ptx::with_function(kernel, [&](ptx::Function& function) {
    const ptx::Kernel& of = function.kernel();
    *attributes = {};
    attributes->ptxVersion = attributes->binaryVersion = static_cast<int>(gpu().capability);
    attributes->maxThreadsPerBlock =
        static_cast<int>(of.most_threads != 0 ? of.most_threads : ptx::most_threads_of_block);
    attributes->numRegs = static_cast<int>(function.registers());
    attributes->sharedSizeBytes = of.static_shared;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(function.most_dynamic_shared);
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
  const Lock lock(gpu().mutex);
  return ptx::with_function(kernel, [&](ptx::Function& function) {
    const bool allowed = shared <= std::max(function.most_dynamic_shared, ptx::unasked_shared);
    *blocks =
        allowed ? static_cast<int>(ptx::occupancy(function, static_cast<ptx::u32>(threads), shared))
                : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int threads, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

// ---- Memory

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const Lock lock(gpu().mutex);
  if (gpu().used + bytes > ptx::memory_bytes) return result(cudaErrorMemoryAllocation);
  *pointer = ptx::allocate(bytes, 256);
  if (*pointer == nullptr) return result(cudaErrorMemoryAllocation);
  gpu().device_memory[reinterpret_cast<ptx::u64>(*pointer)] = bytes;
  gpu().used += bytes;
  ptx::global_memory().add(reinterpret_cast<ptx::u64>(*pointer), bytes);
  return result();
}
cudaError_t cudaFree(void* pointer) {
  const Lock lock(gpu().mutex);
  if (pointer == nullptr) return result();
  gpu().streams.finish_all();
  const auto found = gpu().device_memory.find(reinterpret_cast<ptx::u64>(pointer));
  if (found == gpu().device_memory.end()) return result(cudaErrorInvalidValue);
  gpu().used -= found->second;
  gpu().device_memory.erase(found);
  ptx::global_memory().remove(reinterpret_cast<ptx::u64>(pointer));
  std::free(pointer);
  return result();
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  const Lock lock(gpu().mutex);
  *pointer = ptx::allocate(bytes, 4096);
  if (*pointer == nullptr) return result(cudaErrorMemoryAllocation);
  gpu().pinned_memory[reinterpret_cast<ptx::u64>(*pointer)] = bytes;
  return result();
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) {
  const Lock lock(gpu().mutex);
  if (pointer == nullptr) return result();
  gpu().streams.finish_all();
  if (gpu().pinned_memory.erase(reinterpret_cast<ptx::u64>(pointer)) == 0)
    return result(cudaErrorInvalidValue);
  std::free(pointer);
  return result();
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  if (bytes == 0) return result();
  if (const cudaError_t error = ptx::check_copy(to, from, bytes, kind); error != cudaSuccess)
    return result(error);
  ptx::Stream& queue = stream_of(stream);
  if (!ptx::is_on_device(from, 1) &&
      !ptx::is_pinned(from)) {  // pageable: read before the call returns
    const auto* bytes_of = static_cast<const ptx::u8*>(from);
    gpu().streams.enqueue(queue, [to, copy = std::vector<ptx::u8>(bytes_of, bytes_of + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
  } else {
    gpu().streams.enqueue(queue, [=] { std::memcpy(to, from, bytes); });
  }
  if (!ptx::is_on_device(to, 1) && !ptx::is_pinned(to) && queue.capture == nullptr)
    gpu().streams.finish(queue);
  return result();
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const Lock lock(gpu().mutex);
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  gpu().streams.finish(gpu().streams.default_stream());
  return error != cudaSuccess ? error : result();
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        cudaMemcpy(static_cast<ptx::u8*>(to) + row * to_pitch,
                   static_cast<const ptx::u8*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  if (bytes != 0 && !ptx::is_on_device(pointer, bytes)) return result(cudaErrorInvalidValue);
  gpu().streams.enqueue(stream_of(stream), [=] { std::memset(pointer, value, bytes); });
  return result();
}
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  return cudaMemsetAsync(pointer, value, bytes, nullptr);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Lock lock(gpu().mutex);
  *attributes = {};
  attributes->type = ptx::is_on_device(pointer, 1) ? cudaMemoryTypeDevice
                     : ptx::is_pinned(pointer)     ? cudaMemoryTypeHost
                                                   : cudaMemoryTypeUnregistered;
  attributes->devicePointer = attributes->hostPointer = const_cast<void*>(pointer);
  return result();
}
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  const Lock lock(gpu().mutex);
  *total = ptx::memory_bytes;
  *available = *total - gpu().used;
  return result();
}
cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  const Lock lock(gpu().mutex);
  *pointer = gpu().registry.find_variable(symbol);
  return result(*pointer == nullptr ? cudaErrorInvalidSymbol : cudaSuccess);
}

// ---- Streams, events, graphs

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Lock lock(gpu().mutex);
  *stream = static_cast<cudaStream_t>(gpu().streams.create((flags & cudaStreamNonBlocking) == 0));
  return result();
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  gpu().streams.destroy(stream);
  return result();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  if (stream_of(stream).capture != nullptr) return result(cudaErrorStreamCaptureUnsupported);
  gpu().streams.finish(stream_of(stream));
  return result();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaDeviceSynchronize() {
  const Lock lock(gpu().mutex);
  gpu().streams.finish_all();
  return result();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(gpu().mutex);
  if (stream_of(stream).capture != nullptr) return result(cudaErrorStreamCaptureUnsupported);
  gpu().streams.enqueue_wait(stream_of(stream), *event);
  return result();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(gpu().mutex);
  gpu().streams.finish_all();
  delete event;
  return result();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  if (stream_of(stream).capture != nullptr) return result(cudaErrorStreamCaptureUnsupported);
  gpu().streams.enqueue_record(stream_of(stream), *event);
  return result();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(gpu().mutex);
  gpu().streams.run_until([event, version = event->recorded] { return event->reached >= version; });
  return result();
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;  // there is no time in software
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(gpu().mutex);
  ptx::Stream& queue = stream_of(stream);
  if (&queue == &gpu().streams.default_stream()) return result(cudaErrorStreamCaptureUnsupported);
  if (queue.capture != nullptr) return result(cudaErrorIllegalState);
  queue.capture = std::make_unique<ptx::Graph>();
  return result();
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(gpu().mutex);
  ptx::Stream& queue = stream_of(stream);
  if (queue.capture == nullptr) return result(cudaErrorIllegalState);
  *graph = new CUgraph_st{{std::move(*queue.capture)}};
  queue.capture.reset();
  return result();
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock(gpu().mutex);
  *status = stream_of(stream).capture != nullptr ? cudaStreamCaptureStatusActive
                                                 : cudaStreamCaptureStatusNone;
  return result();
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = new CUgraphExec_st{{*graph}};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  for (const auto& operation : executable->operations)
    gpu().streams.enqueue(stream_of(stream), operation);
  return result();
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Lock lock(gpu().mutex);
  gpu().streams.finish_all();
  delete executable;
  return result();
}

// ---- The GPU

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  const Lock lock(gpu().mutex);
  return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  cudaDeviceProp& p = *properties;
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "PTX in software");
  p.major = static_cast<int>(gpu().capability / 10);
  p.minor = static_cast<int>(gpu().capability % 10);
  p.multiProcessorCount = static_cast<int>(gpu().multiprocessors);
  p.sharedMemPerBlock = ptx::unasked_shared;
  p.sharedMemPerBlockOptin = ptx::most_shared_of_block;
  p.sharedMemPerMultiprocessor = ptx::shared_of_multiprocessor;
  p.reservedSharedMemPerBlock = ptx::shared_reserved;
  p.regsPerBlock = p.regsPerMultiprocessor = static_cast<int>(ptx::registers_of_multiprocessor);
  p.l2CacheSize = 50 << 20;
  p.totalGlobalMem = ptx::memory_bytes;
  p.warpSize = static_cast<int>(ptx::warp_size);
  p.maxThreadsPerBlock = static_cast<int>(ptx::most_threads_of_block);
  p.maxThreadsPerMultiProcessor = static_cast<int>(ptx::warps_of_multiprocessor * ptx::warp_size);
  p.cooperativeLaunch = 1;
  p.maxGridSize[0] = static_cast<int>(ptx::most_blocks_x);
  p.maxGridSize[1] = p.maxGridSize[2] = static_cast<int>(ptx::most_blocks_yz);
  for (char i = 0; i < 16; ++i) p.uuid.bytes[static_cast<int>(i)] = i;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  static const auto* const values = new std::map<cudaDeviceAttr, ptx::u32>{
      {cudaDevAttrComputeCapabilityMajor, gpu().capability / 10},
      {cudaDevAttrComputeCapabilityMinor, gpu().capability % 10},
      {cudaDevAttrMultiProcessorCount, gpu().multiprocessors},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, ptx::most_shared_of_block},
      {cudaDevAttrMaxSharedMemoryPerBlock, ptx::unasked_shared},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, ptx::shared_of_multiprocessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, ptx::shared_reserved},
      {cudaDevAttrMaxRegistersPerBlock, ptx::registers_of_multiprocessor},
      {cudaDevAttrWarpSize, ptx::warp_size},
      {cudaDevAttrMaxThreadsPerBlock, ptx::most_threads_of_block},
      {cudaDevAttrMaxGridDimX, ptx::most_blocks_x},
      {cudaDevAttrMaxGridDimY, ptx::most_blocks_yz},
      {cudaDevAttrMaxGridDimZ, ptx::most_blocks_yz},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrMemoryPoolsSupported, 1},
  };
  const auto found = values->find(attribute);
  if (found == values->end()) {
    ptx::say(fmt::format("the device attribute {} is not modelled", static_cast<int>(attribute)));
    return cudaErrorInvalidValue;
  }
  *value = static_cast<int>(found->second);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  const Lock lock(gpu().mutex);
  const cudaError_t error = result() != cudaSuccess ? cudaErrorLaunchFailure : gpu().last;
  gpu().last = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() {
  const Lock lock(gpu().mutex);
  return result() != cudaSuccess ? cudaErrorLaunchFailure : gpu().last;
}
const char* cudaGetErrorString(cudaError_t error) {
  static thread_local std::string text;
  if (error == cudaSuccess) return "no error";
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  const Lock lock(gpu().mutex);
  const bool is_fault = error == cudaErrorLaunchFailure && !gpu().streams.fault().empty();
  text = is_fault ? "PTX in software: " + gpu().streams.fault()
                  : fmt::format("CUDA error {}", static_cast<int>(error));
  return text.c_str();
}
const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
cudaError_t cudaGetDriverEntryPoint(const char*, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  *function = nullptr;  // there is no driver
  if (status != nullptr) *status = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  *function = nullptr;
  if (status != nullptr) *status = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

}  // extern "C"
