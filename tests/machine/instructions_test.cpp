// Which instruction sets GIBBSITE_INSTRUCTIONS leaves, and what it refuses.
#include "machine/instructions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdlib>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace instructions_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr long long old_machine = HWY_SSE4 | HWY_SSSE3, no_avx512 = old_machine | HWY_AVX2,
                    all = no_avx512 | HWY_AVX3;

TEST(Instructions, OneSetIsLeft) {
  EXPECT_EQ(instructions_of("sse4", all), HWY_SSE4);
  EXPECT_EQ(instructions_of("avx2", all), HWY_AVX2);
  EXPECT_EQ(instructions_of("avx512", all), HWY_AVX3);
  EXPECT_EQ(instructions_of("avx512", all | HWY_AVX3_DL), HWY_AVX3 | HWY_AVX3_DL);
  EXPECT_EQ(instructions_of("sse4", old_machine), HWY_SSE4);
}

TEST(Instructions, AMachineWithoutTheSetSaysWhatItHas) {
  EXPECT_THAT([] { instructions_of("avx512", no_avx512); },
              ThrowsMessage<BadInput>(HasSubstr(
                  "GIBBSITE_INSTRUCTIONS=avx512: this machine and build have sse4, avx2; choose")));
  EXPECT_THAT([] { instructions_of("avx2", HWY_SSSE3); },
              ThrowsMessage<BadInput>(HasSubstr("have none that can be chosen; ")));
  for (const char* const value : {"AVX2", "avx", "avx2 ", "avx2,sse4", "neon", "1", "a\nb"}) {
    EXPECT_THAT([&] { instructions_of(value, all); },
                ThrowsMessage<BadInput>(HasSubstr("have sse4, avx2, avx512; choose")));
  }
  try {
    instructions_of("a\nb", all);
  } catch (const BadInput& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Instructions, NothingIsForcedWhereTheVariableIsUnset) {
  const char* const value = std::getenv(instructions_variable);  // NOLINT: nothing sets it
  EXPECT_EQ(force_instructions(), value == nullptr ? "" : value);
}

}  // namespace instructions_test
}  // namespace gibbsite
