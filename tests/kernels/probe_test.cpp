// What a machine's CUDA driver says, and the three errors it becomes.
#include "engine/cuda/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace probe_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Probe good() {
  return {.answered = true,
          .error = "",
          .driver_version = 13000,
          .runtime_version = 13000,
          .devices = 1,
          .capability = 90};
}

TEST(Probe, AWorkingMachineIsUsed) {
  require_usable(good());
  Probe older = good();  // minor-version compatibility: the runtime answered
  older.runtime_version = 13010;
  require_usable(older);
}

TEST(Probe, NoDriverIsNoDevice) {
  Probe p = good();
  p.answered = false;
  p.driver_version = 0;
  EXPECT_THAT(
      [&] { require_usable(p); },
      ThrowsMessage<NoDevice>(AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("use `backend`"))));
}

TEST(Probe, DriverOlderThanTheToolkitIsACudaError) {
  Probe p = good();
  p.answered = false;
  p.driver_version = 11080;
  EXPECT_THAT([&] { require_usable(p); },
              ThrowsMessage<CudaError>(AllOf(HasSubstr("supports CUDA 11.8"),
                                             HasSubstr("needs 13.0"), HasSubstr("update the"))));
}

TEST(Probe, DriverThatDoesNotAnswerIsACudaError) {
  Probe p = good();
  p.answered = false;
  p.error = "unknown error";
  EXPECT_THAT([&] { require_usable(p); },
              ThrowsMessage<CudaError>(AllOf(HasSubstr("unknown error"), HasSubstr("nvidia-smi"))));
}

TEST(Probe, NoGpuIsNoDevice) {
  Probe p = good();
  p.devices = 0;
  EXPECT_THAT([&] { require_usable(p); },
              ThrowsMessage<NoDevice>(HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(Probe, AnOldGpuIsNoDevice) {
  Probe p = good();
  p.capability = 75;
  EXPECT_THAT([&] { require_usable(p); },
              ThrowsMessage<NoDevice>(AllOf(HasSubstr("capability 7.5"), HasSubstr("8.0"))));
  p.capability = 80;
  require_usable(p);
}

}  // namespace probe_test
}  // namespace gibbsite::cuda
