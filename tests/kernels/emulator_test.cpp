// The GPU in software finds what it is there to find: an error planted for each rule, and what it
// must not take for one.
#include "support/emulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/cuda/engine.hpp"
#include "engine/cuda/source.hpp"
#include "support/backend.hpp"
#include "support/matrix_unit.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace emulator_test {

using support::emulate;
using support::KernelFault;
using support::emulator::EmulatedBlock;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Numbers {
  kernels::View<double> values;
};
template <class Work>
struct BodyOf {
  using Params = Numbers;
  static constexpr unsigned threads = 32;
  static void run(EmulatedBlock& block, const Numbers& p) { Work{}(block, p.values); }
};
// Runs Work on three blocks of a warp that share three numbers.
template <class Work>
void run_blocks(bool cooperative, std::uint64_t seed = 1) {
  std::vector<double> values(3, -1);
  emulate<BodyOf<Work>>({3, 32, 0, cooperative}, {{values.data(), values.size()}}, seed);
}

// Every block writes its number, the next one reads it: `between` is what orders the two.
enum class Between { nothing, barrier, arrival };
template <Between between>
struct Neighbors {
  void operator()(EmulatedBlock& block, const kernels::View<double>& values) const {
    const std::size_t b = block.block(), next = (b + 1) % block.blocks();
    if (block.thread() == 0) values[b] = static_cast<double>(b);
    if (between == Between::barrier) block.sync_grid();
    if (between == Between::arrival) block.arrive_grid();
    double seen = 0;
    if (block.thread() == 0) seen = kernels::View<const double>(values)[next];
    if (between == Between::arrival) block.wait_grid();
    if (between == Between::barrier) {
      EXPECT_EQ(block.shuffle(seen, 0), static_cast<double>(next));
    }
  }
};
struct OneForAll {
  void operator()(EmulatedBlock& block, const kernels::View<double>& values) const {
    if (block.thread() == 0) values[0] = static_cast<double>(block.block());
  }
};
struct ReadByAll {
  void operator()(EmulatedBlock& block, const kernels::View<double>& values) const {
    const double mine = values[0];  // by a view that may write: and does not
    if (block.thread() == 0 && block.block() == 0) values[1] = mine + 1;
  }
};

TEST(EmulatedBlocks, RaceOnGlobalMemory) {
  const auto race = ThrowsMessage<KernelFault>(HasSubstr("race on global memory"));
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_THAT([&] { run_blocks<OneForAll>(false, seed); }, race) << seed;
    EXPECT_THAT([&] { run_blocks<Neighbors<Between::nothing>>(false, seed); }, race) << seed;
    EXPECT_THAT([&] { run_blocks<Neighbors<Between::nothing>>(true, seed); }, race) << seed;
    EXPECT_THAT([&] { run_blocks<Neighbors<Between::arrival>>(true, seed); }, race) << seed;
    run_blocks<Neighbors<Between::barrier>>(true, seed);
    run_blocks<ReadByAll>(false, seed);
  }
}

// Thread 0 writes, two others read: one of the same 64 threads, one of the other warp.
enum class Meet { first, nobody, all, another };
template <Meet meet>
struct WriteThenRead {
  using Params = Numbers;
  static constexpr unsigned threads = 96, part = 64;
  static void expect_one(const support::emulator::Shared<double>& cell) {
    EXPECT_EQ(cell.get(0), 1);
  }
  static void run(EmulatedBlock& block, const Numbers&) {
    auto cell = block.shared<double>(2);
    const unsigned t = block.thread();
    if (t == 0) cell[0] = 1;
    if (meet == Meet::all) block.sync();
    if (t < part || meet == Meet::another) {
      if (meet != Meet::nobody) block.sync_first(part);
      if (t == 40) expect_one(cell);
    }
    if (meet == Meet::all && t == 70) expect_one(cell);
    // What the first 64 agreed on says nothing to the others.
    if (meet == Meet::first && t == 1) cell[1] = 1;
    if (meet == Meet::first && t == 70) cell[1] = 2;
  }
};
TEST(EmulatedBlocks, BarrierOfTheFirstThreads) {
  const auto run = [](auto body, std::uint64_t seed) {
    emulate<decltype(body)>({1, 96, 128, false}, {}, seed);
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    run(WriteThenRead<Meet::all>{}, seed);
    EXPECT_THAT([&] { run(WriteThenRead<Meet::first>{}, seed); },
                ThrowsMessage<KernelFault>(HasSubstr("race on shared element 1")));
    EXPECT_THAT([&] { run(WriteThenRead<Meet::nobody>{}, seed); },
                ThrowsMessage<KernelFault>(testing::AnyOf(HasSubstr("race on shared element 0"),
                                                          HasSubstr("before it holds"))));
    EXPECT_THAT([&] { run(WriteThenRead<Meet::another>{}, seed); },
                ThrowsMessage<KernelFault>(HasSubstr("at a barrier of the first 64")));
  }
}

