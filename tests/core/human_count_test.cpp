#include "gibbsite/core/human_count.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gibbsite {
namespace human_count_test {

TEST(HumanCount, SeparatesThousandsBelowTenMillion) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(123456), "123,456");
  EXPECT_EQ(human_count(9999999), "9,999,999");
  EXPECT_EQ(human_count(1e7), "1e+07");
  EXPECT_EQ(human_count(NAN), "nan");
}

}  // namespace human_count_test
}  // namespace gibbsite
