// Instructions between the lanes of a warp, and barriers of a block.
#include <algorithm>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/machine.hpp"
#include "support/ptx/races.hpp"
#include "support/ptx/text.hpp"

namespace gibbsite::ptx {
namespace {

using LaneValues = std::array<u64, warp_size>;
LaneValues values_of(const Warp& warp, int operand) {
  LaneValues values;
  std::copy_n(warp.source(operand), warp_size, values.begin());
  return values;
}

// shfl. PTX ISA: c holds the segment mask in bits 8..12, the clamp in bits 0..4.
enum class Shuffle : u8 { up, down, butterfly, index };
struct Segment {
  int first, last;
};
Segment segment_of(int lane, u64 c) {
  const u32 mask = static_cast<u32>(c >> 8) & 31, clamp = static_cast<u32>(c) & 31;
  return {static_cast<int>(static_cast<u32>(lane) & mask),
          static_cast<int>((static_cast<u32>(lane) & mask) | (clamp & ~mask))};
}
int source_lane(Shuffle mode, int lane, u64 b, u64 c, bool& inside) {
  const Segment segment = segment_of(lane, c);
  const int distance = static_cast<int>(b & 31);
  int from = lane;
  if (mode == Shuffle::up) from = lane - distance;
  if (mode == Shuffle::down) from = lane + distance;
  if (mode == Shuffle::butterfly) from = lane ^ distance;
  if (mode == Shuffle::index) from = segment.first | (distance & ~static_cast<int>(c >> 8 & 31));
  inside = mode == Shuffle::up ? from >= segment.last : from <= segment.last;
  return inside ? from : lane;
}
void shuffle(Warp& warp, const Instruction& in, u32 lanes) {
  const LaneValues values = values_of(warp, in.s[0]);
  const u64 *b = warp.source(in.s[1]), *c = warp.source(in.s[2]);
  LaneValues out{};
  u32 all_inside = 0;
  for_each_lane(lanes, [&](int l) {
    bool inside = false;
    const int from = source_lane(static_cast<Shuffle>(in.option), l, b[l], c[l], inside);
    if (!has_lane(lanes, from)) fault(warp, "a shuffle from a lane that does not take part", l);
    out[static_cast<std::size_t>(l)] = values[static_cast<std::size_t>(from)] & low_bits(4);
    all_inside |= static_cast<u32>(inside) << l;
  });
  if (in.d >= 0) {
    u64* d = warp.destination(in.d);
    for_each_lane(lanes, [&](int l) { d[l] = out[static_cast<std::size_t>(l)]; });
  }
  if (in.d2 >= 0) warp.predicate(in.d2) = (warp.predicate(in.d2) & ~lanes) | all_inside;
}

enum class Vote : u8 { all, any, uniform, ballot };
void vote(Warp& warp, const Instruction& in, u32 lanes) {
  const u32 p = (in.p_negated ? ~warp.predicate(in.p) : warp.predicate(in.p)) & lanes;
  const auto mode = static_cast<Vote>(in.option);
  if (mode == Vote::ballot) {
    u64* d = warp.destination(in.d);
    for_each_lane(lanes, [&](int l) { d[l] = p; });
    return;
  }
  const bool holds = mode == Vote::all   ? p == lanes
                     : mode == Vote::any ? p != 0
                                         : p == lanes || p == 0;
  u32& d = warp.predicate(in.d);
  d = holds ? d | lanes : d & ~lanes;
}

void match_any(Warp& warp, const Instruction& in, u32 lanes) {
  const LaneValues values = values_of(warp, in.s[0]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    u32 same = 0;
    for_each_lane(lanes, [&](int other) {
      const u64 difference =
          values[static_cast<std::size_t>(l)] ^ values[static_cast<std::size_t>(other)];
      if ((difference & low_bits(in.bytes)) == 0) same |= 1U << other;
    });
    d[l] = same;
  });
}

enum class Reduction : u8 { add, min, max, min_signed, max_signed, logic_and, logic_or, logic_xor };
u32 reduced(Reduction operation, u32 a, u32 b) {
  const s32 x = static_cast<s32>(a), y = static_cast<s32>(b);
  switch (operation) {
    case Reduction::add:
      return a + b;
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::min_signed:
      return static_cast<u32>(std::min(x, y));
    case Reduction::max_signed:
      return static_cast<u32>(std::max(x, y));
    case Reduction::logic_and:
      return a & b;
    case Reduction::logic_or:
      return a | b;
    case Reduction::logic_xor:
      return a ^ b;
  }
  return a;
}
void reduce(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  u32 result = static_cast<u32>(a[std::countr_zero(lanes)]);
  for_each_lane(lanes & (lanes - 1), [&](int l) {
    result = reduced(static_cast<Reduction>(in.option), result, static_cast<u32>(a[l]));
  });
  for_each_lane(lanes, [&](int l) { d[l] = result; });
}

void active_mask(Warp& warp, const Instruction& in, u32 lanes) {
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) { d[l] = lanes; });
}
void sync_warp(Warp& warp, const Instruction&, u32 lanes) { join_lanes(warp, lanes); }

