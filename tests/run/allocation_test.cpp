// No allocation inside a step of the cpu backend; no key in memory that was given back.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "core/key_access.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "run/run_plan.hpp"
#include "support/temp_dir.hpp"

namespace {
std::atomic<std::size_t> allocations = 0;
std::string_view sought;  // in what is given back
std::atomic<std::size_t> found = 0;

void give_back(void* memory) {
  if (memory != nullptr && !sought.empty()) {
    const std::string_view block(static_cast<const char*>(memory), malloc_usable_size(memory));
    if (block.find(sought) != std::string_view::npos) ++found;
  }
  std::free(memory);
}
}  // namespace

// Counts what this program allocates with new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}

namespace gibbsite {
namespace allocation_test {

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

TEST(Allocation, MemoryOfACheckpointIsWiped) {
  const testing::TempDir folder;
  // Once of a few bytes and once of more than any reader's own buffer.
  for (const std::size_t width : {1u, 4000u}) {
    const Checkpoint checkpoint{
        KeyAccess::take(Key::from_os()), "fingerprint", std::vector<double>(width), {1}};
    const auto& bytes = checkpoint.key.bytes;
    sought = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    write_checkpoint(folder.path("c"), checkpoint);
    EXPECT_EQ(found, 0u);
    EXPECT_EQ(read_checkpoint(folder.path("c")).key.bytes, bytes);
    EXPECT_EQ(found, 0u);
    EXPECT_THROW(write_checkpoint(folder.path("no/c"), checkpoint), BadInput);
    EXPECT_EQ(found, 0u);
    { const std::vector<char> copy(sought.begin(), sought.end()); }
    EXPECT_GT(found, 0u);  // the search finds
    sought = {};
    found = 0;
  }
}

}  // namespace allocation_test
}  // namespace gibbsite