// A copy of the asynchronous proxy over what a thread loaded: `Fenced` is what orders them.
template <bool Fenced>
struct LoadThenCopy {
  void operator()(EmulatedBlock& block, const kernels::View<double>& values) const {
    auto unit = support::emulator::matrix_unit(block);
    const std::uint32_t barrier = unit.reserve(8), at = unit.reserve(16);
    if (block.thread() == 0) unit.start_barrier(barrier, 1);
    block.sync();
    static_cast<void>(unit.load_logits(at));
    if (Fenced) unit.finish_loads();
    block.sync();
    if (block.thread() != 0) return;
    unit.expect(barrier, 16);
    unit.copy(at, kernels::View<const double>(values), 0, 2, barrier);
    unit.await(barrier, 0);
  }
};
TEST(EmulatedBlocks, BulkCopyOverWhatWasLoaded) {
  const auto run = [](auto body) {
    alignas(16) double values[2] = {1, 2};
    emulate<decltype(body)>({1, 32, 1024, false}, {{values, 2}}, 1);
  };
  run(BodyOf<LoadThenCopy<true>>{});
  EXPECT_THAT([&] { run(BodyOf<LoadThenCopy<false>>{}); },
              ThrowsMessage<KernelFault>(HasSubstr("without a fence between")));
}

// Design B's launch with a grid of so many blocks, for a GPU that holds four.
TEST(EmulatedGpu, RefusesAGridThatIsNotResident) {
  for (const unsigned blocks : {4U, 5U}) {
    const auto device =
        support::make_emulated_device({.multiprocessors = 2, .blocks_of_multiprocessor = 2});
    std::vector<std::byte*> parts;
    const auto zeros = [&](std::size_t bytes) {
      parts.push_back(device->allocate(bytes));
      device->fill_zero(cuda::Queue::compute, parts.back(), bytes);
      return parts.back();
    };
    constexpr unsigned leaves = 8, rows = 128 * leaves;
    const auto doubles = [&](std::size_t n) {
      return kernels::View<double>{reinterpret_cast<double*>(zeros(8 * n)), n};
    };
    const auto floats = [&](std::size_t n) {
      return kernels::View<const float>{reinterpret_cast<const float*>(zeros(4 * n)), n};
    };
    device->launch(kernels::Cooperative{
        .x = floats(rows + 4),
        .y = floats(rows + 4),
        .theta = doubles(1),
        .centers = doubles(1),
        .chain = {reinterpret_cast<const kernels::Chain*>(zeros(sizeof(kernels::Chain))), 1},
        .clock = {reinterpret_cast<const std::uint64_t*>(zeros(8)), 1},
        .partials = doubles(leaves),
        .rows = rows,
        .features = 1,
        .chains = 1,
        .leaf_rows = 128,
        .leaves = leaves,
        .steps = 1,
        .blocks = blocks});
    if (blocks == 4) {
      device->synchronize();
    } else {
      EXPECT_THAT([&] { device->synchronize(); },
                  ThrowsMessage<KernelFault>(HasSubstr("are resident at once")));
    }
  }
}

// What the loop asks the GPU for is what the GPU takes, whatever it holds; and a GPU that holds
// no block at all is an error.
TEST(EmulatedGpu, GridsAreWhatTheGpuHolds) {
  const support::OddRows p = support::make_odd_rows(5000, 21, 4);
  std::vector<double> first;
  for (const unsigned each : {1U, 2U, 5U, 0U}) {
    const auto engine =
        cuda::make_cuda_backend(
            support::make_emulated_device(
                {.multiprocessors = 3, .l2_bytes = 2 << 20, .blocks_of_multiprocessor = each}),
            {Arithmetic::float64, "cooperative"})
            ->load(p.view(), p.y, loss_named("logistic"));
    Ensemble e = support::make_odd_chains(2, p.d);
    if (each == 0) {
      EXPECT_THROW(engine->advance(e, 2), CudaError);
      continue;
    }
    engine->advance(e, 2);
    if (first.empty()) first = e.theta;
    EXPECT_EQ(e.theta, first) << each;
  }
}

class EmulatedQueues : public ::testing::Test {
 protected:
  kernels::Gemm product(std::size_t first_of_c = 0) {
    const auto part = [&](std::size_t first) {
      return kernels::View<std::byte>{memory_ + first, 4096 - first};
    };
    return {.m = 3,
            .n = 2,
            .k = 4,
            .a = part(0),
            .b = part(1024),
            .c = part(2048 + first_of_c),
            .lda = 3,
            .ldb = 4,
            .ldc = 3,
            .workspace = {memory_ + 4096, 256}};
  }
  template <class Work>
  void expect_refused(Work work, const char* what) {
    EXPECT_THAT([&] { device_->capture(work); }, ThrowsMessage<KernelFault>(HasSubstr(what)));
    device_->synchronize();  // it is over
  }
  std::shared_ptr<cuda::Device> device_ = support::make_emulated_device();
  std::byte* memory_ = device_->allocate(8192);
};

