#include "support/emulated_device.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <random>
#include <set>
#include <string>

#include "gibbsite/core/error.hpp"
#include "support/double_unit.hpp"
#include "support/emulator.hpp"
#include "support/kernel_notes.hpp"
#include "support/matrix_unit.hpp"

namespace gibbsite::support {
namespace {

using cuda::Event;
using cuda::Graph;
using cuda::Queue;

class EmulatedDevice final : public cuda::Device {
 public:
  explicit EmulatedDevice(const EmulatedGpu& gpu) : gpu_(gpu), random_(gpu.seed) {}

  [[nodiscard]] cuda::Gpu gpu() const override {
    std::size_t used = 0;
    for (const auto& [at, bytes] : memory_) used += bytes.size();
    return {.name = "emulated card",
            .capability = gpu_.capability,
            .multiprocessors = gpu_.multiprocessors,
            .shared_bytes = gpu_.shared_bytes,
            .l2_bytes = gpu_.l2_bytes,
            .total_bytes = gpu_.total_bytes,
            .free_bytes = gpu_.total_bytes - used};
  }

  std::byte* allocate(std::size_t bytes) override {
    refuse_in_capture("memory is allocated");
    if (bytes > gpu().free_bytes) {
      throw CudaError("emulated card: out of memory: " + std::to_string(bytes) + " bytes");
    }
    return poisoned(memory_, bytes);
  }
  std::byte* allocate_pinned(std::size_t bytes) override { return poisoned(pinned_, bytes); }
  void release(std::byte* memory) noexcept override { memory_.erase(memory); }
  void release_pinned(std::byte* memory) noexcept override { pinned_.erase(memory); }

  void copy_in(Queue queue, std::byte* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    require_owned(to, bytes);
    refuse_in_capture("host memory is copied");  // a replay reads it when it is gone
    if (gpu_.copied_in != nullptr) *gpu_.copied_in += bytes;
    push(queue, [=] { std::memcpy(to, from, bytes); });
  }
  void copy_out(Queue queue, void* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    require_owned(from, bytes);
    refuse_in_capture("host memory is copied to");
    push(queue, [=] { std::memcpy(to, from, bytes); });
  }
  void fill_zero(Queue queue, std::byte* to, std::size_t bytes) override {
    if (bytes == 0) return;
    require_owned(to, bytes);
    push(queue, [=] { std::memset(to, 0, bytes); });
  }

  std::size_t blocks_at_once(const kernels::Cooperative& kernel) override {
    std::size_t blocks = 0;
    kernels::with_body(kernel, [&]<class Body>() {
      const kernels::LaunchShape shape = Body::shape(kernel);
      if (shape.shared_bytes > gpu_.shared_bytes) throw KernelFault("invalid argument");
      blocks = resident(shape);
    });
    return blocks;
  }
  void launch(const cuda::Kernel& kernel) override {
    if (const auto* product = std::get_if<kernels::Gemm>(&kernel)) choose(*product);
    push(Queue::compute,
         [this, kernel] { std::visit([this](const auto& params) { run(params); }, kernel); });
  }

  // The stand-in for the library's stream is that the queue comes to it; other ranks' too.
  void gather(DeviceRanks& ranks, const std::byte* mine, std::byte* all,
              std::size_t bytes) override {
    refuse_in_capture("ranks gather");
    require_owned(mine, bytes);
    push(Queue::compute, [=, &ranks] { ranks.gather(mine, all, bytes, nullptr); });
  }
  void broadcast(DeviceRanks& ranks, std::byte* data, std::size_t bytes) override {
    refuse_in_capture("a rank tells others");
    require_owned(data, bytes);
    push(Queue::compute, [=, &ranks] { ranks.broadcast(data, bytes, nullptr); });
  }

  // Philox too, and N(0,1) too; not cuRAND's order.
  void fill_normals(kernels::View<double> out, std::uint64_t seed, std::uint64_t offset) override {
    refuse_in_capture("normals are drawn");
    push(Queue::compute, [out, seed, offset] {
      for (std::size_t i = 0; i < out.size; ++i) {
        const std::uint32_t key[2] = {static_cast<std::uint32_t>(seed),
                                      static_cast<std::uint32_t>(seed >> 32)};
        const NormalPair pair = box_muller_pair(philox_pair(key, 0, offset + i, 0));
        out[i] = pair.first;
      }
    });
  }

