#include "data/arrow_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "data/text.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {

static_assert(std::endian::native == std::endian::little, "values are read as they lie");

namespace {

using Kind = ArrowType::Kind;

ArrowType decimal_type(std::string_view format) {
  std::array<int, 3> numbers{0, 0, 128};  // digits, scale, bits
  const char* at = format.data() + 2;
  const char* const end = format.data() + format.size();
  std::size_t count = 0;
  for (; count < numbers.size(); ++count) {
    const auto [next, error] = std::from_chars(at, end, numbers[count]);
    if (error != std::errc()) throw MalformedArrow{"a decimal type without digits and scale"};
    at = next;
    if (at == end || *at != ',') break;
    ++at;
  }
  const int bits = numbers[2];
  if (count == 0 || at != end || (bits != 32 && bits != 64 && bits != 128 && bits != 256) ||
      numbers[1] < -1000 || numbers[1] > 1000)
    throw MalformedArrow{"a decimal type that is none"};
  return {Kind::decimal, bits / 8, numbers[1], {}, 1};
}

/// A sparse union of types that are read, which are numbered from 0.
ArrowType mixed_type(const ArrowSchema& schema) {
  ArrowType none = refused_type("a union", "a sparse one of plain types");
  // The type names its members: a count that is not theirs may lead behind the last one.
  if (schema.n_children != std::ranges::count(std::string_view(schema.format), ',') + 1)
    return none;
  ArrowType out{Kind::mixed, 1, 0, {}, 1, {}};
  std::string format = "+us:";
  const auto is_read = [](const ArrowType& type) { return type.kind < Kind::mixed; };
  for (std::int64_t k = 0; k < schema.n_children && schema.children != nullptr; ++k) {
    const ArrowSchema* const member = schema.children[k];
    if (member == nullptr) throw MalformedArrow{"a member of a union that is not there"};
    format += fmt::format("{}{}", k == 0 ? "" : ",", k);
    out.members.push_back(member->dictionary != nullptr ? ArrowType() : arrow_type(*member));
  }
  return format == schema.format && std::ranges::all_of(out.members, is_read) ? out : none;
}

/// What lies in the buffer, or null where there is nothing to lie.
const unsigned char* buffer(const ArrowArray& array, std::int64_t k) {
  return array.buffers == nullptr ? nullptr : static_cast<const unsigned char*>(array.buffers[k]);
}

/// How many of the bits [first, last) are 0; quick where few are.
std::int64_t zeros(const unsigned char* bits, std::int64_t first, std::int64_t last) {
  std::int64_t count = 0, i = first;
  const auto one = [&] { count += (bits[i >> 3] >> (i & 7) & 1) ^ 1; };
  for (; i < last && (i & 7) != 0; ++i) one();
  for (; i + 64 <= last; i += 64) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits + (i >> 3), sizeof word);
    if (~word != 0) count += std::popcount(~word);
  }
  for (; i < last; ++i) one();
  return count;
}

}  // namespace

ArrowType refused_type(const std::string& what, const std::string& instead) {
  return {Kind::refused, 0, 0, fmt::format("{}; give {}, or type = \"ignore\"", what, instead), 1};
}

