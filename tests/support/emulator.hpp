#pragma once
// Runs a kernel body (kernels/block.hpp) on the host: every thread of a block is a fiber, resumed
// in shuffled order between barriers. It finds what compute-sanitizer finds on a device:
//   memcheck   global views check their bounds, shared arrays too
//   racecheck  two threads touch one shared element between barriers and one of them writes
//   initcheck  a shared element, or the target of an unfinished copy, is read before it is written
//   synccheck  a thread leaves, or waits at another barrier, while its block or warp waits
// and what that does not: two blocks touch one element of global memory, one of them writes it, and
// no barrier of the grid is between. An access that may write has written when the element has
// changed by the thread's next wait, so writes of what was there pass; elements are told by where
// they begin.
// Not modeled: registers, timing, races on global memory within a block.
#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/block.hpp"

namespace gibbsite::support {

/// What the emulator found wrong with a kernel.
struct KernelFault : std::logic_error {
  using std::logic_error::logic_error;
};

namespace emulator {

// `lanes`: a warp meets, as in a shuffle, and its memory is in no order for that.
enum class Wait { none, turn, lanes, warp, part, block, grid, left };

class Grid;

// Accesses to global memory of one launch.
class GlobalMemory {
 public:
  GlobalMemory() = default;
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;
  ~GlobalMemory() { kernels::global_watch = nullptr; }

  // The thread that runs now, of that block: barriers of the grid that it has arrived at, waited
  // for.
  void enter(std::size_t block, std::uint64_t arrived, std::uint64_t waited);
  void arrive(std::uint64_t arrived) { arrived_ = arrived; }
  // It waits, or left: its accesses are over.
  void leave();

 private:
  struct Side {
    std::size_t block = ~std::size_t{0};
    std::uint64_t last = 0;  // barriers of the grid that may have passed then
  };
  struct Element {
    const void* at = nullptr;
    Side written, read[2];
  };
  struct Pending {
    const void* at;
    std::size_t bytes;
    unsigned char before[16];
  };
  static void seen(const void* at, std::size_t bytes, bool may_write);
  void touch(const void* at, bool write);
  Element& element(const void* at);

  std::vector<Element> table_ = std::vector<Element>(1024);
  std::size_t used_ = 0;
  std::size_t block_ = 0;
  std::uint64_t arrived_ = 0, waited_ = 0;
  std::vector<Pending> pending_;
};

// Who touched a shared element last: thread, and the number of barriers its block, its warp and the
// first threads of the block had passed then.
struct Touch {
  std::uint32_t thread = ~0u, block_epoch = 0, warp_epoch = 0, part_epoch = 0;
};

// 52 bytes: half of what the emulated GPU does is to look at these.
struct SharedElement {
  Touch written;
  std::array<Touch, 2> read;
  bool ready = false;  // holds a value
};

struct SharedArray {
  std::size_t element_size = 0, count = 0;
  std::vector<unsigned char> bytes;
  std::vector<SharedElement> elements;
};

using kernels::Quad;

struct Copy {
  SharedArray* to;
  std::size_t at;
  Quad value;
};

struct Thread {
  boost::context::fiber fiber;
  Wait wait = Wait::none;
  std::size_t shared_calls = 0;
  std::uint64_t shuffles = 0;
  std::uint64_t arrivals = 0, waited = 0;  // at the grid's barrier
  std::vector<std::vector<Copy>> groups;   // committed copies
  std::vector<Copy> open;                  // not committed yet
};

struct BlockState {
  std::size_t index = 0;
  std::vector<Thread> threads;
  std::vector<std::unique_ptr<SharedArray>> arrays;
  std::size_t shared_used = 0;
  std::shared_ptr<void> hardware;  // see EmulatedBlock::hardware
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> warp_epoch;
  std::vector<unsigned> warp_waiting;   // lanes at a warp barrier
  unsigned waiting = 0, left = 0;       // threads at sync(), threads that left
  unsigned part = 0, part_waiting = 0;  // threads of sync_first(), of them there now
  std::uint32_t part_epoch = 0;
  std::vector<std::array<std::array<unsigned char, 16>, 64>> exchange;  // per warp, two shuffles
};

/// The Block of one thread.
class EmulatedBlock;

// A reference to a shared element; reads and writes are checked.
template <class T>
class Element;

template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(EmulatedBlock* block, SharedArray* array, std::size_t first)
      : block_(block), array_(array), first_(first) {}
  Element<T> operator[](std::size_t i) const { return {*this, i}; }
  Shared operator+(std::size_t i) const { return {block_, array_, first_ + i}; }
  [[nodiscard]] T get(std::size_t i) const;
  void set(std::size_t i, T value) const;

 private:
  friend class EmulatedBlock;
  EmulatedBlock* block_ = nullptr;
  SharedArray* array_ = nullptr;
  std::size_t first_ = 0;
};

template <class T>
class Element {
 public:
  Element(Shared<T> array, std::size_t i) : array_(array), i_(i) {}
  operator T() const { return array_.get(i_); }  // NOLINT: stands for a T&
  const Element& operator=(T value) const {
    array_.set(i_, value);
    return *this;
  }
  Element(const Element&) = default;
  const Element& operator=(const Element& other) const { return *this = static_cast<T>(other); }
  Element& operator=(const Element& other) {
    array_.set(i_, static_cast<T>(other));
    return *this;
  }
  const Element& operator+=(T value) const { return *this = static_cast<T>(*this) + value; }

