#include "support/ptx/races.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gibbsite::ptx {
namespace {

// ---- Order within a block

// Whether an access of that time is ordered before what `thread` does now.
bool is_ordered(const Block& block, u32 generation, u32 by, u32 clock, u32 thread) {
  if (generation < block.generation || by == thread) return true;
  if (block.seen_generation[thread] != block.generation) return false;
  return block.seen[thread][by] >= clock;
}
bool is_recorded(const Block& block, u32 generation) {
  return generation >= block.first_generation;
}

// Whether the asynchronous proxy sees what the thread did at that clock.
bool is_fenced(const Block& block, u32 thread, u32 clock) {
  return block.proxy_fence[thread] > clock;
}

std::string thread_name(const Block& block, u32 thread) {
  return thread < block.threads ? fmt::format("thread {}", thread) : "an asynchronous copy";
}
[[noreturn]] void race(Warp& warp, const char* what, u32 word, u32 thread, const char* before,
                       u32 by) {
  fault(warp,
        fmt::format("race: {} of shared {} by {}, {} before by {}", what, word * 4,
                    thread_name(*warp.block, thread), before, thread_name(*warp.block, by)),
        static_cast<int>(thread % warp_size));
}

void check_write_ordered(Warp& warp, u32 word, u32 thread, const char* what) {
  const Block& block = *warp.block;
  const SharedWrite& write = block.writes[word];
  if (!is_ordered(block, write.generation, write.thread, write.clock, thread)) {
    race(warp, what, word, thread, "written", write.thread);
  }
}
void check_reads_ordered(Warp& warp, u32 word, u32 thread) {
  const Block& block = *warp.block;
  const SharedRead* reads = &block.reads[std::size_t{word} * block.warp_count()];
  for (u32 i = 0; i < block.warp_count(); ++i) {
    if (!is_ordered(block, reads[i].generation, reads[i].thread, reads[i].clock, thread)) {
      race(warp, "write", word, thread, "read", reads[i].thread);
    }
  }
}
// A plain write that the asynchronous proxy would not see.
bool is_unfenced(const Block& block, const SharedWrite& write) {
  return is_recorded(block, write.generation) && !write.by_copy &&
         !is_fenced(block, write.thread, write.clock);
}
template <class F>
void for_each_word(u32 address, u32 bytes, F&& f) {
  for (u32 word = address / 4; word <= (address + bytes - 1) / 4; ++word) f(word);
}

}  // namespace

void note_shared_write(Warp& warp, u32 address, u32 bytes, u32 thread) {
  Block& block = *warp.block;
  for_each_word(address, bytes, [&](u32 word) {
    check_write_ordered(warp, word, thread, "write");
    check_reads_ordered(warp, word, thread);
    block.writes[word] = {block.generation, thread, block.clock[thread], false};
  });
}

void note_shared_read(Warp& warp, u32 address, u32 bytes, u32 thread) {
  Block& block = *warp.block;
  for_each_word(address, bytes, [&](u32 word) {
    check_write_ordered(warp, word, thread, "read");
    block.reads[std::size_t{word} * block.warp_count() + thread / warp_size] = {
        block.generation, thread, block.clock[thread], false};
  });
}

void check_copy_over(Warp& warp, u32 address, u32 bytes, u32 thread) {
  Block& block = *warp.block;
  for_each_word(address, bytes, [&](u32 word) {
    check_write_ordered(warp, word, thread, "copy");
    check_reads_ordered(warp, word, thread);
    if (is_unfenced(block, block.writes[word])) {
      fault(
          warp,
          fmt::format(
              "a bulk copy over shared {}, which thread {} wrote, without fence.proxy.async between",
              word * 4, block.writes[word].thread));
    }
    const SharedRead* reads = &block.reads[std::size_t{word} * block.warp_count()];
    for (u32 i = 0; i < block.warp_count(); ++i) {
      if (is_recorded(block, reads[i].generation) && !reads[i].by_matrix_unit &&
          !is_fenced(block, reads[i].thread, reads[i].clock)) {
        fault(
            warp,
            fmt::format(
                "a bulk copy over shared {}, which thread {} read, without fence.proxy.async between",
                word * 4, reads[i].thread));
      }
    }
  });
}

