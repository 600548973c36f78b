// cvt: between integers, floats and doubles, and to pairs of BF16.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/machine.hpp"

namespace gibbsite::ptx {
namespace {

enum class Rounding : u8 { none, to_even, to_zero, down, up };  // to an integer

double rounded(double x, Rounding mode) {
  switch (mode) {
    case Rounding::none:
      return x;
    case Rounding::to_even:
      return std::nearbyint(x);
    case Rounding::to_zero:
      return std::trunc(x);
    case Rounding::down:
      return std::floor(x);
    case Rounding::up:
      return std::ceil(x);
  }
  return x;
}

template <class To, class From>
To integer_of_integer(From x, bool saturate) {
  if (!saturate) return static_cast<To>(x);
  const s128 least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  return static_cast<To>(std::clamp<s128>(x, least, most));
}
// Out of range: the nearest end. NaN: 0, of 64 bits the sign bit.
template <class To>
To integer_of_float(double x) {
  if (std::isnan(x)) return sizeof(To) == 8 ? static_cast<To>(u64{1} << 63) : To{0};
  if (x < static_cast<double>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (x >= std::ldexp(1.0, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}
template <class To, class From>
To float_of_float(From x, Rounding mode, bool saturate) {
  if (std::is_same_v<To, From> && mode == Rounding::none && !saturate) return static_cast<To>(x);
  const To value = static_cast<To>(rounded(static_cast<double>(x), mode));
  if (!saturate) return value;
  return std::isnan(value) ? To{0} : std::clamp(value, To{0}, To{1});
}

// option: Rounding; option2: saturate.
template <class To, class From>
void convert(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  const auto mode = static_cast<Rounding>(in.option);
  const bool saturate = in.option2 != 0;
  for_each_lane(lanes, [&](int l) {
    const From x = from_bits<From>(a[l]);
    if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
      d[l] = to_bits<To>(integer_of_integer<To>(x, saturate));
    } else if constexpr (std::is_integral_v<To>) {
      d[l] = to_bits<To>(integer_of_float<To>(rounded(static_cast<double>(x), mode)));
    } else if constexpr (std::is_integral_v<From>) {
      d[l] = to_bits<To>(static_cast<To>(x));
    } else {
      d[l] = to_bits<To>(float_of_float<To>(x, mode, saturate));
    }
  });
}

// To nearest even; a NaN becomes the canonical one.
u32 bf16_bits(u64 register_bits) {
  const u32 bits = static_cast<u32>(register_bits);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fff;
  const u32 low = bits & 0xffff, high = bits >> 16;
  const bool up = low > 0x8000 || (low == 0x8000 && (high & 1) != 0);
  return (high + (up ? 1 : 0)) & 0xffff;
}
// cvt.rn.bf16x2.f32 d, a, b: a becomes the upper half.
void convert_pair(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) { d[l] = bf16_bits(a[l]) << 16 | bf16_bits(b[l]); });
}

template <class To>
Execute convert_from(const std::string& from) {
  if (from == "u8") return convert<To, u8>;
  if (from == "s8") return convert<To, s8>;
  if (from == "u16") return convert<To, u16>;
  if (from == "s16") return convert<To, s16>;
  if (from == "u32") return convert<To, u32>;
  if (from == "s32") return convert<To, s32>;
  if (from == "u64") return convert<To, u64>;
  if (from == "s64") return convert<To, s64>;
  if (from == "f32") return convert<To, float>;
  if (from == "f64") return convert<To, double>;
  return nullptr;
}
Execute conversion(const std::string& to, const std::string& from) {
  if (to == "u8") return convert_from<u8>(from);
  if (to == "s8") return convert_from<s8>(from);
  if (to == "u16") return convert_from<u16>(from);
  if (to == "s16") return convert_from<s16>(from);
  if (to == "u32") return convert_from<u32>(from);
  if (to == "s32") return convert_from<s32>(from);
  if (to == "u64") return convert_from<u64>(from);
  if (to == "s64") return convert_from<s64>(from);
  if (to == "f32") return convert_from<float>(from);
  if (to == "f64") return convert_from<double>(from);
  return nullptr;
}
Rounding rounding_of(const Opcode& op) {
  if (op.has("rni")) return Rounding::to_even;
  if (op.has("rzi")) return Rounding::to_zero;
  if (op.has("rmi")) return Rounding::down;
  if (op.has("rpi")) return Rounding::up;
  return Rounding::none;
}

}  // namespace

bool decode_conversion(const Decoding& in) {
  if (in.op.name() != "cvt") return false;
  if (in.op.has("bf16x2")) {
    in.op.allow_only({"rn", "bf16x2", "f32"});
    in.take(2);
    in.execute(convert_pair);
    return true;
  }
  in.op.allow_only({"rn", "rni", "rzi", "rmi", "rpi", "sat", "u8", "s8", "u16", "s16", "u32", "s32",
                    "u64", "s64", "f32", "f64"});
  in.take(1);
  in.out.option = static_cast<u8>(rounding_of(in.op));
  in.out.option2 = in.op.has("sat") ? 1 : 0;
  in.execute(conversion(in.op.words[in.op.words.size() - 2], in.op.type()));
  return true;
}

}  // namespace gibbsite::ptx
