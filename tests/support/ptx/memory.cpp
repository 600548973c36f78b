// Loads, stores, atomics and moves.
#include "support/ptx/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/global_memory.hpp"
#include "support/ptx/races.hpp"
#include "support/ptx/text.hpp"

namespace gibbsite::ptx {

u8* shared_at(Warp& warp, u64 address, u32 bytes, int lane) {
  Block& block = *warp.block;
  if (address < shared_base || address + bytes > block.shared.size()) {
    fault(warp,
          fmt::format("shared address {} is outside of {} bytes", address, block.shared.size()),
          lane);
  }
  return block.shared.data() + address;
}

namespace {

u8* resolve_shared(Warp& warp, u32 address, u32 bytes, int lane, Access access) {
  u8* const memory = shared_at(warp, address, bytes, lane);
  ByteState* const state = warp.block->state.data() + address;
  for (u32 i = 0; i < bytes; ++i) {
    if (state[i] == ByteState::copying)
      fault(warp, fmt::format("shared {} has a copy under way", address), lane);
    if (state[i] == ByteState::mbarrier)
      fault(warp, fmt::format("shared {} is an mbarrier", address), lane);
    if (access == Access::write)
      state[i] = ByteState::written;
    else if (state[i] == ByteState::unwritten)
      fault(warp, fmt::format("shared {} is read before it is written", address + i), lane);
  }
  if (access == Access::read) {
    note_shared_read(warp, address, bytes, warp.thread(lane));
  } else if (access == Access::write) {
    note_shared_write(warp, address, bytes, warp.thread(lane));
    for (const MatrixRead& read : warp.matrix.reads) {
      if (address < read.to && address + bytes > read.from)
        fault(warp, "a write of shared memory that a wgmma under way reads", lane);
    }
  }
  return memory;
}

u8* resolve_parameter(Warp& warp, u64 address, u32 bytes, int lane, Access access) {
  if (access != Access::read) fault(warp, "a write of a parameter", lane);
  for (const Kernel::Parameter& parameter : warp.kernel->parameters) {
    if (address >= parameter.offset && address + bytes <= parameter.offset + parameter.size) {
      return const_cast<u8*>(warp.block->grid->launch->parameters) + address;
    }
  }
  fault(warp, fmt::format("parameter address {} is outside of every parameter", address), lane);
}

Space space_of(const Instruction& in, u64& address) {
  if (in.space != Space::generic) {
    if (in.space == Space::param) address &= ~parameter_window;
    return in.space;
  }
  if ((address & any_window) == 0) return Space::global;
  const Space space = (address & shared_window) != 0  ? Space::shared
                      : (address & local_window) != 0 ? Space::local
                                                      : Space::param;
  address &= ~any_window;
  return space;
}

}  // namespace

u8* resolve(Warp& warp, const Instruction& in, u64 address, u32 bytes, int lane, Access access) {
  if (address % bytes != 0)
    fault(warp, fmt::format("address {:#x} is misaligned for {} bytes", address, bytes), lane);
  const Space space = space_of(in, address);
  if (space == Space::shared)
    return resolve_shared(warp, static_cast<u32>(address), bytes, lane, access);
  if (space == Space::param) return resolve_parameter(warp, address, bytes, lane, access);
  if (space == Space::local) {
    if (address + bytes > warp.kernel->local_bytes)
      fault(warp, fmt::format("local address {} is outside", address), lane);
    return warp.local.data() + static_cast<std::size_t>(lane) * warp.kernel->local_bytes + address;
  }
  GlobalMemory::Allocation* allocation = global_memory().find(address, bytes);
  if (allocation == nullptr)
    fault(warp, fmt::format("global address {:#x} of {} bytes is in no allocation", address, bytes),
          lane);
  note_global(warp, *allocation, address, bytes, lane, access, in);
  return reinterpret_cast<u8*>(address);
}

namespace {

// ---- Loads and stores

u64 read_bytes(const u8* from, u32 bytes) {
  u64 value = 0;
  switch (bytes) {  // constant lengths: a copy of a variable length is a call
    case 1:
      return *from;
    case 2:
      std::memcpy(&value, from, 2);
      break;
    case 4:
      std::memcpy(&value, from, 4);
      break;
    default:
      std::memcpy(&value, from, 8);
      break;
  }
  return value;
}
void write_bytes(u8* to, u64 value, u32 bytes) {
  switch (bytes) {
    case 1:
      *to = static_cast<u8>(value);
      break;
    case 2:
      std::memcpy(to, &value, 2);
      break;
    case 4:
      std::memcpy(to, &value, 4);
      break;
    default:
      std::memcpy(to, &value, 8);
      break;
  }
}
u64 sign_extended(u64 value, u32 bytes) {
  const u32 unused = 64 - 8 * bytes;
  return static_cast<u64>(static_cast<s64>(value << unused) >> unused);
}

// option: signed.
void load(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* base = base_of(warp, in);
  for_each_lane(lanes, [&](int l) {
    const u8* from =
        resolve(warp, in, address_of(base, in, l), u32{in.bytes} * in.elements, l, Access::read);
    for (std::size_t i = 0; i < in.elements; ++i) {
      u64 value = read_bytes(from + i * in.bytes, in.bytes);
      if (in.option != 0) value = sign_extended(value, in.bytes);
      if (in.v[i] >= 0) warp.destination(in.v[i])[l] = value;
    }
  });
}
void store(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* base = base_of(warp, in);
  for_each_lane(lanes, [&](int l) {
    u8* to =
        resolve(warp, in, address_of(base, in, l), u32{in.bytes} * in.elements, l, Access::write);
    for (std::size_t i = 0; i < in.elements; ++i) {
      write_bytes(to + i * in.bytes, warp.source(in.v[i])[l], in.bytes);
    }
  });
}

// ---- Atomics

enum class Atomic : u8 { add, exch, cas, logic_and, logic_or, logic_xor, min, max, inc };

template <class T>
T updated(Atomic operation, T old, T b, T c) {
  if (operation == Atomic::add) return static_cast<T>(old + b);
  if (operation == Atomic::exch) return b;
  if (operation == Atomic::min) return std::min(old, b);
  if (operation == Atomic::max) return std::max(old, b);
  if constexpr (std::is_integral_v<T>) {
    if (operation == Atomic::cas) return old == b ? c : old;
    if (operation == Atomic::logic_and) return static_cast<T>(old & b);
    if (operation == Atomic::logic_or) return static_cast<T>(old | b);
    if (operation == Atomic::logic_xor) return static_cast<T>(old ^ b);
    if (operation == Atomic::inc) return old >= b ? T{0} : static_cast<T>(old + 1);
  }
  return old;
}

// atom and red. option: Atomic.
template <class T>
void update(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *base = base_of(warp, in), *b = warp.source(in.s[1]);
  const u64* c = in.s[2] == none ? b : warp.source(in.s[2]);
  for_each_lane(lanes, [&](int l) {
    u8* at = resolve(warp, in, address_of(base, in, l), in.bytes, l, Access::atomic);
    T old{};
    std::memcpy(&old, at, sizeof old);
    const T value =
        updated<T>(static_cast<Atomic>(in.option), old, from_bits<T>(b[l]), from_bits<T>(c[l]));
    std::memcpy(at, &value, sizeof value);
    if (in.d >= 0) warp.destination(in.d)[l] = to_bits<T>(old);
  });
}
Execute update_of(const std::string& type) {
  if (type == "u32" || type == "b32") return update<u32>;
  if (type == "s32") return update<s32>;
  if (type == "u64" || type == "b64") return update<u64>;
  if (type == "s64") return update<s64>;
  if (type == "f32") return update<float>;
  if (type == "f64") return update<double>;
  return nullptr;
}

// membar and fence.
void fence(Warp& warp, const Instruction&, u32 lanes) {
  for_each_lane(lanes, [&](int l) { fence_global(warp, warp.thread(l)); });
}
void nothing(Warp&, const Instruction&, u32) {}

// ---- Moves

void move(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  const u64 mask = low_bits(in.bytes);
  for_each_lane(lanes, [&](int l) { d[l] = a[l] & mask; });
}
u32 part_bits(const Instruction& in) { return in.bytes * 8 / static_cast<u32>(in.v.size()); }
void unpack(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  const u32 bits = part_bits(in);
  for_each_lane(lanes, [&](int l) {
    const u64 value = a[l];
    for (std::size_t i = 0; i < in.v.size(); ++i) {
      if (in.v[i] >= 0) warp.destination(in.v[i])[l] = value >> (bits * i) & low_bits(bits / 8);
    }
  });
}
void pack(Warp& warp, const Instruction& in, u32 lanes) {
  u64* d = warp.destination(in.d);
  const u32 bits = part_bits(in);
  for_each_lane(lanes, [&](int l) {
    u64 value = 0;
    for (std::size_t i = 0; i < in.v.size(); ++i) {
      value |= (warp.source(in.v[i])[l] & low_bits(bits / 8)) << (bits * i);
    }
    d[l] = value;
  });
}

u64 window_of(Space space) {
  if (space == Space::shared) return shared_window;
  if (space == Space::local) return local_window;
  return space == Space::param ? parameter_window : 0;
}
// cvta. option: to the space instead of from it.
void convert_address(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  const u64 window = window_of(in.space);
  for_each_lane(lanes, [&](int l) {
    if (in.option == 0) {
      d[l] = a[l] | window;
      return;
    }
    if ((a[l] & any_window) != window) fault(warp, "cvta.to of an address of another space", l);
    d[l] = in.space == Space::param ? a[l] : a[l] & ~window;
  });
}

using Special = u64 (*)(const Warp&, u32 lane);
template <std::size_t axis>
u64 thread_id(const Warp& warp, u32 lane) {
  const auto& size = warp.block->grid->launch->block;
  const u32 thread = warp.id * warp_size + lane;
  if (axis == 0) return thread % size[0];
  return axis == 1 ? thread / size[0] % size[1] : thread / size[0] / size[1];
}
template <std::size_t axis>
u64 block_size(const Warp& warp, u32) {
  return warp.block->grid->launch->block[axis];
}
template <std::size_t axis>
u64 block_id(const Warp& warp, u32) {
  return warp.block->id[axis];
}
template <std::size_t axis>
u64 grid_size(const Warp& warp, u32) {
  return warp.block->grid->launch->grid[axis];
}
const std::map<std::string, Special>& specials() {
  static const std::map<std::string, Special> table = {
      {"%tid.x", thread_id<0>},
      {"%tid.y", thread_id<1>},
      {"%tid.z", thread_id<2>},
      {"%ntid.x", block_size<0>},
      {"%ntid.y", block_size<1>},
      {"%ntid.z", block_size<2>},
      {"%ctaid.x", block_id<0>},
      {"%ctaid.y", block_id<1>},
      {"%ctaid.z", block_id<2>},
      {"%nctaid.x", grid_size<0>},
      {"%nctaid.y", grid_size<1>},
      {"%nctaid.z", grid_size<2>},
      {"%laneid", [](const Warp&, u32 lane) -> u64 { return lane; }},
      {"%warpid", [](const Warp& warp, u32) -> u64 { return warp.id; }},
      // cooperative_groups: the workspace of the grid's barrier.
      {"%envreg1", [](const Warp& warp, u32) { return warp.block->grid->workspace >> 32; }},
      {"%envreg2", [](const Warp& warp, u32) { return warp.block->grid->workspace & 0xffffffffU; }},
      {"%lanemask_eq", [](const Warp&, u32 lane) { return u64{1} << lane; }},
      {"%lanemask_lt", [](const Warp&, u32 lane) { return (u64{1} << lane) - 1; }},
      {"%lanemask_le", [](const Warp&, u32 lane) { return (u64{2} << lane) - 1; }},
      {"%lanemask_ge", [](const Warp&, u32 lane) { return ~((u64{1} << lane) - 1) & all_lanes; }},
      {"%lanemask_gt", [](const Warp&, u32 lane) { return ~((u64{2} << lane) - 1) & all_lanes; }},
      {"%smid", [](const Warp& warp, u32) -> u64 { return warp.block->index % 132; }},
      {"%dynamic_smem_size",
       [](const Warp& warp, u32) -> u64 { return warp.block->grid->launch->dynamic_shared; }},
      {"%clock64", [](const Warp&, u32) { return counts().warp_instructions; }},
  };
  return table;
}
// immediate: place in the table above.
void read_special(Warp& warp, const Instruction& in, u32 lanes) {
  const auto special = std::next(specials().begin(), in.immediate)->second;
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) { d[l] = special(warp, static_cast<u32>(l)); });
}