void check_matrix_read(Warp& warp, u32 address, u32 bytes, u32 thread) {
  Block& block = *warp.block;
  for_each_word(address, bytes, [&](u32 word) {
    check_write_ordered(warp, word, thread, "read");
    if (is_unfenced(block, block.writes[word])) {
      fault(warp,
            fmt::format(
                "wgmma reads shared {}, which thread {} wrote, without fence.proxy.async between",
                word * 4, block.writes[word].thread));
    }
  });
}

void record_copy(Block& block, u32 address, u32 bytes, u32 clock) {
  for_each_word(address, bytes, [&](u32 word) {
    block.writes[word] = {block.generation, block.threads, clock, true};
    std::fill_n(
        block.reads.begin() + static_cast<std::ptrdiff_t>(std::size_t{word} * block.warp_count()),
        block.warp_count(), SharedRead{});
  });
}

void record_thread_copy(Warp& warp, u32 address, u32 bytes, u32 thread) {
  Block& block = *warp.block;
  for_each_word(address, bytes, [&](u32 word) {
    block.writes[word] = {block.generation, thread, block.clock[thread], false};
  });
}

void record_matrix_read(Warp& warp, u32 from, u32 to) {
  Block& block = *warp.block;
  const u32 thread = warp.thread(0);
  for (u32 word = from / 4; word < to / 4; ++word) {
    if (block.state[word * 4] != ByteState::written ||
        !is_recorded(block, block.writes[word].generation))
      continue;
    block.reads[std::size_t{word} * block.warp_count() + warp.id] = {block.generation, thread,
                                                                     block.clock[thread], true};
  }
}

void fence_proxy(Warp& warp, const Instruction&, u32 lanes) {
  Block& block = *warp.block;
  for_each_lane(lanes, [&](int l) {
    const u32 thread = warp.thread(l);
    block.proxy_fence[thread] = ++block.clock[thread];
  });
}

std::vector<u32>& seen_by(Block& block, u32 thread) {
  std::vector<u32>& seen = block.seen[thread];
  if (block.seen_generation[thread] != block.generation) {
    seen.assign(block.threads + 1, 0);
    block.seen_generation[thread] = block.generation;
  }
  return seen;
}

// ---- Order between blocks