  Event record(Queue queue) override {
    refuse_in_capture("an event is recorded");
    const Event event = ++events_;
    push(queue, [this, event] { happened_[event] = true; });
    return event;
  }
  void wait(Queue queue, Event event) override {
    refuse_in_capture("a queue waits");
    require_recorded(event);
    queues_[index(queue)].push_back({nullptr, event});
  }
  void wait_host(Event event) override {
    require_alive();
    refuse_in_capture("the host waits");
    require_recorded(event);
    while (!happened_[event]) turn();
  }
  void synchronize() override {
    require_alive();
    refuse_in_capture("the host waits");
    while (!queues_[0].empty() || !queues_[1].empty()) turn();
  }

  Graph capture(const std::function<void()>& enqueue) override {
    refuse_in_capture("another begins");
    capturing_ = true;
    captured_.clear();
    try {
      enqueue();
    } catch (...) {
      capturing_ = false;
      throw;
    }
    capturing_ = false;
    graphs_[++graph_count_] = captured_;
    return graph_count_;
  }
  void replay(Graph graph) override {
    refuse_in_capture("a graph is replayed");
    for (const auto& work : graphs_.at(graph)) push(Queue::compute, work);
  }
  void discard(Graph graph) noexcept override { graphs_.erase(graph); }

 private:
  using Bytes = std::vector<std::byte>;
  struct Item {
    std::function<void()> work;
    Event waits_for = 0;  // where work is null
  };
  static std::size_t index(Queue queue) { return queue == Queue::compute ? 0 : 1; }

  // 0xFF everywhere: NaN as float and as double.
  template <class Map>
  static std::byte* poisoned(Map& map, std::size_t bytes) {
    Bytes storage(bytes + 256, std::byte{0xFF});
    auto at = reinterpret_cast<std::uintptr_t>(storage.data());
    auto* aligned = reinterpret_cast<std::byte*>((at + 255) / 256 * 256);
    map.emplace(aligned, std::move(storage));
    return aligned;
  }

  void require_owned(const std::byte* at, std::size_t bytes) const {
    for (const auto& [begin, storage] : memory_) {
      if (at >= begin && at + bytes <= begin + storage.size() - 256) return;
    }
    throw KernelFault("a copy of " + std::to_string(bytes) + " bytes leaves device memory");
  }

  void refuse_in_capture(const char* what) const {
    if (capturing_) throw KernelFault(std::string("while a step is captured ") + what);
  }
  // A GPU has so many events; each is recorded over in turn (kernels/cuda_device.cpp).
  void require_recorded(Event event) const {
    if (event == 0 || event > events_ || event + live_events <= events_) {
      throw KernelFault("waits for event " + std::to_string(event) + " of " +
                        std::to_string(events_) + ", which was recorded over");
    }
  }

  // Blocks at once by threads, shared memory (1 KiB of each block is the system's) and registers.
  [[nodiscard]] std::size_t resident(const kernels::LaunchShape& shape) const {
    const std::size_t by_shared =
        (gpu_.shared_bytes + 1024) / (kernels::round_up_to(shape.shared_bytes, 128) + 1024);
    const std::size_t each =
        std::min({std::size_t{gpu_.blocks_of_multiprocessor}, by_shared,
                  shape.threads == 0 ? std::size_t{0} : std::size_t{2048 / shape.threads}});
    return each * gpu_.multiprocessors;
  }

  // As the library: an algorithm for each key, chosen outside captures, that counts on what it was
  // told of alignments; and what it refuses.
  void choose(const kernels::Gemm& p) {
    const kernels::GemmKey key = kernels::key_of(p);
    if (capturing_ && !chosen_.contains(key)) {
      throw KernelFault("while a step is captured a product is chosen");
    }
    chosen_.insert(key);
    const std::size_t element = p.single ? sizeof(float) : sizeof(double);
    const auto require_aligned = [&](const std::byte* at, std::size_t stride, std::size_t told) {
      if (told < element) throw KernelFault("a product's operand is not aligned to its elements");
      for (std::size_t item = 0; item < p.batch; ++item) {
        if ((reinterpret_cast<std::uintptr_t>(at) + item * stride * element) % told != 0) {
          throw KernelFault("a product's operand is not as aligned as it was told");
        }
      }
    };
    require_aligned(p.a.data, p.stride_a, key[key.size() - 3]);
    require_aligned(p.b.data, p.stride_b, key[key.size() - 2]);
    require_aligned(p.c.data, p.stride_c, key[key.size() - 1]);
    if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0) throw KernelFault("an empty product");
    if (p.lda < (p.transpose_a ? p.k : p.m) || p.ldb < p.k || p.ldc < p.m) {
      throw KernelFault("a product's columns overlap");
    }
    if (p.batch > 1 && p.stride_c < p.ldc * (p.n - 1) + p.m) {
      throw KernelFault("a product's results overlap");
    }
    if (reinterpret_cast<std::uintptr_t>(p.workspace.data) % 256 != 0) {
      throw KernelFault("a product's workspace is not aligned");
    }
  }