// ---- Decoding. s[3] is the member mask of converge_mask.

void take_mask(const Decoding& in, std::size_t index) {
  in.out.control = Control::converge_mask;
  in.out.s[3] = in.source(index);
}
void decode_shfl(const Decoding& in) {
  in.op.allow_only({"sync", "up", "down", "bfly", "idx", "b32"});
  if (!in.op.has("sync")) throw std::runtime_error("shfl without .sync is not modelled");
  const Shuffle mode = in.op.has("up")     ? Shuffle::up
                       : in.op.has("down") ? Shuffle::down
                       : in.op.has("bfly") ? Shuffle::butterfly
                                           : Shuffle::index;
  in.out.option = static_cast<u8>(mode);
  const Operand& to = in.operand(0);
  if (to.kind != Operand::Kind::missing) in.out.d = destination(to);
  if (!to.vector.empty()) in.out.d2 = predicate(to.vector[0]);
  for (std::size_t i = 0; i < 3; ++i) in.out.s[i] = in.source(i + 1);
  take_mask(in, 4);
  in.execute(shuffle);
}
void decode_vote(const Decoding& in) {
  in.op.allow_only({"sync", "all", "any", "uni", "ballot", "pred", "b32"});
  const Vote mode = in.op.has("all")   ? Vote::all
                    : in.op.has("any") ? Vote::any
                    : in.op.has("uni") ? Vote::uniform
                                       : Vote::ballot;
  in.out.option = static_cast<u8>(mode);
  in.out.sets_predicate = mode != Vote::ballot;
  in.out.d = mode == Vote::ballot ? destination(in.operand(0)) : predicate(in.operand(0));
  in.out.p = predicate(in.operand(1));
  in.out.p_negated = in.operand(1).negated;
  take_mask(in, 2);
  in.execute(vote);
}
void decode_match(const Decoding& in) {
  in.op.allow_only({"any", "sync", "b32", "b64"});
  if (!in.op.has("any")) throw std::runtime_error("match.all is not modelled");
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
  in.out.d = destination(in.operand(0));
  in.out.s[0] = in.source(1);
  take_mask(in, 2);
  in.execute(match_any);
}
void decode_redux(const Decoding& in) {
  const bool is_signed = in.op.type() == "s32";
  const std::string& name = in.op.words.at(2);
  Reduction operation = Reduction::add;
  if (name == "min")
    operation = is_signed ? Reduction::min_signed : Reduction::min;
  else if (name == "max")
    operation = is_signed ? Reduction::max_signed : Reduction::max;
  else if (name == "and")
    operation = Reduction::logic_and;
  else if (name == "or")
    operation = Reduction::logic_or;
  else if (name == "xor")
    operation = Reduction::logic_xor;
  else if (name != "add")
    throw std::runtime_error("the reduction is not modelled");
  in.out.option = static_cast<u8>(operation);
  in.out.d = destination(in.operand(0));
  in.out.s[0] = in.source(1);
  take_mask(in, 2);
  in.execute(reduce);
}
// s[0]: number, s[1]: threads. option of a reduction: 1 or, 2 and, 3 count.
void decode_barrier(const Decoding& in) {
  if (in.op.has("warp")) {
    take_mask(in, 0);
    return in.execute(sync_warp);
  }
  in.out.control = Control::barrier;
  if (in.op.has("red")) {
    in.op.allow_only({"red", "cta", "aligned", "or", "and", "popc", "pred", "u32"});
    if (in.operands.size() != 3)
      throw std::runtime_error("a reducing barrier of some threads is not modelled");
    in.out.option = in.op.has("popc") ? 3 : in.op.has("and") ? 2 : 1;
    in.out.sets_predicate = in.out.option != 3;
    in.out.d = in.out.option == 3 ? destination(in.operand(0)) : predicate(in.operand(0));
    in.out.s[0] = in.source(1);
    in.out.p = predicate(in.operand(2));
    in.out.p_negated = in.operand(2).negated;
    return;
  }
  in.op.allow_only({"sync", "cta", "aligned"});
  if (!in.op.has("sync")) throw std::runtime_error("bar.arrive is not modelled");
  in.out.s[0] = in.source(0);
  if (in.operands.size() > 1) in.out.s[1] = in.source(1);
}

}  // namespace

bool decode_warp(const Decoding& in) {
  const std::string& name = in.op.name();
  if (name == "shfl")
    decode_shfl(in);
  else if (name == "vote")
    decode_vote(in);
  else if (name == "match")
    decode_match(in);
  else if (name == "redux")
    decode_redux(in);
  else if (name == "bar" || name == "barrier")
    decode_barrier(in);
  else if (name == "activemask") {
    in.out.d = destination(in.operand(0));
    in.execute(active_mask);
  } else
    return false;
  return true;
}

}  // namespace gibbsite::ptx
