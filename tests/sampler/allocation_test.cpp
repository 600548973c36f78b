// No allocation inside a step of the cpu backend.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "gibbsite/sampler/backend.hpp"

namespace {
std::atomic<std::size_t> allocations = 0;
}

// Counts what this program allocates with new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace gibbsite {
namespace {

TEST(Allocation, AStepAllocatesNothing) {
  const std::size_t n = 3000, d = 12;
  const std::vector<float> x(n * d, 0.25f), y(n, 1.0f);
  for (const std::size_t chains : {1u, 40u}) {
    const auto engine = make_backend("cpu")->load({x.data(), n, d}, y, loss_named("logistic"));
    Ensemble e = start(
        std::vector<ChainSpec>(chains, {.iterations = 100, .key = StreamKey::from_seed(0)}), d);
    engine->advance(e, 2);
    const std::size_t before = allocations;
    engine->advance(e, 5);
    EXPECT_EQ(allocations, before);
    e.specs.push_back(e.specs.front());
    EXPECT_GT(allocations, before);  // the counter counts
  }
}

}  // namespace
}  // namespace gibbsite