TEST_F(EmulatedQueues, CaptureTakesLaunchesOfWhatRan) {
  using cuda::Queue;
  device_->fill_zero(Queue::compute, memory_, 8192);
  double host = 0;
  expect_refused([&] { device_->copy_in(Queue::compute, memory_, &host, 8); }, "host memory");
  expect_refused([&] { device_->copy_out(Queue::compute, &host, memory_, 8); }, "host memory");
  expect_refused([&] { device_->synchronize(); }, "the host waits");
  expect_refused([&] { device_->record(Queue::compute); }, "event is recorded");
  expect_refused([&] { device_->allocate(8); }, "memory is allocated");
  expect_refused([&] { device_->fill_zero(Queue::copy, memory_, 8); }, "compute queue");
  expect_refused([&] { device_->capture([] {}); }, "another begins");
  const auto graph = device_->capture([] {});
  expect_refused([&] { device_->replay(graph); }, "replayed");
  // A product is chosen by its first run; one that is aligned otherwise is another.
  expect_refused([&] { device_->launch(product()); }, "a product is chosen");
  device_->launch(product());
  device_->capture([&] { device_->launch(product()); });
  expect_refused([&] { device_->launch(product(8)); }, "a product is chosen");
}

TEST_F(EmulatedQueues, ProductsAreRefusedAsTheLibraryDoes) {
  const auto expect = [&](const kernels::Gemm& p, const char* what) {
    EXPECT_THAT([&] { device_->launch(p); }, ThrowsMessage<KernelFault>(HasSubstr(what)));
  };
  expect(product(4), "not aligned to its elements");
  kernels::Gemm p = product();
  p.ldb = 3;
  expect(p, "columns overlap");
  p = product();
  p.batch = 2;
  p.stride_a = p.stride_b = 8;
  p.stride_c = 5;
  expect(p, "results overlap");
  p = product();
  p.k = 0;
  expect(p, "empty");
  p = product();
  p.workspace.data += 128;
  expect(p, "workspace");
}

// What products are told of their operands, for items that begin at multiples of a stride.
TEST_F(EmulatedQueues, AlignmentsAreTheTrueOnes) {
  EXPECT_EQ(kernels::alignment_of(memory_, 0, 1), 256U);
  EXPECT_EQ(kernels::alignment_of(memory_, 24, 1), 256U);
  EXPECT_EQ(kernels::alignment_of(memory_, 24, 2), 8U);
  EXPECT_EQ(kernels::alignment_of(memory_ + 32, 512, 3), 32U);
  EXPECT_EQ(kernels::alignment_of(memory_ + 4, 512, 3), 4U);
}

TEST_F(EmulatedQueues, EventsAreRecordedOver) {
  using cuda::Queue;
  const cuda::Event first = device_->record(Queue::compute);
  for (int k = 1; k < 16; ++k) device_->record(Queue::compute);
  device_->wait(Queue::copy, first);
  device_->record(Queue::compute);
  const auto over = ThrowsMessage<KernelFault>(HasSubstr("recorded over"));
  EXPECT_THAT([&] { device_->wait(Queue::copy, first); }, over);
  EXPECT_THAT([&] { device_->wait_host(first); }, over);
}

// Passes of design F follow the GPU's memory, the bits do not.
TEST(EmulatedGpu, PassesFollowTheMemory) {
  const support::OddRows p = support::make_odd_rows(2100, 120, 4);
  const Ensemble begin = support::make_odd_chains(3, p.d);
  std::vector<double> first;
  std::vector<std::uint64_t> launches;
  for (const std::size_t memory : {std::size_t{1} << 30, std::size_t{64} << 20}) {
    for (std::uint64_t k = 1;; ++k) {  // the first launch that does not come
      const auto engine =
          cuda::make_cuda_backend(
              support::make_emulated_device({.total_bytes = memory, .fault_at_launch = k}),
              {Arithmetic::float64, "blocked"})
              ->load(p.view(), p.y, loss_named("logistic"));
      Ensemble e = begin;
      try {
        engine->advance(e, 1);
      } catch (const CudaError&) {
        continue;
      }
      if (first.empty()) first = e.theta;
      EXPECT_EQ(e.theta, first);
      launches.push_back(k - 1);
      break;
    }
  }
  // Five blocks of 512 rows, the last is not whole. A pass of them all: widen, 2 products,
  // residuals, 2 products. In 1 MiB, a 64th of the small GPU, are two blocks: 4 launches for each
  // pass. Then finish and tick.
  EXPECT_EQ(launches, (std::vector<std::uint64_t>{6 + 2, 3 * 4 + 2}));
}

}  // namespace emulator_test
}  // namespace gibbsite
