#include "support/emulator.hpp"

#include <sanitizer/asan_interface.h>

#include <algorithm>

namespace gibbsite::support::emulator {
namespace {

namespace context = boost::context;

// Kept from launch to launch: a system makes the pages of a new stack. AddressSanitizer still knows
// the frames of whoever an exception took off a stack before.
class Stacks : public context::pooled_fixedsize_stack {
 public:
  using context::pooled_fixedsize_stack::pooled_fixedsize_stack;
  context::stack_context allocate() {
    const context::stack_context stack = context::pooled_fixedsize_stack::allocate();
    ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(stack.sp) - stack.size, stack.size);
    return stack;
  }
};
Stacks& stacks() {
  // 64 KiB, and so much more that what threads have on top of theirs does not meet in a few sets of
  // a cache.
  static thread_local Stacks pool((64 << 10) + 17 * 64);
  return pool;
}

std::string where(const BlockState& block, unsigned thread) {
  return "block " + std::to_string(block.index) + " thread " + std::to_string(thread) + ": ";
}

}  // namespace

thread_local GlobalMemory* watched = nullptr;

void GlobalMemory::enter(std::size_t block, std::uint64_t arrived, std::uint64_t waited) {
  block_ = block;
  arrived_ = arrived;
  waited_ = waited;
  watched = this;
  kernels::global_watch = seen;
}

void GlobalMemory::seen(const void* at, std::size_t bytes, bool may_write) {
  if (!may_write || bytes > sizeof(Pending::before)) return watched->touch(at, false);
  Pending access{at, bytes, {}};
  std::memcpy(access.before, at, bytes);
  watched->pending_.push_back(access);
}

void GlobalMemory::leave() {
  kernels::global_watch = nullptr;
  for (const Pending& access : pending_) {
    touch(access.at, std::memcmp(access.before, access.at, access.bytes) != 0);
  }
  pending_.clear();
}

void GlobalMemory::touch(const void* at, bool write) {
  Element& element = this->element(at);
  const auto unordered = [&](const Side& before) {
    return before.block != ~std::size_t{0} && before.block != block_ && before.last >= waited_;
  };
  if (unordered(element.written) ||
      (write && (unordered(element.read[0]) || unordered(element.read[1])))) {
    throw KernelFault("block " + std::to_string(block_) + ": race on global memory with block " +
                      std::to_string(unordered(element.written)   ? element.written.block
                                     : unordered(element.read[0]) ? element.read[0].block
                                                                  : element.read[1].block));
  }
  const Side now{block_, arrived_};
  if (write) {
    element.written = now;
  } else if (element.read[0].block == block_ || !unordered(element.read[0])) {
    element.read[0] = now;
  } else {
    element.read[1] = now;
  }
}

GlobalMemory::Element& GlobalMemory::element(const void* at) {
  const auto find = [this](const void* key) -> Element& {
    std::size_t k = (reinterpret_cast<std::uintptr_t>(key) * 0x9e3779b97f4a7c15u) >> 20;
    for (;; ++k) {
      Element& slot = table_[k & (table_.size() - 1)];
      if (slot.at == key || slot.at == nullptr) return slot;
    }
  };
  Element& slot = find(at);
  if (slot.at != nullptr) return slot;
  slot.at = at;
  if (++used_ * 2 < table_.size()) return slot;
  std::vector<Element> old(4 * table_.size());
  std::swap(old, table_);
  for (const Element& kept : old) {
    if (kept.at != nullptr) find(kept.at) = kept;
  }
  return find(at);
}

// The blocks that are resident together, and the scheduler.
class Grid {
 public:
  Grid(const kernels::LaunchShape& shape, std::uint64_t seed, bool watches_global,
       const std::function<void(EmulatedBlock&)>& body)
      : shape_(shape), random_(seed), watches_global_(watches_global), body_(body) {}

  void run() {
    std::vector<std::size_t> order(shape_.blocks);
    for (std::size_t b = 0; b < order.size(); ++b) order[b] = b;
    std::shuffle(order.begin(), order.end(), random_);
    if (shape_.cooperative) return run_together(order);
    for (const std::size_t b : order) run_together({b});
  }

  [[nodiscard]] const kernels::LaunchShape& shape() const { return shape_; }
  GlobalMemory& global() { return global_; }

  // Every thread of the grid has arrived that often.
  [[nodiscard]] bool arrived(std::uint64_t times) const {
    return arrivals_ >= times * shape_.blocks * shape_.threads;
  }
  // Wakes who waits at the barrier of the grid when the last one arrives.
  void arrive() {
    if (++arrivals_ % (shape_.blocks * shape_.threads) != 0) return;
    for (const auto& block : blocks_) {
      for (unsigned t = 0; t < shape_.threads; ++t) {
        if (block->threads[t].wait == Wait::grid) wake(*block, t);
      }
    }
  }

  context::fiber scheduler;  // of the thread that runs now
  std::exception_ptr error;

 private:
  struct Ready {
    BlockState* block;
    unsigned thread;
  };

