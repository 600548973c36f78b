// What follows from the kind of a label.
#include "gibbsite/model/label.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace label_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Label, ThresholdsAreOfTwoClasses) {
  const Label two = TwoClasses{.positive = "yes"}, several = Classes{.names = {"a", "b", "c"}},
              count = Count{{.lo = 0, .hi = 9}};
  EXPECT_EQ(decision_threshold({}, two, "m"), 0.5);
  EXPECT_EQ(decision_threshold({}, count, "m"), 0.5);
  for (const double given : {0.0, 0.3, 1.0}) EXPECT_EQ(decision_threshold(given, two, "m"), given);
  EXPECT_FALSE(std::signbit(decision_threshold(-0.0, two, "m")));
  for (const double wrong : {-1e-9, 1.0000001, std::nan("")}) {
    EXPECT_THAT([&] { decision_threshold(wrong, two, "m"); },
                ThrowsMessage<BadInput>(HasSubstr("must be from 0 to 1")));
  }
  EXPECT_THAT([&] { decision_threshold(0.5, several, "m"); },
              ThrowsMessage<BadInput>(HasSubstr("m is of several classes")));
  EXPECT_THAT([&] { decision_threshold(0.5, count, "m"); },
              ThrowsMessage<BadInput>(HasSubstr("m predicts a count and no class")));
}

}  // namespace label_test
}  // namespace gibbsite