// ---- Decoding

bool take_space(Instruction& out, const std::string& word) {
  if (word == "global" || word == "const")
    out.space = Space::global;
  else if (word == "shared" || word == "shared::cta")
    out.space = Space::shared;
  else if (word == "local")
    out.space = Space::local;
  else if (word == "param")
    out.space = Space::param;
  else
    return false;
  return true;
}
bool take_order(Instruction& out, const std::string& word) {
  if (word == "acquire")
    out.acquire = true;
  else if (word == "release")
    out.release = true;
  else if (word == "acq_rel")
    out.acquire = out.release = true;
  else if (word != "relaxed" && word != "volatile")
    return word == "gpu" || word == "cta" || word == "sys";
  out.strong = true;
  return true;
}
bool is_cache_hint(const std::string& word) {
  static const std::vector<std::string> hints = {
      "nc", "ca", "cg", "cs", "cv", "wt", "L1::no_allocate"};
  return std::find(hints.begin(), hints.end(), word) != hints.end();
}
void take_access(const Decoding& in) {
  for (std::size_t i = 1; i + 1 < in.op.words.size(); ++i) {
    const std::string& word = in.op.words[i];
    if (take_space(in.out, word) || take_order(in.out, word) || is_cache_hint(word)) continue;
    if (word == "v2" || word == "v4")
      in.out.elements = word == "v2" ? 2 : 4;
    else
      throw std::runtime_error(fmt::format("the modifier .{} is not modelled", word));
  }
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
}
// The register or registers of a vector access.
void take_elements(const Decoding& in, const Operand& operand, bool are_destinations) {
  const bool vector = operand.kind == Operand::Kind::vector;
  if (vector != (in.out.elements > 1)) throw std::runtime_error("a vector's registers are missing");
  const std::vector<Operand> one = {operand};
  const std::vector<Operand>& elements = vector ? operand.vector : one;
  if (elements.size() != in.out.elements)
    throw std::runtime_error("a vector has another number of registers");
  for (const Operand& element : elements) {
    if (!are_destinations)
      in.out.v.push_back(in.source(element));
    else
      in.out.v.push_back(element.kind == Operand::Kind::missing ? -1 : destination(element));
  }
}
void decode_load(const Decoding& in) {
  take_access(in);
  in.out.option = in.op.type()[0] == 's' ? 1 : 0;
  in.take_address(1);
  take_elements(in, in.operand(0), true);
  in.out.role = Role::load;
  in.execute(load);
}
void decode_store(const Decoding& in) {
  take_access(in);
  in.take_address(0);
  take_elements(in, in.operand(1), false);
  in.execute(store);
}
void decode_atomic(const Decoding& in) {
  static const std::map<std::string, Atomic> operations = {
      {"add", Atomic::add},       {"exch", Atomic::exch},   {"cas", Atomic::cas},
      {"and", Atomic::logic_and}, {"or", Atomic::logic_or}, {"xor", Atomic::logic_xor},
      {"min", Atomic::min},       {"max", Atomic::max},     {"inc", Atomic::inc}};
  bool known = false;
  for (std::size_t i = 1; i + 1 < in.op.words.size(); ++i) {
    const auto operation = operations.find(in.op.words[i]);
    if (operation != operations.end()) {
      in.out.option = static_cast<u8>(operation->second);
      known = true;
    } else if (!take_space(in.out, in.op.words[i]) && !take_order(in.out, in.op.words[i])) {
      throw std::runtime_error(fmt::format("the modifier .{} is not modelled", in.op.words[i]));
    }
  }
  if (!known) throw std::runtime_error("the atomic operation is not modelled");
  in.out.strong = true;
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
  std::size_t next = 0;
  if (in.op.name() == "atom") {
    if (in.operand(0).kind != Operand::Kind::missing) in.out.d = destination(in.operand(0));
    next = 1;
  }
  in.take_address(next);
  in.out.s[1] = in.source(next + 1);
  if (static_cast<Atomic>(in.out.option) == Atomic::cas) in.out.s[2] = in.source(next + 2);
  in.execute(update_of(in.op.type()));
}
void decode_fence(const Decoding& in) {
  if (in.op.has("proxy")) {
    in.op.allow_only({"proxy", "async", "shared::cta"});
    return in.execute(fence_proxy);
  }
  if (in.op.has("mbarrier_init")) return in.execute(nothing);  // for a cluster's blocks
  in.op.allow_only({"acq_rel", "sc", "gpu", "cta", "sys", "gl"});
  in.execute(in.op.has("cta") ? nothing : fence);
}

