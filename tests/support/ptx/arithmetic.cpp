// Arithmetic, comparisons and logic. Operations round as IEEE says; .ftz is modelled where nvcc
// uses it.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/machine.hpp"
#include "support/ptx/text.hpp"

namespace gibbsite::ptx {
namespace {

// ---- An operation of each lane

template <class T, class Operation>
void unary(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) { d[l] = to_bits<T>(Operation{}(from_bits<T>(a[l]))); });
}
template <class T, class Operation>
void binary(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    d[l] = to_bits<T>(Operation{}(from_bits<T>(a[l]), from_bits<T>(b[l])));
  });
}
template <class T, class Operation>
void ternary(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]), *c = warp.source(in.s[2]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    d[l] = to_bits<T>(Operation{}(from_bits<T>(a[l]), from_bits<T>(b[l]), from_bits<T>(c[l])));
  });
}

// An integer type's arithmetic modulo 2^n.
template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr bool integer = std::is_integral_v<T>;
template <class T>
T wrapped(u64 value) {
  return static_cast<T>(static_cast<Unsigned<T>>(value));
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (integer<T>)
      return wrapped<T>(static_cast<u64>(a) + static_cast<u64>(b));
    else
      return a + b;
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (integer<T>)
      return wrapped<T>(static_cast<u64>(a) - static_cast<u64>(b));
    else
      return a - b;
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (integer<T>)
      return wrapped<T>(static_cast<u64>(a) * static_cast<u64>(b));
    else
      return a * b;
  }
};
struct MultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(Multiply{}(a, b), c);
  }
};
struct MultiplyHigh {
  template <class T>
  T operator()(T a, T b) const {
    using Wide = std::conditional_t<std::is_signed_v<T>, s128, u128>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
struct MultiplyHighAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(MultiplyHigh{}(a, b), c);
  }
};
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (integer<T>) {
      if (b == 0) return static_cast<T>(-1);  // "machine-specific"
      if (std::is_signed_v<T> && b == static_cast<T>(-1))
        return wrapped<T>(u64{0} - static_cast<u64>(a));
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
// -0 < +0, and a number before NaN.
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (!integer<T>) {
      if (std::isnan(a)) return b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (!integer<T>) {
      if (std::isnan(a)) return b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};
template <class Operation>
struct OrNaN {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    return Operation{}(a, b);
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    if constexpr (integer<T>)
      return wrapped<T>(u64{0} - static_cast<u64>(a));
    else
      return -a;
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (integer<T>)
      return a < 0 ? Negate{}(a) : a;
    else
      return std::fabs(a);
  }
};
struct CopySign {  // PTX: the sign of the first operand, the magnitude of the second one
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};
struct FusedMultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
// Rounded down: the product is exact in double, the error of the sum is known.
struct FusedMultiplyAddDown {
  float operator()(float a, float b, float c) const {
    const double product = static_cast<double>(a) * b, sum = product + c, back = sum - product;
    const double error = (product - (sum - back)) + (c - back);
    float down = static_cast<float>(sum);
    const double stored = down;
    if (stored > sum || (stored == sum && error < 0)) {
      down = std::nextafterf(down, -std::numeric_limits<float>::infinity());
    }
    return down;
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};
struct ShiftLeft {
  template <class T>
  T operator()(T a, T b) const {
    const u32 count = static_cast<u32>(b);
    return count >= 8 * sizeof(T) ? T{0} : wrapped<T>(static_cast<u64>(a) << count);
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, T b) const {
    const u32 count = static_cast<u32>(b), bits = 8 * sizeof(T);
    if (count < bits) return static_cast<T>(a >> count);
    return std::is_signed_v<T> ? static_cast<T>(a >> (bits - 1)) : T{0};
  }
};
struct PermuteBytes {
  u32 operator()(u32 a, u32 b, u32 selector) const {
    const u64 bytes = static_cast<u64>(b) << 32 | a;
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 select = selector >> (4 * i) & 15;
      u32 byte = static_cast<u32>(bytes >> (8 * (select & 7))) & 255;
      if ((select & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};
template <bool left, bool clamp>
struct FunnelShift {
  u32 operator()(u32 a, u32 b, u32 c) const {
    const u32 count = clamp ? std::min(c, 32U) : c & 31;
    const u64 both = static_cast<u64>(b) << 32 | a;
    return static_cast<u32>(left ? (both << count) >> 32 : both >> count);
  }
};
struct ExtractBits {
  template <class T>
  T operator()(T a, T b, T c) const {
    constexpr u32 bits = 8 * sizeof(T);
    const u32 position = static_cast<u32>(b) & 255, length = static_cast<u32>(c) & 255;
    const auto value = static_cast<Unsigned<T>>(a);
    Unsigned<T> sign = 0, result = 0;
    if (std::is_signed_v<T> && length != 0)
      sign = value >> std::min(position + length - 1, bits - 1) & 1;
    for (u32 i = 0; i < bits; ++i) {
      const bool inside = i < length && position + i < bits;
      const auto bit = static_cast<Unsigned<T>>(inside ? value >> (position + i) & 1 : sign);
      result |= static_cast<Unsigned<T>>(bit << i);
    }
    return static_cast<T>(result);
  }
};

template <class T>
void insert_bits(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  const u64 *c = warp.source(in.s[2]), *e = warp.source(in.s[3]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    const u32 position = c[l] & 255, length = e[l] & 255;
    T value = from_bits<T>(b[l]);
    for (u32 i = 0; i < length && position + i < 8 * sizeof(T); ++i) {
      const T bit = from_bits<T>(a[l]) >> i & 1;
      value = (value & ~(T{1} << (position + i))) | bit << (position + i);
    }
    d[l] = to_bits<T>(value);
  });
}
template <class T, int (*count)(T)>
void count_bits(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) { d[l] = static_cast<u64>(count(from_bits<T>(a[l]))); });
}
template <class T>
void reverse_bits(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    const T value = from_bits<T>(a[l]);
    T reversed = 0;
    for (u32 i = 0; i < 8 * sizeof(T); ++i) reversed |= (value >> i & 1) << (8 * sizeof(T) - 1 - i);
    d[l] = reversed;
  });
}
// lop3: immediate is the truth table.
void logic3(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]), *c = warp.source(in.s[2]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    const u32 x = static_cast<u32>(a[l]), y = static_cast<u32>(b[l]), z = static_cast<u32>(c[l]);
    u32 result = 0;
    for (int row = 0; row < 8; ++row) {
      if ((in.immediate >> row & 1) == 0) continue;
      result |= ((row & 4) != 0 ? x : ~x) & ((row & 2) != 0 ? y : ~y) & ((row & 1) != 0 ? z : ~z);
    }
    d[l] = result;
  });
}
// mul.wide and mad.wide. bytes: of a factor; option: signed.
void multiply_wide(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  const u64* c = in.s[2] == none ? nullptr : warp.source(in.s[2]);
  u64* d = warp.destination(in.d);
  const auto factor = [&](u64 bits) {
    if (in.bytes == 4)
      return in.option != 0 ? s64{static_cast<s32>(bits)} : s64{static_cast<u32>(bits)};
    return in.option != 0 ? s64{static_cast<s16>(bits)} : s64{static_cast<u16>(bits)};
  };
  for_each_lane(lanes, [&](int l) {
    u64 product = static_cast<u64>(factor(a[l])) * static_cast<u64>(factor(b[l]));
    if (c != nullptr) product += c[l];
    d[l] = product & low_bits(2U * in.bytes);
  });
}
// add, sub, mad with carries. option: below; option2: 1 takes a carry, 2 leaves one.
enum Carried : u8 { carried_add, carried_subtract, carried_mad_low, carried_mad_high };
void with_carry(Warp& warp, const Instruction& in, u32 lanes) {
  using Wide = u128;
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  const u64* c = in.s[2] == none ? nullptr : warp.source(in.s[2]);
  u64* d = warp.destination(in.d);
  const Wide mask = low_bits(in.bytes);
  for_each_lane(lanes, [&](int l) {
    const u32 carry = (in.option2 & 1) != 0 ? warp.carry >> l & 1 : 0;
    Wide x = a[l] & mask, y = b[l] & mask;
    if (in.option == carried_mad_low) x = (x * y) & mask;
    if (in.option == carried_mad_high) x = (x * y) >> (8 * in.bytes);
    if (in.option >= carried_mad_low) y = c[l] & mask;
    const Wide result = in.option == carried_subtract ? x - y - carry : x + y + carry;
    const bool out = in.option == carried_subtract ? x < y + carry : result > mask;
    d[l] = static_cast<u64>(result & mask);
    if ((in.option2 & 2) != 0) warp.carry = (warp.carry & ~(1U << l)) | static_cast<u32>(out) << l;
  });
}

