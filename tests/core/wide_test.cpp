#include "gibbsite/core/wide.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using gibbsite::round_down;
using gibbsite::round_up;
using gibbsite::Wide;

namespace wide_test {

constexpr double inf = std::numeric_limits<double>::infinity();

// A positive double with uniform bits below infinity: every exponent, subnormals included.
double any_positive_double(std::mt19937_64& bits) {
  return std::bit_cast<double>(bits() % std::bit_cast<std::uint64_t>(inf));
}

TEST(Wide, HoldsAtLeastFiftyDigits) {
  EXPECT_LE(abs(Wide(1) / 3 * 3 - 1), Wide("1e-50"));
  EXPECT_EQ(1 + Wide("1e-50") - 1 > 0, true);
}

TEST(Wide, RoundsOutwardByAtMostOneDoubleAtEveryMagnitude) {
  std::mt19937_64 bits(1);
  for (int i = 0; i < 20000; ++i) {
    const double a = any_positive_double(bits);
    const double b = std::nextafter(a, inf);
    if (b == inf) continue;
    for (const double sign : {1.0, -1.0}) {
      // strictly between two neighbors, 1e-6 of the gap away from one of them
      const Wide gap = Wide(b) - Wide(a);
      for (const char* part : {"1e-6", "0.5", "0.999999"}) {
        const Wide x = sign * (Wide(a) + gap * Wide(part));
        EXPECT_EQ(round_up(x), sign > 0 ? b : -a);
        EXPECT_EQ(round_down(x), sign > 0 ? a : -b);
      }
      // A double itself moves outward by one: its evaluation is trusted to 1e-30 only.
      EXPECT_EQ(round_up(Wide(sign * a)), a == 0 ? 0 : std::nextafter(sign * a, inf));
      EXPECT_EQ(round_down(Wide(sign * a)), a == 0 ? 0 : std::nextafter(sign * a, -inf));
    }
  }
}

TEST(Wide, GrantsTheEvaluationItsSlack) {
  // Just below a double: within 1e-30 of it is treated as not below.
  const Wide one = 1;
  EXPECT_EQ(round_up(one - Wide("1e-29")), 1.0);
  EXPECT_GT(round_up(one - Wide("1e-31")), 1.0);
  EXPECT_EQ(round_down(one + Wide("1e-29")), 1.0);
  EXPECT_LT(round_down(one + Wide("1e-31")), 1.0);
}

TEST(Wide, OverflowsAndUnderflowsOutward) {
  const double largest = std::numeric_limits<double>::max();
  const double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(round_up(Wide("1e400")), inf);
  EXPECT_EQ(round_down(Wide("1e400")), largest);
  EXPECT_EQ(round_up(Wide("-1e400")), -largest);
  EXPECT_EQ(round_down(Wide("-1e400")), -inf);
  EXPECT_EQ(round_up(Wide("1e-400")), smallest);
  EXPECT_EQ(round_down(Wide("1e-400")), 0.0);
  EXPECT_EQ(round_up(Wide("-1e-400")), 0.0);
  EXPECT_EQ(round_down(Wide("-1e-400")), -smallest);
  EXPECT_EQ(round_up(Wide(0)), 0.0);
  EXPECT_EQ(round_down(Wide(0)), 0.0);
}

TEST(Wide, ExponentialsOfFiniteNumbersStayOnTheirSide) {
  for (const double x : {-7e8, -8e8, -1e9, -1e300, -std::numeric_limits<double>::max()}) {
    EXPECT_EQ(round_up(exp(Wide(x))), std::numeric_limits<double>::denorm_min()) << x;
    EXPECT_EQ(round_down(exp(Wide(x))), 0) << x;
    EXPECT_EQ(round_up(exp(Wide(-x))), inf) << x;
    EXPECT_EQ(round_down(exp(Wide(-x))), std::numeric_limits<double>::max()) << x;
  }
  EXPECT_EQ(round_up(exp(Wide(-inf))), 0);
  EXPECT_EQ(round_up(exp(Wide(inf))), inf);
  EXPECT_TRUE(std::isnan(round_up(exp(Wide(std::nan(""))))));
}

TEST(Wide, NanStaysNan) {
  const Wide nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(round_up(nan)));
  EXPECT_TRUE(std::isnan(round_down(nan)));
}

}  // namespace wide_test
