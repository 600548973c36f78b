#pragma once
// Types and values of Arrow's columns, as far as they are read.
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gibbsite/data/arrow_abi.hpp"

namespace gibbsite {

/// What is not as the interface says.
struct MalformedArrow {
  std::string what;
};

struct ArrowType {
  enum class Kind {
    null,
    boolean,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    float32,
    float64,
    decimal,
    text,
    large_text,
    text_view,
    day32,    ///< days since 1970-01-01
    instant,  ///< 64 bits: a day32 has per_day of them
    mixed,    ///< a sparse union: each cell has the type of one of its members
    refused
  };
  Kind kind = Kind::refused;
  int bytes = 0;                        ///< of a value; of an offset or a view in text
  int scale = 0;                        ///< decimal: digits behind the point
  std::string refusal = {};             ///< what it is, and what to give instead
  std::int64_t per_day = 1;             ///< instant: its units in a day
  std::vector<ArrowType> members = {};  ///< mixed: none of which is mixed

  [[nodiscard]] bool is_date() const { return kind == Kind::day32 || kind == Kind::instant; }
  /// Whether a number may have been rounded to it that a double still has.
  [[nodiscard]] bool is_short_float() const {
    return kind == Kind::float16 || kind == Kind::float32;
  }
  [[nodiscard]] bool is_number() const { return kind <= Kind::decimal && kind != Kind::null; }
};

/// What is no type of cells: what it is, and what to give instead.
ArrowType refused_type(const std::string& what, const std::string& instead);
/// The type of a schema, or of its dictionary's values. Throws MalformedArrow.
ArrowType arrow_type(const ArrowSchema& schema);

/// An integer of Arrow's decimal types, little endian and of 4 to 32 bytes, over 10^scale: the
/// nearest double, as its text would be read.
double decimal_number(const unsigned char* at, int bytes, int scale);

inline double half_number(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double fraction = half & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {  // 2^-24 fraction; (1 + 2^-10 fraction) 2^(exponent - 15)
    value = exponent == 0
                ? fraction * 0x1p-24
                : (1024 + fraction) *
                      std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent - 25) << 52);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

/// The values of one array, not owned. What can be told of them without their buffers' sizes is
/// checked: when it is made, and for text and indices when they are read.
class ArrowValues {
  // First, as their types are deduced.
  static bool bit(const unsigned char* bits, std::int64_t i) {
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
  }
  template <class T>
  static T load(const unsigned char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  /// The day that an instant is in, also before 1970.
  static std::int64_t floor_of(std::int64_t at, std::int64_t per_day) {
    return at / per_day - (at % per_day < 0 ? 1 : 0);
  }
  template <class T, class As>
  [[nodiscard]] auto numbers() const {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    return [at = data_ == nullptr ? nullptr : data_ + offset_ * size](std::int64_t i) {
      return static_cast<As>(load<T>(at + i * size));
    };
  }
  template <class Offset>
  [[nodiscard]] std::string_view text(std::int64_t i) const {
    constexpr auto size = static_cast<std::int64_t>(sizeof(Offset));
    const unsigned char* const at = data_ + (i + offset_) * size;
    const auto first = load<Offset>(at), last = load<Offset>(at + size);
    if (first < 0 || last < first || last > text_end_)
      throw MalformedArrow{"offsets of text are not in order"};
    if (first == last) return {};
    if (text_ == nullptr) throw MalformedArrow{"text has no buffer"};
    return {text_ + first, static_cast<std::size_t>(last - first)};
  }
  [[nodiscard]] std::string_view viewed_text(std::int64_t i) const;

 public:
  /// Values whose first `used` may be looked at. Throws MalformedArrow.
  ArrowValues(const ArrowType& type, const ArrowArray& array, std::int64_t used,
              bool has_dictionary);

  /// Throws MalformedArrow where the rows [first, last) have other nulls than are counted. Where
  /// they have none, none is looked for again: no others may be asked for then.
  void require_nulls(const ArrowArray& array, std::int64_t first, std::int64_t last);

  [[nodiscard]] const ArrowType& type() const { return type_; }
  [[nodiscard]] std::int64_t length() const { return length_; }
  /// i in [0, length).
  [[nodiscard]] bool is_null(std::int64_t i) const {
    return all_null_ || (valid_ != nullptr && !bit(valid_, i + offset_));
  }
  [[nodiscard]] bool any_null(std::int64_t first, std::int64_t count) const;
  /// A day32 or an instant as it lies, in units of which a day has type().per_day. It is no null.
  [[nodiscard]] std::int64_t units_since_1970(std::int64_t i) const {
    return type_.kind == ArrowType::Kind::day32 ? numbers<std::int32_t, std::int64_t>()(i)
                                                : numbers<std::int64_t, std::int64_t>()(i);
  }

  /// Which member the i-th of mixed values is of, and where it lies there. Throws MalformedArrow.
  [[nodiscard]] std::size_t member(std::int64_t i) const {
    const unsigned char k = data_[i + offset_];
    if (k >= type_.members.size()) throw MalformedArrow{"a cell of a type that its union has not"};
    return k;
  }
  [[nodiscard]] std::int64_t place_in_member(std::int64_t i) const { return i + offset_; }

  /// The values from i on as they lie, where that is as floats or doubles (T) in memory aligned for
  /// them; else null.
  template <class T>
  [[nodiscard]] const T* lying(std::int64_t i) const {
    constexpr auto kind =
        sizeof(T) == sizeof(float) ? ArrowType::Kind::float32 : ArrowType::Kind::float64;
    if (type_.kind != kind || data_ == nullptr ||
        reinterpret_cast<std::uintptr_t>(data_) % alignof(T) != 0)
      return nullptr;
    return reinterpret_cast<const T*>(data_) + offset_ + i;
  }

  /// f(get) where get(i) is the value: bool, an integer of 64 bits, double or string_view. Of text
  /// it throws MalformedArrow where it lies nowhere.
  template <class F>
  decltype(auto) visit(const F& f) const {
    using Kind = ArrowType::Kind;
    switch (type_.kind) {
      case Kind::boolean:
        return f([this](std::int64_t i) { return bit(data_, i + offset_); });
      case Kind::int8:
        return f(numbers<std::int8_t, std::int64_t>());
      case Kind::uint8:
        return f(numbers<std::uint8_t, std::int64_t>());
      case Kind::int16:
        return f(numbers<std::int16_t, std::int64_t>());
      case Kind::uint16:
        return f(numbers<std::uint16_t, std::int64_t>());
      case Kind::int32:
        return f(numbers<std::int32_t, std::int64_t>());
      case Kind::uint32:
        return f(numbers<std::uint32_t, std::int64_t>());
      case Kind::int64:
        return f(numbers<std::int64_t, std::int64_t>());
      case Kind::uint64:
        return f(numbers<std::uint64_t, std::uint64_t>());
      case Kind::float32:
        return f(numbers<float, double>());
      case Kind::float64:
        return f(numbers<double, double>());
      case Kind::float16:
        return f([half = numbers<std::uint16_t, std::uint16_t>()](std::int64_t i) {
          return half_number(half(i));
        });
      case Kind::decimal:
        return f([this](std::int64_t i) {
          return decimal_number(data_ + (i + offset_) * type_.bytes, type_.bytes, type_.scale);
        });
      case Kind::day32:
        return f(numbers<std::int32_t, std::int64_t>());
      case Kind::instant:
        return f([at = numbers<std::int64_t, std::int64_t>(),
                  unit = type_.per_day](std::int64_t i) { return floor_of(at(i), unit); });
      case Kind::text:
        return f([this](std::int64_t i) { return text<std::int32_t>(i); });
      case Kind::large_text:
        return f([this](std::int64_t i) { return text<std::int64_t>(i); });
      case Kind::text_view:
        return f([this](std::int64_t i) { return viewed_text(i); });
      case Kind::null:
      case Kind::mixed:  // of whose members it is asked
      case Kind::refused:
        break;
    }
    return f([](std::int64_t) { return 0.0; });  // null, every one
  }

 private:
  const ArrowType& type_;
  std::int64_t length_, offset_;
  bool all_null_ = false;
  const unsigned char* valid_ = nullptr;
  const unsigned char* data_ = nullptr;
  const char* text_ = nullptr;
  std::int64_t text_end_ = 0;             // no offset lies behind that of the last value
  const void* const* views_ = nullptr;    // buffers of text
  const unsigned char* sizes_ = nullptr;  // theirs, int64 each
  std::int64_t view_count_ = 0;
};

/// Children of an array, or of its dictionary, that are there. Throws MalformedArrow.
void require_shape(const ArrowArray& array);

/// That of `rows` of an array, whose bits in `valid` are [first, last), as many are null as its
/// count of nulls allows; -1 counts none. Returns how many. Throws MalformedArrow.
std::int64_t require_nulls(const ArrowArray& array, const unsigned char* valid, std::int64_t first,
                           std::int64_t last);

}  // namespace gibbsite
