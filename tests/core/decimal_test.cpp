#include "gibbsite/core/decimal.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace decimal_test {

using Rational = boost::multiprecision::cpp_rational;

Rational exact(const Decimal& x) {
  std::string text = x.text();
  std::size_t places = 0;
  if (const auto point = text.find('.'); point != std::string::npos) {
    places = text.size() - point - 1;
    text.erase(point, 1);
  }
  const std::size_t first = std::min(text.find_first_not_of('0'), text.size() - 1);
  return Rational(boost::multiprecision::cpp_int(text.substr(first))) /
         Rational(pow(boost::multiprecision::cpp_int(10), static_cast<unsigned>(places)));
}

TEST(Decimal, TextIsReadBackAndShort) {
  for (const char* text : {"0", "1", "0.5", "12345678.000000000000000000000000000001",
                           "0.000000000000000000000000000001", "99999998.5"}) {
    EXPECT_EQ(Decimal::of(text).text(), text);
  }
  EXPECT_EQ(Decimal::of("00.500").text(), "0.5");
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", " 1", "1 ", "123456789",
                           "0.0000000000000000000000000000001", "nan", "1.5.2"}) {
    EXPECT_THROW(Decimal::of(text), BadInput) << text;
  }
}

TEST(Decimal, RoundsToTheSideThatItsNameSays) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-32, 7.5);
  const Rational unit = Rational(1) / Rational(pow(boost::multiprecision::cpp_int(10), 30U));
  for (int i = 0; i < support::repeats(20'000, 1'000); ++i) {
    const double x = std::pow(10.0, exponent(random));
    const Rational truth(x);
    const Rational up = exact(Decimal::up(x)), down = exact(Decimal::down(x));
    ASSERT_GE(up, truth) << x;
    ASSERT_LE(down, truth) << x;
    // One unit, and 1e-30 of x where that is more.
    ASSERT_LE(up - down, 2 * unit + 3 * unit * truth) << x;
  }
  EXPECT_EQ(Decimal::up(0.0).text(), "0");
  EXPECT_EQ(Decimal::up(1e-300).text(), "0.000000000000000000000000000001");
  EXPECT_EQ(Decimal::down(1e-300).text(), "0");
  for (const double x : {-1e-300, -1.0, 1e8, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(Decimal::up(x), BadInput) << x;
    EXPECT_THROW(Decimal::down(x), BadInput) << x;
  }
}

TEST(Decimal, SumsAndOrderAreExact) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-30, 7);
  for (int i = 0; i < support::repeats(5'000, 300); ++i) {
    const Decimal a = Decimal::up(std::pow(10.0, exponent(random)));
    const Decimal b = Decimal::up(std::pow(10.0, exponent(random)));
    ASSERT_EQ(exact(a + b), exact(a) + exact(b));
    ASSERT_EQ(a < b, exact(a) < exact(b));
    ASSERT_EQ(exact(left_of(a, b)), a > b ? exact(a) - exact(b) : Rational(0));
    ASSERT_EQ(Decimal::of(a.text()), a);
    ASSERT_LE(abs(Rational(static_cast<double>(a.wide())) - exact(a)), exact(a) * 1e-15);
  }
  EXPECT_THROW(Decimal::of("99999999") + Decimal::of("0.1"), BadInput);
}

}  // namespace decimal_test
}  // namespace gibbsite