// ---- Approximations. Exact results rounded; disturbed within PTX's bounds where options() say so.

float disturbed(double exact, u64 most_ulps) {
  float value = static_cast<float>(exact);
  if (!options().approximations || !std::isfinite(value) || value == 0) return value;
  u64 hash =
      (std::bit_cast<u64>(exact) ^ options().seed * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  hash ^= hash >> 29;
  hash *= 0x94d049bb133111ebU;
  hash ^= hash >> 32;
  const float infinity = std::numeric_limits<float>::infinity();
  auto steps = static_cast<s64>(hash % (2 * most_ulps + 1)) - static_cast<s64>(most_ulps);
  for (; steps > 0; --steps) value = std::nextafterf(value, infinity);
  for (; steps < 0; ++steps) value = std::nextafterf(value, -infinity);
  return value;
}
template <class T>
T flushed(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}
double exp2_exactly(double x) { return std::exp2(x); }
double log2_exactly(double x) { return std::log2(x); }
double reciprocal(double x) { return 1 / x; }
double reciprocal_root(double x) { return 1 / std::sqrt(x); }

template <double (*function)(double), u64 ulps, bool flush>
void approximate(Warp& warp, const Instruction& in, u32 lanes) {
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    const float x = from_bits<float>(a[l]);
    const float result = disturbed(function(flush ? flushed(x) : x), ulps);
    d[l] = to_bits<float>(flush ? flushed(result) : result);
  });
}
// rcp and rsqrt.approx.ftz.f64: the upper halves of operand and result.
template <double (*function)(double)>
void approximate_double(Warp& warp, const Instruction& in, u32 lanes) {
  constexpr u64 upper = 0xffffffff00000000U;
  const u64* a = warp.source(in.s[0]);
  u64* d = warp.destination(in.d);
  for_each_lane(lanes, [&](int l) {
    const double x = flushed(from_bits<double>(a[l] & upper));
    d[l] = to_bits<double>(flushed(function(x))) & upper;
  });
}

