// Whatever a caller or a library did to a thread, what a guarantee rests on rounds to nearest.
#include "gibbsite/core/floating_point.hpp"

#include <gmock/gmock.h>

#include <cfenv>
#include <limits>
#include <thread>

#include "gibbsite/core/error.hpp"
#include "support/arithmetic.hpp"

namespace gibbsite {
namespace floating_point_test {

using test_arithmetic::ChangedArithmetic;

TEST(StandardArithmetic, IsSetAndGivenBack) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    const ChangedArithmetic changed(mode);
    EXPECT_THROW(StandardArithmetic::require(), BadInput) << mode;
    {
      const StandardArithmetic arithmetic;
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      EXPECT_NO_THROW(StandardArithmetic::require());
      {
        const StandardArithmetic again;  // as plan() within fit()
      }
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    }
    EXPECT_EQ(std::fegetround(), mode);
  }
  EXPECT_NO_THROW(StandardArithmetic::require());
}

TEST(StandardArithmetic, KeepsSubnormalNumbers) {
  const ChangedArithmetic flushing(ChangedArithmetic::flush_to_zero);
  if (!flushing.works()) GTEST_SKIP() << "this processor's flush to zero is not known here";
  const volatile double smallest = std::numeric_limits<double>::min(), half = 0.5;
  EXPECT_EQ(smallest * half, 0);
  EXPECT_THROW(StandardArithmetic::require(), BadInput);
  {
    const StandardArithmetic arithmetic;
    EXPECT_NE(smallest * half, 0);
  }
  EXPECT_EQ(smallest * half, 0);
}

TEST(StandardArithmetic, OfAThreadThatBeginsWithAnother) {
  const ChangedArithmetic changed(FE_UPWARD);
  int inherited = 0, set = 0;
  std::thread thread([&] {
    inherited = std::fegetround();
    set_standard_arithmetic();
    set = std::fegetround();
  });
  thread.join();
  EXPECT_EQ(inherited, FE_UPWARD);  // what makes the call necessary
  EXPECT_EQ(set, FE_TONEAREST);
}

}  // namespace floating_point_test
}  // namespace gibbsite