  void run_together(const std::vector<std::size_t>& indices) {
    blocks_.clear();
    for (const std::size_t index : indices) blocks_.push_back(make_block(index));
    ready_.clear();
    for (const auto& block : blocks_) {
      for (unsigned t = 0; t < shape_.threads; ++t) ready_.push_back({block.get(), t});
    }
    std::size_t running = ready_.size();
    while (running > 0) {
      if (ready_.empty()) fail();
      std::swap(ready_[(random_() >> 32) * ready_.size() >> 32], ready_.back());
      const auto [block, t] = ready_.back();
      ready_.pop_back();
      Thread& thread = block->threads[t];
      if (watches_global_) global_.enter(block->index, thread.arrivals, thread.waited);
      thread.fiber = std::move(thread.fiber).resume();
      if (error) std::rethrow_exception(error);
      if (watches_global_) global_.leave();
      if (thread.wait == Wait::left) --running, ++block->left;
      if (thread.wait == Wait::turn) wake(*block, t);
      if (thread.wait == Wait::block) ++block->waiting;
      if (thread.wait == Wait::lanes || thread.wait == Wait::warp) release_warp(*block, t);
      if (thread.wait == Wait::part) release_part(*block);
      if (thread.wait == Wait::block || thread.wait == Wait::left) release_block(*block);
    }
    for (const auto& block : blocks_) {
      for (unsigned t = 0; t < shape_.threads; ++t) {
        if (!block->threads[t].groups.empty() || !block->threads[t].open.empty()) {
          throw KernelFault(where(*block, t) + "left with copies that nobody waited for");
        }
      }
    }
  }

  std::unique_ptr<BlockState> make_block(std::size_t index) {
    auto block = std::make_unique<BlockState>();
    block->index = index;
    block->threads.resize(shape_.threads);
    const std::size_t warps = kernels::ceil_div(shape_.threads, kernels::warp_size);
    block->warp_epoch.assign(warps, 0);
    block->warp_waiting.assign(warps, 0);
    block->exchange.resize(warps);
    for (unsigned t = 0; t < shape_.threads; ++t) {
      BlockState* const state = block.get();
      state->threads[t].fiber =
          context::fiber(std::allocator_arg, stacks(), [this, state, t](context::fiber&& from) {
            scheduler = std::move(from);
            try {
              EmulatedBlock view(*this, *state, t);
              body_(view);
            } catch (const std::exception&) {  // not what Boost unwinds a fiber with
              error = std::current_exception();
            }
            state->threads[t].wait = Wait::left;
            return std::move(scheduler);
          });
    }
    return block;
  }

  void wake(BlockState& block, unsigned t) {
    block.threads[t].wait = Wait::none;
    ready_.push_back({&block, t});
  }

  // A warp goes on when each of its lanes waits at a warp barrier, or for the lanes.
  void release_warp(BlockState& block, unsigned thread) {
    const unsigned warp = thread / kernels::warp_size, first = warp * kernels::warp_size;
    const unsigned last = std::min(first + kernels::warp_size, shape_.threads);
    if (++block.warp_waiting[warp] < last - first) return;
    block.warp_waiting[warp] = 0;
    const Wait what = block.threads[thread].wait;
    if (what == Wait::warp) ++block.warp_epoch[warp];
    for (unsigned t = first; t < last; ++t) {
      if (block.threads[t].wait != what) {
        throw KernelFault(where(block, t) + "waits for its warp elsewhere than others of it");
      }
      wake(block, t);
    }
  }

  void release_part(BlockState& block) {
    if (++block.part_waiting < block.part) return;
    block.part_waiting = 0;
    ++block.part_epoch;
    for (unsigned t = 0; t < block.part; ++t) wake(block, t);
  }

  void release_block(BlockState& block) {
    if (block.waiting + block.left < shape_.threads || block.waiting == 0) return;
    if (block.left > 0) {
      throw KernelFault("block " + std::to_string(block.index) +
                        ": some threads left while others wait at sync()");
    }
    block.waiting = 0;
    ++block.epoch;
    for (unsigned t = 0; t < shape_.threads; ++t) wake(block, t);
  }

  // Nobody can go on.
  [[noreturn]] void fail() const {
    for (const auto& block : blocks_) {
      for (unsigned t = 0; t < shape_.threads; ++t) {
        if (block->threads[t].wait == Wait::left) continue;
        throw KernelFault(where(*block, t) +
                          "waits at a barrier that others of its warp, block or grid never reach");
      }
    }
    throw KernelFault("every thread left");
  }

  const kernels::LaunchShape& shape_;
  std::mt19937_64 random_;
  bool watches_global_;
  const std::function<void(EmulatedBlock&)>& body_;
  std::vector<std::unique_ptr<BlockState>> blocks_;
  std::vector<Ready> ready_;
  GlobalMemory global_;
  std::uint64_t arrivals_ = 0;
};

std::size_t EmulatedBlock::blocks() const { return grid_.shape().blocks; }

void EmulatedBlock::wait_at(Wait what) {
  self().wait = what;
  grid_.scheduler = std::move(grid_.scheduler).resume();
}

