#pragma once
// The state of a grid that runs: blocks, warps, barriers, copies under way, and who accessed what.
//
// Time, for data races. A block counts generations: each barrier of all of its threads begins one.
// Within a generation each thread has a clock, and a row of the clocks of others that it has seen.
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

// ---- Copies and mbarriers

struct Mbarrier {
  u32 expected = 0;  // arrivals of a phase
  u32 pending = 0;   // of them still to come
  s64 bytes = 0;     // expected and not copied yet
  u32 phase = 0;
  std::vector<u32> arrived, completed;  // clocks: of this phase's arrivals, of the last phase
  u32 generation = 0, completed_generation = 0;
};

/// cp.async.bulk: it copies at some time, and then tells the mbarrier.
struct BulkCopy {
  u32 to;
  u64 from;
  u32 bytes, barrier, clock;
  int line;
};

/// cp.async: it copies when its thread waits for its group.
struct AsyncCopy {
  u32 to;
  u64 from;
  u32 bytes;
};
struct AsyncCopies {
  std::vector<AsyncCopy> open;
  std::vector<std::vector<AsyncCopy>> groups;
};

// ---- Shared memory

enum class ByteState : u8 { unwritten, written, copying, mbarrier };

struct SharedWrite {
  u32 generation = 0, thread = 0, clock = 0;
  bool by_copy = false;  // through the asynchronous proxy
};
struct SharedRead {
  u32 generation = 0, thread = 0, clock = 0;
  bool by_matrix_unit = false;
};

// ---- Order between blocks

/// Accesses of a block that are ordered before something: those of generations before `generation`,
/// and those of `thread` in it up to `clock`.
struct BlockTime {
  u32 generation = 0, thread = 0, clock = 0;
};
using GridTime = std::map<u32, BlockTime>;  // by block

/// What releases at an address published; each of them makes a new version.
struct Published {
  GridTime time;
  u64 version = 0;
};

/// What a thread has taken over from others, and what it has fenced, by the PTX memory model.
struct ThreadOrder {
  GridTime acquired;  // ordered before what it does now
  GridTime observed;  // seen by strong reads, acquired at the next fence
  GridTime fenced;    // what a strong write publishes after a fence
  u64 last_address = 0,
      last_version = 0;  // acquired last: a loop that waits reads it over and over
};

// ---- wgmma

struct MatrixRead {
  u32 group, from, to;
};

/// What wgmma forbids to do with the registers of a warp at this time.
struct MatrixRegisters {
  std::vector<u8> written;      // since the last wgmma.fence
  std::vector<u32> group;       // of the wgmma under way that uses it, 0: none
  std::vector<u8> accumulates;  // that wgmma adds to it
  u32 open = 1, completed = 0;  // groups
  bool fenced = false;
  std::vector<MatrixRead> reads;  // of shared memory, under way
  u32 executed = 0;
};

/// A wgmma as the first warp of a group executed it; the others must do the same.
struct MatrixLog {
  const Instruction* at;
  u64 a, b;
  bool adds;
};

// ---- Warps, blocks, the grid

/// Lanes of a warp that are at the same instruction.
struct Lanes {
  int pc = 0;
  u32 mask = 0;
  bool blocked = false;
};

struct Block;
struct Warp {
  const Kernel* kernel = nullptr;
  Block* block = nullptr;
  u32 id = 0;
  u32 lanes = 0;               // that exist
  u32 alive = 0;               // that have not left
  std::vector<u64> registers;  // [register][lane]
  std::vector<u32> predicates;
  u32 carry = 0;  // of add.cc
  std::vector<u8> local;
  const u64* constants = nullptr;  // [constant][lane]
  std::vector<Lanes> groups;
  int barrier = -1;                 // that it waits for
  const Instruction* at = nullptr;  // for messages
  const Instruction* reduction = nullptr;
  u32 reduction_lanes = 0, reduction_true = 0;
  std::array<AsyncCopies, warp_size> copies;
  MatrixRegisters matrix;

  u64* destination(int r) { return registers.data() + static_cast<std::size_t>(r) * warp_size; }
  [[nodiscard]] const u64* source(int r) const {
    return r >= 0 ? registers.data() + static_cast<std::size_t>(r) * warp_size
                  : constants + static_cast<std::size_t>(~r) * warp_size;
  }
  u32& predicate(int p) { return predicates[static_cast<std::size_t>(p)]; }
  [[nodiscard]] u32 thread(int lane) const { return id * warp_size + static_cast<u32>(lane); }
};

struct Barrier {
  u32 arrived = 0, expected = 0;  // threads; 0 expected: all of the block
  std::vector<u32> warps;
};

struct Grid;
struct Block {
  Grid* grid = nullptr;
  u32 index = 0;
  std::array<u32, 3> id{};
  u32 threads = 0;
  std::vector<u8> shared;
  std::vector<ByteState> state;
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<Barrier, 16> barriers;
  std::map<u32, Mbarrier> mbarriers;
  std::vector<BulkCopy> bulk_copies;
  std::vector<std::vector<MatrixLog>> matrix_log;  // by warp group

  // Races in shared memory. Records of generations before the first are of another block.
  u32 first_generation = 1, generation = 1;
  std::vector<u32> clock;              // by thread
  std::vector<u32> proxy_fence;        // by thread: its clock there
  std::vector<std::vector<u32>> seen;  // by thread: clocks of others
  std::vector<u32> seen_generation;    // of which that is
  std::vector<SharedWrite> writes;     // by word
  std::vector<SharedRead> reads;       // [word][warp]
  u32 copy_clock = 0;

  // Races in global memory.
  GridTime ordered;  // before everything that this block does
  std::map<u32, ThreadOrder> orders;

  [[nodiscard]] u32 warp_count() const { return static_cast<u32>(warps.size()); }
};

struct Grid {
  Kernel* kernel = nullptr;
  const Launch* launch = nullptr;
  u32 number = 0;
  u64 workspace = 0;  // of the grid's barrier
  std::mt19937_64 random;
  u64 failed_waits = 0;  // for mbarriers, since something last came to one or a barrier opened
  std::map<u64, Published> published;  // by address
};

/// Ends the run: says what a rule forbids, and where.
[[noreturn]] void fault(const Warp& warp, const std::string& why, int lane = -1);

// ---- Lanes

template <class F>
inline void for_each_lane(u32 mask, F&& f) {
  if (mask == all_lanes) {
    for (int lane = 0; lane < static_cast<int>(warp_size); ++lane) f(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
  }
}
inline bool has_lane(u32 mask, int lane) { return (mask >> lane & 1) != 0; }

/// A register's bits as a value of that type, and back.
template <class T>
inline T from_bits(u64 bits) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(bits);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<u32>(bits));
  else
    return static_cast<T>(bits);
}
template <class T>
inline u64 to_bits(T value) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<u64>(value);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<u32>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}
inline u64 low_bits(unsigned bytes) { return bytes >= 8 ? ~u64{0} : (u64{1} << 8 * bytes) - 1; }

}  // namespace gibbsite::ptx