 private:
  Shared<T> array_;
  std::size_t i_;
};

class EmulatedBlock {
 public:
  EmulatedBlock(Grid& grid, BlockState& block, unsigned thread)
      : grid_(grid), block_(block), thread_(thread) {}

  [[nodiscard]] unsigned thread() const { return thread_; }
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(block_.threads.size()); }
  [[nodiscard]] std::size_t block() const { return block_.index; }
  [[nodiscard]] std::size_t blocks() const;
  [[nodiscard]] unsigned lane() const { return thread_ % kernels::warp_size; }
  [[nodiscard]] unsigned warp() const { return thread_ / kernels::warp_size; }

  void sync() { wait_at(Wait::block); }
  void sync_first(unsigned count);
  void sync_warp() { wait_at(Wait::warp); }
  void arrive_grid();
  void wait_grid();
  void sync_grid() {
    arrive_grid();
    wait_grid();
  }

  /// Others run before this thread goes on: the turn of a loop that waits for them.
  void give_way() { wait_at(Wait::turn); }

  /// Waits for the lanes of the warp, as an instruction of the whole warp does: no barrier.
  void meet_lanes() { wait_at(Wait::lanes); }

  /// The state of a model of hardware that the threads of a block share: one T a block.
  template <class T>
  T& hardware() {
    if (!block_.hardware) block_.hardware = std::make_shared<T>();
    return *static_cast<T*>(block_.hardware.get());
  }
  /// Takes shared memory that a model keeps itself.
  void reserve_shared(std::size_t bytes);

  template <class T>
  Shared<T> shared(std::size_t count) {
    return {this, shared_array(count, sizeof(T)), 0};
  }

  template <class T>
  T shuffle(T value, unsigned lane) {
    static_assert(sizeof(T) <= 16);
    if (lane >= kernels::warp_size) throw KernelFault("shuffle from lane " + std::to_string(lane));
    auto& slots = block_.exchange[warp()];
    // Two sets of slots in turn: a warp is at most one shuffle ahead of its slowest lane.
    const std::size_t set = (self().shuffles++ % 2) * kernels::warp_size;
    std::memcpy(slots[set + this->lane()].data(), &value, sizeof(T));
    meet_lanes();
    T other;
    std::memcpy(&other, slots[set + lane].data(), sizeof(T));
    return other;
  }
  template <class T>
  T shuffle_xor(T value, unsigned mask) {
    return shuffle(value, lane() ^ mask);
  }

  void copy_async(const Shared<float>& to, std::size_t i, const kernels::View<const float>& from,
                  std::size_t j);
  void commit() {
    self().groups.push_back(std::move(self().open));
    self().open.clear();
  }
  template <int N>
  void wait() {
    wait_groups(N);
  }

  // For Shared.
  void touch(SharedArray& array, std::size_t i, bool write);

 private:
  Thread& self() { return block_.threads[thread_]; }
  void wait_at(Wait what);
  void wait_groups(std::size_t pending);
  SharedArray* shared_array(std::size_t count, std::size_t element_size);

  Grid& grid_;
  BlockState& block_;
  unsigned thread_;
};

template <class T>
T Shared<T>::get(std::size_t i) const {
  block_->touch(*array_, first_ + i, false);
  T value;
  std::memcpy(&value, &array_->bytes[(first_ + i) * sizeof(T)], sizeof(T));
  return value;
}
template <class T>
void Shared<T>::set(std::size_t i, T value) const {
  block_->touch(*array_, first_ + i, true);
  std::memcpy(&array_->bytes[(first_ + i) * sizeof(T)], &value, sizeof(T));
}

// Found by argument-dependent lookup where a body reads or writes four shared floats.
inline Quad load_quad(const Shared<float>& from, std::size_t i) {
  if (i % 4 != 0) throw KernelFault("misaligned shared quad at " + std::to_string(i));
  return {{from.get(i), from.get(i + 1), from.get(i + 2), from.get(i + 3)}};
}
inline void store_quad(const Shared<float>& to, std::size_t i, const Quad& quad) {
  if (i % 4 != 0) throw KernelFault("misaligned shared quad at " + std::to_string(i));
  for (std::size_t k = 0; k < 4; ++k) to.set(i + k, quad.v[k]);
}

/// Runs a grid of threads; each calls `body(block)`.
void run_grid(const kernels::LaunchShape& shape, std::uint64_t seed, bool watches_global,
              const std::function<void(EmulatedBlock&)>& body);

}  // namespace emulator

/// Runs Body on the host. Throws KernelFault (or what View throws) at the first thing wrong; races
/// between blocks on global memory are looked for only where `watches_global`.
template <class Body>
void emulate(const kernels::LaunchShape& shape, const typename Body::Params& params,
             std::uint64_t seed, bool watches_global = true) {
  if (shape.threads != Body::threads) throw KernelFault("launched with another block size");
  emulator::run_grid(shape, seed, watches_global,
                     [&params](emulator::EmulatedBlock& block) { Body::run(block, params); });
}

}  // namespace gibbsite::support
