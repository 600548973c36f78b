#pragma once
// The backend that a test program is built for, and the device of a kernel test.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/cuda/cuda.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/emulated_device.hpp"
#include "support/kernel_notes.hpp"

namespace gibbsite::support {

/// What this program was linked for: "reference", "cpu", "emulated" or "cuda".
extern const char* const test_variant;

/// A GPU is missing: skips, or fails when GIBBSITE_REQUIRE_GPU is set. Call from SetUp().
inline bool gpu_is_missing() {
  try {
    cuda::make_device();
    return false;
  } catch (const BackendUnavailable& error) {
    if (std::getenv("GIBBSITE_REQUIRE_GPU") != nullptr) {
      ADD_FAILURE() << "GIBBSITE_REQUIRE_GPU is set: " << error.what();
    }
    return true;
  }
}

/// "emulated" (the cuda engine on the emulated GPU), or a backend's name.
inline std::unique_ptr<Backend> make_test_backend(std::string_view name,
                                                  const BackendOptions& options = {}) {
  if (name == "emulated") {
    return cuda::make_cuda_backend(make_emulated_device({.watches_global = false}), options);
  }
  return make_backend(name, options);
}

/// Whether the backend of that name runs kernels.
constexpr bool is_a_gpu(std::string_view name) { return name == "emulated" || name == "cuda"; }

/// "emulated" or "cuda". Either notes the kernels that it launches (support/kernel_notes.hpp).
inline std::unique_ptr<cuda::Device> make_test_device(std::string_view name) {
  return name == "emulated" ? make_emulated_device() : make_noted_device(cuda::make_device());
}

/// Tests on the backend or device of that name: skipped where that is "cuda" and there is no GPU.
class TestOn : public ::testing::Test {
 protected:
  explicit TestOn(std::string_view name) : name_(name) {}
  void SetUp() override {
    if (name_ == "cuda" && gpu_is_missing()) GTEST_SKIP() << "no GPU";
  }
  [[nodiscard]] bool on_a_gpu() const { return is_a_gpu(name_); }
  std::string_view name_;
};

/// Tests with a device of that name: skipped if it is "cuda" and there is no GPU.
class DeviceTest : public TestOn {
 protected:
  using TestOn::TestOn;
  void SetUp() override {
    TestOn::SetUp();
    if (!IsSkipped()) device_ = make_test_device(name_);
  }
  std::shared_ptr<cuda::Device> device_;
};

}  // namespace gibbsite::support
