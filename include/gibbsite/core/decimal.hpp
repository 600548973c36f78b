#pragma once
// Amounts that are added up over years: decimals of 30 places, added and compared exactly.
#include <compare>
#include <string>
#include <string_view>

#include "gibbsite/core/wide.hpp"

namespace gibbsite {

/// A multiple of 10^-30 in [0, 10^8).
class Decimal {
 public:
  Decimal() = default;
  /// The smallest Decimal >= x, and the largest <= x, where x is evaluated as in `round_up`. Both
  /// throw BadInput if x is not in [0, 10^8 - 1].
  static Decimal up(const Wide& x);
  static Decimal down(const Wide& x);
  /// Parses "0.0561": digits, a point, up to 30 digits. Throws BadInput on anything else.
  static Decimal of(std::string_view text);

  /// The decimal digits without zeros at the end: "0", "0.0561".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Wide wide() const;

  /// The exact sum. Throws BadInput if it is 10^8 or more.
  friend Decimal operator+(const Decimal& a, const Decimal& b);
  /// a - b, or 0 if b is larger.
  friend Decimal left_of(const Decimal& a, const Decimal& b);
  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal&, const Decimal&) = default;

 private:
  __extension__ using Units = unsigned __int128;
  explicit Decimal(Units units) : units_(units) {}
  static Decimal checked(const Wide& units);

  Units units_ = 0;
};

}  // namespace gibbsite
