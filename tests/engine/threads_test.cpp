#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/engine/machine.hpp"
#include "machine/processors.hpp"

namespace gibbsite {
namespace threads_test {

TEST(Threads, AreAsManyAsMayRun) {
  EXPECT_GE(thread_count(), 1);
  EXPECT_LE(thread_count(), usable_processors());
}

TEST(Threads, TooManyAreRefused) {
  EXPECT_THROW(make_backend("cpu", {.threads = 65}), BadInput);
  EXPECT_THAT(make_backend("cpu", {.threads = 64})->description(),
              ::testing::HasSubstr("64 threads"));
}

}  // namespace threads_test
}  // namespace gibbsite
