// A device makes and runs everything on its own GPU, whatever GPU the calling thread has chosen
// before, and leaves that choice as it was. On a stand-in for CUDA's runtime with three GPUs.
#include "kernels/chosen_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/cuda/cuda.hpp"
#include "engine/cuda/memory.hpp"
#include "gibbsite/core/error.hpp"
#include "kernels/runtime/stand_in.hpp"

namespace gibbsite::cuda {
namespace chosen_gpu_test {

using stand_in::Call;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

// What runs in a thread of its own, which has chosen GPU 0.
template <class Work>
void in_another_thread(Work&& work) {
  std::thread thread(work);
  thread.join();
}

class RanksOnGpus final : public DeviceRanks {
 public:
  [[nodiscard]] std::string_view name() const override { return "stand-in"; }
  void gather(const std::byte* /*mine*/, std::byte* /*all*/, std::size_t /*bytes*/,
              void* /*stream*/) override {
    chosen = stand_in::chosen();
  }
  void broadcast(std::byte* /*data*/, std::size_t /*bytes*/, void* /*stream*/) override {
    chosen = stand_in::chosen();
  }
  int chosen = -1;
};

struct Operation {
  const char* name;
  std::function<void(Device&)> ask;
};

kernels::Gemm product(std::byte* memory) {
  return {.m = 1,
          .n = 1,
          .k = 1,
          .a = {memory, 8},
          .b = {memory, 8},
          .c = {memory, 8},
          .lda = 1,
          .ldb = 1,
          .ldc = 1,
          .workspace = {memory, 8}};
}

// Every function of a Device for which it matters which GPU the thread has chosen. `release` and
// `discard` are not among them: the runtime frees memory and graphs where they are.
std::vector<Operation> operations() {
  static double host = 0;
  static std::byte memory[256];
  return {
      {"card", [](Device& d) { static_cast<void>(d.gpu()); }},
      {"allocate", [](Device& d) { d.allocate(64); }},
      {"allocate_pinned", [](Device& d) { d.allocate_pinned(64); }},
      {"copy_in", [](Device& d) { d.copy_in(Queue::copy, memory, &host, 8); }},
      {"copy_out", [](Device& d) { d.copy_out(Queue::compute, &host, memory, 8); }},
      {"fill_zero", [](Device& d) { d.fill_zero(Queue::compute, memory, 8); }},
      {"blocks_at_once", [](Device& d) { static_cast<void>(d.blocks_at_once({})); }},
      {"launch", [](Device& d) { d.launch(kernels::OnePass{}); }},
      {"launch of a product", [](Device& d) { d.launch(product(memory)); }},
      {"fill_normals",
       [](Device& d) {
         d.fill_normals({&host, 1}, 1, 0);
       }},
      {"record", [](Device& d) { static_cast<void>(d.record(Queue::compute)); }},
      {"wait", [](Device& d) { d.wait(Queue::copy, 0); }},
      {"wait_host", [](Device& d) { d.wait_host(0); }},
      {"synchronize", [](Device& d) { d.synchronize(); }},
      {"capture and replay",
       [](Device& d) { d.replay(d.capture([&] { d.launch(kernels::Tick{}); })); }},
  };
}

TEST(ChosenGpu, EveryCallOfADeviceIsOnItsGpu) {
  for (const Operation& operation : operations()) {
    const std::unique_ptr<Device> device = make_device(1);
    EXPECT_EQ(stand_in::chosen(), 1);  // it stays this thread's
    stand_in::take_calls();
    in_another_thread([&] {
      operation.ask(*device);
      EXPECT_EQ(stand_in::chosen(), 0) << operation.name;
    });
    const std::vector<Call> calls = stand_in::take_calls();
    EXPECT_THAT(calls, Not(IsEmpty())) << operation.name;
    EXPECT_THAT(calls, Each(Field(&Call::chosen, 1))) << operation.name;
  }
}

// Calls go to their device's GPU, also if the thread made another device last.
TEST(ChosenGpu, TwoDevicesOfAThreadTakeTurns) {
  const std::unique_ptr<Device> first = make_device(1), second = make_device(2);
  for (const Operation& operation : operations()) {
    for (const int gpu : {1, 2}) {
      stand_in::take_calls();
      operation.ask(gpu == 1 ? *first : *second);
      EXPECT_THAT(stand_in::take_calls(), Each(Field(&Call::chosen, gpu))) << operation.name;
      EXPECT_EQ(stand_in::chosen(), 2) << operation.name;
    }
  }
}

// What other ranks are sent goes from the device's GPU.
TEST(ChosenGpu, RanksAreCalledOnTheGpu) {
  const std::unique_ptr<Device> device = make_device(2);
  std::byte memory[8];
  in_another_thread([&] {
    RanksOnGpus ranks;
    device->gather(ranks, memory, memory, 8);
    EXPECT_EQ(ranks.chosen, 2);
    ranks.chosen = -1;
    device->broadcast(ranks, memory, 8);
    EXPECT_EQ(ranks.chosen, 2);
    EXPECT_EQ(stand_in::chosen(), 0);
  });
}

// A step is captured on the GPU, from the first call to the last.
TEST(ChosenGpu, ACaptureIsWholeOnTheGpu) {
  const std::unique_ptr<Device> device = make_device(1);
  stand_in::take_calls();
  in_another_thread([&] {
    device->capture([&] {
      EXPECT_EQ(stand_in::chosen(), 1);
      device->launch(kernels::Tick{});
    });
  });
  EXPECT_THAT(stand_in::take_calls(),
              ElementsAre(Call{"cudaStreamBeginCapture", 1}, Call{"launch", 1},
                          Call{"cudaStreamEndCapture", 1}, Call{"cudaGraphInstantiate", 1}));
}

// A call that fails gives the thread its GPU back too; a GPU that cannot be chosen is said to be
// so, and nothing is done on another one.
TEST(ChosenGpu, ErrorsLeaveTheThreadsChoice) {
  const std::unique_ptr<Device> device = make_device(1);
  in_another_thread([&] {
    stand_in::fail_next("cudaMalloc", cudaErrorMemoryAllocation);
    EXPECT_THAT([&] { device->allocate(1 << 20); },
                ThrowsMessage<CudaError>(HasSubstr("the GPU has no 2 MiB in one piece")));
    EXPECT_EQ(stand_in::chosen(), 0);
    EXPECT_THROW(device->capture([] { throw BadInput("no step"); }), BadInput);
    EXPECT_EQ(stand_in::chosen(), 0);

    stand_in::take_calls();
    stand_in::fail_next("cudaSetDevice", cudaErrorDevicesUnavailable);
    EXPECT_THAT([&] { device->allocate(64); },
                ThrowsMessage<CudaError>(HasSubstr("choosing the GPU")));
    EXPECT_THAT(stand_in::take_calls(), IsEmpty());
  });
}

// The first of the best GPUs, and each that can be used.
TEST(ChosenGpu, DevicesAreMadeOfTheGpusThatThereAre) {
  std::vector<int> places;
  for (const VisibleGpu& gpu : usable_gpus()) places.push_back(gpu.index);
  EXPECT_THAT(places, ElementsAre(0, 1, 2));
  stand_in::take_calls();
  static_cast<void>(make_device());
  EXPECT_EQ(stand_in::chosen(), 0);
  EXPECT_THROW(make_device(stand_in::gpus), CudaError);
}

// Arrays that others made on a GPU are read there (kernels/cuda_memory.cpp).
TEST(ChosenGpu, ArraysAreReadOnTheirGpu) {
  in_another_thread([] {
    std::byte out[64];
    stand_in::take_calls();
    require_on_device(2, out);
    copy_from_device(2, out, out, 8, 8, 4);
    copy_from_device(2, out, out, 16, 8, 4);
    EXPECT_THAT(stand_in::take_calls(),
                ElementsAre(Call{"cudaPointerGetAttributes", 2}, Call{"cudaMemcpy", 2},
                            Call{"cudaMemcpy2D", 2}));
    EXPECT_EQ(stand_in::chosen(), 0);
    EXPECT_THROW(require_on_device(stand_in::gpus, out), NoDevice);
  });
}

}  // namespace chosen_gpu_test
}  // namespace gibbsite::cuda