void decode_mov(const Decoding& in) {
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
  const Operand &to = in.operand(0), &from = in.operand(1);
  if (to.kind == Operand::Kind::vector) {
    in.out.s[0] = in.source(1);
    for (const Operand& part : to.vector) {
      in.out.v.push_back(part.kind == Operand::Kind::missing ? -1 : destination(part));
    }
    in.out.role = Role::unpack;
    return in.execute(unpack);
  }
  in.out.d = destination(to);
  if (from.kind == Operand::Kind::vector) {
    for (const Operand& part : from.vector) in.out.v.push_back(in.source(part));
    return in.execute(pack);
  }
  if (from.kind == Operand::Kind::special) {
    const auto special = specials().find(from.name);
    if (special == specials().end())
      throw std::runtime_error("the special register is not modelled");
    in.out.immediate = std::distance(specials().begin(), special);
    return in.execute(read_special);
  }
  in.out.s[0] = in.source(1);
  in.out.role = Role::move;
  in.execute(move);
}
void decode_cvta(const Decoding& in) {
  in.out.space = Space::global;
  for (const std::string& word : in.op.words) take_space(in.out, word);
  in.out.option = in.op.has("to") ? 1 : 0;
  in.take(1);
  in.execute(convert_address);
}

}  // namespace

bool decode_move(const Decoding& in) {
  if (in.op.name() == "mov")
    decode_mov(in);
  else if (in.op.name() == "cvta")
    decode_cvta(in);
  else
    return false;
  return true;
}

bool decode_memory(const Decoding& in) {
  const std::string& name = in.op.name();
  if (name == "ld" || name == "ldu")
    decode_load(in);
  else if (name == "st")
    decode_store(in);
  else if (name == "atom" || name == "red")
    decode_atomic(in);
  else if (name == "fence" || name == "membar")
    decode_fence(in);
  else if (name == "prefetch" || name == "prefetchu" || name == "discard" || name == "nanosleep" ||
           name == "griddepcontrol")
    in.execute(nothing);
  else
    return false;
  return true;
}

}  // namespace gibbsite::ptx