namespace {

bool is_later(const BlockTime& a, const BlockTime& b) {
  return a.generation != b.generation ? a.generation > b.generation : a.clock > b.clock;
}
void join(GridTime& into, const GridTime& from) {
  for (const auto& [block, time] : from) {
    const auto [at, is_new] = into.emplace(block, time);
    if (!is_new && is_later(time, at->second)) at->second = time;
  }
}
bool holds(const GridTime& time, const GlobalAccess& access) {
  const auto at = time.find(access.block);
  if (at == time.end()) return false;
  const BlockTime& until = at->second;
  return access.generation < until.generation ||
         (access.generation == until.generation && access.thread == until.thread &&
          access.clock <= until.clock);
}
// What is ordered before what the thread does now, its own accesses among them.
GridTime time_of(Block& block, u32 thread) {
  GridTime time = block.ordered;
  if (const auto order = block.orders.find(thread); order != block.orders.end())
    join(time, order->second.acquired);
  time[block.index] = {block.generation, thread, block.clock[thread]++};
  return time;
}

bool is_ordered(const Block& block, const GlobalAccess& access, u32 thread) {
  if (access.block == block.index) {
    return is_ordered(block, access.generation, access.thread, access.clock, thread);
  }
  if (holds(block.ordered, access)) return true;
  const auto order = block.orders.find(thread);
  return order != block.orders.end() && holds(order->second.acquired, access);
}

void check_global(Warp& warp, const GlobalAccess& before, const GlobalAccess& now, u64 address,
                  const char* what, const char* was) {
  if ((before.bytes & now.bytes) == 0 || (before.strong && now.strong)) return;
  if (is_ordered(*warp.block, before, now.thread)) return;
  fault(warp,
        fmt::format(
            "race: {} of global {:#x} by thread {} of block {}, {} before by thread {} of block {}",
            what, address, now.thread, now.block, was, before.thread, before.block),
        static_cast<int>(now.thread % warp_size));
}

void note_word(Warp& warp, GlobalWord& word, const GlobalAccess& now, u64 address, Access access) {
  const u32 launch = warp.block->grid->number;
  if (word.launch != launch) word = {.launch = launch};
  const char* const what = access == Access::read ? "read" : "write";
  check_global(warp, word.write, now, address, what, "written");
  if (access != Access::write) {
    if (word.read.bytes != 0 && word.read.block != now.block) word.other_read = word.read;
    word.read = now;
  }
  if (access == Access::read) return;
  check_global(warp, word.read, now, address, what, "read");
  check_global(warp, word.other_read, now, address, what, "read");
  word.write = now;
}

// A strong access takes over what was released at that address, and publishes what is fenced.
void synchronize(Warp& warp, u64 address, u32 thread, Access access, const Instruction& in) {
  Block& block = *warp.block;
  Published& published = block.grid->published[address];
  ThreadOrder& order = block.orders[thread];
  const bool is_known =
      in.acquire && order.last_address == address && order.last_version == published.version;
  if (access != Access::write && !is_known) {
    join(in.acquire ? order.acquired : order.observed, published.time);
    if (in.acquire) {
      order.last_address = address;
      order.last_version = published.version;
    }
  }
  if (access == Access::read) return;
  if (in.release) join(published.time, time_of(block, thread));
  join(published.time, order.fenced);
  ++published.version;
}

}  // namespace

void note_global(Warp& warp, GlobalMemory::Allocation& allocation, u64 address, u32 bytes, int lane,
                 Access access, const Instruction& in) {
  Block& block = *warp.block;
  const u32 thread = warp.thread(lane);
  if (allocation.words.empty()) allocation.words.resize(allocation.size / 4 + 2);
  GlobalAccess now{block.index, block.generation, block.clock[thread], static_cast<u16>(thread),
                   15,          in.strong};
  if (bytes < 4) now.bytes = static_cast<u8>(((1U << bytes) - 1) << address % 4);
  const u64 first = address / 4 - allocation.at / 4;
  for (u64 i = 0; i < std::max(bytes / 4, 1U); ++i) {
    note_word(warp, allocation.words[first + i], now, address + 4 * i, access);
  }
  if (in.strong) synchronize(warp, address, thread, access, in);
}

void fence_global(Warp& warp, u32 thread) {
  Block& block = *warp.block;
  ThreadOrder& order = block.orders[thread];
  join(order.acquired, order.observed);
  order.fenced = time_of(block, thread);
}

// ---- Meetings

void join_threads(Block& block, const std::vector<u32>& threads) {
  std::vector<u32> all(block.threads + 1, 0);
  GridTime acquired;
  for (const u32 thread : threads) {
    if (block.seen_generation[thread] == block.generation) {
      const std::vector<u32>& seen = block.seen[thread];
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], seen[i]);
    }
    all[thread] = std::max(all[thread], block.clock[thread]);
    if (const auto order = block.orders.find(thread); order != block.orders.end())
      join(acquired, order->second.acquired);
  }
  for (const u32 thread : threads) {
    seen_by(block, thread) = all;
    ++block.clock[thread];
    if (!acquired.empty()) join(block.orders[thread].acquired, acquired);
  }
}

void join_lanes(Warp& warp, u32 lanes) {
  std::vector<u32> threads;
  for_each_lane(lanes, [&](int l) { threads.push_back(warp.thread(l)); });
  join_threads(*warp.block, threads);
}

void begin_generation(Block& block) {
  ++block.generation;
  for (u32& clock : block.clock) ++clock;
  for (auto& [thread, order] : block.orders) {
    join(block.ordered, order.acquired);
    order.acquired.clear();
  }
}

}  // namespace gibbsite::ptx
