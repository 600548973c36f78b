#include "gibbsite/core/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t places = 30;

[[noreturn]] void refuse(std::string_view text) {
  const std::string shown = gibbsite::quoted(text);
  throw BadInput(
      fmt::format("{}: is no amount: give digits and up to {} places, below 1e8", shown, places));
}

const Wide& nonnegative(const Wide& x) {
  if (!(x >= 0)) throw BadInput("amount: is negative or no number");
  return x;
}

}  // namespace

// A whole number below 2^127 is exact in 50 digits, and so are its halves of 64 bits.
Decimal Decimal::checked(const Wide& units) {
  if (!(units <= Wide("99999999e30"))) {
    throw BadInput(
        fmt::format("amount: {:.3g} is not in [0, 1e8)", static_cast<double>(units) / 1e30));
  }
  const auto half = [](const Wide& whole) {  // below 2^64
    const Wide top = floor(ldexp(whole, -32));
    return (static_cast<std::uint64_t>(static_cast<double>(top)) << 32) +
           static_cast<std::uint64_t>(static_cast<double>(whole - ldexp(top, 32)));
  };
  const Wide top = floor(ldexp(units, -64));
  return Decimal((Units{half(top)} << 64) + half(units - ldexp(top, 64)));
}

// Evaluated to 1e-30 of itself: as round_up, and never less than a unit for what is not zero.
Decimal Decimal::up(const Wide& x) {
  return checked(ceil(nonnegative(x) * (1 + Wide("1e-30")) * Wide("1e30")));
}
Decimal Decimal::down(const Wide& x) {
  return checked(floor(nonnegative(x) * (1 - Wide("1e-30")) * Wide("1e30")));
}

Decimal Decimal::of(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point < text.size() ? text.substr(point + 1) : "";
  if (whole.empty() || whole.size() > 8 || part.size() > places ||
      (point < text.size() && part.empty())) {
    refuse(text);
  }
  Units units = 0;
  std::string digits(whole);
  digits.append(part).append(places - part.size(), '0');
  for (const char c : digits) {
    if (c < '0' || c > '9') refuse(text);
    units = units * 10 + static_cast<Units>(c - '0');
  }
  return Decimal(units);
}

std::string Decimal::text() const {
  std::string digits;
  for (Units rest = units_; rest > 0; rest /= 10) {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  digits.append(digits.size() > places ? 0 : places + 1 - digits.size(), '0');
  std::ranges::reverse(digits);
  digits.insert(digits.size() - places, 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

Wide Decimal::wide() const {
  return (ldexp(Wide(static_cast<std::uint64_t>(units_ >> 64)), 64) +
          Wide(static_cast<std::uint64_t>(units_))) /
         Wide("1e30");
}

Decimal operator+(const Decimal& a, const Decimal& b) {
  const Decimal sum(a.units_ + b.units_);  // both below 2^127
  if (sum > Decimal::of("99999999")) throw BadInput("amount: a sum passes 1e8");
  return sum;
}

Decimal left_of(const Decimal& a, const Decimal& b) {
  return Decimal(a > b ? a.units_ - b.units_ : 0);
}

}  // namespace gibbsite