void EmulatedBlock::sync_first(unsigned count) {
  if (count % kernels::warp_size != 0 || count > threads()) {
    throw KernelFault("barrier of " + std::to_string(count) + " threads");
  }
  if (block_.part == 0) block_.part = count;
  if (count != block_.part || thread_ >= count) {
    throw KernelFault(where(block_, thread_) + "at a barrier of the first " +
                      std::to_string(count) + " threads");
  }
  wait_at(Wait::part);
}

void EmulatedBlock::arrive_grid() {
  if (!grid_.shape().cooperative) {
    throw KernelFault("barrier of the grid in a launch that is not cooperative");
  }
  sync();
  if (self().arrivals > 0 && !grid_.arrived(self().arrivals)) {
    throw KernelFault(where(block_, thread_) + "arrives again before it waited");
  }
  ++self().arrivals;
  grid_.global().arrive(self().arrivals);
  grid_.arrive();
}

void EmulatedBlock::wait_grid() {
  while (!grid_.arrived(self().arrivals)) wait_at(Wait::grid);
  self().waited = self().arrivals;
  sync();
}

void EmulatedBlock::touch(SharedArray& array, std::size_t i, bool write) {
  if (i >= array.count) {
    throw KernelFault(where(block_, thread_) + "shared access " + std::to_string(i) + " of " +
                      std::to_string(array.count));
  }
  const auto unordered = [&](const Touch& before) {
    if (before.thread == ~0u || before.thread == thread_) return false;
    if (before.block_epoch < block_.epoch) return false;
    if (before.thread < block_.part && thread_ < block_.part &&
        before.part_epoch < block_.part_epoch) {
      return false;
    }
    const bool same_warp = before.thread / kernels::warp_size == warp();
    return !(same_warp && before.warp_epoch < block_.warp_epoch[warp()]);
  };
  SharedElement& element = array.elements[i];
  auto& reads = element.read;
  if (unordered(element.written) || (write && (unordered(reads[0]) || unordered(reads[1])))) {
    throw KernelFault(where(block_, thread_) + "race on shared element " + std::to_string(i) +
                      " of " + std::to_string(array.count));
  }
  const Touch now{thread_, block_.epoch, block_.warp_epoch[warp()], block_.part_epoch};
  if (write) {
    element.written = now;
    element.ready = true;
    return;
  }
  if (!element.ready) {
    throw KernelFault(where(block_, thread_) + "reads shared element " + std::to_string(i) +
                      " before it holds a value");
  }
  if (reads[0].thread == thread_ || reads[0].thread == ~0u || !unordered(reads[0])) {
    reads[0] = now;
  } else {
    reads[1] = now;
  }
}

void EmulatedBlock::reserve_shared(std::size_t bytes) {
  block_.shared_used += kernels::round_up_to(bytes, 128);
  if (block_.shared_used > grid_.shape().shared_bytes) {
    throw KernelFault("shared memory: " + std::to_string(block_.shared_used) +
                      " bytes used, launched with " + std::to_string(grid_.shape().shared_bytes));
  }
}

SharedArray* EmulatedBlock::shared_array(std::size_t count, std::size_t element_size) {
  const std::size_t call = self().shared_calls++;
  if (call == block_.arrays.size()) {
    auto array = std::make_unique<SharedArray>();
    array->element_size = element_size;
    array->count = count;
    array->bytes.assign(count * element_size, 0xCD);
    array->elements.resize(count);
    reserve_shared(count * element_size);
    block_.arrays.push_back(std::move(array));
  }
  SharedArray* const array = block_.arrays[call].get();
  if (array->count != count || array->element_size != element_size) {
    throw KernelFault(where(block_, thread_) + "asks for shared memory in another order");
  }
  return array;
}

void EmulatedBlock::copy_async(const Shared<float>& to, std::size_t i,
                               const kernels::View<const float>& from, std::size_t j) {
  if ((to.first_ + i) % 4 != 0 || j % 4 != 0 ||
      reinterpret_cast<std::uintptr_t>(from.data) % 16 != 0) {
    throw KernelFault(where(block_, thread_) + "asynchronous copy that is not aligned");
  }
  for (std::size_t k = 0; k < 4; ++k) {
    touch(*to.array_, to.first_ + i + k, true);
    to.array_->elements[to.first_ + i + k].ready = false;  // until the group is waited for
  }
  self().open.push_back(
      {to.array_, to.first_ + i, {{from[j], from[j + 1], from[j + 2], from[j + 3]}}});
}

void EmulatedBlock::wait_groups(std::size_t pending) {
  while (self().groups.size() > pending) {
    for (const Copy& copy : self().groups.front()) {
      for (std::size_t k = 0; k < 4; ++k) touch(*copy.to, copy.at + k, true);
      std::memcpy(&copy.to->bytes[copy.at * sizeof(float)], &copy.value, sizeof(copy.value));
    }
    self().groups.erase(self().groups.begin());
  }
}

void run_grid(const kernels::LaunchShape& shape, std::uint64_t seed, bool watches_global,
              const std::function<void(EmulatedBlock&)>& body) {
  if (shape.blocks == 0 || shape.threads == 0) throw KernelFault("an empty launch");
  Grid(shape, seed, watches_global, body).run();
}

}  // namespace gibbsite::support::emulator