  void require_alive() const {
    if (dead_) throw CudaError("emulated card: an earlier kernel faulted");
  }

  void push(Queue queue, std::function<void()> work) {
    require_alive();
    if (capturing_) {
      if (queue != Queue::compute) throw KernelFault("only the compute queue can be captured");
      captured_.push_back(std::move(work));
      return;
    }
    queues_[index(queue)].push_back({std::move(work), 0});
  }

  // One item of one queue that can go on, at random.
  void turn() {
    std::vector<std::size_t> ready;
    for (std::size_t q = 0; q < 2; ++q) {
      if (queues_[q].empty()) continue;
      const Item& head = queues_[q].front();
      if (head.work || happened_[head.waits_for]) ready.push_back(q);
    }
    if (ready.empty()) throw KernelFault("queues wait for events that nothing records");
    auto& queue = queues_[ready[random_() % ready.size()]];
    const Item item = std::move(queue.front());
    queue.pop_front();
    if (!item.work) return;
    try {
      item.work();
    } catch (...) {  // as on a GPU: after a fault nothing runs any more
      dead_ = true;
      for (auto& pending : queues_) pending.clear();
      throw;
    }
  }

  template <class Params>
  void run(const Params& params) {
    if (++launches_ == gpu_.fault_at_launch) throw CudaError("emulated card: injected fault");
    bool found = false;
    kernels::with_body(params, [&]<class Body>() {
      found = true;
      const kernels::LaunchShape shape = Body::shape(params);
      if (shape.shared_bytes > gpu_.shared_bytes) {
        throw KernelFault("asks for more shared memory than a block can have");
      }
      if (shape.cooperative && shape.blocks > resident(shape)) {
        throw KernelFault("a cooperative grid of " + std::to_string(shape.blocks) +
                          " blocks, of which " + std::to_string(resident(shape)) +
                          " are resident at once");
      }
      emulate<Body>(shape, params, random_(), gpu_.watches_global);
      note_kernel<Body, RanOn::emulated>();
    });
    if (!found) throw KernelFault("no kernel for these parameters");
  }

  // What the library does on a GPU, by plain loops.
  void run(const kernels::Gemm& p) {
    if (++launches_ == gpu_.fault_at_launch) throw CudaError("emulated card: injected fault");
    p.single ? multiply<float>(p) : multiply<double>(p);
  }
  template <class Real>
  static void multiply(const kernels::Gemm& p) {
    const auto elements = [](const auto& bytes) { return bytes.size / sizeof(Real); };
    const kernels::View<const Real> a{reinterpret_cast<const Real*>(p.a.data), elements(p.a)};
    const kernels::View<const Real> b{reinterpret_cast<const Real*>(p.b.data), elements(p.b)};
    const kernels::View<Real> c{reinterpret_cast<Real*>(p.c.data), elements(p.c)};
    for (std::size_t item = 0; item < p.batch; ++item) {
      for (std::size_t j = 0; j < p.n; ++j) {
        for (std::size_t i = 0; i < p.m; ++i) {
          Real sum = 0;
          for (std::size_t l = 0; l < p.k; ++l) {
            sum += a[item * p.stride_a + (p.transpose_a ? i * p.lda + l : l * p.lda + i)] *
                   b[item * p.stride_b + j * p.ldb + l];
          }
          c[item * p.stride_c + j * p.ldc + i] = sum;
        }
      }
    }
  }

  static constexpr Event live_events = 16;
  EmulatedGpu gpu_;
  std::set<kernels::GemmKey> chosen_;
  std::mt19937_64 random_;
  std::map<const std::byte*, Bytes> memory_, pinned_;
  std::deque<Item> queues_[2];
  std::map<Event, bool> happened_;
  Event events_ = 0;
  bool capturing_ = false, dead_ = false;
  std::uint64_t launches_ = 0;
  std::vector<std::function<void()>> captured_;
  std::map<Graph, std::vector<std::function<void()>>> graphs_;
  Graph graph_count_ = 0;
};

}  // namespace

std::unique_ptr<cuda::Device> make_emulated_device(const EmulatedGpu& gpu) {
  return std::make_unique<EmulatedDevice>(gpu);
}

}  // namespace gibbsite::support
