#pragma once
// Data races: two accesses, one of them a write, that no barrier, fence or wait puts in an order.
#include "support/ptx/global_memory.hpp"
#include "support/ptx/memory.hpp"

namespace gibbsite::ptx {

// ---- Shared memory. `thread` may be the block's asynchronous copies: its number of threads.

/// Records an access of a thread, or says which one it races with.
void note_shared_write(Warp& warp, u32 address, u32 bytes, u32 thread);
void note_shared_read(Warp& warp, u32 address, u32 bytes, u32 thread);
/// Records an access through the asynchronous proxy, or says which one it races with. The proxy
/// sees a thread's writes only after its fence.proxy.async. What it read or wrote is recorded when
/// it is done.
void check_copy_over(Warp& warp, u32 address, u32 bytes, u32 thread);
void check_matrix_read(Warp& warp, u32 address, u32 bytes, u32 thread);
void record_copy(Block& block, u32 address, u32 bytes, u32 clock);
void record_thread_copy(Warp& warp, u32 address, u32 bytes, u32 thread);
void record_matrix_read(Warp& warp, u32 from, u32 to);

/// fence.proxy.async
void fence_proxy(Warp& warp, const Instruction& in, u32 lanes);

/// These threads have met: what each did before is ordered before what each does now.
void join_threads(Block& block, const std::vector<u32>& threads);
void join_lanes(Warp& warp, u32 lanes);
/// All threads of the block have met.
void begin_generation(Block& block);
/// The clocks that a thread has seen, in this generation.
std::vector<u32>& seen_by(Block& block, u32 thread);

// ---- Global memory, between threads of a block and between blocks

void note_global(Warp& warp, GlobalMemory::Allocation& allocation, u64 address, u32 bytes, int lane,
                 Access access, const Instruction& in);
/// fence.acq_rel.gpu or stronger
void fence_global(Warp& warp, u32 thread);

}  // namespace gibbsite::ptx
