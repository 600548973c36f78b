// cp.async and its groups, mbarriers, cp.async.bulk.
#include "support/ptx/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/races.hpp"

namespace gibbsite::ptx {
namespace {

void set_state(Block& block, u32 address, u32 bytes, ByteState state) {
  std::fill_n(block.state.begin() + address, bytes, state);
}
bool has_state(const Block& block, u32 address, u32 bytes, ByteState state) {
  const auto begin = block.state.begin() + address;
  return std::find(begin, begin + bytes, state) != begin + bytes;
}
void check_target(Warp& warp, const char* what, u32 to, u32 bytes, int lane) {
  shared_at(warp, to, bytes, lane);
  if (has_state(*warp.block, to, bytes, ByteState::copying))
    fault(warp, fmt::format("{} over a copy under way", what), lane);
  if (has_state(*warp.block, to, bytes, ByteState::mbarrier))
    fault(warp, fmt::format("{} over an mbarrier", what), lane);
}
// The source is global memory that this thread reads now.
void check_source(Warp& warp, const char* what, u64 from, u32 bytes, int lane) {
  GlobalMemory::Allocation* allocation = global_memory().find(from, bytes);
  if (allocation == nullptr)
    fault(
        warp,
        fmt::format("{}: global address {:#x} of {} bytes is in no allocation", what, from, bytes),
        lane);
  note_global(warp, *allocation, from, bytes, lane, Access::read, *warp.at);
}

// ---- cp.async

void copy_async(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  const u64* size = in.s[2] == none ? nullptr : warp.source(in.s[2]);
  for_each_lane(lanes, [&](int l) {
    const u32 to = static_cast<u32>(a[l] + static_cast<u64>(in.immediate));
    if (size != nullptr && size[l] != in.bytes)
      fault(warp, "cp.async of fewer bytes is not modelled", l);
    if (to % in.bytes != 0 || b[l] % in.bytes != 0)
      fault(warp,
            fmt::format("cp.async: {} or {:#x} is misaligned for {} bytes", to, b[l], in.bytes), l);
    check_target(warp, "cp.async", to, in.bytes, l);
    check_source(warp, "cp.async", b[l], in.bytes, l);
    note_shared_write(warp, to, in.bytes, warp.thread(l));
    set_state(*warp.block, to, in.bytes, ByteState::copying);
    warp.copies[static_cast<std::size_t>(l)].open.push_back({to, b[l], in.bytes});
  });
}
void commit_group(Warp& warp, const Instruction&, u32 lanes) {
  for_each_lane(lanes, [&](int l) {
    AsyncCopies& copies = warp.copies[static_cast<std::size_t>(l)];
    copies.groups.push_back(std::move(copies.open));
    copies.open.clear();
  });
}
void finish(Warp& warp, std::vector<AsyncCopy>& copies, u32 thread) {
  for (const AsyncCopy& copy : copies) {
    std::memcpy(warp.block->shared.data() + copy.to, reinterpret_cast<const u8*>(copy.from),
                copy.bytes);
    set_state(*warp.block, copy.to, copy.bytes, ByteState::written);
    record_thread_copy(warp, copy.to, copy.bytes, thread);
  }
  copies.clear();
}
// immediate: groups that may stay open; option: wait for copies of no group as well.
void wait_group(Warp& warp, const Instruction& in, u32 lanes) {
  for_each_lane(lanes, [&](int l) {
    AsyncCopies& copies = warp.copies[static_cast<std::size_t>(l)];
    while (static_cast<s64>(copies.groups.size()) > in.immediate) {
      finish(warp, copies.groups.front(), warp.thread(l));
      copies.groups.erase(copies.groups.begin());
    }
    if (in.option != 0) finish(warp, copies.open, warp.thread(l));
  });
}

// ---- mbarrier

Mbarrier& mbarrier_at(Warp& warp, u32 address, int lane) {
  const auto found = warp.block->mbarriers.find(address);
  if (found == warp.block->mbarriers.end())
    fault(warp, fmt::format("there is no mbarrier at {}", address), lane);
  return found->second;
}
std::vector<u32>& arrived_clocks(const Block& block, Mbarrier& barrier) {
  if (barrier.generation != block.generation) {
    barrier.arrived.assign(block.threads + 1, 0);
    barrier.generation = block.generation;
  }
  return barrier.arrived;
}
void complete_phase(Block& block, Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.completed = std::move(arrived_clocks(block, barrier));
  barrier.completed_generation = block.generation;
  barrier.arrived.assign(block.threads + 1, 0);
}
void init_mbarrier(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = base_of(warp, in), *count = warp.source(in.s[1]);
  for_each_lane(lanes, [&](int l) {
    const u32 at = static_cast<u32>(address_of(a, in, l)), arrivals = static_cast<u32>(count[l]);
    if (at % 8 != 0) fault(warp, "an mbarrier is misaligned", l);
    shared_at(warp, at, 8, l);
    if (arrivals == 0 || arrivals >= 1U << 20)
      fault(warp, "an mbarrier's count is out of range", l);
    if (warp.block->mbarriers.contains(at)) fault(warp, "an mbarrier is initialized twice", l);
    note_shared_write(warp, at, 8, warp.thread(l));
    warp.block->mbarriers[at] = {
        .expected = arrivals, .pending = arrivals, .arrived = {}, .completed = {}};
    set_state(*warp.block, at, 8, ByteState::mbarrier);
  });
}
// option: with expect_tx.
void arrive(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = base_of(warp, in);
  Block& block = *warp.block;
  for_each_lane(lanes, [&](int l) {
    const u32 at = static_cast<u32>(address_of(a, in, l)), thread = warp.thread(l);
    Mbarrier& barrier = mbarrier_at(warp, at, l);
    note_shared_read(warp, at, 8, thread);
    if (in.option != 0) barrier.bytes += static_cast<u32>(warp.source(in.s[1])[l]);
    if (barrier.bytes >= 1 << 20) fault(warp, "an mbarrier's transaction count is out of range", l);
    if (barrier.pending == 0) fault(warp, "an mbarrier has more arrivals than it counts", l);
    std::vector<u32>& arrived = arrived_clocks(block, barrier);
    const std::vector<u32>& seen = seen_by(block, thread);
    for (std::size_t i = 0; i < seen.size(); ++i) arrived[i] = std::max(arrived[i], seen[i]);
    arrived[thread] = std::max(arrived[thread], block.clock[thread]++);
    --barrier.pending;
    block.grid->failed_waits = 0;
    complete_phase(block, barrier);
  });
}
// More are taken for a deadlock: some hundred turns of all warps.
constexpr u64 most_failed_waits = 300'000;
// try_wait.parity: whether the phase of that parity is over.
void try_wait(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = base_of(warp, in), *parity = warp.source(in.s[1]);
  Block& block = *warp.block;
  u32 done = 0;
  for_each_lane(lanes, [&](int l) {
    const u32 at = static_cast<u32>(address_of(a, in, l)), thread = warp.thread(l);
    if (parity[l] > 1) fault(warp, "a parity is neither 0 nor 1", l);
    const Mbarrier& barrier = mbarrier_at(warp, at, l);
    note_shared_read(warp, at, 8, thread);
    if ((barrier.phase & 1) == parity[l]) return;
    done |= 1U << l;
    if (barrier.phase == 0 || barrier.completed_generation != block.generation) return;
    std::vector<u32>& seen = seen_by(block, thread);
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = std::max(seen[i], barrier.completed[i]);
  });
  warp.predicate(in.d) = (warp.predicate(in.d) & ~lanes) | done;
  if (done == 0 && ++block.grid->failed_waits > most_failed_waits) {
    fault(warp, "deadlock: warps wait for mbarriers, and nothing comes to any");
  }
}

// ---- cp.async.bulk

void check_matrix_reads_over(Warp& warp, u32 to, u32 bytes, int lane) {
  for (const auto& other : warp.block->warps) {
    for (const MatrixRead& read : other->matrix.reads) {
      if (to < read.to && to + bytes > read.from)
        fault(warp,
              fmt::format("a bulk copy over what a wgmma under way of warp {} reads", other->id),
              lane);
    }
  }
}
void copy_bulk(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  const u64 *size = warp.source(in.s[2]), *q = warp.source(in.s[3]);
  Block& block = *warp.block;
  for_each_lane(lanes, [&](int l) {
    const u32 to = static_cast<u32>(a[l]), bytes = static_cast<u32>(size[l]),
              barrier = static_cast<u32>(q[l]);
    if (to % 16 != 0 || b[l] % 16 != 0 || bytes % 16 != 0 || bytes == 0) {
      fault(
          warp,
          fmt::format("cp.async.bulk: {}, {:#x} or {} bytes is no multiple of 16", to, b[l], bytes),
          l);
    }
    check_target(warp, "a bulk copy", to, bytes, l);
    check_source(warp, "cp.async.bulk", b[l], bytes, l);
    mbarrier_at(warp, barrier, l);
    check_matrix_reads_over(warp, to, bytes, l);
    check_copy_over(warp, to, bytes, warp.thread(l));
    set_state(block, to, bytes, ByteState::copying);
    block.bulk_copies.push_back({to, b[l], bytes, barrier, ++block.copy_clock, in.line});
  });
}

// ---- Decoding

int base_register(const Operand& operand) {
  if (operand.kind != Operand::Kind::address || !operand.has_base || operand.offset != 0) {
    throw std::runtime_error("an address is no register");
  }
  return operand.id;
}
void decode_bulk(const Decoding& in) {
  in.op.allow_only({"async", "bulk", "shared::cluster", "global", "mbarrier::complete_tx::bytes"});
  if (!in.op.has("global") || !in.op.has("shared::cluster"))
    throw std::runtime_error("the direction of a bulk copy is not modelled");
  in.out.s = {base_register(in.operand(0)), base_register(in.operand(1)), in.source(2),
              base_register(in.operand(3))};
  in.execute(copy_bulk);
}
void decode_cp(const Decoding& in) {
  if (in.op.has("bulk")) return decode_bulk(in);
  if (in.op.has("commit_group")) return in.execute(commit_group);
  if (in.op.has("wait_group") || in.op.has("wait_all")) {
    in.out.option = in.op.has("wait_all") ? 1 : 0;
    in.out.immediate = in.out.option != 0 ? 0 : static_cast<s64>(in.operand(0).value);
    return in.execute(wait_group);
  }
  in.op.allow_only({"async", "ca", "cg", "shared", "shared::cta", "global"});
  in.take_address(0);
  if (in.out.s[0] == none) throw std::runtime_error("an address is no register");
  in.out.s[1] = base_register(in.operand(1));
  in.out.bytes = static_cast<u8>(in.operand(2).value);
  if (in.operands.size() > 3) in.out.s[2] = in.source(3);
  if (in.op.has("cg") && in.out.bytes != 16)
    throw std::runtime_error("cp.async.cg copies 16 bytes alone");
  in.execute(copy_async);
}
void decode_mbarrier(const Decoding& in) {
  in.op.allow_only(
      {"init", "arrive", "expect_tx", "try_wait", "parity", "shared::cta", "shared", "b64"});
  in.out.space = Space::shared;
  if (in.op.has("init")) {
    in.take_address(0);
    in.out.s[1] = in.source(1);
    return in.execute(init_mbarrier);
  }
  in.take_address(1);
  if (in.op.has("arrive")) {
    if (in.operand(0).kind != Operand::Kind::missing)
      throw std::runtime_error("an mbarrier's state is not modelled");
    in.out.option = in.op.has("expect_tx") ? 1 : 0;
    if (in.out.option != 0) in.out.s[1] = in.source(2);
    return in.execute(arrive);
  }
  if (!in.op.has("parity")) throw std::runtime_error("a wait without .parity is not modelled");
  in.out.d = predicate(in.operand(0));
  in.out.sets_predicate = true;
  in.out.s[1] = in.source(2);
  in.execute(try_wait);
}

}  // namespace

void finish_bulk_copy(Block& block, std::size_t index) {
  const BulkCopy copy = block.bulk_copies[index];
  block.bulk_copies.erase(block.bulk_copies.begin() + static_cast<std::ptrdiff_t>(index));
  std::memcpy(block.shared.data() + copy.to, reinterpret_cast<const u8*>(copy.from), copy.bytes);
  set_state(block, copy.to, copy.bytes, ByteState::written);
  record_copy(block, copy.to, copy.bytes, copy.clock);
  Mbarrier& barrier = block.mbarriers.at(copy.barrier);
  u32& clock = arrived_clocks(block, barrier)[block.threads];
  clock = std::max(clock, copy.clock);
  barrier.bytes -= copy.bytes;
  block.grid->failed_waits = 0;
  complete_phase(block, barrier);
}

bool has_open_copies(const Warp& warp) {
  return std::any_of(warp.copies.begin(), warp.copies.end(), [](const AsyncCopies& copies) {
    return !copies.open.empty() || std::any_of(copies.groups.begin(), copies.groups.end(),
                                               [](const auto& group) { return !group.empty(); });
  });
}

bool decode_copy(const Decoding& in) {
  if (in.op.name() == "cp")
    decode_cp(in);
  else if (in.op.name() == "mbarrier")
    decode_mbarrier(in);
  else
    return false;
  return true;
}

}  // namespace gibbsite::ptx
