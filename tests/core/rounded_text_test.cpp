#include "gibbsite/core/rounded_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace gibbsite {
namespace {

TEST(RoundedText, IsOnItsSide) {
  EXPECT_EQ(text_up(0.028021), "0.02803");
  EXPECT_EQ(text_down(0.028029), "0.02802");
  EXPECT_EQ(text_up(9.9999), "10");
  EXPECT_EQ(text_down(9.9999), "9.999");
  EXPECT_EQ(text_up(1.00011e-6), "1.001e-06");
  EXPECT_EQ(text_up(123456), "1.235e+05");
  EXPECT_EQ(text_up(0.31, 1), "0.4");
  EXPECT_EQ(text_down(0.39, 1), "0.3");
}

// What somebody typed comes back as it was typed.
TEST(RoundedText, KeepsWhatWasAsked) {
  for (const double typed : {0.1, 0.25, 0.3, 1.0, 2.5, 1e-6, 1e-15, 7e-9}) {
    EXPECT_EQ(std::stod(text_up(typed)), typed);
    EXPECT_EQ(std::stod(text_down(typed)), typed);
    EXPECT_EQ(std::stod(text_up(std::nextafter(typed, 9))), typed);
    EXPECT_EQ(std::stod(text_down(std::nextafter(typed, 0))), typed);
  }
}

TEST(RoundedText, TakesEveryNumber) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(text_up(0), "0");
  EXPECT_EQ(text_up(infinite), "inf");
  EXPECT_EQ(text_up(5e-324), "1e-300");
  EXPECT_EQ(text_down(5e-324), "0");
  EXPECT_EQ(text_up(1e-300), "1e-300");
  EXPECT_EQ(text_up(std::numeric_limits<double>::max()), "1.798e+308");
}

// On 20,000 numbers over 600 powers of ten: the right side, and at most one unit away.
TEST(RoundedText, IsTheNearestOnItsSide) {
  std::mt19937_64 random(20261127);
  std::uniform_real_distribution<double> power(-299, 300);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::pow(10.0, power(random));
    const int digits = 1 + i % 8;
    const double unit = std::pow(10.0, std::floor(std::log10(x)) + 1 - digits);
    const double up = std::stod(text_up(x, digits)), down = std::stod(text_down(x, digits));
    ASSERT_GE(up, x * (1 - 2e-12)) << x << " " << digits;
    ASSERT_LT(up - x, unit * (1 + 1e-9)) << x << " " << digits;
    ASSERT_LE(down, x * (1 + 2e-12)) << x << " " << digits;
    ASSERT_LT(x - down, unit * (1 + 1e-9)) << x << " " << digits;
  }
}

}  // namespace
}  // namespace gibbsite
