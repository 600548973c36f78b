#pragma once
// Accesses to every state space, with the rules that hold for all of them.
#include "support/ptx/machine.hpp"

namespace gibbsite::ptx {

// The generic addresses of spaces other than global memory.
constexpr u64 shared_window = u64{1} << 56;
constexpr u64 local_window = u64{1} << 57;
constexpr u64 parameter_window = u64{1} << 58;
constexpr u64 any_window = shared_window | local_window | parameter_window;

/// Shared memory at an address of that space; a fault outside.
u8* shared_at(Warp& warp, u64 address, u32 bytes, int lane);

enum class Access { read, write, atomic };
/// The memory of an access: a fault where it is misaligned, outside, unwritten, under a copy, or a
/// race.
u8* resolve(Warp& warp, const Instruction& in, u64 address, u32 bytes, int lane, Access access);

/// The address of a lane: base register and offset.
inline u64 address_of(const u64* base, const Instruction& in, int lane) {
  const u64 address = (base != nullptr ? base[lane] : 0) + static_cast<u64>(in.immediate);
  return in.space == Space::shared ? address & 0xffffffffU : address;
}
inline const u64* base_of(const Warp& warp, const Instruction& in) {
  return in.s[0] == none ? nullptr : warp.source(in.s[0]);
}

}  // namespace gibbsite::ptx