// ---- Predicates

enum class Comparison : u8 { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
template <class T>
bool compare(Comparison comparison, T a, T b) {
  bool unordered = false;
  if constexpr (std::is_floating_point_v<T>) unordered = std::isnan(a) || std::isnan(b);
  switch (comparison) {
    case Comparison::eq:
      return !unordered && a == b;
    case Comparison::ne:
      return !unordered && a != b;
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      return a <= b;
    case Comparison::gt:
      return a > b;
    case Comparison::ge:
      return a >= b;
    case Comparison::equ:
      return unordered || a == b;
    case Comparison::neu:
      return unordered || a != b;
    case Comparison::ltu:
      return unordered || a < b;
    case Comparison::leu:
      return unordered || a <= b;
    case Comparison::gtu:
      return unordered || a > b;
    case Comparison::geu:
      return unordered || a >= b;
    case Comparison::num:
      return !unordered;
    case Comparison::nan:
      return unordered;
  }
  return false;
}

enum class Logic : u8 { none, logic_and, logic_or, logic_xor };
u32 combine(Logic logic, u32 a, u32 b) {
  switch (logic) {
    case Logic::none:
      return a;
    case Logic::logic_and:
      return a & b;
    case Logic::logic_or:
      return a | b;
    case Logic::logic_xor:
      return a ^ b;
  }
  return a;
}
Logic logic_of(const std::string& word) {
  if (word == "and") return Logic::logic_and;
  if (word == "or") return Logic::logic_or;
  if (word == "xor") return Logic::logic_xor;
  throw std::runtime_error("a comparison's second operation is not modelled");
}
void set(u32& predicate, u32 value, u32 lanes) {
  predicate = (predicate & ~lanes) | (value & lanes);
}

// option: Comparison; option2: Logic with p.
template <class T>
void set_predicate(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  u32 result = 0;
  for_each_lane(lanes, [&](int l) {
    const bool holds =
        compare(static_cast<Comparison>(in.option), from_bits<T>(a[l]), from_bits<T>(b[l]));
    result |= static_cast<u32>(holds) << l;
  });
  u32 complement = ~result;
  if (in.p >= 0) {
    const u32 p = in.p_negated ? ~warp.predicate(in.p) : warp.predicate(in.p);
    result = combine(static_cast<Logic>(in.option2), result, p);
    complement = combine(static_cast<Logic>(in.option2), complement, p);
  }
  set(warp.predicate(in.d), result, lanes);
  if (in.d2 >= 0) set(warp.predicate(in.d2), complement, lanes);
}
// s: predicates, or ~0 and ~1 for false and true. option: Logic; option2: bit i negates s[i].
void predicate_logic(Warp& warp, const Instruction& in, u32 lanes) {
  const auto value = [&](int i) {
    const int s = in.s[static_cast<std::size_t>(i)];
    if (s == none) return u32{0};
    const u32 bits = s >= 0 ? warp.predicate(s) : s == ~1 ? all_lanes : 0;
    return (in.option2 >> i & 1) != 0 ? ~bits : bits;
  };
  set(warp.predicate(in.d), combine(static_cast<Logic>(in.option), value(0), value(1)), lanes);
}
int predicate_source(const Operand& operand) {
  if (operand.kind == Operand::Kind::immediate) return operand.value != 0 ? ~1 : ~0;
  return predicate(operand);
}
void select(Warp& warp, const Instruction& in, u32 lanes) {
  const u64 *a = warp.source(in.s[0]), *b = warp.source(in.s[1]);
  u64* d = warp.destination(in.d);
  const u32 p = in.p_negated ? ~warp.predicate(in.p) : warp.predicate(in.p);
  const u64 mask = low_bits(in.bytes);
  for_each_lane(lanes, [&](int l) { d[l] = (has_lane(p, l) ? a[l] : b[l]) & mask; });
}

// ---- Types

template <template <class, class> class Apply, class Operation>
Execute for_integer(const std::string& type) {
  if (type == "u32" || type == "b32") return Apply<u32, Operation>::execute;
  if (type == "s32") return Apply<s32, Operation>::execute;
  if (type == "u64" || type == "b64") return Apply<u64, Operation>::execute;
  if (type == "s64") return Apply<s64, Operation>::execute;
  if (type == "u16" || type == "b16") return Apply<u16, Operation>::execute;
  if (type == "s16") return Apply<s16, Operation>::execute;
  return nullptr;
}
template <template <class, class> class Apply, class Operation>
Execute for_float(const std::string& type) {
  if (type == "f32") return Apply<float, Operation>::execute;
  if (type == "f64") return Apply<double, Operation>::execute;
  return nullptr;
}
template <template <class, class> class Apply, class Operation>
Execute for_any(const std::string& type) {
  return type[0] == 'f' ? for_float<Apply, Operation>(type) : for_integer<Apply, Operation>(type);
}
template <template <class, class> class Apply, class Operation>
Execute for_signed(const std::string& type) {
  if (type == "s16") return Apply<s16, Operation>::execute;
  if (type == "s32") return Apply<s32, Operation>::execute;
  if (type == "s64") return Apply<s64, Operation>::execute;
  return for_float<Apply, Operation>(type);
}
template <class T, class Operation>
struct Unary {
  static constexpr Execute execute = unary<T, Operation>;
};
template <class T, class Operation>
struct Binary {
  static constexpr Execute execute = binary<T, Operation>;
};
template <class T, class Operation>
struct Ternary {
  static constexpr Execute execute = ternary<T, Operation>;
};
template <class T, class>
struct SetPredicate {
  static constexpr Execute execute = set_predicate<T>;
};

// ---- Decoding

using Decoder = void (*)(const Decoding&);

template <class Operation>
void decode_unary_float(const Decoding& in) {
  in.op.allow_only({"rn", "f32", "f64"});
  in.take(1);
  in.execute(for_float<Unary, Operation>(in.op.type()));
}
template <class Operation>
void decode_unary_signed(const Decoding& in) {
  in.op.allow_only({"s16", "s32", "s64", "f32", "f64"});
  in.take(1);
  in.execute(for_signed<Unary, Operation>(in.op.type()));
}
void take_carry(const Decoding& in, std::size_t sources, Carried what, bool takes) {
  in.take(sources);
  in.out.option = what;
  in.out.option2 = static_cast<u8>((takes ? 1 : 0) | (in.op.has("cc") ? 2 : 0));
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
  in.execute(with_carry);
}
template <class Operation, Carried carried>
void decode_sum(const Decoding& in) {
  const bool takes = in.op.name().back() == 'c';
  if (takes || in.op.has("cc")) return take_carry(in, 2, carried, takes);
  in.op.allow_only({"rn", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
  in.take(2);
  in.execute(for_any<Binary, Operation>(in.op.type()));
}
void decode_wide(const Decoding& in, std::size_t sources) {
  in.take(sources);
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
  in.out.option = in.op.type()[0] == 's' ? 1 : 0;
  in.execute(multiply_wide);
}
void decode_mul(const Decoding& in) {
  if (in.op.has("wide")) return decode_wide(in, 2);
  in.op.allow_only({"lo", "hi", "rn", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
  in.take(2);
  in.execute(in.op.has("hi") ? for_integer<Binary, MultiplyHigh>(in.op.type())
                             : for_any<Binary, Multiply>(in.op.type()));
}
void decode_mad(const Decoding& in) {
  const bool takes = in.op.name() == "madc";
  if (takes || in.op.has("cc")) {
    return take_carry(in, 3, in.op.has("hi") ? carried_mad_high : carried_mad_low, takes);
  }
  if (in.op.has("wide")) return decode_wide(in, 3);
  in.op.allow_only({"lo", "hi", "u16", "s16", "u32", "s32", "u64", "s64"});
  in.take(3);
  in.execute(in.op.has("hi") ? for_integer<Ternary, MultiplyHighAdd>(in.op.type())
                             : for_integer<Ternary, MultiplyAdd>(in.op.type()));
}
void decode_fma(const Decoding& in) {
  in.take(3);
  if (in.op.has("rm")) {
    in.op.allow_only({"rm", "f32"});
    return in.execute(ternary<float, FusedMultiplyAddDown>);
  }
  in.op.allow_only({"rn", "f32", "f64"});
  in.execute(for_float<Ternary, FusedMultiplyAdd>(in.op.type()));
}
void decode_div(const Decoding& in) {
  in.op.allow_only({"rn", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
  in.take(2);
  in.execute(for_any<Binary, Divide>(in.op.type()));
}
template <class Operation>
void decode_extremum(const Decoding& in) {
  in.take(2);
  if (in.op.has("NaN")) {
    in.op.allow_only({"NaN", "f32", "f64"});
    return in.execute(for_float<Binary, OrNaN<Operation>>(in.op.type()));
  }
  in.op.allow_only({"u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
  in.execute(for_any<Binary, Operation>(in.op.type()));
}
template <class Operation>
void decode_binary_integer(const Decoding& in) {
  in.take(2);
  in.execute(for_integer<Binary, Operation>(in.op.type()));
}
void decode_copysign(const Decoding& in) {
  in.op.allow_only({"f32", "f64"});
  in.take(2);
  in.execute(for_float<Binary, CopySign>(in.op.type()));
}
template <double (*function)(double), u64 ulps>
void decode_approximation(const Decoding& in) {
  in.op.allow_only({"approx", "ftz", "f32", "f64"});
  in.take(1);
  if (in.op.type() == "f64") return in.execute(approximate_double<function>);
  in.execute(in.op.has("ftz") ? approximate<function, ulps, true>
                              : approximate<function, ulps, false>);
}
void decode_rcp(const Decoding& in) {
  if (in.op.has("approx")) return decode_approximation<reciprocal, 1>(in);
  decode_unary_float<Reciprocal>(in);
}
template <class Operation, Logic logic>
void decode_logic(const Decoding& in) {
  if (in.op.type() != "pred") return decode_binary_integer<Operation>(in);
  in.out.d = predicate(in.operand(0));
  for (std::size_t i = 0; i < 2; ++i) in.out.s[i] = predicate_source(in.operand(i + 1));
  in.out.option = static_cast<u8>(logic);
  in.out.option2 =
      static_cast<u8>((in.operand(1).negated ? 1 : 0) | (in.operand(2).negated ? 2 : 0));
  in.out.role = Role::predicates;
  in.execute(predicate_logic);
}
void decode_predicate_copy(const Decoding& in, bool negate) {
  in.out.d = predicate(in.operand(0));
  in.out.s[0] = predicate_source(in.operand(1));
  in.out.option2 = in.operand(1).negated != negate ? 1 : 0;
  in.out.role = Role::predicates;
  in.execute(predicate_logic);
}
void decode_not(const Decoding& in) {
  if (in.op.type() == "pred") return decode_predicate_copy(in, true);
  in.take(1);
  in.execute(for_integer<Unary, Not>(in.op.type()));
}
void decode_cnot(const Decoding& in) {
  in.take(1);
  in.execute(for_integer<Unary, LogicalNot>(in.op.type()));
}
void decode_shf(const Decoding& in) {
  in.take(3);
  const bool left = in.op.has("l"), clamp = in.op.has("clamp");
  if (left)
    in.execute(clamp ? ternary<u32, FunnelShift<true, true>>
                     : ternary<u32, FunnelShift<true, false>>);
  else
    in.execute(clamp ? ternary<u32, FunnelShift<false, true>>
                     : ternary<u32, FunnelShift<false, false>>);
}
void decode_bfi(const Decoding& in) {
  in.take(4);
  in.execute(size_of_type(in.op.type()) == 8 ? insert_bits<u64> : insert_bits<u32>);
}
void decode_bfe(const Decoding& in) {
  in.take(3);
  in.execute(for_integer<Ternary, ExtractBits>(in.op.type()));
}
void decode_prmt(const Decoding& in) {
  in.op.allow_only({"b32"});
  in.take(3);
  in.execute(ternary<u32, PermuteBytes>);
}
int population(u32 x) { return std::popcount(x); }
int population(u64 x) { return std::popcount(x); }
int leading_zeros(u32 x) { return std::countl_zero(x); }
int leading_zeros(u64 x) { return std::countl_zero(x); }
void decode_bit_count(const Decoding& in) {
  in.take(1);
  const bool wide = size_of_type(in.op.type()) == 8;
  if (in.op.name() == "popc")
    in.execute(wide ? count_bits<u64, population> : count_bits<u32, population>);
  if (in.op.name() == "clz")
    in.execute(wide ? count_bits<u64, leading_zeros> : count_bits<u32, leading_zeros>);
  if (in.op.name() == "brev") in.execute(wide ? reverse_bits<u64> : reverse_bits<u32>);
}
void decode_lop3(const Decoding& in) {
  in.out.d = destination(in.operand(0));
  for (std::size_t i = 0; i < 3; ++i) in.out.s[i] = in.source(i + 1);
  in.out.immediate = static_cast<s64>(in.operand(4).value);
  in.execute(logic3);
}
void decode_selp(const Decoding& in) {
  in.out.d = destination(in.operand(0));
  for (std::size_t i = 0; i < 2; ++i) in.out.s[i] = in.source(i + 1);
  in.out.p = predicate(in.operand(3));
  in.out.p_negated = in.operand(3).negated;
  in.out.bytes = static_cast<u8>(size_of_type(in.op.type()));
  in.execute(select);
}
void decode_setp(const Decoding& in) {
  using C = Comparison;
  static const std::map<std::string, C> comparisons = {
      {"eq", C::eq},   {"ne", C::ne},   {"lt", C::lt},   {"le", C::le},   {"gt", C::gt},
      {"ge", C::ge},   {"lo", C::lt},   {"ls", C::le},   {"hi", C::gt},   {"hs", C::ge},
      {"equ", C::equ}, {"neu", C::neu}, {"ltu", C::ltu}, {"leu", C::leu}, {"gtu", C::gtu},
      {"geu", C::geu}, {"num", C::num}, {"nan", C::nan}};
  const std::vector<std::string>& words = in.op.words;
  const auto comparison = comparisons.find(words.at(1));
  if (comparison == comparisons.end() || words.size() > 4)
    throw std::runtime_error("the comparison is not modelled");
  in.out.option = static_cast<u8>(comparison->second);
  in.out.d = predicate(in.operand(0));
  in.out.sets_predicate = true;
  if (!in.operand(0).vector.empty()) in.out.d2 = predicate(in.operand(0).vector[0]);
  for (std::size_t i = 0; i < 2; ++i) in.out.s[i] = in.source(i + 1);
  if (words.size() == 4) {
    in.out.option2 = static_cast<u8>(logic_of(words[2]));
    in.out.p = predicate(in.operand(3));
    in.out.p_negated = in.operand(3).negated;
  }
  in.execute(for_any<SetPredicate, void>(in.op.type()));
}
void decode_mov_predicate(const Decoding& in) { decode_predicate_copy(in, false); }

}  // namespace

bool decode_arithmetic(const Decoding& in) {
  static const std::map<std::string, Decoder> decoders = {
      {"add", decode_sum<Add, carried_add>},
      {"addc", decode_sum<Add, carried_add>},
      {"sub", decode_sum<Subtract, carried_subtract>},
      {"subc", decode_sum<Subtract, carried_subtract>},
      {"mul", decode_mul},
      {"mad", decode_mad},
      {"madc", decode_mad},
      {"fma", decode_fma},
      {"div", decode_div},
      {"rem", decode_binary_integer<Remainder>},
      {"min", decode_extremum<Minimum>},
      {"max", decode_extremum<Maximum>},
      {"abs", decode_unary_signed<Absolute>},
      {"neg", decode_unary_signed<Negate>},
      {"copysign", decode_copysign},
      {"sqrt", decode_unary_float<SquareRoot>},
      {"rcp", decode_rcp},
      {"rsqrt", decode_approximation<reciprocal_root, 2>},
      {"ex2", decode_approximation<exp2_exactly, 2>},
      {"lg2", decode_approximation<log2_exactly, 0>},
      {"and", decode_logic<And, Logic::logic_and>},
      {"or", decode_logic<Or, Logic::logic_or>},
      {"xor", decode_logic<Xor, Logic::logic_xor>},
      {"not", decode_not},
      {"cnot", decode_cnot},
      {"shl", decode_binary_integer<ShiftLeft>},
      {"shr", decode_binary_integer<ShiftRight>},
      {"shf", decode_shf},
      {"bfi", decode_bfi},
      {"bfe", decode_bfe},
      {"prmt", decode_prmt},
      {"popc", decode_bit_count},
      {"clz", decode_bit_count},
      {"brev", decode_bit_count},
      {"lop3", decode_lop3},
      {"selp", decode_selp},
      {"setp", decode_setp},
  };
  if (in.op.name() == "mov" && in.op.type() == "pred") {
    decode_mov_predicate(in);
    return true;
  }
  const auto decoder = decoders.find(in.op.name());
  if (decoder == decoders.end()) return false;
  decoder->second(in);
  return true;
}

}  // namespace gibbsite::ptx