ArrowType arrow_type(const ArrowSchema& schema) {
  if (schema.format == nullptr) throw MalformedArrow{"a column without a type"};
  const std::string_view format = schema.format;
  struct Plain {
    std::string_view format;
    Kind kind;
    int bytes;
  };
  static constexpr std::array plain = {
      Plain{"n", Kind::null, 0},       Plain{"b", Kind::boolean, 0},
      Plain{"c", Kind::int8, 1},       Plain{"C", Kind::uint8, 1},
      Plain{"s", Kind::int16, 2},      Plain{"S", Kind::uint16, 2},
      Plain{"i", Kind::int32, 4},      Plain{"I", Kind::uint32, 4},
      Plain{"l", Kind::int64, 8},      Plain{"L", Kind::uint64, 8},
      Plain{"e", Kind::float16, 2},    Plain{"f", Kind::float32, 4},
      Plain{"g", Kind::float64, 8},    Plain{"u", Kind::text, 4},
      Plain{"U", Kind::large_text, 8}, Plain{"vu", Kind::text_view, 16},
  };
  for (const Plain& type : plain)
    if (type.format == format) return {type.kind, type.bytes, 0, {}, 1};
  if (format.starts_with("d:")) return decimal_type(format);
  if (format.starts_with("+us:")) return mixed_type(schema);
  if (format == "tdD") return {Kind::day32, 4, 0, {}, 1};
  static constexpr std::int64_t seconds = 86'400;  // in a day
  struct Unit {
    std::string_view prefix;
    std::int64_t per_day;
  };
  static constexpr std::array units = {
      Unit{"tdm", seconds * 1'000}, Unit{"tss:", seconds}, Unit{"tsm:", seconds * 1'000},
      Unit{"tsu:", seconds * 1'000'000}, Unit{"tsn:", seconds * 1'000'000'000}};
  for (const Unit& unit : units)
    if (format.starts_with(unit.prefix)) return {Kind::instant, 8, 0, {}, unit.per_day};

  struct Refused {
    std::string_view prefix;
    const char *what, *instead;
  };
  static constexpr const char* days = "a date that its type has";
  static constexpr const char* parts = "its parts as columns of their own";
  static constexpr std::array others = {
      Refused{"ts", "a timestamp", days},
      Refused{"td", "a date", days},
      Refused{"tt", "a time of day", "a number (say hours)"},
      Refused{"tD", "a duration", "a number (say days)"},
      Refused{"ti", "an interval", "a number (say days)"},
      Refused{"z", "binary", "text or a number"},
      Refused{"Z", "binary", "text or a number"},
      Refused{"vz", "binary", "text or a number"},
      Refused{"w:", "binary", "text or a number"},
      Refused{"+s", "a struct", parts},
      Refused{"+m", "a map", parts},
      Refused{"+u", "a union", parts},
      Refused{"+r", "run-end encoded", "it decoded"},
      Refused{"+", "a list", parts},
  };
  for (const Refused& type : others)
    if (format.starts_with(type.prefix)) return refused_type(type.what, type.instead);
  return refused_type("of the unknown Arrow type " + gibbsite::quoted(format), "text or a number");
}

double decimal_number(const unsigned char* at, int bytes, int scale) {
  std::array<std::uint64_t, 4> limbs{};
  const bool negative = (at[bytes - 1] & 0x80) != 0;
  std::array<unsigned char, 32> wide{};
  wide.fill(negative ? 0xff : 0);
  std::copy_n(at, bytes, wide.begin());
  std::memcpy(limbs.data(), wide.data(), wide.size());
  if (negative) {
    bool carry = true;
    for (std::uint64_t& limb : limbs) {
      limb = ~limb + (carry ? 1U : 0U);
      carry = carry && limb == 0;
    }
  }
  // Two doubles that are exact: their quotient is rounded once.
  static constexpr std::array tens = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const bool small = (limbs[1] | limbs[2] | limbs[3]) == 0 && limbs[0] <= std::uint64_t{1} << 53;
  if (small && scale >= 0 && static_cast<std::size_t>(scale) < tens.size()) {
    const double value = static_cast<double>(limbs[0]) / tens[static_cast<std::size_t>(scale)];
    return negative ? -value : value;
  }
  // Its digits from the last on, then as text.
  std::array<char, 96> digits{};
  auto first = digits.end();
  while ((limbs[0] | limbs[1] | limbs[2] | limbs[3]) != 0) {
    constexpr std::uint64_t base = 1'000'000'000;
    std::uint64_t rest = 0;
    for (auto limb = limbs.rbegin(); limb != limbs.rend(); ++limb) {  // in halves: rest < 2^30
      const std::uint64_t high = rest << 32 | *limb >> 32;
      const std::uint64_t low = high % base << 32 | (*limb & 0xffffffff);
      *limb = high / base << 32 | low / base;
      rest = low % base;
    }
    for (int k = 0; k < 9; ++k, rest /= 10) *--first = static_cast<char>('0' + rest % 10);
  }
  const std::string text =
      fmt::format("{}{}e{}", negative ? "-" : "", std::string(first, digits.end()), -scale);
  double value = 0;
  parse_number(text, value);
  return value;
}

void require_shape(const ArrowArray& array) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 64;
  if (array.release == nullptr) throw MalformedArrow{"the array was released"};
  if (array.length < 0 || array.offset < 0 || array.length > most || array.offset > most)
    throw MalformedArrow{"a length or offset that cannot be"};
  if (array.null_count < -1 || array.null_count > array.length)
    throw MalformedArrow{"a count of nulls that cannot be"};
  if (array.n_buffers < 0 || array.n_children < 0 ||
      (array.n_buffers > 0 && array.buffers == nullptr) ||
      (array.n_children > 0 && array.children == nullptr))
    throw MalformedArrow{"buffers or columns that are not there"};
}

std::int64_t require_nulls(const ArrowArray& array, const unsigned char* valid, std::int64_t first,
                           std::int64_t last) {
  if (valid == nullptr) return 0;
  const std::int64_t nulls = zeros(valid, first, last);
  const std::int64_t others = array.length - (last - first);
  if (array.null_count >= 0 && (nulls > array.null_count || nulls < array.null_count - others))
    throw MalformedArrow{"a count of nulls that is not theirs"};
  return nulls;
}

void ArrowValues::require_nulls(const ArrowArray& array, std::int64_t first, std::int64_t last) {
  if (gibbsite::require_nulls(array, valid_, first + offset_, last + offset_) == 0)
    valid_ = nullptr;
}

ArrowValues::ArrowValues(const ArrowType& type, const ArrowArray& array, std::int64_t used,
                         bool has_dictionary)
    : type_(type), length_(array.length), offset_(array.offset) {
  require_shape(array);
  if (length_ < used) throw MalformedArrow{"it is shorter than its batch"};
  if (array.n_children != std::ssize(type.members))
    throw MalformedArrow{"columns within it that its type has not, or lacks"};
  if ((array.dictionary != nullptr) != has_dictionary)
    throw MalformedArrow{has_dictionary ? "indices without a dictionary"
                                        : "a dictionary that its type has not"};
  if (type.kind == Kind::null) {
    all_null_ = true;
    return;
  }
  if (type.kind == Kind::mixed) {  // whose members say which cells are null
    if (array.n_buffers != 1 || (length_ > 0 && buffer(array, 0) == nullptr))
      throw MalformedArrow{"a union without the types of its cells"};
    data_ = length_ > 0 ? buffer(array, 0) : nullptr;
    return;
  }
  const bool is_text = type.kind == Kind::text || type.kind == Kind::large_text;
  const bool is_view = type.kind == Kind::text_view;
  const std::int64_t fewest = is_text || is_view ? 3 : 2;
  if (array.n_buffers < fewest || (!is_view && array.n_buffers != fewest) ||
      array.n_buffers > std::numeric_limits<std::int32_t>::max())
    throw MalformedArrow{"another number of buffers than its type has"};
  if (length_ == 0) return;
  valid_ = buffer(array, 0);
  if (array.null_count > 0 && valid_ == nullptr)
    throw MalformedArrow{"nulls without a buffer that says which"};
  data_ = buffer(array, 1);
  if (data_ == nullptr) {
    if (array.null_count != length_) throw MalformedArrow{"values without a buffer"};
    all_null_ = true;
  }
  if (is_text) {
    text_ = static_cast<const char*>(array.buffers[2]);
    if (data_ != nullptr) {
      const unsigned char* const end = data_ + (length_ + offset_) * type.bytes;
      text_end_ = type.bytes == 8 ? load<std::int64_t>(end) : load<std::int32_t>(end);
    }
  }
  if (is_view) {
    views_ = array.buffers + 2;
    view_count_ = array.n_buffers - 3;
    sizes_ = buffer(array, array.n_buffers - 1);
    if (view_count_ > 0 && sizes_ == nullptr)
      throw MalformedArrow{"buffers of text without their sizes"};
  }
}

bool ArrowValues::any_null(std::int64_t first, std::int64_t count) const {
  if (all_null_) return count > 0;
  if (valid_ == nullptr) return false;
  return zeros(valid_, first + offset_, first + offset_ + count) > 0;
}

// A view: its length, then the text if that is at most 12 bytes, else 4 bytes of it, buffer,
// offset.
std::string_view ArrowValues::viewed_text(std::int64_t i) const {
  const unsigned char* const at = data_ + (i + offset_) * 16;
  const auto size = load<std::int32_t>(at);
  if (size < 0) throw MalformedArrow{"text of a length below 0"};
  if (size <= 12) return {reinterpret_cast<const char*>(at) + 4, static_cast<std::size_t>(size)};
  const auto k = load<std::int32_t>(at + 8), start = load<std::int32_t>(at + 12);
  if (k < 0 || k >= view_count_ || views_[k] == nullptr || start < 0 ||
      std::int64_t{start} + size > load<std::int64_t>(sizes_ + std::int64_t{k} * 8))
    throw MalformedArrow{"text outside of its buffers"};
  return {static_cast<const char*>(views_[k]) + start, static_cast<std::size_t>(size)};
}

}  // namespace gibbsite
