#include "certificate/canonical_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gibbsite {
namespace {

using nlohmann::json;

// Order by UTF-16 code units. It is that of UTF-8 bytes, but that surrogates (from U+10000 on, led
// by F0 to F4) come before U+E000 to U+FFFF (led by EE and EF).
bool before_in_utf16(std::string_view a, std::string_view b) {
  const auto place = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : static_cast<int>(byte);
  };
  return std::ranges::lexicographical_compare(a, b, {}, place, place);
}

void put(std::string& out, const json& value) {
  constexpr double exact = 0x1p53;
  if (value.is_object()) {
    std::vector<const std::string*> names;
    for (const auto& item : value.get_ref<const json::object_t&>()) names.push_back(&item.first);
    std::ranges::sort(names, before_in_utf16, [](const std::string* name) { return *name; });
    out += '{';
    for (const std::string* const name : names) {
      if (out.back() != '{') out += ',';
      out += json(*name).dump() + ':';
      put(out, value.at(*name));
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ',';
      put(out, value[i]);
    }
    out += ']';
  } else if (value.is_number()) {
    const double number = value.get<double>();
    const bool large = value.is_number_integer() && !(number >= -exact && number <= exact);
    out += large ? value.dump() : canonical_number(number);
  } else {
    out += value.dump();  // texts escape what the scheme does, and no more
  }
}

}  // namespace

std::string canonical_text(const json& value) {
  std::string out;
  put(out, value);
  return out;
}

std::string canonical_number(double value) {
  if (value == 0) return "0";  // -0 too
  std::array<char, 32> shortest{};
  const auto [end, error] =
      std::to_chars(shortest.data(), shortest.data() + shortest.size(), value < 0 ? -value : value,
                    std::chars_format::scientific);  // "d.ddde-dd", which 32 characters hold
  const std::string_view text(shortest.data(), static_cast<std::size_t>(end - shortest.data()));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 1) digits += text.substr(2, e - 2);
  int exponent = 0;
  const std::size_t sign = text[e + 1] == '+' ? 2 : 1;
  std::from_chars(text.data() + e + sign, end, exponent);

  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // digits before the decimal point
  std::string out = value < 0 ? "-" : "";
  if (point > 21 || point <= -6) {
    out += digits[0];
    if (count > 1) out += '.' + digits.substr(1);
    return out + fmt::format("e{:+d}", exponent);
  }
  if (point <= 0) {
    return out + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  }
  if (count <= point)
    return out + digits + std::string(static_cast<std::size_t>(point - count), '0');
  const auto whole = static_cast<std::size_t>(point);
  return out + digits.substr(0, whole) + '.' + digits.substr(whole);
}

}  // namespace gibbsite
